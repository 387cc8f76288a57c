"""The order of the input decides nothing.

The same rows in another order, in other chunks, their text with a dictionary in any order, give the same
release where nothing is drawn, and the same chances where something is. Only the ledger follows the input.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some

import timeveil as tv

Run = Callable[[pa.Table], Any]
FEW_NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 1.5, -2.0])


def cells(draw: Any, rows: int, values: Any) -> list[Any]:
    """One drawn value for each row."""
    return list(draw(st.lists(values, min_size=rows, max_size=rows)))


@st.composite
def reordered(draw: Any, table: pa.Table) -> pa.Table:
    """The same rows in another order, in two chunks, and text perhaps with a dictionary in any order."""
    shuffled = table.take(pa.array(draw(st.permutations(range(table.num_rows))), pa.int64()))
    for name in table.column_names:
        values = shuffled[name].drop_null().unique().to_pylist()
        if pa.types.is_string(shuffled[name].type) and draw(st.booleans()):
            dictionary = draw(st.permutations(values))
            codes = [None if cell is None else dictionary.index(cell) for cell in shuffled[name].to_pylist()]
            coded = pa.DictionaryArray.from_arrays(
                pa.array(codes, pa.int32()), pa.array(dictionary, pa.string())
            )
            shuffled = shuffled.set_column(shuffled.column_names.index(name), name, coded)
    cut = draw(st.integers(0, table.num_rows))
    return pa.concat_tables([shuffled.slice(0, cut), shuffled.slice(cut)])


def published(run: Run, table: pa.Table) -> Any:
    """Everything that a release shows, minus zero told from zero; or what kind of error there was."""
    try:
        release, _ = run(table)
    except tv.TimeveilError as error:
        return error.code, error.message
    shown = {name: (part.schema.to_string(), repr(part.to_pydict())) for name, part in release.tables.items()}
    return release.manifest, shown


@st.composite
def visits(draw: Any) -> tuple[pa.Table, pa.Table, Run]:
    rows = draw(st.integers(2, 24))
    days = st.integers(0, 40).map(lambda day: dt.date(2024, 1, 20) + dt.timedelta(days=day))
    table = pa.table(
        {
            "who": cells(draw, rows, st.sampled_from("abcdef")),
            "when": cells(draw, rows, days),
            "zip": pa.array(cells(draw, rows, st.sampled_from(["101", "102", "211", None])), pa.string()),
            "dose": cells(draw, rows, FEW_NUMBERS),
            "note": pa.array(cells(draw, rows, st.sampled_from(["x", "y", None])), pa.string()),
            "result": cells(draw, rows, FEW_NUMBERS),
        }
    )
    roles = tv.Roles(
        respondent="who", time="when", quasi=["zip", "dose"], sensitive=["result"], keep=["note"]
    )
    options = {
        "k": draw(st.integers(2, 3)),
        "suppress": draw(st.sampled_from([0.0, 0.2, 0.9])),
        "choose": draw(st.sampled_from(["groups", "generality", "month"])),
        "hierarchies": draw(st.sampled_from([None, {"zip": "prefixes:2,1", "dose": "intervals:2"}])),
    }
    return table, draw(reordered(table)), lambda rows: tv.generalize_time(rows, roles, **options)


@st.composite
def loads(draw: Any) -> tuple[pa.Table, pa.Table, Run]:
    """Series with many ties, and few different sensitive values; wide or long."""
    people, instants = draw(st.integers(6, 30)), draw(st.integers(1, 4))
    matrix = [cells(draw, instants, FEW_NUMBERS | st.floats(-9, 9)) for _ in range(people)]
    for copy in draw(st.lists(st.integers(0, people - 1), max_size=people)):
        matrix[copy] = matrix[0]
    names = [f"t{instant}" for instant in range(instants)]
    attributes = {
        "tariff": cells(draw, people, st.sampled_from("xyz")),
        "bill": cells(draw, people, FEW_NUMBERS),
    }
    table = pa.table({name: [series[at] for series in matrix] for at, name in enumerate(names)} | attributes)
    roles = tv.Roles(series=names, sensitive=["bill"], keep=["tariff"])
    if draw(st.booleans()):
        long = [
            {
                "who": f"p{who}",
                "time": at,
                "load": value,
                **{name: attributes[name][who] for name in attributes},
            }
            for who, series in enumerate(matrix)
            for at, value in enumerate(series)
        ]
        table = pa.Table.from_pylist(long)
        roles = tv.Roles(respondent="who", time="time", value="load", sensitive=["bill"], keep=["tariff"])
    options = {
        "k": draw(st.integers(3, 5)),
        "p": draw(st.integers(1, 3)),
        "method": draw(st.sampled_from(["adaptive", "kapra", "naive", "representative"])),
        "max_level": draw(st.sampled_from([3, 20])),
        "center": draw(st.sampled_from(["mean", "median"])),
        "round_outward": draw(st.sampled_from([None, 1, 3])),
    }
    if options["method"] in ("adaptive", "representative"):
        options |= {
            "effort": draw(st.sampled_from([0, 1, 2])),
            "shape_weight": draw(st.sampled_from([0, 50])),
        }
        options["p"] = 3 if options["method"] == "representative" else options["p"]
    return table, draw(reordered(table)), lambda rows: tv.anonymize_series(rows, roles, **options)


@st.composite
def baskets(draw: Any) -> tuple[pa.Table, pa.Table, Run]:
    """Items of people, many of them equally common; or series of few symbols."""
    options = {
        "k": draw(st.integers(2, 4)),
        "min_support": draw(st.integers(4, 6)),
        "method": draw(st.sampled_from(["additive", "tight", "clone", "suppressive", "itemset"])),
        "published": draw(st.sampled_from(["frequent", "closed"])),
    }
    people = draw(st.integers(8, 20))
    if draw(st.booleans()):
        rows = [cells(draw, 3, st.integers(0, 3).map(float)) for _ in range(people)]
        table = pa.table({f"t{at}": [row[at] for row in rows] for at in range(3)})
        options |= {"symbols": draw(st.integers(2, 3)), "structural": draw(st.booleans())}
        roles = tv.Roles(series=table.column_names)
        return table, draw(reordered(table)), lambda rows: tv.sanitize_patterns(rows, roles, **options)
    has = [draw(st.sets(st.sampled_from("abcde"), min_size=1)) for _ in range(people)]
    pairs = [{"who": who, "item": item} for who, items in enumerate(has) for item in sorted(items)]
    table, roles = pa.Table.from_pylist(pairs), tv.Roles(respondent="who", item="item")
    return table, draw(reordered(table)), lambda rows: tv.sanitize_patterns(rows, roles, **options)


@st.composite
def eligible_slots(draw: Any) -> tuple[pa.Table, pa.Table, Run]:
    """A stream whose slots are l-diverse as they come, published without buckets: nothing is drawn."""
    l = draw(st.integers(2, 3))
    counts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    values = [(slot, value) for slot, count in enumerate(counts) for value in "pqrs" for _ in range(count)]
    table = pa.table(
        {
            "day": [slot for slot, _ in values],
            "age": cells(draw, len(values), FEW_NUMBERS),
            "ward": pa.array(cells(draw, len(values), st.sampled_from(["n", "s", None])), pa.string()),
            "ill": [value for _, value in values],
        }
    )
    roles = tv.Roles(time="day", quasi=["age"], keep=["ward"], sensitive=["ill"])
    options = {"l": l, "window": draw(st.integers(1, 3)), "seed": draw(st.integers(0, 9)), "buckets": "none"}
    options["first_window"] = draw(st.sampled_from(["grow", "exact"]))
    return table, draw(reordered(table)), lambda rows: tv.publish_stream(rows, roles, **options)


@pytest.mark.parametrize("cases", [visits, loads, baskets, eligible_slots])
@settings(max_examples=some(100))
@given(st.data())
def test_a_release_without_draws_does_not_show_the_order_of_its_input(cases: Any, data: Any) -> None:
    table, other, run = data.draw(cases())
    assert published(run, table) == published(run, other)


def test_duckdb_does_not_show_the_order_of_zeros() -> None:
    """It takes 0 and minus 0 for equal, and no order of equal rows is its own."""
    table = pa.table({"who": [*"abcd"], "when": ["2024-01-01"] * 4, "dose": [0.0, -0.0, 0.0, -0.0]})
    roles = tv.Roles(respondent="who", time="when", keep=["dose"])

    def run(rows: pa.Table) -> Any:
        return tv.generalize_time(rows, roles, k=2, engine="duckdb")

    assert published(run, table) == published(run, table.take([1, 0, 3, 2]))


FAR = 0.25
"""How far apart shares of 100 seeds may be where the chances are equal: 3.5 deviations or more."""


def slots_and_partners(release: tv.Release) -> set[Hashable]:
    """What is seen of each record: its slot, and the values that it shares a bucket with."""
    values: dict[Any, list[str]] = {}
    for row in release.tables["sensitive"].to_pylist():
        values.setdefault((row["slot"], row["bucket"]), []).append(row["ill"])
    seen: set[Hashable] = set()
    for row in release.table.to_pylist():
        seen |= {(row["age"], shown) for shown in (row["slot"], *values[row["slot"], row["bucket"]])}
    return seen


def stream(
    days: str, values: str, people: str = "", seeds: int = 100, **options: Any
) -> tuple[pa.Table, Callable[..., Any], int]:
    """Records with ages in their order, how they are published under a seed, and how many seeds to try."""
    columns: dict[str, Any] = {
        "day": [int(day) for day in days],
        "age": range(len(days)),
        "ill": [*values],
        **({"who": [*people]} if people else {}),
    }
    roles = tv.Roles(time="day", quasi=["age"], sensitive=["ill"], respondent="who" if people else None)
    return pa.table(columns), lambda rows, seed: tv.publish_stream(rows, roles, seed=seed, **options), seeds


which_moves: dict[str, Any] = {"days": "11222222", "values": "abcccdde", "l": 3, "window": 3}
STREAMS = {
    "buckets": stream("1111", "abcd", l=2, window=1),
    "who moves": stream("1111122222", "aaabcbcdef", l=2, window=2),
    "which value moves": stream(**which_moves, withhold_cost=0.5),
    "a window solved": stream(**which_moves, withhold_cost=0.5, first_window="exact", seeds=40),
    "fillers": stream("1111122222", "abcdeaaabb", l=3, window=2, filler="always"),
    "jitter": stream("11112222", "abcdabcd", l=2, window=2, jitter=1),
    "two records of a person": stream("11111", "abcde", "vvwxy", l=2, window=1),
    "packets": stream("11111222222", "aaabcbcdefg", l=3, window=3, protect_slot=2, spread=2, fillers=1),
    "packets with people": stream("1" * 12, "abcdefghijkl", "vvwxyzABCDEF", l=3, window=2, protect_slot=2),
}


def in_another_order(table: pa.Table) -> pa.Table:
    """Every second row, then the others, from the last to the first."""
    rows = np.arange(table.num_rows)
    return table.take(pa.array(np.concatenate([rows[::2], rows[1::2]])[::-1]))


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_drawn_for_a_stream_has_the_same_chances_in_every_order(name: str) -> None:
    table, run, seeds = STREAMS[name]
    chances: list[Counter[Hashable]] = []
    for rows in (table, in_another_order(table)):
        chances.append(Counter())
        for seed in range(seeds):
            chances[-1].update(slots_and_partners(run(rows, seed)[0]))
    for event in chances[0] | chances[1]:
        assert abs(chances[0][event] - chances[1][event]) < FAR * seeds, event


@pytest.mark.parametrize("values", ["abcd", "dacb"])
def test_four_values_are_paired_in_three_ways_as_often(values: str) -> None:
    """Pushed in whatever order, each way has a third of the seeds."""
    roles, pairings = tv.Roles(time="day", sensitive=["ill"]), Counter[str]()
    snapshot = pa.table({"day": [1] * 4, "ill": [*values]})
    for seed in range(300):
        publisher = tv.StreamPublisher(roles, l=2, window=1, seed=seed)
        (slot,) = publisher.push(snapshot)
        pairs: dict[int, str] = {}
        for row in slot.release.tables["sensitive"].to_pylist():
            pairs[row["bucket"]] = pairs.get(row["bucket"], "") + row["ill"]
        pairings[" ".join(sorted(pairs.values()))] += 1
    assert set(pairings) == {"ab cd", "ac bd", "ad bc"}
    assert all(75 < count < 125 for count in pairings.values())


def test_a_sorted_file_does_not_help_to_guess_values() -> None:
    """The day's file is sorted by a published column, and guessing by some order is right 1 in l times.

    People of a bucket, in the order of the file, are guessed to have its values in the order of the alphabet,
    of the buckets that the values are in, or of how common they are.
    """
    roles, chance, l = tv.Roles(time="day", quasi=["age"], sensitive=["ill"]), np.random.default_rng(1), 3
    right: Counter[str] = Counter()
    guesses = 0
    for trial in range(150):
        values = [chance.permutation([*"aaabbbccddef"]).tolist(), chance.permutation([*"aabbcdefg"]).tolist()]
        days, ages = [1] * 12 + [2] * 9, [*range(12), *range(9)]
        table = pa.table({"day": days, "age": ages, "ill": [*values[0], *values[1]]})
        release, _ = tv.publish_stream(table, roles, l=l, window=2, seed=trial)
        first = [row for row in release.tables["sensitive"].to_pylist() if row["slot"] == 1]
        met, common = list(dict.fromkeys(row["ill"] for row in first)), Counter(row["ill"] for row in first)
        orders = {"alphabet": sorted(met), "buckets": met, "commonness": sorted(met, key=common.__getitem__)}
        for bucket in {row["bucket"] for row in first}:
            shown = [row["ill"] for row in first if row["bucket"] == bucket]
            rows = release.table.to_pylist()
            people = sorted(r["age"] for r in rows if (r["slot"], r["bucket"]) == (1, bucket))
            guesses += len(people)
            for name, order in orders.items():
                guessed = zip(people, sorted(shown, key=order.index), strict=True)
                right[name] += sum(values[0][age] == ill for age, ill in guessed)
    assert guesses > 1500
    assert all(count / guesses < 1 / l + 0.03 for count in right.values()), right


def test_exchanged_numbers_of_series_have_the_same_chances_in_every_order() -> None:
    """Everybody shares a cell, so some of those with the commonest number get another one, drawn."""
    bills = [1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7]
    table = pa.table({"load": [1.0] * 12, "bill": bills, "tariff": [*"xxxyyyxyxyxy"]})
    roles = tv.Roles(series=["load"], sensitive=["bill"], keep=["tariff"])
    chances: list[Counter[Hashable]] = []
    for rows in (table, in_another_order(table)):
        chances.append(Counter())
        for seed in range(100):
            release, _ = tv.anonymize_series(rows, roles, k=12, p=12, l=3, effort=0, seed=seed)
            shown = Counter((row["tariff"], row["bill"]) for row in release.table.to_pylist())
            chances[-1].update(shown.items())
    assert len(chances[0]) > 20
    for event in chances[0] | chances[1]:
        assert abs(chances[0][event] - chances[1][event]) < FAR * 100, event
