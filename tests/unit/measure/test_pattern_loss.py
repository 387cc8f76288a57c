"""What a pattern release lost, beside other ways to publish the same patterns."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import channels as oracle
from tests.oracles.evidence import baskets_of

import timeveil as tv
from timeveil.domain.release import Release
from timeveil.judging import measure
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.evidence.boxes import channels_of
from timeveil.models.patterns.evidence.counting import mined
from timeveil.models.patterns.evidence.family import Knowledge
from timeveil.models.patterns.judges import measure as pattern_measure
from timeveil.models.patterns.judges.measure import table_counts
from timeveil.models.patterns.judges.profile import profile
from timeveil.models.patterns.words import loss_summary
from timeveil.reading.collection import read_series

A = pa.table({"has": [list(row) for row in ("ab", "abcd", "ad", "ad", "bcd")]})
ITEMS = tv.Roles(item="has")


def walks(people=1500, instants=5, seed=0):
    matrix = np.random.default_rng(seed).normal(size=(people, instants)).cumsum(axis=1)
    return pa.table({f"t{n}": matrix[:, n] for n in range(instants)})


@pytest.mark.parametrize(
    ("method", "changed", "lost", "mean", "worst", "virtual", "withheld"),
    [
        ("additive", 5, 0, 13 / 30, 4 / 3, 4, 0),
        ("tight", 5, 0, 0.325, 1.0, 3, 0),
        ("suppressive", 2, 7, 0.75, 1.0, 0, 2),
    ],
)
def test_example_a(method, changed, lost, mean, worst, virtual, withheld):
    loss = measure(*tv.sanitize_patterns(A, ITEMS, k=2, min_support=2, method=method, allow_loss=True))
    assert isinstance(loss, tv.PatternLoss)
    assert (loss.patterns, loss.changed, loss.lost, loss.people) == (10, changed, lost, 5)
    assert (loss.virtual, loss.withheld) == (virtual, withheld)
    assert loss.mean_error == pytest.approx(mean)
    assert loss.worst_error == pytest.approx(worst)


@pytest.mark.parametrize("published", ["frequent", "closed"])
def test_what_is_not_shown_but_follows_is_not_lost(published):
    loss = measure(*tv.sanitize_patterns(A, ITEMS, k=2, min_support=2, published=published))
    assert (loss.changed, loss.lost) == (5, 0)


def test_leaving_people_out_costs_what_the_method_that_does_costs():
    """Two independent ways to the same end."""
    table = walks()
    roles = tv.Roles(series=table.column_names)
    added = measure(*tv.sanitize_patterns(table, roles, k=6, min_support=25, symbols=4))
    less = measure(*tv.sanitize_patterns(table, roles, k=6, min_support=25, symbols=4, method="suppressive"))
    other = added.alternative("without people")
    assert (other.patterns, other.changed, other.lost, other.withheld) == (
        less.patterns, less.changed, less.lost, less.withheld,
    )  # fmt: skip
    assert other.mean_error == pytest.approx(less.mean_error)
    assert added.lost == 0 < other.lost
    assert added.mean_error < other.mean_error


def test_patterns_left_out_leave_no_group():
    chance = random.Random(3)  # noqa: S311
    for _ in range(30):
        case = oracle.Case(oracle.baskets(chance, 14, 4), k=3, least=4)
        if len(case.sets) == 1:
            continue
        loss = measure(oracle.release_of(case), oracle.ledger_of(case))
        left = loss.alternative("without patterns")
        assert left.changed == 0
        assert (left.lost == 0) == oracle.is_safe(case.sets, 3, structural=False)
        assert left.mean_error == pytest.approx(left.lost / left.patterns)
        errors = [abs(case.told[s] - n) / n for s, n in case.sets.items() if s]
        assert loss.mean_error == pytest.approx(sum(errors) / len(errors))
        assert loss.worst_error == pytest.approx(max(errors))
        assert loss.changed == sum(case.told[s] != n for s, n in case.sets.items() if s)


def test_patterns_of_series_left_out_leave_no_group():
    """One that follows from the others ends only with one of them."""
    chance = random.Random(4)  # noqa: S311
    judged = 0
    for _ in range(30):
        rows = oracle.series(chance, 40, 2, 3)
        held = baskets_of([[3 * int(t[1:]) + s for t, s in sorted(row)] for row in rows])
        before = mined(held, 6, 3, 5)
        left = pattern_measure.without_patterns(before, 4)
        known = Knowledge(left)
        assert len(channels_of(known.family, 4)) == 0
        judged += left.number < before.number
    assert judged > 10


def test_the_same_counts_off_a_series_table_are_further_off():
    table = walks()
    roles = tv.Roles(series=table.column_names)
    release, ledger = tv.sanitize_patterns(table, roles, k=5, min_support=30, symbols=4)
    rows, _ = tv.anonymize_series(table, roles, k=10, p=5, effort=0)
    loss = measure(release, ledger, against=rows)
    read = loss.alternative("series table")
    assert read.patterns == loss.patterns
    assert read.mean_error > loss.mean_error
    text = "\n".join(loss_summary(loss).lines())
    assert "counting in the series table" in text
    assert "leaving people out" in text


def test_a_table_with_the_same_levels_tells_the_counts_exactly():
    """Letters of 4 symbols answer for patterns of 4 symbols without any guess."""
    chance = random.Random(1)  # noqa: S311
    case = oracle.Case(oracle.series(chance, 60, 3, 4), k=2, least=4, symbols=4)
    release = oracle.release_of(case)
    known = Evidence(release).patterns
    rows = ["".join(oracle.LETTERS[dict(row)[t]] for t in case.instants) for row in case.rows]
    series = {
        "instants": case.instants, "values": case.instants, "pattern": case.instants, "center": "mean",
        "levels": "one", "own_patterns": True, "perturbed": [],
    }  # fmt: skip
    bounds = {f"{t}_{end}": [0.0] * 60 for t in case.instants for end in ("lo", "hi")}
    data = pa.table(
        {
            "group": pa.array([1] * 60, pa.int32()),
            **bounds,
            "pattern": rows,
            "level": pa.array([4] * 60, pa.int16()),
        }
    ).sort_by("pattern")
    roles = {"group": "group", "pattern": "pattern", "level": "level"}
    ends = {"_lo": "low", "_hi": "high"}
    columns = [
        {"name": n, "role": roles.get(n) or ends[n[-3:]], "type": str(data.schema.field(n).type)}
        for n in data.column_names
    ]
    manifest = {"model": "series", "series": series, "columns": columns, "counts": {"suppressed": 0}}
    table = Release(tv.KPAnonymity(2, 1), manifest, {"data": data})
    number = {name: place for place, name in enumerate(known.names)}
    sets = list(case.sets)
    wanted = [np.array(sorted(number[oracle.name(i)] for i in s), dtype=np.int64) for s in sets]
    assert table_counts(wanted, known, table).round(9).tolist() == [case.sets[s] for s in sets]


def test_what_cannot_be_compared_is_refused():
    release, ledger = tv.sanitize_patterns(A, ITEMS, k=2, min_support=2)
    table = walks(60)
    rows, _ = tv.anonymize_series(table, tv.Roles(series=table.column_names), k=4, p=2, effort=0)
    with pytest.raises(tv.ParameterError, match="only be compared with a release of series"):
        measure(release, ledger, against=rows)
    with pytest.raises(tv.ParameterError, match="only be compared with a release of series"):
        measure(release, ledger, against=release)


def test_what_would_take_too_long_is_left_out(monkeypatch):
    monkeypatch.setattr(pattern_measure, "MOST_PATTERNS", 3)
    loss = measure(*tv.sanitize_patterns(A, ITEMS, k=2, min_support=2))
    assert loss.alternatives == ()
    told = "\n".join(loss_summary(loss).lines())
    assert "Other ways" not in told
    assert (
        "Not compared with leaving people out or leaving patterns out: there are more than 3 patterns."
        in told
    )
    monkeypatch.setattr(pattern_measure, "MOST_PATTERNS", 20_000)
    monkeypatch.setattr(pattern_measure, "MOST_ROWS", 3)
    loss = measure(*tv.sanitize_patterns(A, ITEMS, k=2, min_support=2))
    assert "Not compared with leaving people out: it would take too long." in "\n".join(
        loss_summary(loss).lines()
    )


def test_a_profile_of_series_counts_the_groups_that_an_attack_computes():
    """Also those that follow because everybody has one symbol at every instant."""
    table = walks(people=200, instants=4)
    roles, options = tv.Roles(series=table.column_names), {"k": 3, "min_support": 10, "symbols": 3}
    breach = tv.attack(*tv.sanitize_patterns(table, roles, **options), tv.PatternAdversary(bounds=False))
    assert profile(read_series(table, roles), options).small_groups == breach.channels_before > 0
