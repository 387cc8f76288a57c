"""Table files of a release: written without anything beside the rows, opened in the stated types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from timeveil.domain.stored import Stored
from timeveil.errors import BundleError, instead_of
from timeveil.folder import text
from timeveil.folder.rows import Sum, blocks, in_written_types
from timeveil.reading.parquet_file import FAILURES, ParquetRows

Format = Literal["parquet", "csv"]
COMPRESSION = "zstd"
FORMULA_CELLS = "an apostrophe stands before text that a spreadsheet would run"
GET_IT_AGAIN = "the folder is not as it was written; get it again from whoever published it"


def write_table(batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: Any, form: Format) -> Sum:
    """Write rows, in the order given, to an open file; return what was meant."""
    meant = Sum()
    sink = text.CsvSink(file, schema) if form == "csv" else ParquetSink(file, schema)
    try:
        for rows in blocks((in_written_types(batch, schema) for batch in batches), schema):
            meant.add(rows)
            sink.write(rows)
    finally:
        sink.close()
    return meant


class ParquetSink:
    """Parquet without statistics, dictionaries, Arrow schema or metadata: the rows and nothing beside."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(
            file,
            schema,
            compression=COMPRESSION,
            use_dictionary=False,
            write_statistics=False,
            store_schema=False,
        )

    def write(self, rows: pa.Table) -> None:
        """The next rows, as one row group."""
        self._writer.write_table(rows, row_group_size=rows.num_rows)

    def close(self) -> None:
        """No more rows."""
        self._writer.close()


class Table(Stored):
    """A table file of a release, read a batch at a time in the types that `release.json` states."""

    def __init__(self, path: Path, schema: pa.Schema, rows: int, form: Format) -> None:
        self.path = path
        self.schema = schema
        self.num_rows = rows
        self.form = form

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, a batch at a time."""
        if self.path.is_symlink() or not self.path.is_file():
            raise damaged(self.path.name, "is not a file of its own, but a link or none at all")
        count = 0
        source = self._csv(columns) if self.form == "csv" else self._parquet(columns)
        unreadable = damaged(self.path.name, "cannot be read")
        while (batch := instead_of(FAILURES, lambda _: unreadable, lambda: next(source, None))) is not None:
            count += batch.num_rows
            yield batch if columns is None else batch.select(columns)
        if count != self.num_rows:
            raise damaged(self.path.name, f"has {count} rows where release.json states {self.num_rows}")

    def read(self, columns: list[str] | None = None) -> pa.Table:
        """All of it, in memory."""
        schema = self.schema if columns is None else pa.schema([self.schema.field(c) for c in columns])
        return pa.Table.from_batches(self.to_batches(columns), schema)

    def _csv(self, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
        return text.read_batches(self.path, self.schema, columns)

    def _parquet(self, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
        wanted = self.schema if columns is None else pa.schema([self.schema.field(c) for c in columns])
        with ParquetRows(self.path, wanted.names, expected=self.schema.names) as file:
            for batch in file.batches():
                batch.validate(full=True)
                yield batch.cast(wanted)


def damaged(name: str, what: str, hint: str = GET_IT_AGAIN) -> BundleError:
    """A file of a release is not as it was written."""
    return BundleError(
        f"`{name}` {what}",
        hint=hint,
        code="folder-damaged",
    )
