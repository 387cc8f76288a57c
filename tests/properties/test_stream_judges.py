"""The judges of streams agree with the slow twin, and no minimal corruption gets past `verify`."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import judges_stream as oracle

from timeveil.domain.release import Release
from timeveil.evidence.published import WindowCount
from timeveil.judging import answer, attack, measure, verify
from timeveil.models.stream.judges.query import share_of_bucket
from timeveil.models.stream.parameters import StreamAdversary

FEW = settings(max_examples=40, deadline=None)
SLOTS = st.sampled_from(
    [
        (oracle.DATES, "day"),
        (oracle.DATES, "week"),
        (oracle.ZONED, "day"),
        (oracle.ZONED, "hour"),
        (oracle.DAYS, "day"),
        (oracle.DAYS, "week"),
        (oracle.NUMBERS, "day"),
    ]
)
ILL = ["flu", "flu", "flu", "tbc", "hiv", "nor"]


@st.composite
def cases(draw, buckets=("anatomy", "none"), complete=False, crowds=0):
    """Some records anywhere, and `crowds` slots with one record of each of l values or more."""
    axis, slot = draw(SLOTS)
    promise, window = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    chance = draw(st.randoms(use_true_random=False))
    steps = draw(st.lists(st.integers(0, 7), max_size=25))
    rows = [{"person": f"p{chance.randrange(12)}", "step": s, "ill": chance.choice(ILL)} for s in steps]
    rows += [
        {"person": f"c{crowd}{n}", "step": 2 * crowd, "ill": value}
        for crowd in range(crowds)
        for n, value in enumerate(["flu", "tbc", "hiv", "nor"])
    ]
    if not complete:
        rows += [{"person": "x", "step": None, "ill": "flu"}, {"person": "y", "step": 1, "ill": None}]
    for row in rows:
        row.update(
            zip=chance.choice(["1", "2", None]), sex=chance.choice("fm"), ward=chance.choice([1, None])
        )
    chance.shuffle(rows)
    return oracle.Case(
        rows, promise, window, axis, slot, draw(st.sampled_from(buckets)), draw(st.integers(0, 99))
    )


@st.composite
def releases(draw, **named):
    """A case that has something to publish, and its release."""
    case = draw(cases(crowds=2, **named))
    return case, *oracle.build(case)


def codes(release, ledger=None) -> set[str]:
    return {violation.code for violation in verify(release, ledger).violations}


def with_tables(release: Release, **tables) -> Release:
    return replace(release, parts={**release.parts, **tables})


def with_column(table: pa.Table, name: str, values) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.set_column(place, name, pa.array(values, table.schema.field(name).type))


def with_counts(release: Release, **counts) -> Release:
    return replace(release, manifest={**release.manifest, "counts": {**release.manifest["counts"], **counts}})


@FEW
@given(cases())
def test_a_release_built_by_the_definition_passes(case):
    """Both scopes accept what the definition itself produces, whatever the slots, buckets and nulls."""
    release, ledger = oracle.build(case)
    assert verify(release).violations == ()
    assert verify(release, ledger).violations == ()


@FEW
@given(releases(), st.data())
def test_a_foreign_slot_is_noticed(found, data):
    """A label of no slot, one before the first stated, and a first slot that is none."""
    case, release, _ = found
    slots = release.table["slot"].to_pylist()
    wrong = [oracle.label_of(case, -3) if slot == slots[0] else slot for slot in slots]
    tables = {"data": with_column(release.table, "slot", wrong)}
    assert "slot" in codes(with_tables(release, **tables))
    if case.axis is not oracle.NUMBERS:
        lost = data.draw(st.sampled_from(["soon", "", "2024-13-77", "9999999", "day x", None]))
        tables = {"data": with_column(release.table, "slot", [lost, *slots[1:]])}
        assert "slot" in codes(with_tables(release, **tables))
    assert "slot" in codes(with_counts(release, first_slot="never"))


@settings(max_examples=some(600), deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.data())
def test_the_bounds_of_a_bucket_are_met_by_some_assignment_and_by_none_exceeded(values, data):
    """Over every way to hand the values of a bucket to its records."""
    fit = data.draw(st.integers(0, len(values)))
    holders = values.count("a")
    expected, low, high = share_of_bucket(np.array([fit]), np.array([holders]), np.array([len(values)]))
    found = [sum(v == "a" for v in order[:fit]) for order in permutations(values)]
    assert (min(found), max(found)) == (low, high)
    assert sum(found) / len(found) == pytest.approx(expected)


@FEW
@given(releases(complete=True), st.data())
def test_window_counts_bracket_the_truth_about_the_published_slots(found, data):
    case, release, _ = found
    low, high = sorted(data.draw(st.tuples(st.integers(0, 8), st.integers(0, 8))))
    where = data.draw(
        st.dictionaries(
            st.sampled_from(["zip", "sex", "ward", "ill"]), st.sampled_from(["1", "f", None]), max_size=3
        ).map(lambda w: {c: {"ill": "flu", "ward": 1}.get(c, v) if v else None for c, v in w.items()})
    )
    slots = oracle.places(case)
    truth = sum(
        slot is not None and low <= slot < high and all(row[c] == v for c, v in where.items())
        for row, slot in zip(case.rows, slots, strict=True)
    )
    between = (oracle.label_of(case, low), oracle.label_of(case, high))
    estimate = answer(release, WindowCount(between=between, where=where))
    assert estimate.low <= truth <= estimate.high
    assert estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9
    if case.buckets == "none" or "ill" not in where:
        assert estimate.low == truth == estimate.high


@FEW
@given(cases(buckets=("anatomy",), complete=True))
def test_nobody_who_knows_the_published_slot_exceeds_one_in_l(case):
    """The chance of every true value is that of the twin, and the promise bounds it."""
    release, ledger = oracle.build(case)
    breach = attack(release, ledger, StreamAdversary("published-slot"))
    chances = oracle.bucket_chances(case)
    assert breach.worst <= 1 / case.l + 1e-9
    assert breach.share_above(1 / case.l) == 0
    assert breach.worst == pytest.approx(float(max(chances.values(), default=0)))
    people = defaultdict(list)
    for n, chance in chances.items():
        people[case.rows[n]["person"]].append(chance)
    means = [sum(c) / len(c) for c in people.values()]
    assert breach.mean == pytest.approx(float(sum(means) / len(means)) if means else 0.0)
    assert breach.people == len(people)


@FEW
@given(cases(complete=True))
def test_whoever_knows_the_true_slot_sees_what_the_twin_sees(case):
    release, ledger = oracle.build(case)
    breach = attack(release, ledger, StreamAdversary("true-slot"))
    chances = oracle.outcome_chances(case)
    for name, fates in {
        "stayed": lambda d: d == 0,
        "moved": lambda d: d is not None and d > 0,
        "missing": lambda d: d is None,
    }.items():
        found = [float(chance) for fate, chance in chances.values() if fates(fate)]
        assert sorted(breach.parts[name].chance.tolist()) == pytest.approx(sorted(found))
    assert breach.people == breach.everyone == len({row["person"] for row in case.rows})


@FEW
@given(cases(buckets=("anatomy",), complete=True))
def test_following_a_person_gives_the_candidates_of_the_twin(case):
    """Somebody is pinned if and only if one value is left; a value that is not left has no chance."""
    release, ledger = oracle.build(case)
    breach = attack(release, ledger, StreamAdversary("several-slots"))
    found = oracle.candidates(case)
    constant = [left for left, true in found.values() if len(true) == 1]
    assert breach.people == len(found)
    assert len(breach.parts["constant"].chance) == len(constant)
    assert sum(len(left) == 1 for left in constant) == sum(breach.parts["constant"].chance > 1 - 1e-9)
    assert all(0 < chance <= 1 for chance in breach.parts["constant"].chance)
    assert not breach.parts["changing"].chance.any()


@FEW
@given(cases(complete=True))
def test_losses_agree_with_the_twin(case):
    release, ledger = oracle.build(case)
    loss = measure(release, ledger, windows=5)
    slots = oracle.places(case)
    moves = [s - row["step"] for row, s in zip(case.rows, slots, strict=True) if s is not None]
    withheld = slots.count(None)
    assert (loss.rows, loss.suppressed) == (len(moves), withheld)
    assert loss.moved == sum(d > 0 for d in moves)
    assert loss.largest_distance == max(moves, default=0)
    assert loss.mean_distance == pytest.approx(sum(moves) / loss.moved if loss.moved else 0.0)
    assert loss.information_loss == sum(moves) + case.window * withheld
    again = len(case.rows) - len({(row["person"], row["step"]) for row in case.rows})
    assert loss.suppress_only >= again
    assert again or loss.suppress_only == oracle.minimum_suppression(case)
    assert all(math.isfinite(error.release) for error in loss.window_errors)
