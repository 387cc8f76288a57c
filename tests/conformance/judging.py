"""How the suite judges by SQL what is in memory: both tables are loaded into a session, of DuckDB or another.

`in_place` makes every judge count there, where it can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.domain.release import decode_dictionaries
from timeveil.domain.stored import Batches, Stored
from timeveil.engines.duckdb import DuckDBSession
from timeveil.models.events.judges import tables as judges
from timeveil.reading.session import Session
from timeveil.reading.spark import Cluster

FILE_ROWS = 7  # as if each file had so many: their borders are looked at as well


class Loaded(Batches):
    """A table of which a session gets all `stored` columns."""

    def __init__(self, table: pa.Table, stored: pa.Table, mark: str = "") -> None:
        self.table, self.stored, self._mark = table, stored, mark
        self.schema, self.num_rows = table.schema, table.num_rows

    def stored_as(self, column: str) -> str:
        return self._mark + column

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        yield from (self.table if columns is None else self.table.select(columns)).to_batches()


def name_stored(session: Session, name: str, table: Loaded, columns: dict[str, str]) -> None:
    """Load a table, its times as whole numbers, in files of a few rows."""
    stored = decode_dictionaries(table.stored)
    arrays: dict[str, Any] = {alias: stored[column] for alias, column in columns.items()}
    for alias, column in arrays.items():
        if pa.types.is_timestamp(column.type) or pa.types.is_date32(column.type):
            arrays[alias] = column.cast(pa.int64() if pa.types.is_timestamp(column.type) else pa.int32())
    rows = range(stored.num_rows)
    numbers = [row // FILE_ROWS for row in rows] if name == "judged_rows" else [0 for _ in rows]
    places = {"file_number": pa.array(numbers, pa.int32()), "at_row": pa.array(rows, pa.int64())}
    session.upload(name, pa.table({**arrays, **places}))


def loaded(release: tv.Release, ledger: tv.Ledger | None) -> tuple[tv.Release, tv.Ledger | None]:
    """The same pair, whose tables a session can be given."""
    if "data" in release.parts:
        release = replace(release, parts={**release.parts, "data": Loaded(release.table, release.table)})
    if ledger is not None and isinstance(ledger.original.data, pa.Table | Stored):
        entries, data = ledger.table, ledger.original.data
        original = data.read() if isinstance(data, Stored) else data
        if entries.num_rows == original.num_rows:
            both = pa.table(
                [*entries.columns, *original.columns],
                [
                    *(f"entries {name}" for name in entries.column_names),
                    *(f"original {n}" for n in original.column_names),
                ],
            )
            relation = replace(ledger.original, data=Loaded(original, both, "original "))
            ledger = replace(ledger, entries=Loaded(entries, both, "entries "), original=relation)
    return release, ledger


@contextmanager
def in_place(connect: Callable[[], Session] = DuckDBSession) -> Iterator[Counter[bool]]:
    """A block in which judges count in a session where they can; how often they did, and how often not."""
    counter, real = Counter[bool](), judges.tables_of

    def session_of(evidence: Any) -> Session | None:
        tables = [evidence.release.parts.get("data")]
        tables += [] if evidence.ledger is None else [evidence.ledger.original.data, evidence.ledger.entries]
        if not all(isinstance(table, Loaded) for table in tables):
            return None
        return connect()

    def tables_of(evidence: Any) -> Any:
        tables = real(evidence)
        counter[tables is not None] += 1
        return tables

    with pytest.MonkeyPatch.context() as patch:
        for kind in (Session, Cluster):
            patch.setattr(kind, "name_stored", name_stored)
        patch.setattr(judges, "session_of", session_of)
        for judge in ("in_place", "search"):
            patch.setattr(f"timeveil.models.events.judges.{judge}.tables_of", tables_of)
        yield counter


def verdicts(release: tv.Release, ledger: tv.Ledger | None) -> tuple[Any, Any]:
    """The verdict of memory, and that of SQL; an error in place of one that cannot be had."""

    def judged(*pair: Any) -> Any:
        try:
            return tv.verify(*pair)
        except tv.TimeveilError as error:
            return type(error), error.code, error.message

    return judged(release, ledger), judged(*loaded(release, ledger))
