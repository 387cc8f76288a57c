"""Rows at steps of their own: the promise by brute force, the sweep by a slow twin, tilings by trying all."""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.experiments.local import against_optimum
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import generalization as calendar
from tests.oracles import local as oracle

import timeveil as tv
from timeveil.engines import Cells
from timeveil.models.events.method.local import Scale
from timeveil.models.events.method.sweep import sweep
from timeveil.models.events.words.pictures import size_picture

ROLES = tv.Roles(respondent="who", time="when", quasi=["age", "sex", "place"], sensitive=["what"])
HIERARCHIES = {"age": "intervals:5,20", "sex": "suppression"}
NAMES = ["day", "week", "month", "year", "all"]
WIDTHS = {0: 1, 1: 5, 2: 20}

rows_of = st.lists(
    st.tuples(
        st.sampled_from("abcdefghij"),
        st.sampled_from([20, 21, 24, 26, 39, 41, None]),
        st.sampled_from(["f", "m"]),
        st.sampled_from(["x", "x", "x", "y"]),
        st.dates(dt.date(2005, 12, 20), dt.date(2006, 2, 20)),
    ),
    min_size=4,
    max_size=40,
)
ways = st.sampled_from(["refined", "local", "tiling"])


def table_of(rows) -> pa.Table:
    who, age, sex, place, when = zip(*rows, strict=True)
    return pa.table(
        {
            "who": pa.array(who, pa.string()),
            "when": pa.array(when, pa.date32()),
            "age": pa.array(age, pa.int64()),
            "sex": sex,
            "place": place,
            "what": [f"s{age}" for age in age],
        }
    )


def published(rows, k, way, **options):
    options = {"suppress": 0.2, "granularities": NAMES, "hierarchies": HIERARCHIES, **options}
    try:
        return tv.generalize_time(table_of(rows), ROLES, k, recode=way, allow_loss=True, **options)
    except tv.InfeasibleError:
        return None


def label(row, step) -> tuple[object, ...]:
    """What a row is published as at a step, by the calendar and the intervals of the oracle."""
    _, age, sex, place, when = row
    level = step["levels"].get("age", {"level": 0})["level"]
    if level == 3:
        shown = "*"
    elif age is None:
        shown = None
    else:
        low = age // WIDTHS[level] * WIDTHS[level]
        shown = f"[{low}, {low + WIDTHS[level]})" if level else str(age)
    return shown, "*" if "sex" in step["levels"] else sex, place, calendar.CALENDAR[step["granularity"]](when)


def readings(rows, release) -> list[tuple[int, tuple[object, ...]] | None]:
    """The step and label that each row is read at: the first step that publishes its label."""
    labels: dict[int, set[tuple[object, ...]]] = defaultdict(set)
    steps = release.manifest["steps"]
    for line in release.table.to_pylist():
        number, start = line["when_step"] - 1, line["when_start"] or dt.date(2006, 1, 1)
        granule = calendar.CALENDAR[steps[number]["granularity"]](start)
        age = None if line["age"] is None else str(line["age"])  # a number where no row has an interval
        labels[number].add((age, line["sex"], line["place"], granule))
    found = []
    for row in rows:
        covering = [(n, label(row, s)) for n, s in enumerate(steps) if label(row, s) in labels[n]]
        found.append(covering[0] if covering else None)
    return found


@settings(max_examples=some(300))
@given(rows_of, st.integers(2, 3), ways)
def test_whoever_knows_one_visit_finds_k_people(rows, k, way):
    pair = published(rows, k, way)
    if pair is None:
        return
    release, ledger = pair
    people, often = defaultdict(set), defaultdict(int)
    for row, reading in zip(rows, readings(rows, release), strict=True):
        if reading is not None:
            people[reading].add(row[0])
            often[reading] += 1
    assert all(len(who) >= k for who in people.values())
    assert min(map(len, people.values())) == release.manifest["counts"]["smallest_group"]
    assert sum(often.values()) == release.table.num_rows
    assert len(people) == release.manifest["counts"]["groups"]
    assert tv.verify(release, ledger)
    assert tv.attack(release, ledger).worst <= 1 / k


@settings(max_examples=some(150))
@given(rows_of, st.integers(2, 3), ways, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(rows, k, way, chance):
    mixed = chance.sample(rows, len(rows))
    pair, other = published(rows, k, way), published(mixed, k, way)
    assert (pair is None) == (other is None)
    if pair and other:
        assert pair[0].table.drop(["what"]).equals(other[0].table.drop(["what"]))
        assert pair[0].manifest == other[0].manifest


@pytest.mark.parametrize("seed", range(2))
def test_columns_that_lose_alike_are_raised_in_their_order(seed):
    """Of 81 combinations of levels one chain is tried, and sums differ in their last digits with the rows."""
    rng = np.random.default_rng(seed)
    half = [(f"p{rng.integers(30)}", *rng.integers(30, size=3).tolist()) for _ in range(120)]
    rows = [*half, *((f"{who}'", b, a, day) for who, a, b, day in half)]
    releases = []
    for order in (np.arange(len(rows)), rng.permutation(len(rows)), rng.permutation(len(rows))):
        who, a, b, day = zip(*(rows[n] for n in order), strict=True)
        when = pa.array([dt.date(2006, 1, 1) + dt.timedelta(n) for n in day])
        release, _ = tv.generalize_time(
            pa.table({"who": who, "a": a, "b": b, "when": when}),
            tv.Roles(respondent="who", time="when", quasi=["a", "b"]),
            3,
            recode="local",
            granularities=["day", "all"],
            hierarchies=dict.fromkeys("ab", "intervals:2,4,8,16,32,64,128"),
        )
        releases.append(release)
    assert all(release.manifest == releases[0].manifest for release in releases)
    assert all(release.table.equals(releases[0].table) for release in releases)


@pytest.mark.parametrize("way", ["refined", "local", "tiling"])
def test_a_release_without_rows_has_no_steps(way, tmp_path):
    pair = published([(None, 20, "f", "x", dt.date(2006, 1, 1))] * 3, 2, way, nulls="withhold")
    assert pair
    release, ledger = pair
    assert release.manifest["steps"] == []
    assert tv.verify(release)
    assert tv.verify(release, ledger)
    assert tv.measure(release, ledger).suppressed == 3
    assert tv.attack(release, ledger).worst == 0
    tv.write(release, tmp_path / "out")
    assert tv.report(tmp_path / "out")


def test_the_same_text_at_two_steps_is_two_groups():
    letters = ["a", "b", "c", "d"]
    table = pa.table({"who": letters, "when": [dt.date(2006, 1, 1)] * 4, "place": letters})
    levels = pa.table({"value": letters, "near": ["x", "x", "c", "d"], "far": ["x"] * 4})
    roles = tv.Roles(respondent="who", time="when", quasi=["place"])
    options = {"granularities": ["day"], "hierarchies": {"place": levels}, "recode": "local"}
    release, ledger = tv.generalize_time(table, roles, 2, **options)
    assert release.table["place"].to_pylist() == ["x"] * 4
    assert release.table["when_step"].to_pylist() == [1, 1, 2, 2]
    assert release.manifest["counts"]["groups"] == tv.measure(release, ledger).groups == 2
    assert tv.verify(release, ledger)
    picture = size_picture(release, 2)
    assert picture
    assert "2 rows" in picture.svg()
    assert "4 rows" not in picture.svg()


@settings(max_examples=some(150))
@given(rows_of, st.integers(2, 3))
def test_refined_rows_are_no_coarser_than_the_global_answer(rows, k):
    refined, alike = published(rows, k, "refined"), published(rows, k, "global")
    if refined is None or alike is None:
        return
    assert refined[0].manifest["counts"]["withheld"] == alike[0].manifest["counts"]["withheld"]
    losses = [tv.measure(*pair, windows=0) for pair in (refined, alike)]
    # Widths are no measure here: `all` ends with the data, and a month does not.
    for column in losses[0].bits.keys() - {"when"}:
        assert losses[0].bits[column] <= losses[1].bits[column] + 1e-9
    assert losses[0].groups >= losses[1].groups


def test_local_rows_are_no_coarser_where_weeks_do_not_refine_months():
    """The coarsest step does not contain the global answer here: a sweep inside it loses more."""
    rows = [(f"p{n % 5}", 20, "f", "x", dt.date(2006, 1, 2) + dt.timedelta(n)) for n in range(84)]
    local = published(rows, 3, "local", granularities=["week", "month"])
    alike = published(rows, 3, "global", granularities=["week", "month"])
    assert local
    assert alike
    assert [step["granularity"] for step in local[0].manifest["steps"]] == ["week"]
    assert local[0].manifest["counts"]["groups"] == alike[0].manifest["counts"]["groups"] == 12
    lost = {way: risk["bits"] for way, risk in alike[1].facts["ways"].items()}
    assert lost == dict.fromkeys(("global", "tiling", "refined", "local"), 0.0)
    assert tv.verify(*local)


def test_of_two_orders_of_the_steps_the_better_is_taken(monkeypatch):
    tables = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        draws = rng.integers((0, 20, 0), (20, 42, 40), size=(80, 3)).tolist()
        rows = [
            (f"p{who}", age, "fm"[age % 2], "x", dt.date(2006, 1, 1) + dt.timedelta(day))
            for who, age, day in draws
        ]
        tables.append(rows)

    def bits(rows):
        return tv.measure(*published(rows, 3, "local"), windows=0).bits_per_row

    both = [bits(rows) for rows in tables]
    monkeypatch.setattr(Scale, "uneven_bits", Scale.mean_bits)
    first = [bits(rows) for rows in tables]
    assert all(better <= mean + 1e-9 for better, mean in zip(both, first, strict=True))
    assert sum(both) < sum(first)


@settings(max_examples=some(300))
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 11), st.sampled_from("abcdefgh")), min_size=1, max_size=40
    ),
    st.integers(2, 4),
)
def test_the_sweep_is_its_slow_twin(visits, k):
    """Places of twelve positions; steps of one, two, four and all positions of a place, then of both."""
    people: dict[tuple[int, int], set[str]] = defaultdict(set)
    for place, position, who in visits:
        people[place, position].add(who)
    listed = sorted(people)
    owners = [(n, ord(who)) for n, cell in enumerate(listed) for who in sorted(people[cell])]
    cells = Cells(
        quasi=np.array([place for place, _ in listed], np.int32),
        position=np.array([position for _, position in listed], np.int32),
        rows=np.ones(len(listed), np.int64),
        cell=np.array([n for n, _ in owners], np.int32),
        person=np.array([who for _, who in owners], np.int32),
        visit_rows=np.ones(len(owners), np.int64),
        values={},
        held={},
    )
    steps = [lambda c, w=w: (c[0], c[1] // w) for w in (1, 2, 4, 12)] + [lambda c: (0, c[1] // 6)]
    for outer in (steps[3], lambda c: (0, c[1] // 6)):
        finer = steps[:3] if outer is steps[3] else [steps[0], steps[1], lambda c: (c[0], c[1] // 6)]
        expected = oracle.sweep(people, outer, [*finer, outer], k)
        numbers = [np.array([100 * step(c)[0] + step(c)[1] for c in listed]) for step in (*finer, outer)]
        swept = sweep(cells, numbers[-1], [number.__getitem__ for number in numbers], k)
        assert swept.tolist() == [-1 if expected[c] is None else expected[c] for c in listed]


@settings(max_examples=some(100))
@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 40)), min_size=3, max_size=14),
    st.integers(2, 3),
)
def test_no_tiling_loses_less(visits, k):
    first = dt.date(2006, 1, 2)
    rows = [(who, first + dt.timedelta(day // 7 * 7)) for who, day in visits]
    table = pa.table(
        {"who": [who for who, _ in rows], "when": pa.array([day for _, day in rows], pa.date32())}
    )
    names, roles = ["week", "month", "year"], tv.Roles(respondent="who", time="when")
    try:
        release, ledger = tv.generalize_time(
            table, roles, k, recode="tiling", granularities=names, suppress=0.9, allow_loss=True
        )
    except tv.InfeasibleError:
        return
    people, often = defaultdict(set), defaultdict(int)
    for who, day in rows:
        people[day.toordinal()].add(who)
        often[day.toordinal()] += 1

    def lost(day: int, name: str) -> float:
        date = dt.date.fromordinal(day)
        month = (date.replace(day=28) + dt.timedelta(4)).replace(day=1) - date.replace(day=1)
        return math.log2({"week": 7.0, "month": float(month.days), "year": 365.0}[name])

    granules = {name: lambda d, n=name: calendar.CALENDAR[n](dt.date.fromordinal(d)) for name in names}
    best = min(
        (
            sum(often[day] for day, name in tiling.items() if name is None),
            sum(often[day] * lost(day, name) for day, name in tiling.items() if name is not None),
        )
        for tiling in oracle.tilings(people, granules, k)
    )
    shown = [(line["when_start"], line["when_step"]) for line in release.table.to_pylist()]
    steps = [step["granularity"] for step in release.manifest["steps"]]
    found = sum(lost(start.toordinal(), steps[number - 1]) for start, number in shown)
    assert release.manifest["counts"]["withheld"] == best[0]
    # Granularities that cut the data alike are one, named by the finest.
    assert found <= best[1] + 1e-6
    assert tv.verify(release, ledger)


@settings(max_examples=some(40))
@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from("fm"), st.integers(0, 90)),
        min_size=4,
        max_size=14,
    ),
    st.integers(2, 3),
)
def test_local_loses_no_less_than_an_integer_program_allows(visits, k):
    bits = against_optimum(visits, k)
    if bits:
        local, bound = bits
        assert bound <= local + 1e-6


def test_the_integer_program_finds_what_can_be_seen():
    # Two people share a day, and two more a week: nobody has to be told the month or to lose the sex.
    visits = [("a", "f", 1), ("b", "f", 1), ("c", "f", 8), ("d", "f", 9)]
    assert against_optimum(visits, 2) == (pytest.approx(math.log2(7) / 2),) * 2
    assert against_optimum(visits, 4) == (pytest.approx(math.log2(31)),) * 2


@pytest.mark.parametrize("way", ["refined", "local", "tiling"])
@pytest.mark.parametrize("seed", range(2))
def test_engines_agree(way, seed):
    rng = np.random.default_rng(seed)
    rows = [
        (
            f"p{rng.integers(12)}",
            int(rng.integers(20, 42)),
            "fm"[rng.integers(2)],
            "xy"[int(rng.random() < 0.2)],
            dt.date(2006, 1, 1) + dt.timedelta(int(rng.integers(40))),
        )
        for _ in range(60)
    ]
    memory, duckdb = published(rows, 3, way), published(rows, 3, way, engine="duckdb")
    assert memory
    assert duckdb
    assert memory[0].table.equals(duckdb[0].table)
    assert memory[0].manifest == duckdb[0].manifest
    assert tv.verify(*duckdb)
