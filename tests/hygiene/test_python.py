"""Tables that carry more than they show, and objects that are printed, pickled or passed on."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.hygiene.canaries import MARK, SEED, TABLES, cases, in_memory, leaks, seen

import timeveil as tv
from timeveil.domain.stored import Stored

HIDDEN = {b"metadata": MARK.encode()}
EVENTS = tv.Roles(respondent="who", time="when", quasi=["zip"], sensitive=["ill"], drop=["name"])
WIDE = tv.Roles(respondent="who", series=[f"t{place}" for place in range(6)], keep=["tariff"], drop=["name"])
BOUGHT = tv.Roles(respondent="who", item="item", drop=["name"])


def time(table: Any, **options: Any) -> Any:
    week = {"granularities": ["week"], "suppress": 0.05, "nulls": "withhold"}
    return tv.generalize_time(table, EVENTS, k=3, **{**week, **options})


def stream(table: Any, **options: Any) -> Any:
    usual = {"l": 2, "window": 3, "nulls": "withhold", "seed": SEED, "allow_loss": True}
    return tv.publish_stream(table, EVENTS, **{**usual, **options})


def series(table: Any) -> Any:
    return tv.anonymize_series(table, WIDE, k=4, p=2, fill="drop")


def patterns(table: Any) -> Any:
    return tv.sanitize_patterns(table, BOUGHT, k=3, min_support=9)


METHODS: dict[str, tuple[Callable[..., Any], str]] = {
    "time": (time, "visits"),
    "time in DuckDB": (lambda table: time(table, engine="duckdb"), "visits"),
    "stream": (stream, "cases"),
    "stream without buckets": (lambda table: stream(table, buckets="none"), "cases"),
    "packets": (lambda table: stream(table, protect_slot=2, l=3), "cases"),
    "series": (series, "curves"),
    "patterns": (patterns, "baskets"),
}


def with_unused_levels(table: pa.Table) -> pa.Table:
    """Texts as codes into a dictionary that has more values than occur."""
    columns = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_string(column.type):
            coded = column.dictionary_encode()
            more = pa.concat_arrays([coded.dictionary, pa.array([f"{MARK}-level-{n}" for n in range(9)])])
            column = pa.DictionaryArray.from_arrays(coded.indices, more)
        columns[name] = column
    return pa.table(columns)


def part_of_more(table: pa.Table) -> pa.Table:
    """A slice: the buffers hold rows before and after it."""
    around = table.slice(0, 30)
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            around = around.set_column(place, field.name, pa.array([f"{MARK}-row-{n}" for n in range(30)]))
    return pa.concat_tables([around, table, around]).combine_chunks().slice(30, table.num_rows)


def over_nulls(table: pa.Table) -> pa.Table:
    """Cells that are null, with a text still in the buffer."""
    columns = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_string(column.type) and name in ("zip", "tariff"):
            texts = column.to_pylist()
            texts[5] = f"{MARK}-under-null"
            _, offsets, data = pa.array(texts).buffers()
            valid = pa.array([place != 5 for place in range(len(texts))]).buffers()[1]
            column = pa.Array.from_buffers(pa.string(), len(texts), [valid, offsets, data])
        columns[name] = column
    return pa.table(columns)


def with_metadata(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([field.with_metadata(HIDDEN) for field in table.schema], metadata=HIDDEN))


def as_pandas(table: pa.Table) -> Any:
    """Categories that do not occur, an index that does not count, and notes."""
    frame = table.to_pandas()
    for name in ("zip", "ill", "tariff", "item"):
        if name in frame:
            levels = [*frame[name].unique(), f"{MARK}-category"]
            frame[name] = frame[name].astype("category").cat.set_categories(levels)
    frame.index = [f"{MARK}-index-{row}" for row in range(len(frame))]
    frame.attrs["note"] = MARK
    return frame


def as_polars(table: pa.Table) -> Any:
    import polars as pl

    return pl.from_arrow(with_unused_levels(table))


def as_duckdb(table: pa.Table) -> Any:
    import duckdb

    return duckdb.connect().from_arrow(table)


def as_parquet(table: pa.Table, folder: Path) -> Path:
    """A file with statistics, dictionaries and metadata of its own."""
    import pyarrow.parquet as pq

    pq.write_table(with_metadata(with_unused_levels(table)), folder / "in.parquet")
    return folder / "in.parquet"


DISGUISES: dict[str, Callable[[pa.Table], Any]] = {
    "unused levels": with_unused_levels,
    "a slice": part_of_more,
    "texts under nulls": over_nulls,
    "metadata": with_metadata,
    "pandas": as_pandas,
    "polars": as_polars,
    "DuckDB": as_duckdb,
}


def shown_by(release: tv.Release) -> Iterator[bytes]:
    """All that somebody who is given the object could find in it."""
    for table in release.tables.values():
        yield from in_memory(table)
        yield pickle.dumps(table)
    yield from (
        pickle.dumps(release),
        pickle.dumps(copy.copy(release).parts),
        pickle.dumps(copy.deepcopy(release)),
    )
    yield from (pickle.dumps(part) for part in release.parts.values() if not isinstance(part, Stored))
    yield repr(dict(release.manifest)).encode()


def rows_of(release: tv.Release) -> dict[str, Any]:
    return {name: table.to_pydict() for name, table in release.tables.items()}


@cache
def undisguised(name: str) -> dict[str, Any]:
    method, table = METHODS[name]
    return rows_of(method(TABLES[table]())[0])


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("name", METHODS)
def test_a_release_holds_what_it_shows(tmp_path: Path, name: str, disguise: str) -> None:
    method, table = METHODS[name]
    release, _ = method(DISGUISES[disguise](TABLES[table]()))
    assert sorted({leak for layer in shown_by(release) for leak in seen(layer)}) == []
    assert leaks(tv.write(release, tmp_path / "out")) == []
    if disguise != "texts under nulls":
        assert rows_of(release) == undisguised(name)


@pytest.mark.parametrize("name", METHODS)
def test_a_file_with_more_in_it(tmp_path: Path, name: str) -> None:
    method, table = METHODS[name]
    release, _ = method(as_parquet(TABLES[table](), tmp_path))
    assert sorted({leak for layer in shown_by(release) for leak in seen(layer)}) == []
    assert leaks(tv.write(release, tmp_path / "out", format="csv")) == []


@pytest.mark.parametrize("disguise", ["unused levels", "a slice"])
def test_a_slot_holds_its_own_records_alone(disguise: str) -> None:
    """Every record has a mark of its own; a slot that is passed on has those of no other."""
    publisher = tv.StreamPublisher(EVENTS, l=2, window=3, nulls="withhold", seed=SEED)
    slots = [*publisher.push(DISGUISES[disguise](cases())), *publisher.close()]
    marks = {mark.encode(): mark for mark in cases()["zip"].to_pylist()}
    assert len(slots) == 14
    for slot in slots:
        content = b"".join([pickle.dumps(slot), *shown_by(slot.release)])
        assert seen(content) == []
        assert set(seen(content, marks)) == set(slot.data["zip"].to_pylist())
