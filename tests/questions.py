"""Ask releases random questions and recount the truth: is it ever outside the bounds?

    python -m tests.questions [--seed 0] [--number 100000] [--only KIND]

Every release is made by the methods from a random table, some are written and opened again. Each question is
drawn from what the table holds, what the release shows, and what neither has. The truth is recounted from the
original rows by `tests/oracles/questions.py`. A release and its questions follow from the seed alone.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import math
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

import timeveil as tv
from tests.oracles import questions as oracle
from tests.oracles import series_queries as shapes
from timeveil.judging import gather

PER_RELEASE = 25
WRITTEN = 0.15
"""The share of releases that are written to disk and opened again."""
ROUNDING = 1e-9
FIRST = dt.date(2024, 2, 26)
ROME = ZoneInfo("Europe/Rome")
Question = tuple[Any, list[float]]


@dataclass(frozen=True)
class Case:
    """A release, and a way to draw a question with its truth, once for each way to read it."""

    release: tv.Release
    draw: Callable[[], Question]


@dataclass
class Tally:
    """What came of the questions of one kind; `outside` describes those whose truth is out of bounds."""

    kind: str
    releases: int = 0
    asked: int = 0
    exact: int = 0
    unbounded: int = 0
    unknown: int = 0
    refused: int = 0
    outside: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        numbers = (
            f"{self.exact:,} exact, {self.unbounded:,} without bounds, {self.unknown:,} with unknown values"
        )
        return (
            f"{self.kind:>17}: {self.asked:,} questions of {self.releases:,} releases, {numbers}, "
            f"{self.refused:,} refused; outside the bounds: {len(self.outside)}"
        )


def campaign(kind: str, seed: int, number: int) -> Tally:
    """Ask `number` questions of releases of one kind."""
    chance, tally = random.Random(f"{kind} {seed}"), Tally(kind)  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        while tally.asked < number:
            try:
                case = KINDS[kind](chance)
            except (tv.InfeasibleError, tv.InputError, tv.ParameterError):
                continue  # this table cannot be published like this
            release, tally.releases = case.release, tally.releases + 1
            if chance.random() < WRITTEN:
                path, form = Path(folder, str(tally.releases)), chance.choice(["csv", "parquet"])
                release = tv.open_release(tv.write(release, path, format=form))
            evidence = gather(release)
            for _ in range(min(PER_RELEASE, number - tally.asked)):
                _ask(evidence, *case.draw(), tally)
    return tally


def _ask(evidence: Any, query: Any, truths: list[float], tally: Tally) -> None:
    try:
        estimate = tv.answer(evidence, query)
    except tv.ParameterError as error:
        if error.code != "not-published":
            raise
        tally.refused += 1
        return
    tally.asked += 1
    tally.exact += estimate.low == estimate.high
    tally.unbounded += math.isinf(estimate.high)
    tally.unknown += bool(estimate.unknown)
    low, high = estimate.low - ROUNDING, estimate.high + ROUNDING
    if not all(low <= number <= high for number in (*truths, estimate.value)):
        tally.outside.append(f"release {tally.releases}: {query} is {truths}, said to be {estimate}")


# Timestamped rows: hierarchies, stars, granules, gaps, missing cells, withheld rows.


def events_at_steps(chance: random.Random) -> Case:
    """Rows at steps of their own: each shows a value, an interval, a prefix or a star."""
    return events(chance, chance.choice(["refined", "local", "tiling"]))


def events(chance: random.Random, recode: Any = "global") -> Case:
    axis = chance.choice(["date", "civil", "zoned", "relative"])
    missing = chance.choice([0, 0, 0.05])
    rows = [_event(chance, axis, missing) for _ in range(chance.choice([20, 80, 200]))]
    levels = {column: chance.choice(ways) for column, ways in _WAYS.items() if chance.random() < 0.3}
    plain = [column for column in ("ward", "result", "dose") if column not in levels]
    quasi = [*levels, *(["plan"] if chance.random() < 0.3 else [])]
    kinds = {
        "who": pa.string(),
        "at": _AXES[axis],
        "age": pa.int64(),
        "bmi": pa.float64(),
        "ward": pa.int64(),
        "stay": pa.int64(),
        "born": pa.date32(),
    }
    kinds |= dict.fromkeys(("sex", "zip", "edu", "plan", "result"), pa.string()) | {"dose": pa.float64()}
    schema = pa.schema([(name, kinds[name]) for name in ("who", "at", *quasi, *plain)])
    table = pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in rows], schema=schema)
    names = ["month", "month", "business-day"] if axis != "relative" else []
    names += ["day", "week", "week", "all", "all"]
    name = chance.choice(names)
    gaps = chance.choice(["suppress", "next"]) if name == "business-day" else "error"
    names = [name]
    if recode != "global":
        gaps = "skip"
        names = list(dict.fromkeys((name, "week", "all")))
    release, _ = tv.generalize_time(
        table,
        tv.Roles(respondent="who", time="at", quasi=quasi, sensitive=["result"], keep=["ward", "dose"]),
        chance.randint(2, 3),
        granularities=names,
        recode=recode,
        zone="Europe/Rome" if axis == "zoned" else None,
        unit="day" if axis == "relative" else None,
        hierarchies={column: way[0] for column, way in levels.items()},
        levels={column: way[1] for column, way in levels.items()} if recode == "global" else None,
        suppress=0.98,
        gaps=gaps,
        nulls="withhold",
        allow_loss=True,
    )
    labels = {column: way[2] for column, way in levels.items() if way[2] and recode == "global"}
    columns = [*quasi, *plain]

    def draw() -> Question:
        # Where rows show labels and values, a text is not asked for in a range.
        texts = {c: oracle.star for c in levels if c not in _TYPED} if recode != "global" else labels
        where = _sets(
            chance,
            lambda: {
                column: _condition(chance, rows, column, texts.get(column))
                for column in chance.sample(columns, chance.randint(0, min(3, len(columns))))
            },
        )
        low, high = _window(chance, rows, axis)

        def inside(row: oracle.Row) -> bool:
            if low is None and high is None:
                return True
            at = row["at"]
            return at is not None and (low is None or at >= low) and (high is None or at < high)

        return tv.WindowCount(between=(low, high), where=where), oracle.truths(rows, where, labels, inside)

    return Case(release, draw)


_AXES = {
    "date": pa.date32(),
    "civil": pa.timestamp("ms"),
    "zoned": pa.timestamp("ms", "Europe/Rome"),
    "relative": pa.int64(),
}
_SITES = {"1": "1", "2": "1", "3": "2", "4": "2", "5": "5"}
_SITE_TABLE = pa.table({"edu": [*_SITES], "site": [*_SITES.values()]})
_ANY = pa.table({"sex": ["f", "m", "*"], "any": ["any"] * 3})
_LIKE_ONE = pa.table({"sex": ["f", "m", "*"], "f": ["f"] * 3})
_CODED = dt.date(1958, 3, 31), dt.date(9999, 1, 1)
# Per column the hierarchies to draw from: the rule, its level, and the label of a value by the plain twin.
_WAYS: dict[str, list[tuple[Any, int, oracle.Label | None]]] = {
    "sex": [
        ("suppression", 1, oracle.star),
        ("suppression", 0, None),
        (_ANY, 1, lambda value: "any"),
        (_LIKE_ONE, 1, lambda value: "f"),
    ],
    "age": [("intervals:5,10,20", n, oracle.interval(w)) for n, w in enumerate((5, 10, 20), 1)]
    + [("intervals:5", 2, oracle.star)]
    + [("intervals:10:23..40", 1, oracle.coded(oracle.interval(10, 23, 40), 23, 40, ("below", "or more")))],
    "stay": [("log:2,4", n, oracle.fold(base)) for n, base in enumerate((2, 4), 1)],
    "born": [("calendar:year,5-years", n, oracle.year(length)) for n, length in enumerate((1, 5), 1)]
    + [
        ("calendar:day,month", 2, oracle.month),
        ("calendar:month:1958-03-31..", 1, oracle.coded(oracle.month, *_CODED, ("before", "or later"))),
    ],
    "bmi": [("intervals:2,10", n, oracle.interval(w)) for n, w in enumerate((2, 10), 1)],
    "zip": [("prefixes:3,1", n, oracle.prefix(w)) for n, w in enumerate((3, 1), 1)]
    + [("prefixes:3", 2, oracle.star)],
    "edu": [(_SITE_TABLE, 1, _SITES.get), ("suppression", 1, oracle.star)],
}
_TYPED = {"age": int, "stay": int, "ward": int, "bmi": float, "dose": float, "born": dt.date}


def _event(chance: random.Random, axis: str, missing: float) -> dict[str, Any]:
    day = FIRST + dt.timedelta(days=chance.choice([0, 1, 5, 6, 7, 12, 33, 34, 35]))
    clock = dt.time(chance.choice([0, 2, 23]), chance.choice([0, 30]), 0, chance.choice([0, 500_000]))
    at: Any = {"date": day, "relative": (day - FIRST).days - 3}.get(axis)
    if at is None:
        at = dt.datetime.combine(day, clock, ROME if axis == "zoned" else None)
    return {
        "who": None if chance.random() < missing else f"p{chance.randrange(20)}",
        "at": None if chance.random() < missing else at,
        "sex": chance.choice(["f", "m", "m", "*"]),
        "age": chance.choice([20, 24, 29, 30, 37, 37, 41, None]),
        "stay": chance.choice([-8, -3, 0, 1, 2, 3, 4, 9, 64, None]),
        "born": dt.date(chance.choice([1919, 1957, 1958, 1960]), 3, chance.choice([1, 30, 31])),
        "bmi": chance.choice([18.5, 20.0, 21.9, 22.0, 30.25]),
        "zip": chance.choice(["20133", "20134", "2013", "20", "2", "30133", "201**", None]),
        "edu": chance.choice([*_SITES]),
        "plan": chance.choice("xy"),
        "ward": chance.choice([1, 2, 3, None]),
        "dose": chance.choice([0.5, 1.0, -0.0, 2.25, None]),
        "result": chance.choice(["good", "bad", "Ok"]),
    }


def _condition(chance: random.Random, rows: Any, column: str, label: oracle.Label | None) -> Any:
    """A value, a label, a range or a list, of what the table has or does not have."""
    kind = chance.random()
    if kind < 0.15:
        return [_option(chance, rows, column, label) for _ in range(chance.randint(1, 3))]
    dated = column == "born"
    numeric = column in _TYPED and (label is None or label(rows[0]["born"] if dated else 25) != "*")
    if kind < 0.4 and (numeric or label is None):
        present = sorted(row[column] for row in rows if row[column] is not None) or [0]
        ends = sorted(chance.choice(present) for _ in range(2))
        if dated:
            days = [dt.timedelta(days=chance.choice([0, 0, 1, 60, 400])) for _ in range(2)]
            ends = [ends[0] - days[0], ends[1] + days[1]]
            ends = [str(end) if chance.random() < 0.5 else end for end in ends]
        elif numeric:
            ends = [ends[0] + chance.choice([0, 0, -0.5, -7]), ends[1] + chance.choice([0, 0, 0.5, 7])]
        return tuple(None if chance.random() < 0.2 else end for end in ends)
    return _option(chance, rows, column, label)


def _option(chance: random.Random, rows: Any, column: str, label: oracle.Label | None) -> Any:
    value = chance.choice(rows)[column]
    match chance.randrange(9):
        case 0 if label is not None:
            return label(value)
        case 1:
            return (
                dt.date(1999, 1, 1)
                if column == "born"
                else chance.choice([77, 2.5] if column in _TYPED else ["zz", "201", "F"])
            )
        case 2 if column in _TYPED and value is not None:
            return str(value)  # as it is typed
        case 3 if _TYPED.get(column) is int and value is not None:
            return float(value)
        case 4:
            return None
    return value


def _window(chance: random.Random, rows: Any, axis: str) -> tuple[Any, Any]:
    """Two times of rows, or a bit before or after them."""
    times = [row["at"] for row in rows if row["at"] is not None] or [0 if axis == "relative" else FIRST]
    steps = [0, 0, 1, -1] if axis == "relative" else [dt.timedelta(days=n) for n in (0, 0, 1, -1)]
    if axis in ("civil", "zoned"):
        steps += [dt.timedelta(milliseconds=250), dt.timedelta(hours=-5)]
    ends = sorted(chance.choice(times) + chance.choice(steps) for _ in range(2))
    return tuple(None if chance.random() < 0.25 else end for end in ends)  # type: ignore[return-value]  # a pair


# Streams: buckets, moved and withheld records. The truth is about what was published.


def generalized_streams(chance: random.Random) -> Case:
    return streams(chance, generalized=True)


def streams(chance: random.Random, *, generalized: bool = False) -> Case:
    slot = chance.choice(["day", "week", None])
    ills: list[Any] = [10, 20, 30, 40] if chance.random() < 0.3 else ["flu", "tbc", "hiv", "none"]
    rows = []
    for number in range(chance.randint(10, 80)):
        step = chance.randrange(8)
        at = step if slot is None else FIRST + dt.timedelta(days=step * (3 if slot == "week" else 1))
        zip_code, age = chance.choice(["11", "12", None]), chance.randint(1, 4)
        person = {"who": f"p{number}", "at": at, "zip": zip_code, "age": age, "ward": chance.choice("ab")}
        rows.append({**person, "ill": chance.choice(ills[: chance.randint(1, 4)])})
    how: dict[str, Any] = {"buckets": chance.choice(["anatomy", "anatomy", "none"])}
    if how["buckets"] == "anatomy" and chance.random() < 0.2:
        how = {"protect_slot": 2}
    if generalized:
        how = {"groups": "generalize", "k": chance.choice([None, 4])}
        how["hierarchies"] = chance.choice([None, {"zip": "prefixes:1", "age": "intervals:2,4"}])
    release, ledger = tv.publish_stream(
        pa.Table.from_pylist(rows),
        tv.Roles(respondent="who", time="at", quasi=["zip", "age"], keep=["ward"], sensitive=["ill"]),
        l=chance.randint(2, 3),
        window=chance.randint(2, 4),
        slot=slot or "day",
        seed=chance.randrange(2**32),
        allow_loss=True,
        **how,
    )
    slots = ledger.table.column("slot").to_pylist()
    published = [{**row, "slot": _start(at)} for row, at in zip(rows, slots, strict=True) if at is not None]

    def draw() -> Question:
        where = _sets(
            chance,
            lambda: {
                column: _stream_condition(chance, rows, column, ranges=not generalized or column != "zip")
                for column in chance.sample(["zip", "age", "ward", "ill"], chance.randint(0, 3))
            },
        )
        ends = sorted(chance.choice(rows)["at"] for _ in range(2))
        low, high = (None if chance.random() < 0.3 else end for end in ends)

        def inside(row: oracle.Row) -> bool:
            first, last = (_slot_of(end, slot) for end in (low, high))
            return (first is None or row["slot"] >= first) and (last is None or row["slot"] < last)

        return tv.WindowCount(between=(low, high), where=where), oracle.truths(published, where, {}, inside)

    return Case(release, draw)


def _sets(chance: random.Random, draw: Callable[[], dict[str, Any]]) -> Any:
    """A set of conditions, some of them negated, or a few sets of which any will do."""
    sets = [draw() for _ in range(chance.choice([1, 1, 1, 2, 3]))]
    sets = [
        {column: tv.Not(asked) if chance.random() < 0.2 else asked for column, asked in one.items()}
        for one in sets
    ]
    return sets[0] if len(sets) == 1 else sets


def _stream_condition(chance: random.Random, rows: Any, column: str, *, ranges: bool) -> Any:
    values = [chance.choice(rows)[column] for _ in range(2)]
    kind = chance.random()
    if kind < 0.2:
        return values
    if ranges and kind < 0.4 and None not in values:
        return tuple(sorted(values))
    unknown = 77 if isinstance(rows[0][column], int) else "zz"
    return unknown if kind < 0.5 else values[0]


def _start(label: Any) -> Any:
    """The first day of a slot, or its number."""
    if not isinstance(label, str):
        return label
    if "W" in label:
        year, week = label.split("-W")
        return dt.date.fromisocalendar(int(year), int(week), 1)
    return dt.date.fromisoformat(label)


def _slot_of(day: Any, slot: str | None) -> Any:
    return day - dt.timedelta(days=day.weekday()) if slot == "week" and day is not None else day


# Series: envelopes and patterns, all instants or some, the series' own patterns or borrowed ones.


def series(chance: random.Random) -> Case:
    size = chance.randint(3, 6)
    people = [_walk(chance, size) for _ in range(chance.randint(12, 36))]
    names = [f"t{n}" for n in range(size)]
    k = chance.randint(2, 6)
    how: dict[str, Any] = {"method": chance.choice(["adaptive", "kapra", "naive", "representative"])}
    if chance.random() < 0.3:
        how["publish_values"] = sorted(chance.sample(names, chance.randint(1, size)))
        how["publish_pattern"] = sorted(chance.sample(names, chance.randint(1, size)))
    if "publish_pattern" not in how or chance.random() < 0.3:
        how |= chance.choice([{}, {"representation": "slopes"}, {"representation": "paa", "segment": 2}])
        if "representation" in how:
            how.pop("publish_pattern", None)
    center = chance.choice(["mean", "median"])
    if k >= 4 and chance.random() < 0.5:
        how["means"] = True
    release, _ = tv.anonymize_series(
        pa.table({name: [values[n] for values in people] for n, name in enumerate(names)}),
        tv.Roles(series=names),
        k=k,
        p=chance.randint(1, k),
        effort=0,
        center=center,
        round_outward=chance.choice([None, 2, 3]),
        allow_loss=True,
        **how,
    )
    withheld = release.manifest["counts"]["suppressed"]

    def draw() -> Question:
        if chance.random() < 0.1 and not withheld and "publish_values" not in how:
            at = chance.randrange(size)
            return tv.MeanValue(names[at]), [sum(values[at] for values in people) / len(people)]
        if chance.random() < 0.2:
            return _expressions(chance, people)
        ranges, in_ranges = _ranges(chance, people)
        if chance.random() < 0.4:
            return tv.RangeCount(ranges), [sum(in_ranges)]
        shape, alike = (_similar if chance.random() < 0.3 else _features)(chance, people, center)
        if chance.random() < 0.5:
            return shape, [sum(alike)]
        both = [a and b for a, b in zip(alike, in_ranges, strict=True)]
        return tv.Complex(pattern=shape, range=tv.RangeCount(ranges)), [sum(both)]

    return Case(release, draw)


def _walk(chance: random.Random, size: int) -> list[float]:
    """Ups and downs, some in whole numbers, some without any."""
    steps = [chance.gauss(0, 1) for _ in range(size)]
    match chance.randrange(8):
        case 0:
            return [3.0] * size
        case 1 | 2:
            return [float(round(step)) for step in steps]
    return [1e4 * (chance.random() < 0.02) + total for total in itertools.accumulate(steps)]


def _ranges(chance: random.Random, people: list[list[float]]) -> tuple[dict[str, Any], list[bool]]:
    ranges, fit = {}, [True] * len(people)
    for instant in chance.sample(range(len(people[0])), chance.randint(1, 2)):
        low, high = sorted(chance.choice(people)[instant] + chance.choice([0, 0, 0.3]) for _ in range(2))
        ends = (None if chance.random() < 0.2 else low, None if chance.random() < 0.2 else high)
        ranges[f"t{instant}"] = ends
        fit = [was and oracle.meets(values[instant], ends) for was, values in zip(fit, people, strict=True)]
    return ranges, fit


def _expressions(chance: random.Random, people: list[list[float]]) -> Question:
    """Random arithmetic, worked out series by series; the ends of ranges are somebody's own results."""
    ranges, fit = {}, [True] * len(people)
    for _ in range(chance.randint(1, 2)):
        tree = _arithmetic(chance, len(people[0]), 2)
        # An expression names an instant, and has one range.
        while "t" not in oracle.written(tree) or oracle.written(tree) in ranges:
            tree = _arithmetic(chance, len(people[0]), 2)
        results = [oracle.evaluated(tree, values) for values in people]
        usual = [result for result in results if result is not None and math.isfinite(result)] or [0.0]
        low, high = sorted(chance.choice(usual) for _ in range(2))
        ends = (None if chance.random() < 0.2 else low, None if chance.random() < 0.2 else high)
        ranges[oracle.written(tree)] = ends
        fits = [result is not None and oracle.meets(result, ends) for result in results]
        fit = [a and b for a, b in zip(fit, fits, strict=True)]
    return tv.ExpressionRange(ranges), [sum(fit)]


def _arithmetic(chance: random.Random, size: int, depth: int) -> Any:
    """A tree of operations: an instant, a number, or a sign with two trees."""
    if depth == 0 or chance.random() < 0.2:
        return chance.randrange(size) if chance.random() < 0.85 or depth == 2 else chance.choice([2.0, 0.5])
    return chance.choice("+-*/"), *(_arithmetic(chance, size, depth - 1) for _ in range(2))


def _features(chance: random.Random, people: list[list[float]], center: str) -> tuple[Any, list[bool]]:
    name = chance.choice(["differences", "adjacent", "slope", "peak-to-trough"])
    a, b = sorted(chance.sample(range(len(people[0])), 2))
    b = a + 1 if name == "adjacent" else b
    measures: dict[str, Callable[[list[float]], float]] = {
        "slope": lambda values: shapes.slope(values, center),
        "peak-to-trough": lambda values: shapes.spread(values, center),
    }
    measure = measures.get(name, lambda values: shapes.difference(values, center, a, b))
    numbers = [measure(values) for values in people]
    low, high = sorted(chance.choice(numbers) for _ in range(2))
    # Away from any series: the last bits of a number are nobody's promise.
    ends = (low - chance.choice([1e-6, 0.4]), None if chance.random() < 0.3 else high + 1e-6)
    key: Any = name if name in measures else (f"t{a}", f"t{b}")
    return tv.PatternRange({key: ends}, features=name), [oracle.meets(number, ends) for number in numbers]


def _similar(chance: random.Random, people: list[list[float]], _center: str) -> tuple[Any, list[bool]]:
    features, like = chance.choice(["differences", "adjacent"]), chance.choice(people)
    distances = [shapes.distance(values, like, features) for values in people]
    tolerance = chance.choice([*distances, 0.05, 0.5]) + 1e-7
    fit = [distance <= tolerance for distance in distances]
    return tv.PatternSimilarity(like, tolerance, features=features), fit


# Patterns: of baskets, of series, and of a series release, whose letters are not people's own.


def baskets(chance: random.Random) -> Case:
    items = list("abcde")[: chance.randint(2, 5)]
    often = [chance.choice([0.3, 0.5, 0.8]) for _ in items]
    people = [
        frozenset(item for item, share in zip(items, often, strict=True) if chance.random() < share)
        for _ in range(chance.randint(8, 40))
    ]
    table = pa.table({"has": pa.array([sorted(person) for person in people], pa.list_(pa.string()))})
    release, _ = tv.sanitize_patterns(table, tv.Roles(item="has"), **_sanitizing(chance))
    return _about_items(chance, release, people, [*items, "z"])


def letters(chance: random.Random) -> Case:
    return _of_letters(chance, mined_from_release=False)


def coarse_letters(chance: random.Random) -> Case:
    return _of_letters(chance, mined_from_release=True)


def _of_letters(chance: random.Random, *, mined_from_release: bool) -> Case:
    size, symbols, center = chance.randint(2, 4), chance.randint(2, 4), chance.choice(["mean", "median"])
    walks = [list(itertools.accumulate(chance.gauss(0, 1) for _ in range(size))) for _ in range(60)]
    names = [f"t{n}" for n in range(size)]
    table = pa.table({name: [walk[n] for walk in walks] for n, name in enumerate(names)})
    source: tuple[Any, ...] = (table, tv.Roles(series=names))
    how = {**_sanitizing(chance), "symbols": symbols}
    if mined_from_release:
        source = tv.anonymize_series(*source, k=8, p=4, effort=0, center=center)[:1]
    else:
        how["center"] = center
    release, _ = tv.sanitize_patterns(*source, **how)
    people = [
        frozenset(f"t{n}={letter}" for n, letter in enumerate(oracle.letters(walk, symbols, center)))
        for walk in walks
    ]
    items = [f"{name}={'abcd'[symbol]}" for name in names for symbol in range(symbols)]
    return _about_items(chance, release, people, items)


def _sanitizing(chance: random.Random) -> dict[str, Any]:
    k = chance.randint(2, 4)
    return {
        "k": k,
        "min_support": k + chance.choice([0, 1, 4]),
        "method": chance.choice(["additive", "tight", "clone", "suppressive", "itemset"]),
        "published": chance.choice(["frequent", "closed"]),
        "max_len": chance.choice([None, None, 2]),
        "allow_loss": True,
    }


def _about_items(
    chance: random.Random, release: tv.Release, people: list[frozenset[str]], items: list[str]
) -> Case:
    def draw() -> Question:
        asked = set(chance.sample(items, chance.randint(0, min(4, len(items)))))
        if chance.random() < 0.5:  # something that people do have
            asked = {item for item in chance.choice(people) if chance.random() < 0.7}
        having = [person for person in people if asked <= person]
        if chance.random() < 0.6 or not having:
            return tv.PatternSupport(sorted(asked)), [len(having)]
        then = chance.choice(items)
        share = sum(then in person for person in having) / len(having)
        return tv.RuleConfidence(sorted(asked), [then]), [share]

    return Case(release, draw)


KINDS: dict[str, Callable[[random.Random], Case]] = {
    "events": events,
    "events at steps": events_at_steps,
    "streams": streams,
    "streams in groups": generalized_streams,
    "series": series,
    "baskets": baskets,
    "letters": letters,
    "letters of series": coarse_letters,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=100_000, help="questions of all kinds together")
    parser.add_argument("--only", choices=[*KINDS])
    options = parser.parse_args()
    kinds = [options.only] if options.only else [*KINDS]
    outside, began = 0, time.monotonic()
    for kind in kinds:
        tally = campaign(kind, options.seed, -(-options.number // len(kinds)))
        outside += len(tally.outside)
        print(tally, *tally.outside[:5], sep="\n    ", flush=True)  # noqa: T201
    print(f"{outside} outside the bounds; {time.monotonic() - began:,.0f} s")  # noqa: T201
    return int(outside > 0)


if __name__ == "__main__":
    raise SystemExit(main())
