"""Objects that are printed and errors that are caught show nothing; order tells nothing of a ledger."""

from __future__ import annotations

import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.hygiene.canaries import MARK, SEED, TABLES, TOLD, baskets, cases, curves, seen
from tests.hygiene.test_python import EVENTS, METHODS, WIDE, patterns, rows_of, stream

import timeveil as tv
from timeveil.domain.run import Run
from timeveil.models.stream.parameters import StreamParameters
from timeveil.report import explain
from timeveil.service import Parameters, Service

PUBLISHER: dict[str, Any] = {"l": 2, "window": 3, "nulls": "withhold", "seed": SEED}


def pushed() -> tuple[tv.StreamPublisher, list[tv.PublishedSlot]]:
    publisher = tv.StreamPublisher(EVENTS, **PUBLISHER)
    return publisher, publisher.push(cases())


def objects() -> Iterator[Any]:
    """One of each public kind, made from tables full of marks."""
    for name in ("time", "stream", "packets", "series", "patterns"):
        method, table = METHODS[name]
        release, ledger = method(TABLES[table]())
        yield from (release, ledger, ledger.original, ledger.original.roles, release.guarantee)
        yield from (tv.verify(release, ledger), tv.attack(release, ledger), *release.parts.values())
        if name == "time":
            yield explain(release, ledger, verdict=tv.verify(release, ledger))
    publisher, slots = pushed()
    yield from (publisher, publisher._settings, publisher._stream, *slots, *publisher.close())
    yield Run(StreamParameters, "in.csv", EVENTS, {"l": 2, "window": 3, "seed": SEED}, out="out")
    yield Parameters(EVENTS, {"l": 2, "window": 3}, None, "csv")


def test_nothing_printed_of_an_object_is_a_cell() -> None:
    shown = [f"{type(thing).__name__}: {leak}" for thing in objects() for leak in printed(thing)]
    assert shown == []


def printed(thing: Any) -> list[str]:
    said = f"{thing!r} {thing}" if not isinstance(thing, pa.Table) else ""
    return seen(said.encode(), TOLD)


def test_a_service_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    parameters = Parameters(EVENTS, {"l": 2, "window": 3}, None, "csv")
    with Service(tmp_path / "in", tmp_path / "out", tmp_path / "s.db", parameters, seed=SEED) as service:
        assert printed(service) == printed(service.tally) == []


def spoilt(table: pa.Table, column: str, cells: list[Any]) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, pa.array(cells))


def times(first: str) -> list[str]:
    return [first, *(time.isoformat() for time in cases()["when"].to_pylist()[1:-1]), first]


def late(publisher: tv.StreamPublisher) -> None:
    publisher.push(cases().slice(0, 3))


MISTAKES: dict[str, Callable[[], Any]] = {
    "times that are none": lambda: stream(spoilt(cases(), "when", times(f"{MARK}-when"))),
    "times of several kinds": lambda: stream(spoilt(cases(), "when", times("2024-03-04T03:11:49+02:00"))),
    "nulls": lambda: stream(cases(), nulls="error"),
    "one value": lambda: stream(spoilt(cases(), "ill", [MARK] * 169)),
    "a cost for no value": lambda: stream(cases(), withhold_cost={MARK: "x"}),
    "a seed that is none": lambda: stream(cases(), seed=f"{SEED}"),
    "a seed too large": lambda: stream(cases(), seed=SEED << 64),
    "too late": lambda: late(pushed()[0]),
    "another type": lambda: pushed()[0].push(spoilt(cases(), "zip", list(range(169)))),
    "a state that is none": lambda: tv.StreamPublisher.restore(MARK.encode(), EVENTS, **PUBLISHER),
    "an item that clashes": lambda: patterns(spoilt(baskets(), "item", [f"{MARK}=x"] * baskets().num_rows)),
    "no frequent pattern": lambda: patterns(
        baskets().filter(pa.compute.match_substring(baskets()["item"], MARK))
    ),
    "nobody": lambda: patterns(spoilt(baskets(), "who", [None] * baskets().num_rows)),
    "no number": lambda: tv.anonymize_series(spoilt(curves(), "t2", [MARK] * 42), WIDE, k=4, p=2),
    "a person twice": lambda: tv.anonymize_series(spoilt(curves(), "who", [MARK] * 42), WIDE, k=4, p=2),
    "not enough": lambda: tv.anonymize_series(curves(), WIDE, k=90, p=2, fill="drop"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_nothing_behind_an_error_is_a_cell(name: str) -> None:
    """Whatever can be reached from it: a ticket system would print it all."""
    with pytest.raises(tv.TimeveilError) as caught:
        MISTAKES[name]()
    pending: list[BaseException | None] = [caught.value]
    while pending:
        error = pending.pop()
        if error is None:
            continue
        assert isinstance(error, tv.TimeveilError), type(error)
        told = f"{error!r} {error.args} {error.message} {error.hint} {error.facts}"
        lines = traceback.format_exception(error, chain=False)
        text = told + "".join(line for line in lines if not line.startswith("  File "))
        assert seen(text.encode(), TOLD) == []
        pending += [error.__cause__, error.__context__]


@pytest.mark.parametrize("name", ["time", "time in DuckDB", "series", "patterns"])
def test_the_order_of_the_input_leaves_no_trace(name: str) -> None:
    method, table = METHODS[name]
    given = TABLES[table]()
    order = pa.array(np.random.default_rng(1).permutation(given.num_rows))
    assert rows_of(method(given)[0]) == rows_of(method(given.take(order))[0])


@pytest.mark.parametrize("options", [{"l": 2}, {"l": 3, "protect_slot": 2}])
def test_a_moved_record_stands_anywhere_in_its_slot(options: dict[str, int]) -> None:
    """Rows are in the order of what they say, and of two records of one value neither is first by rule."""
    rows = 6000
    rng = np.random.default_rng(3)
    slot = np.repeat(np.arange(rows // 20), 20)
    common = rng.random(rows) < 0.6
    ill = np.where(common, slot // 20 % 3, rng.integers(0, 8, rows))
    table = pa.table({"slot": slot, "one": np.arange(rows), "ill": [f"v{code}" for code in ill]})
    roles = tv.Roles(time="slot", quasi=["one"], sensitive=["ill"])
    release, ledger = tv.publish_stream(table, roles, window=4, seed=5, allow_loss=True, **options)
    shown = [(row["slot"], row["bucket"], row["one"]) for row in release.table.to_pylist()]
    assert shown == sorted(shown)
    buckets: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for row in ledger.table.to_pylist():
        if row["slot"] is not None:
            moved = row["origin"] != row["slot"]
            buckets[row["slot"], ill[row["row"]]][moved].append(row["bucket"])
    pairs = [(a, b) for stayed, moved in buckets.values() for a in stayed for b in moved if a != b]
    assert len(pairs) > 100
    assert 0.4 < sum(a < b for a, b in pairs) / len(pairs) < 0.6
