"""Judges that count by SQL come to the verdicts of memory: on random tables, spoilt ones and every sabotage.

`python -m tests.conformance.test_judges_in_place --seed 7 --number 2000` tries more than `make test` does.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.conformance.judging import in_place, loaded, verdicts
from tests.conformance.test_random_tables import random_case
from tests.effort import THOROUGH
from tests.postgres import database
from tests.sabotage import page  # noqa: F401 (fills the catalogue)
from tests.sabotage.tampering import CATALOGUE
from tests.sabotage.valid import SHAPES, made, rounds
from tests.spark import needs_spark, session

import timeveil as tv
from timeveil.engines.duckdb import DuckDBSession
from timeveil.reading.database import Server
from timeveil.reading.session import Session
from timeveil.reading.spark import Cluster

CASES = 600 if THOROUGH else 15


def spoilt(rng: np.random.Generator, release: tv.Release, ledger: tv.Ledger) -> tuple[tv.Release, tv.Ledger]:
    """The pair with one random fault, which may not matter."""
    table, original, entries = release.table, ledger.original.table, ledger.table

    def mixed(column: Any) -> Any:
        """Some cells of a column in place of others."""
        rows = np.arange(len(column))
        places = rng.integers(0, len(rows), min(int(rng.integers(1, 4)), len(rows)))
        rows[places] = rng.integers(0, len(rows), len(places)) if len(rows) else 0
        return column.take(pa.array(rows))

    kind = rng.choice(["published", "rows", "order", "original", "group", "withheld", "none"])
    if table.num_rows and kind == "published":
        at = int(rng.integers(table.num_columns))
        table = table.set_column(at, table.schema.field(at), mixed(table.column(at)))
    elif kind == "rows":
        table = table.take(pa.array(np.flatnonzero(rng.random(table.num_rows) < 0.9)))
    elif kind == "order":
        table = table.take(pa.array(mixed(pa.array(range(table.num_rows))).to_pylist(), pa.int64()))
    elif kind == "original":
        at = int(rng.integers(original.num_columns))
        original = original.set_column(at, original.schema.field(at), mixed(original.column(at)))
    elif kind == "group":
        entries = entries.set_column(1, "group", mixed(entries["group"]))
    elif kind == "withheld":
        gone, listed = rng.random(entries.num_rows) < 0.1, entries["group"].to_pylist()
        kept = [None if away else number for away, number in zip(gone, listed, strict=True)]
        entries = entries.set_column(1, "group", pa.array(kept, pa.int32()))
    release = tv.Release(release.guarantee, release.manifest, {"data": table})
    relation = replace(ledger.original, data=original)
    return release, replace(ledger, entries=entries, original=relation)


def compare(seed: int, connect: Callable[[], Session] = DuckDBSession, faults: int = 4) -> Counter[str]:
    """Judge one random table, whole and spoilt, with and without its ledger."""
    rng = np.random.default_rng(seed)
    table, roles, k, options = random_case(rng)
    for name in ("recode", "protect"):  # judged in memory
        options.pop(name, None)
    try:
        pair = tv.generalize_time(table, roles, k, **options)
    except tv.TimeveilError:
        return Counter(refused=1)
    outcomes = Counter[str]()
    with in_place(connect) as counted:
        for release, ledger in (pair, *(spoilt(rng, *pair) for _ in range(faults))):
            for given in (None, ledger):
                expected, verdict = verdicts(release, given)
                assert verdict == expected
                outcomes["holds" if expected else "violated"] += 1
    outcomes["by SQL"] = counted[True]
    return outcomes


def test_random_tables_have_the_same_verdict() -> None:
    outcomes = sum((compare(2_000 + case) for case in range(CASES)), Counter[str]())
    assert outcomes["by SQL"] > CASES
    assert outcomes["violated"] > CASES


def in_postgresql() -> Session:
    return Server(database().uri, reads_only=False)


def in_spark() -> Session:
    return Cluster(session())


def test_they_have_in_postgresql() -> None:
    assert sum((compare(3_000 + case, in_postgresql) for case in range(4)), Counter[str]())["by SQL"] > 10


@needs_spark
def test_they_have_in_spark() -> None:
    assert compare(2_003, in_spark, 1)["by SQL"] == 4


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.split(", ")[0] == "time"])
def test_what_is_valid_holds(shape: str) -> None:
    release, ledger = made(shape, 0)
    with in_place() as counted:
        assert all(verdicts(release, given) for given in (None, ledger))
    promised_alone = {"time, origin", "time, durations"}
    assert counted[True] >= (0 if shape == "time, origin" else 1 if shape in promised_alone else 2)


def with_column(table: pa.Table, name: str, cells: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, cells)


@pytest.mark.parametrize("connect", [DuckDBSession, in_postgresql])
def test_what_sql_takes_for_equal_is_refused_as_in_memory(connect: Callable[[], Session]) -> None:
    """Zeros with a sign, NaN of several kinds, and rows of a ledger without a number."""
    zeros, signed = pa.array([0.0] * 8), pa.array([0.0] * 7 + [-0.0])
    nans = pa.array(np.array([0x7FF8 << 48] * 7 + [0xFFF8 << 48], np.uint64).view(np.float64))
    table = pa.table({"who": [*"abcdefgh"], "day": ["2024-01-01"] * 8, "size": zeros, "dose": zeros})
    roles = tv.Roles(respondent="who", time="day", quasi=["size"], keep=["dose"])
    release, ledger = tv.generalize_time(table, roles, 2)
    one_alone = replace(release, parts={"data": with_column(release.table, "size", signed)})
    original = replace(ledger.original, data=with_column(ledger.original.table, "size", signed))
    marked = replace(release, parts={"data": with_column(release.table, "dose", signed)})
    two_kinds = replace(release, parts={"data": with_column(release.table, "size", nans)})
    of_two = replace(ledger.original, data=with_column(ledger.original.table, "size", nans))
    unnumbered = with_column(ledger.table, "row", pa.array([0, None, *range(2, 8)], pa.int64()))
    forged = [
        (one_alone, None),
        (one_alone, replace(ledger, original=original)),
        (release, replace(ledger, original=original)),
        (marked, ledger),
        (two_kinds, None),
        (two_kinds, replace(ledger, original=of_two)),
        (release, replace(ledger, entries=unnumbered)),
    ]
    with in_place(connect):
        assert all(verdicts(release, ledger))
        for pair in forged:
            expected, verdict = verdicts(*pair)
            assert verdict == expected
            assert not verdict


@needs_spark
def test_what_spark_takes_for_equal_is_refused_as_in_memory() -> None:
    test_what_sql_takes_for_equal_is_refused_as_in_memory(in_spark)


def test_a_level_that_the_ledger_has_no_labels_for() -> None:
    table = pa.table({"who": [*"abcd"], "day": ["2024-01-01"] * 4, "zip": ["1", "2", "1", "2"]})
    roles = tv.Roles(respondent="who", time="day", quasi=["zip"])
    hierarchies = {"zip": pa.table({"zip": ["1", "2"], "all": ["*", "*"]})}
    release, ledger = tv.generalize_time(table, roles, 3, hierarchies=hierarchies)
    with in_place():
        expected, verdict = verdicts(release, replace(ledger, mappings={}))
    assert verdict == expected
    assert not verdict


def attacked(*pair: Any) -> dict[str, Any]:
    try:
        return tv.attack(*pair).as_dict()
    except tv.TimeveilError as error:
        return {"refused": (error.code, error.message)}


def attack_both(seed: int, connect: Callable[[], Session] = DuckDBSession) -> Counter[bool]:
    """Attack one random table, and the first row of each person, of whom all visits are known then.

    Several visits are drawn, and otherwise than in memory. A ledger of another release is refused alike.
    """
    table, roles, k, options = random_case(np.random.default_rng(seed))
    first = np.unique(np.array(table["who"].to_pylist()).astype(str), return_index=True)[1]
    counted = Counter[bool]()
    for rows in (table, table.take(pa.array(first))):
        try:
            pair = tv.generalize_time(rows, roles, k, **{**options, "recode": "global", "protect": None})
        except tv.TimeveilError:
            continue
        withheld = pair[1].table.set_column(1, "group", pa.nulls(rows.num_rows, pa.int32()))
        with in_place(connect) as of_pair:
            expected, seen = attacked(*pair), attacked(*loaded(*pair))
            if rows is table:
                assert seen.pop("singled_out").keys() == expected.pop("singled_out").keys()
            assert flat(seen) == pytest.approx(flat(expected))
            other = replace(pair[1], entries=withheld)
            assert attacked(*loaded(pair[0], other)) == attacked(pair[0], other)
        counted += of_pair
    return counted


def flat(facts: Any, at: str = "") -> dict[str, Any]:
    """The values of nested facts by their path."""
    if not isinstance(facts, dict):
        return {at: facts}
    inner = [flat(value, f"{at}.{name}") for name, value in facts.items()]
    return {path: value for facts in inner for path, value in facts.items()}


def test_attacks_find_as_many_people() -> None:
    counted = sum((attack_both(4_000 + case) for case in range(CASES)), Counter[bool]())
    counted += sum((attack_both(5_000 + case, in_postgresql) for case in range(2)), Counter[bool]())
    assert counted[True] > CASES


def test_every_sabotage_is_noticed_alike() -> None:
    outcomes = Counter[bool]()
    for one in (one for one in CATALOGUE if one.on.startswith("time")):
        shape, seed = rounds(one.on)[0]
        spoilt_pair = one.do(*made(shape, seed), random.Random(f"{one.what} {shape} {seed}"))  # noqa: S311
        if spoilt_pair is None:
            continue
        with in_place() as counted:
            for given in (None, spoilt_pair.ledger):
                expected, verdict = verdicts(spoilt_pair.release, given)
                assert verdict == expected, one.what
        outcomes += counted
    assert outcomes[True] > 100


SESSIONS: dict[str, Callable[[], Session]] = {
    "duckdb": DuckDBSession, "postgres": in_postgresql, "spark": in_spark,
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=1_000)
    parser.add_argument("--engine", choices=SESSIONS, default="duckdb")
    asked = parser.parse_args()
    total = Counter[str]()
    for case in range(asked.seed, asked.seed + asked.number):
        try:
            total += compare(case, SESSIONS[asked.engine])
        except BaseException:
            print("seed", case)  # noqa: T201
            raise
    print(dict(total))  # noqa: T201
