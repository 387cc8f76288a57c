"""Promises about sensitive values: groups by brute force, the sweep by a slow twin, and what merging does."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import generalization as calendar
from tests.oracles import local, protection

import timeveil as tv
from timeveil.domain.guarantee import KAnonymity
from timeveil.engines import Cells, Held
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.protected import learned
from timeveil.models.events.method.protect import Guard
from timeveil.models.events.method.sweep import sweep

ROLES = tv.Roles(respondent="who", time="when", quasi=["sex", "place"], sensitive=["number", "word"])
WORDS = ("low", "mid", "high")
NAMES = ["day", "week", "month", "year", "all"]

numbers = st.sampled_from(
    [
        *(tv.AtMost(1 / 2), tv.AtMost(2 / 3), tv.Distinct(2), tv.Distinct(3), tv.Entropy(1.5), tv.Entropy(2)),
        *(tv.Closeness(0.2), tv.Closeness(0.3), tv.Closeness(0.2, order="none")),
    ]
)
words = st.sampled_from(
    [tv.AtMost(3 / 4), tv.Distinct(2), tv.Closeness(0.3, order=WORDS), tv.AtMost(1 / 3, of=["high"])]
)
rows_of = st.lists(
    st.tuples(
        st.sampled_from("abcdefghij"),
        st.sampled_from("fm"),
        st.sampled_from("xxxy"),
        st.dates(dt.date(2005, 12, 20), dt.date(2006, 2, 20)),
        st.sampled_from([1, 2, 2, 3, None]),
        st.sampled_from(WORDS),
    ),
    min_size=4,
    max_size=40,
)
ways = st.sampled_from(["global", "refined", "local", "tiling"])


def order_of(values) -> list[object]:
    """From low to high, a missing value last."""
    return sorted(set(values), key=lambda v: (v is None, WORDS.index(v) if v in WORDS else v))


def published(rows, k, way, protect, **options):
    names = ("who", "sex", "place", "when", "number", "word")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    options = {"suppress": 0.3, "granularities": NAMES, "hierarchies": {"sex": "suppression"}, **options}
    try:
        return tv.generalize_time(table, ROLES, k, recode=way, protect=protect, allow_loss=True, **options)
    except (tv.InfeasibleError, tv.ParameterError):  # the latter where a table has too few values
        return None


def groups_of(rows, release) -> list[list[tuple]]:
    """The published rows by what they are published as: at the first step that publishes their label."""
    steps = release.manifest.get("steps") or [release.manifest]
    labels = defaultdict(set)
    for line in release.table.to_pylist():
        number, start = line.get("when_step", 1) - 1, line["when_start"] or dt.date(2006, 1, 1)
        granule = calendar.CALENDAR[steps[number]["granularity"]](start)
        labels[number].add((line["sex"], line["place"], granule))
    groups = defaultdict(list)
    for row in rows:
        for number, step in enumerate(steps):
            sex = "*" if "sex" in step["levels"] else row[1]
            label = (sex, row[2], calendar.CALENDAR[step["granularity"]](row[3]))
            if label in labels[number]:
                groups[number, label].append(row)
                break
    return list(groups.values())


@settings(max_examples=some(150))
@given(rows_of, st.integers(2, 3), ways, numbers, words, st.sampled_from([None, 0.5, 0.7]))
def test_every_group_keeps_every_promise(rows, k, way, number, word, dominance):
    pair = published(rows, k, way, {"number": number, "word": str(word)}, dominance=dominance)
    if pair is None:
        return
    release, ledger = pair
    groups = groups_of(rows, release)
    assert sum(map(len, groups)) == release.table.num_rows
    assert len(groups) == release.manifest["counts"]["groups"]
    for group in groups:
        assert len({row[0] for row in group}) >= k
        for column, promise in ((4, number), (5, word)):
            holdings, table = ([(row[0], row[column]) for row in part] for part in (group, rows))
            assert protection.keeps(promise, holdings, table, order_of(row[column] for row in rows))
        assert dominance is None or protection.nobody_dominates(dominance, [row[0] for row in group])
    verdict = tv.verify(release, ledger)
    assert verdict, verdict.violations
    assert tv.verify(release)


@settings(max_examples=some(60))
@given(rows_of, st.integers(2, 3), numbers)
def test_a_feasible_granularity_is_chosen_wherever_there_is_one(rows, k, number):
    """Shares are not monotone: a finer node may work where a coarser one does not."""
    pair = published(rows, k, "global", {"number": number}, suppress=0.0, hierarchies=None)
    order, table = order_of(row[4] for row in rows), [(row[0], row[4]) for row in rows]
    working = []
    for name in NAMES:
        groups = defaultdict(list)
        for row in rows:
            groups[row[1], row[2], calendar.CALENDAR[name](row[3])].append((row[0], row[4]))
        if all(
            len({who for who, _ in group}) >= k and protection.keeps(number, group, table, order)
            for group in groups.values()
        ):
            working.append((-len(groups), name))
    if pair is None:
        assert not working or len({v for _, v in table}) < number.least_values
    else:
        assert -min(working)[0] == pair[0].manifest["counts"]["groups"]


def test_tiles_withhold_other_rows_than_the_granularity_they_are_in():
    """Whether a candidate works is judged by the rows that were read, not by those that are left."""
    visits = (
        "e 2006-02-05 2, a 2006-02-11 3, d 2006-01-30 1, c 2005-12-27 2, h 2006-02-13 2, g 2006-01-23 1, "
        "d 2005-12-20 2, g 2006-01-06 2, g 2005-12-30 1, c 2006-01-28 3"
    )
    cells = [visit.split() for visit in visits.split(", ")]
    rows = [(who, "f", "x", dt.date.fromisoformat(day), int(number), "low") for who, day, number in cells]
    pair = published(rows, 2, "tiling", {"number": tv.AtMost(1 / 2)}, hierarchies=None)
    assert pair
    chosen = pair[0].manifest["candidates"][pair[0].manifest["granularity"]]
    assert chosen["rows_below_k"] + chosen["rows_short"] > pair[0].manifest["counts"]["withheld"]
    assert tv.verify(*pair)


def guard_and_cells(visits, promise, k, dominance=None):
    """Cells of (place, position), from (place, position, who, value)."""
    listed = sorted({visit[:2] for visit in visits})
    owners = sorted({(listed.index(visit[:2]), ord(visit[2])) for visit in visits})
    places = [owners.index((listed.index(visit[:2]), ord(visit[2]))) for visit in visits]
    held = sorted(set(zip(places, [visit[3] for visit in visits], strict=True)))
    values = sorted({visit[3] for visit in visits})
    cells = Cells(
        quasi=np.array([place for place, _ in listed], np.int32),
        position=np.array([position for _, position in listed], np.int32),
        rows=np.ones(len(listed), np.int64),
        cell=np.array([cell for cell, _ in owners], np.int32),
        person=np.array([who for _, who in owners], np.int32),
        visit_rows=np.bincount(places, minlength=len(owners)),
        values={},
        held={
            "v": Held(
                np.array([visit for visit, _ in held], np.int64),
                np.array([values.index(value) for _, value in held], np.int32),
                pa.array(values),
            )
        },
    )
    if promise is None:
        return Guard(replace(cells, held={}), KAnonymity(k, dominance=dominance)), cells, listed
    return Guard(cells, KAnonymity(k, protect={"v": promise}, dominance=dominance)), cells, listed


visits_of = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 11), st.sampled_from("abcdefgh"), st.integers(0, 3)),
    min_size=1,
    max_size=40,
)


@settings(max_examples=some(300))
@given(
    visits_of,
    st.integers(2, 3),
    numbers | st.just(tv.AtMost(1 / 3, of=["2", "3"])),
    st.sampled_from([None, 0.5]),
)
def test_the_sweep_is_its_slow_twin(visits, k, promise, dominance):
    """Places of twelve positions; steps of one, two, four and all positions of a place, then of both."""
    values = {visit[3] for visit in visits}
    named = set(getattr(promise, "of", None) or ())
    if len(values) < promise.least_values or not named <= set(map(str, values)):
        return
    guard, cells, listed = guard_and_cells(visits, promise, k, dominance)
    people, rows = defaultdict(set), defaultdict(list)
    for place, position, who, value in visits:
        people[place, position].add(who)
        rows[place, position].append((who, value))
    table = [(who, value) for *_, who, value in visits]

    def keeps(inside) -> bool:
        group = [row for cell in inside for row in rows[cell]]
        fair = dominance is None or protection.nobody_dominates(dominance, [who for who, _ in group])
        return fair and protection.keeps(promise, group, table, order_of(v for _, v in table))

    steps = [lambda c, w=w: (c[0], c[1] // w) for w in (1, 2, 4, 12)] + [lambda c: (0, c[1] // 6)]
    for outer in (steps[3], steps[4]):
        finer = steps[:3] if outer is steps[3] else [steps[0], steps[1], lambda c: (c[0], c[1] // 6)]
        expected = local.sweep(people, outer, [*finer, outer], k, keeps)
        labels = [np.array([100 * step(c)[0] + step(c)[1] for c in listed]) for step in (*finer, outer)]
        swept = sweep(cells, labels[-1], [label.__getitem__ for label in labels], k, guard)
        assert swept.tolist() == [-1 if expected[c] is None else expected[c] for c in listed]


# What merging two groups does.


def merged(promise, dominance, *groups) -> list[bool]:
    """Whether each group keeps a promise, and whether all of them together do."""
    visits = [(0, n, who, value) for n, group in enumerate(groups) for who, value in group]
    guard, cells, _ = guard_and_cells(visits, promise, 2, dominance)
    everything = np.arange(len(cells.cell))
    alone = guard.keeps(everything, cells.position[cells.cell].astype(np.int64), len(groups))
    return [*alone.tolist(), bool(guard.keeps(everything, 0 * everything, 1)[0])]


pairs_of = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), min_size=1, max_size=8)


@settings(max_examples=some(200))
@given(pairs_of, pairs_of)
def test_values_and_rows_of_one_person_are_monotone(first, second):
    promises = [(None, 0.5)]
    if len({value for _, value in first + second}) > 1:
        promises.append((tv.Distinct(2), None))
    for promise, dominance in promises:
        *alone, together = merged(promise, dominance, first, second)
        assert together or not all(alone)


@pytest.mark.parametrize(
    ("promise", "first", "second"),
    [
        # Of three people two hold a, though in each group one of two does: b's holder comes twice.
        (tv.AtMost(1 / 2), [("2", "a"), ("5", "b")], [("1", "a"), ("5", "b")]),
        (tv.Entropy(2), [("2", "a"), ("5", "b")], [("1", "a"), ("5", "b")]),
        (tv.Closeness(0.1, order="none"), [("2", "a"), ("5", "b")], [("1", "a"), ("5", "b")]),
    ],
)
def test_shares_are_not_monotone_when_people_recur(promise, first, second):
    rest = [("7", "b")] * isinstance(promise, tv.Closeness)  # half of the whole table holds a
    parts = [first, second, rest] if rest else [first, second]
    visits = [(0, n, who, value) for n, group in enumerate(parts) for who, value in group]
    guard, cells, _ = guard_and_cells(visits, promise, 2)
    inside = np.flatnonzero(cells.position[cells.cell] < 2)
    assert guard.keeps(inside, cells.position[cells.cell][inside].astype(np.int64), 2).tolist() == [True] * 2
    assert guard.keeps(inside, 0 * inside, 1).tolist() == [False]


def test_dates_in_text_are_as_far_apart_as_dates():
    """Written as in a table of an office, where February begins with a smaller number than January ends."""
    rng = np.random.default_rng(3)
    day = [dt.date(2006, 1, 25) + dt.timedelta(int(d)) for d in rng.integers(12, size=80)]
    columns = {
        "who": rng.integers(30, size=80),
        "when": pa.array(sorted(day)),
        "place": rng.integers(3, size=80),
    }
    roles = tv.Roles(respondent="who", time="when", quasi=["place"], sensitive=["back"])
    labels = []
    for back in (pa.array(day), pa.array([f"{d:%d.%m.%Y}" for d in day])):
        release, ledger = tv.generalize_time(
            pa.table(columns | {"back": back}),
            roles,
            3,
            granularities=NAMES,
            recode="local",
            protect={"back": tv.Closeness(0.25)},
            accept_risk=["back"],
        )
        assert tv.verify(release, ledger)
        labels.append(sorted(map(str, release.table.drop_columns("back").to_pylist())))
    assert labels[0] == labels[1]


@pytest.mark.parametrize("way", ["global", "refined", "local", "tiling"])
@pytest.mark.parametrize("promise", [tv.AtMost(2 / 3), tv.Closeness(0.3)])
def test_engines_agree(way, promise):
    rng = np.random.default_rng(5)
    rows = [
        (
            f"p{rng.integers(12)}",
            "fm"[rng.integers(2)],
            "xy"[int(rng.random() < 0.2)],
            dt.date(2006, 1, 1) + dt.timedelta(int(rng.integers(40))),
            [1, 2, 3, None][rng.integers(4)],
            WORDS[rng.integers(3)],
        )
        for _ in range(60)
    ]
    protect = {"number": promise, "word": tv.Distinct(2)}
    memory, duckdb = (
        published(rows, 3, way, protect, dominance=0.6, engine=engine) for engine in ("memory", "duckdb")
    )
    assert memory
    assert duckdb
    assert memory[0].table.equals(duckdb[0].table)
    assert memory[0].manifest == duckdb[0].manifest
    assert tv.verify(*duckdb)


@settings(max_examples=some(60))
@given(rows_of, st.integers(2, 3), ways, st.integers(1, 3), st.randoms(use_true_random=False))
def test_what_is_learned_from_visits_is_counted_by_brute_force(rows, k, way, visits, chance):
    pair = published(rows, k, way, {"number": tv.Distinct(2), "word": tv.AtMost(3 / 4)})
    if pair is None:
        return
    breach = tv.attack(*pair)
    assert breach.learned["word"]["worst"] <= 3 / 4 + 1e-9
    evidence = Evidence(*pair)
    placed = list(zip(np.flatnonzero(evidence.published), evidence.group[0].tolist(), strict=True))
    members = defaultdict(list)
    for row, group in placed:
        members[group].append(rows[row])
    # Groups that one person was in together.
    cases = []
    for who in sorted({row[0] for row in rows}):
        known = sorted({group for group, inside in members.items() if who in {row[0] for row in inside}})
        if known:
            cases.append([chance.choice(known) for _ in range(visits)])
    expected = []
    for case in cases:
        people = set.intersection(*({row[0] for row in members[group]} for group in case))
        held = {(row[0], row[5]) for group in case for row in members[group] if row[0] in people}
        most = max(sum(value == word for _, value in held) for word in WORDS)
        expected.append(most / len(people))
    found = learned(evidence, np.array(cases), np.ones(len(cases)))["word"]
    assert found["worst"] == pytest.approx(max(expected))
    assert found["mean"] == pytest.approx(sum(expected) / len(expected))


def test_local_loses_no_more_than_inside_the_global_answer_of_the_fewest_bits():
    """What stays open keeps a tight promise sooner there than in one block of everything."""
    rng = np.random.default_rng(7)
    place, sex, age = (rng.integers(values, size=120) for values in (6, 2, 3))
    word = rng.choice(3, size=120, p=[0.58, 0.21, 0.21])
    who = rng.integers(120, size=1200)
    days = rng.choice([0, 0, 7, 30, 31, 60, 90, 120, 300], size=1200) + rng.integers(5, size=1200)
    when = [dt.date(2013, 10, 1) + dt.timedelta(int(day)) for day in days]
    columns = {name: of[who] for name, of in {"place": place, "sex": sex, "age": age, "word": word}.items()}
    table = pa.table({"who": who, "when": pa.array(when), **columns})
    quasi = ["place", "sex", "age"]

    def bits(**options):
        pair = tv.generalize_time(
            table,
            tv.Roles(respondent="who", time="when", quasi=quasi, sensitive=["word"]),
            3,
            granularities=NAMES,
            hierarchies=dict.fromkeys(quasi, "suppression"),
            protect={"word": tv.AtMost(2 / 3)},
            **options,
        )
        return tv.measure(*pair, windows=0).bits_per_row

    assert bits(recode="local") <= bits(recode="refined", choose="loss") + 1e-9
