"""Two known visits: any two groups that a person is in have k people in common, recounted by brute force."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import generalization as calendar
from tests.sabotage.tampering import original, promised

import timeveil as tv
from timeveil.models.events.judges import protected
from timeveil.models.events.method import protect

ROLES = tv.Roles(respondent="who", time="when", quasi=["sex"])
NAMES = ["day", "week", "month", "year"]
visits = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"),
        st.sampled_from("ffm"),
        st.dates(dt.date(2005, 12, 20), dt.date(2006, 2, 20)),
    ),
    min_size=3,
    max_size=40,
)


def table_of(rows) -> pa.Table:
    return pa.table(dict(zip(("who", "sex", "when"), map(list, zip(*rows, strict=True)), strict=True)))


def crowds(labels) -> tuple[Counter, Counter]:
    """The people in each group, and in each two groups; labels are pairs of person and group."""
    groups = defaultdict(set)
    for who, group in labels:
        groups[who].add(group)
    single = Counter(group for mine in groups.values() for group in mine)
    return single, Counter(pair for mine in groups.values() for pair in combinations(sorted(mine), 2))


def is_kept(rows, granularity, k) -> bool:
    granule = calendar.CALENDAR[granularity]
    single, pairs = crowds((who, (sex, str(granule(day)))) for who, sex, day in rows)
    return min([*single.values(), *pairs.values()]) >= k


@given(visits, st.integers(2, 4), st.sampled_from([0.0, 0.3]), st.sampled_from(["memory", "duckdb"]))
@settings(max_examples=some(60))
def test_two_groups_have_k_people_in_common(rows, k, suppress, engine) -> None:
    options = {"granularities": NAMES, "suppress": suppress, "allow_loss": True, "engine": engine}
    feasible = {name: is_kept(rows, name, k) for name in NAMES}
    try:
        release, ledger = tv.generalize_time(table_of(rows), ROLES, k, visits=2, **options)
    except tv.InfeasibleError:
        assert not any(feasible.values())
        return
    assert tv.verify(release, ledger)
    labels = zip((row[0] for row in rows), ledger.table["group"].to_pylist(), strict=True)
    single, pairs = crowds((who, group) for who, group in labels if group is not None)
    assert min(single.values()) >= k
    assert min(pairs.values(), default=k) >= k
    reached = tv.attack(release, ledger, tv.Adversary(visits=2)).after.candidates
    assert all(number >= k for number in reached if number)
    if not suppress:
        stated = {name: numbers["feasible"] for name, numbers in release.manifest["candidates"].items()}
        assert stated == {name: feasible[name] for name in stated}


# Everyone comes twice: in January and in March, or in February and in April.
TWICE = [(who, "f", dt.date(2006, month, 5)) for who in "abc" for month in (1, 3)] + [
    (who, "f", dt.date(2006, month, 5)) for who in "defg" for month in (2, 4)
]


def test_one_person_short_is_noticed() -> None:
    release, ledger = tv.generalize_time(table_of(TWICE), ROLES, 3, visits=2, granularities=["month"])
    assert release.manifest["guarantee"] == {"name": "k-anonymity", "k": 3, "visits": 2}
    assert tv.verify(release, ledger)
    # March's visit of c becomes that of h: three people in each group still, two in both.
    verdict = tv.verify(release, original(ledger, who={5: "h"}))
    assert [violation.code for violation in verdict.violations] == ["protect"]
    assert "2 groups with fewer than 3 people in common" in verdict.violations[0].message


def test_a_promise_that_was_not_kept_is_noticed() -> None:
    mixed = [*TWICE, ("a", "f", dt.date(2006, 2, 6))]
    release, ledger = tv.generalize_time(table_of(mixed), ROLES, 3, granularities=["month"])
    assert tv.verify(release, ledger)
    assert not tv.verify(promised(release, visits=2), ledger)
    with pytest.raises(tv.InfeasibleError):
        tv.generalize_time(table_of(mixed), ROLES, 3, visits=2, granularities=["month"])


@pytest.mark.parametrize("way", ["refined", "local", "tiling"])
def test_rows_that_are_not_made_coarser_alike_cannot_promise_it(way) -> None:
    with pytest.raises(tv.ParameterError, match="two known visits"):
        tv.generalize_time(table_of(TWICE), ROLES, 3, visits=2, recode=way)


def test_a_way_that_cannot_promise_it_is_not_offered() -> None:
    """Steps of their own are refused with two visits, so that what they would save is not worked out."""
    rows = [(who, "f", dt.date(2006, 1, day)) for who in "abcdef" for day in (2, 3)]
    for number in (1, 2):
        _, ledger = tv.generalize_time(table_of(rows), ROLES, 3, visits=number)
        assert ("ways" in ledger.facts) == (number == 1)


@pytest.mark.parametrize("seed", range(30))
def test_groups_that_meet_few_are_those_of_every_pair(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """People in more groups than are compared at once, for the method and for the judge."""
    monkeypatch.setattr(protect, "GROUPS_AT_ONCE", 3)
    monkeypatch.setattr(protected, "_CELLS_AT_ONCE", 50)
    draw, k = np.random.default_rng(seed), 2 + seed % 3
    crowds = [{int(p) for p in draw.integers(0, 9, draw.integers(1, 9))} for _ in range(draw.integers(1, 14))]
    pairs = [(number, person) for number, crowd in enumerate(crowds) for person in sorted(crowd)]
    group, person = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    slow = [any(0 < len(a & b) < k for b in crowds) for a in crowds]
    swift = np.zeros(len(crowds), bool)
    swift[protect._meeting_few(group, person, len(crowds), k)] = True
    assert swift.tolist() == slow
    assert protected._meeting_few(group, person, len(crowds), k).tolist() == slow
