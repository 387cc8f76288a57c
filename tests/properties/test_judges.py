"""The judges agree with the slow twin, and no minimal corruption gets past `verify`."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import judges as oracle

from timeveil.domain.release import Release
from timeveil.evidence.published import WindowCount
from timeveil.judging import answer, attack, measure, verify
from timeveil.models.events.judges.profile import profile
from timeveil.models.events.parameters import Adversary

FEW = settings(max_examples=some(300), deadline=None)
AXES = st.sampled_from([oracle.DATES, oracle.CIVIL, oracle.ZONED, oracle.DAYS])


def moments(axis):
    """Times of six weeks around the change of the clocks."""
    if axis is oracle.DAYS:
        return st.integers(-3, 40)
    days = st.dates(dt.date(2024, 3, 18), dt.date(2024, 4, 28))
    if axis is oracle.DATES:
        return days
    zone = oracle.ROME if axis is oracle.ZONED else None
    hours = st.sampled_from([dt.time(0, 0), dt.time(8, 30), dt.time(23, 59, 59)])
    return st.builds(dt.datetime.combine, days, hours, st.just(zone))


PEOPLE = ["ann", "bob", "cy", "dan", "eve", "fay"]


@st.composite
def cases(draw, complete=False, crowds=0):
    """A few rows anywhere, and `crowds` or more spots with k people or more each."""
    axis, k = draw(AXES), draw(st.integers(2, 3))
    names = ["day", "week", "all"] if axis is oracle.DAYS else ["day", "business-day", "week", "month", "all"]
    name = draw(st.sampled_from(names))
    gaps = draw(st.sampled_from(["suppress", "next"])) if name == "business-day" else "error"
    spot = st.tuples(moments(axis), st.sampled_from(["11", "12", "21", None]), st.sampled_from("fm"))
    spots = draw(st.lists(spot, min_size=max(crowds, 1), max_size=5))
    if crowds and gaps == "suppress":
        spots[:crowds] = [
            (oracle.midnight(axis, dt.date(2024, 4, 9 + n)), *s[1:]) for n, s in enumerate(spots[:crowds])
        ]
    who = [(person, place) for place in range(crowds) for person in PEOPLE[: draw(st.integers(k, 5))]]
    who += draw(st.lists(st.tuples(st.sampled_from(PEOPLE), st.integers(0, len(spots) - 1)), max_size=15))
    chance = draw(st.randoms(use_true_random=False))
    rows = [
        dict(zip(("person", "at", "zip", "sex"), (person, *spots[place]), strict=True))
        for person, place in who
    ]
    for row in rows:
        row.update(ward=chance.choice([1, 2, None]), result=chance.choice(["good", "bad"]))
    if not complete:
        rows += [{**rows[0], "person": None}, {**rows[0], "at": None}] if rows else []
    chance.shuffle(rows)
    return oracle.Case(rows, k, axis, name, gaps, draw(st.booleans()))


@st.composite
def releases(draw, crowds=1):
    """A case that has something to publish, and its release."""
    case = draw(cases(crowds=crowds))
    return case, *oracle.build(case)


def with_data(release: Release, data: pa.Table) -> Release:
    return replace(release, parts={"data": data})


def codes(release, ledger=None) -> set[str]:
    return {violation.code for violation in verify(release, ledger).violations}


@FEW
@given(cases())
def test_a_release_built_by_the_definition_passes(case):
    """Both scopes accept what the definition itself produces, whatever the axis, gaps and nulls."""
    release, ledger = oracle.build(case)
    assert verify(release).violations == ()
    assert verify(release, ledger).violations == ()


@FEW
@given(releases(), st.data())
def test_a_swapped_label_is_noticed(found, data):
    """One row whose label is not that of its start and end."""
    _, release, _ = found
    labels = release.table["at"].to_pylist()
    row = data.draw(st.integers(0, len(labels) - 1))
    labels[row] = data.draw(st.sampled_from([*{*labels} - {labels[row]}, "nonsense", None]))
    data_ = release.table.set_column(4, "at", pa.array(labels, pa.string()))
    assert codes(with_data(release, data_)) >= {"granule"}


@FEW
@given(releases(), st.data())
def test_a_shifted_interval_is_noticed(found, data):
    """One row, or every row of a granule, whose start or end is not the granule's."""
    case, release, ledger = found
    column = data.draw(st.sampled_from(["at_start", "at_end"]))
    values = release.table[column].to_pylist()
    row = data.draw(st.integers(0, len(values) - 1))
    every = data.draw(st.booleans())
    step = 1 if case.axis is oracle.DAYS else dt.timedelta(days=1)
    moved = data.draw(moments(case.axis)) if values[row] is None else values[row] + step
    changed = [moved if n == row or (every and v == values[row]) else v for n, v in enumerate(values)]
    place = release.table.schema.get_field_index(column)
    table = release.table.set_column(place, column, pa.array(changed, case.axis.type))
    assert codes(with_data(release, table)) >= {"granule"}
    assert codes(with_data(release, table), ledger) >= {"granule"}


@FEW
@given(releases(), st.randoms(use_true_random=False))
def test_rows_in_an_order_of_their_own_are_noticed(found, chance):
    """Whatever order rows stand in, it is refused unless it is the one that follows from their values."""
    _, release, _ = found
    order = list(range(release.table.num_rows))
    chance.shuffle(order)
    turned = release.table.take(pa.array(order))
    assert codes(with_data(release, turned)) == (set() if turned.equals(release.table) else {"row-order"})


@FEW
@given(releases(), st.data())
def test_window_counts_bracket_the_truth(found, data):
    case, release, _ = found
    low, high = sorted([data.draw(moments(case.axis)), data.draw(moments(case.axis))])
    where = data.draw(
        st.sampled_from([{}, {"sex": "f"}, {"zip": oracle.shown_zip(case, "11"), "sex": "m"}, {"zip": None}])
    )
    estimate = answer(release, WindowCount(between=(low, high), where=where))
    for published in (True, False):
        truth = oracle.true_count(case, low, high, where, published=published)
        assert estimate.low <= truth <= estimate.high
    assert estimate.low <= estimate.value <= estimate.high + 1e-9


@FEW
@given(cases(complete=True), st.sampled_from([0, 1, 3_600, 86_400, 5 * 86_400]))
def test_one_known_visit_gives_the_candidates_of_the_twin(case, tolerance):
    """Sizes, worst and mean agree with sets of people; without tolerance the release keeps 1/k."""
    release, ledger = oracle.build(case)
    told = tolerance // 86_400 if case.axis is oracle.DAYS else tolerance
    tolerance = told * 86_400 if case.axis is oracle.DAYS else tolerance
    breach = attack(release, ledger, Adversary(tolerance=told))
    before, after = defaultdict(dict), defaultdict(dict)
    for row, found in zip(case.rows, oracle.placed(case), strict=True):
        visit = (row["zip"], row["sex"], row["at"])
        before[row["person"]][visit] = 1 / len(oracle.candidates_before(case, [row], tolerance))
        reached = found is not None
        after[row["person"]][visit] = (
            1 / len(oracle.candidates_after(case, [row], tolerance)) if reached else 0.0
        )
    for risk, chances in ((breach.before, before), (breach.after, after)):
        means = [sum(c.values()) / len(c) for c in chances.values()]
        assert risk.worst == pytest.approx(max((max(c.values()) for c in chances.values()), default=0.0))
        assert risk.mean == pytest.approx(sum(means) / len(means) if means else 0.0)
    assert breach.people == breach.everyone == len(before)
    if not tolerance:
        assert breach.worst <= 1 / case.k
        assert breach.share_above(1 / case.k) == 0


@FEW
@given(cases(complete=True), st.sampled_from([0, 86_400]))
def test_all_visits_known_gives_the_candidates_of_the_twin(case, tolerance):
    """An adversary who knows more visits than anyone has knows them all, so nothing is left to chance."""
    release, ledger = oracle.build(case)
    told = tolerance // 86_400 if case.axis is oracle.DAYS else tolerance
    breach = attack(release, ledger, Adversary(visits=50, tolerance=told))
    classes = oracle.placed(case)
    before, after = [], []
    for person in {row["person"] for row in case.rows}:
        visits = [(r, c) for r, c in zip(case.rows, classes, strict=True) if r["person"] == person]
        before.append(len(oracle.candidates_before(case, [r for r, _ in visits], tolerance)))
        shown = [r for r, c in visits if c is not None]
        after.append(len(oracle.candidates_after(case, shown, tolerance)) if shown else 0)
    assert Counter(breach.before.candidates.tolist()) == Counter(before)
    assert Counter(breach.after.candidates.tolist()) == Counter(after)


@FEW
@given(releases())
def test_homogeneity_and_losses_agree_with_the_twin(found):
    case, release, ledger = found
    rows, people, results = oracle.rows_by_class(case), oracle.people_by_class(case), defaultdict(Counter)
    persons = defaultdict(Counter)
    for row, c in zip(case.rows, oracle.placed(case), strict=True):
        if c is not None:
            results[c][row["result"]] += 1
            persons[c][row["person"]] += 1
    breach, loss = attack(release, ledger), measure(release, ledger, windows=5)
    shares = [max(results[c].values()) / rows[c] for c in rows]
    assert breach.commonest_sensitive["result"]["worst"] == pytest.approx(max(shares))
    assert breach.commonest_sensitive["result"]["mean"] == pytest.approx(sum(shares) / len(shares))
    assert breach.largest_share == pytest.approx(max(max(persons[c].values()) / rows[c] for c in rows))
    assert (loss.rows, loss.groups) == (sum(rows.values()), len(rows))
    assert loss.suppressed == len(case.rows) - loss.rows
    assert loss.people_per_group == pytest.approx(sum(len(people[c]) for c in rows) / len(rows))
    whole = {r["person"] for r in case.rows if r["person"] is not None and r["at"] is not None}
    assert loss.people == len(whole)
    assert loss.suppressed_people == len(whole - {p for c in rows for p in people[c]})
    assert math.isfinite(loss.window_error_mean)


@FEW
@given(cases(complete=True))
def test_profile_agrees_with_the_twin(case):
    """At every granularity the twin knows, and as the table stands."""
    case = replace(case, general_zip=False)
    names = (
        ["day", "week", "all"]
        if case.axis is oracle.DAYS
        else ["day", "week", "month", "all", "business-day"]
    )
    found = profile(oracle.relation(case), case.k, granularities=names)
    levels = {level.granularity: level for level in found.granularities}
    for name in names:
        level = levels[name]
        at = replace(case, name=name, gaps="error")
        people = oracle.people_by_class(at)
        rows = Counter(c for c in (oracle.class_of(at, row) for row in case.rows) if c is not None)
        below = {p for members in people.values() if len(members) < case.k for p in members}
        assert level.groups == len(people)
        assert level.smallest_group == min(map(len, people.values()), default=0)
        assert level.claimed_by_rows == min(rows.values(), default=0)
        assert level.people_unique == len(
            {p for members in people.values() if len(members) == 1 for p in members}
        )
        assert level.people_below_k == len(below)
        assert level.rows_below_k == sum(rows[c] for c, members in people.items() if len(members) < case.k)
        assert level.rows_in_gaps == len(case.rows) - sum(rows.values())
    exact = defaultdict(set)
    for row in case.rows:
        exact[row["zip"], row["sex"], row["at"]].add(row["person"])
    assert found.already_anonymous == all(len(members) >= case.k for members in exact.values())
    assert found.as_it_stands.smallest_group == min(map(len, exact.values()), default=0)
