"""generalize_time against the oracle, on random relations."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import generalization as oracle

import timeveil as tv

ROLES = tv.Roles(respondent="who", time="when", quasi=["place", "sex"], sensitive=["what"])
NAMES = list(oracle.CALENDAR)

dates = st.one_of(
    st.dates(dt.date(2005, 12, 20), dt.date(2006, 2, 20)),
    st.dates(dt.date(2004, 1, 1), dt.date(2010, 12, 31)),
    st.dates(),
)
rows_of = st.lists(
    st.tuples(
        st.sampled_from("abcdefg"),
        st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from(["f", "m"])),
        dates,
    ),
    min_size=1,
    max_size=40,
)
few_quasi = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.just(("x", "f")), dates), min_size=2, max_size=40
)
relations = st.one_of(rows_of, few_quasi, few_quasi)
thresholds = st.integers(2, 4)


def table_of(rows) -> pa.Table:
    return pa.table(
        {
            "who": [r[0] for r in rows],
            "when": pa.array([r[2] for r in rows], pa.date32()),
            "place": pa.array([r[1][0] for r in rows], pa.string()),
            "sex": [r[1][1] for r in rows],
            "what": [f"s{i % 3}" for i in range(len(rows))],
        }
    )


def run(rows, k, **options):
    """The release, or the infeasibility."""
    try:
        return tv.generalize_time(table_of(rows), ROLES, k, **options)
    except tv.InfeasibleError as infeasible:
        return infeasible


@settings(max_examples=some(1000))
@given(relations, thresholds)
def test_counts_and_frontier_equal_the_oracle(rows, k):
    """Every candidate's numbers, feasibility, the frontier and the choice are those of brute force."""
    outcome = run(rows, k)
    feasible = oracle.feasible(rows, NAMES, k)
    if isinstance(outcome, tv.InfeasibleError):
        assert not feasible
        best = max(oracle.count(rows, name, k).smallest_group for name in NAMES)
        assert outcome.facts["best_k"] == (
            best if outcome.code == "no-granularity" else len({r[0] for r in rows})
        )
        return
    release, _ = outcome
    for name, found in release.manifest["candidates"].items():
        counted = oracle.count(rows, name, k)
        assert {key: found[key] for key in vars(counted)} == vars(counted)
        assert found["feasible"] == (name in feasible)
    frontier = {frozenset(oracle.partition(rows, name)) for name in release.manifest["frontier"]}
    assert frontier == oracle.frontier(rows, NAMES, k)
    chosen = feasible[release.manifest["granularity"]]
    assert chosen.groups == max(c.groups for c in feasible.values())


@settings(max_examples=some(600))
@given(relations, thresholds)
def test_algorithm_1_finds_the_least_generality(rows, k):
    """choose="generality" reaches exactly the least gen_c, at a granularity no tied one refines."""
    outcome = run(rows, k, choose="generality")
    least = oracle.least(rows, NAMES, k)
    if isinstance(outcome, tv.InfeasibleError):
        assert least is None
        return
    chosen = outcome[0].manifest["granularity"]
    feasible = oracle.feasible(rows, NAMES, k)
    assert oracle.generality(feasible[chosen]) == least
    tied = [name for name, c in feasible.items() if oracle.generality(c) == least]
    assert not any(
        oracle.refines(rows, name, chosen) and not oracle.refines(rows, chosen, name) for name in tied
    )


@settings(max_examples=some(300))
@given(
    relations, thresholds, st.sampled_from([0.0, 0.1, 0.3, 0.6]), st.sampled_from(["groups", "generality"])
)
def test_the_promise_holds_and_a_judge_agrees(rows, k, suppress, choose):
    """Whatever is published, every group holds k people, by the oracle and by the independent verifier."""
    outcome = run(rows, k, suppress=suppress, choose=choose)
    if isinstance(outcome, tv.InfeasibleError):
        if outcome.code == "no-granularity":
            below = min(oracle.count(rows, name, k).rows_below_k for name in NAMES)
            assert below > suppress * len(rows) or below == len(rows)
        return
    release, ledger = outcome
    groups: dict[int, list[int]] = {}
    for row, group in zip(ledger.table["row"].to_pylist(), ledger.table["group"].to_pylist(), strict=True):
        groups.setdefault(group, []).append(row)
    withheld = groups.pop(None, [])
    assert len(withheld) <= suppress * len(rows) + 1e-9
    assert all(len({rows[i][0] for i in members}) >= k for members in groups.values())
    assert release.table.num_rows == len(rows) - len(withheld)
    assert tv.verify(release, ledger)


@settings(max_examples=some(200))
@given(relations, thresholds, st.randoms(use_true_random=False))
def test_nothing_but_content_matters(rows, k, random):
    """Row order and the names of respondents change neither the release nor its order."""
    shuffled = list(rows)
    random.shuffle(shuffled)
    renamed = {name: f"p{random.random()}{i}" for i, name in enumerate("abcdefgh")}
    first = run(rows, k)
    table = table_of(rows)
    order = sorted(range(len(rows)), key=lambda i: random.random())
    other = table.take(order).set_column(0, "who", [[renamed[rows[i][0]] for i in order]])
    try:
        second = tv.generalize_time(other, ROLES, k)[0]
    except tv.InfeasibleError:
        assert isinstance(first, tv.InfeasibleError)
        return
    assert first[0].manifest == second.manifest
    assert first[0].table.equals(second.table) or first[0].table.to_pylist() == second.table.to_pylist()


@settings(max_examples=some(200))
@given(relations, thresholds, st.data())
def test_repeating_a_persons_rows_never_helps(rows, k, data):
    """More rows of the same people leave every smallest group as it was: people count, rows do not."""
    extra = data.draw(st.lists(st.sampled_from(rows), max_size=30))
    first, second = run(rows, k), run([*rows, *extra], k)
    assert isinstance(first, tv.InfeasibleError) == isinstance(second, tv.InfeasibleError)
    if not isinstance(first, tv.InfeasibleError):
        numbers = [
            {
                name: (c["smallest_group"], c["groups"], c["group_total"])
                for name, c in r.manifest["candidates"].items()
            }
            for r, _ in (first, second)
        ]
        assert numbers[0] == numbers[1]


@settings(max_examples=some(200))
@given(
    few_quasi, thresholds, st.lists(st.integers(0, 60), min_size=40, max_size=40), st.sampled_from([0.0, 0.2])
)
def test_hierarchies_are_searched_with_time_as_by_brute_force(rows, k, ages, suppress):
    """The minimal nodes over age intervals times the calendar are those of trying every node."""
    names = ["day", "week", "month", "year", "all"]
    ages = ages[: len(rows)]
    table = table_of(rows).append_column("age", pa.array(ages))
    roles = tv.Roles(respondent="who", time="when", quasi=["age"], drop="rest")
    levels = [lambda a: a, lambda a: a // 10, lambda a: a // 30, lambda a: 0]

    def at(level):
        return [(r[0], (levels[level](a),), r[2]) for r, a in zip(rows, ages, strict=True)]

    def fits(counted):
        return counted.rows_below_k <= suppress * len(rows) + 1e-9 and counted.groups > counted.groups_below_k

    counted = {(level, name): oracle.count(at(level), name, k) for level in range(4) for name in names}
    good = {node for node, c in counted.items() if fits(c)}
    try:
        release, ledger = tv.generalize_time(
            table, roles, k, granularities=names, suppress=suppress,
            hierarchies={"age": tv.Hierarchy.intervals([10, 30])},
        )  # fmt: skip
    except tv.InfeasibleError:
        assert not good or len({r[0] for r in rows}) < k
        return
    minimal = {
        (level, frozenset(oracle.partition(rows, name)))
        for level, name in good
        if not any(
            (other, finer) != (level, name)
            and other <= level
            and oracle.refines(rows, finer, name)
            and (other < level or not oracle.refines(rows, name, finer))
            for other, finer in good
        )
    }
    found = {
        (
            node["levels"].get("age", {"level": 0})["level"],
            frozenset(oracle.partition(rows, node["granularity"])),
        )
        for node in release.manifest["nodes"]
    }
    assert found == minimal
    kept = max(c.groups - c.groups_below_k for node, c in counted.items() if node in good)
    assert release.manifest["counts"]["groups"] == kept
    assert tv.verify(release, ledger)


@pytest.mark.parametrize("gaps", ["suppress", "skip", "next"])
@settings(max_examples=some(120))
@given(rows=few_quasi, k=thresholds)
def test_gap_policies_keep_the_promise(gaps, rows, k):
    """Business days with any policy: the promise holds and the judge agrees."""
    try:
        release, ledger = tv.generalize_time(
            table_of(rows),
            ROLES,
            k,
            granularities=["business-day", "business-month", "year", "all"],
            gaps=gaps,
        )
    except tv.InfeasibleError:
        return
    assert tv.verify(release, ledger)
    weekend = sum(r[2].weekday() >= 5 for r in rows)
    numbers = release.manifest["candidates"]
    if gaps != "skip":
        assert numbers["business-day"]["rows_in_gaps"] == weekend
    if gaps == "suppress":
        working = [r for r in rows if r[2].weekday() < 5]
        if working:
            assert numbers["business-day"]["smallest_group"] == oracle.count(working, "day", k).smallest_group
            assert numbers["business-month"]["group_total"] == oracle.count(working, "month", k).group_total
    if gaps == "skip":
        assert ("business-day" in numbers) == (weekend == 0)
