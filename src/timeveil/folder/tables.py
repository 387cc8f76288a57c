"""Table files of a release: written with their rows and nothing else, opened in the stated types."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from timeveil.domain.stored import Stored
from timeveil.errors import raising_each
from timeveil.folder import csv_table
from timeveil.folder.manifest import damaged, written_type
from timeveil.reading.parquet_file import FAILURES, ParquetRows

Format = Literal["parquet", "csv"]
COMPRESSION = "zstd"
BLOCK_ROWS = 1 << 20


def write_table(batches: Iterable[pa.RecordBatch], schema: pa.Schema, file: Any, form: Format) -> Sum:
    """Write rows, in their order, to an open file; return their checksum."""
    checksum = Sum()
    sink = csv_table.CsvSink(file, schema) if form == "csv" else ParquetSink(file, schema)
    try:
        for rows in blocks((_in_types(batch, schema) for batch in batches), schema):
            checksum.add(rows)
            sink.write(rows)
    finally:
        sink.close()
    return checksum


class ParquetSink:
    """Parquet without statistics, dictionaries, Arrow schema or metadata."""

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
        """Write the next rows as one row group."""
        self._writer.write_table(rows, row_group_size=rows.num_rows)

    def close(self) -> None:
        """Finish the file."""
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
            raise damaged(self.path.name, "is missing, or is a link")
        count = 0
        batches = csv_table.read_batches(self.path, self.schema, columns)
        if self.form == "parquet":
            batches = self._parquet(columns)
        for batch in raising_each(batches, damaged(self.path.name, "cannot be read"), on=FAILURES):
            count += batch.num_rows
            yield batch if columns is None else batch.select(columns)
        # Only after the last batch: a reader who stops early learns nothing about the others.
        if count != self.num_rows:
            raise damaged(self.path.name, f"has {count} rows where release.json states {self.num_rows}")

    def read(self, columns: list[str] | None = None) -> pa.Table:
        """All rows, in memory."""
        return pa.Table.from_batches(self.to_batches(columns), self._chosen(columns))

    def _chosen(self, columns: list[str] | None) -> pa.Schema:
        return self.schema if columns is None else pa.schema([self.schema.field(c) for c in columns])

    def _parquet(self, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
        schema = self._chosen(columns)
        with ParquetRows(self.path, schema.names, expected=self.schema.names) as file:
            for batch in file.batches():
                batch.validate(full=True)
                yield batch.cast(schema)


def blocks(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The same rows in tables of exactly `BLOCK_ROWS` rows, the last one shorter.

    Where a batch ended depends on the run that made it, so no file is cut there.
    """
    size, count = BLOCK_ROWS, 0
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        start = 0
        while count + batch.num_rows - start >= size:
            waiting.append(batch.slice(start, size - count))
            start += size - count
            yield pa.Table.from_batches(waiting, schema)
            waiting, count = [], 0
        if start < batch.num_rows:
            waiting.append(batch.slice(start))
            count += batch.num_rows - start
    if waiting:
        yield pa.Table.from_batches(waiting, schema)


def written_schema(schema: pa.Schema) -> pa.Schema:
    """Names and written types, without metadata."""
    return pa.schema([pa.field(field.name, written_type(field.type)) for field in schema])


def _in_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in its written types; dictionaries are decoded, as they may have values that no row has."""
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class Sum:
    """A checksum of a table's rows in their order, however they are cut into batches."""

    def __init__(self) -> None:
        self.rows = 0
        self._sums: dict[tuple[str, str], tuple[Any, ...]] = {}

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add the next rows, in their written types."""
        self.rows += rows.num_rows
        for name in rows.schema.names:
            column = rows.column(name)
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                if pa.types.is_list(chunk.type):
                    self._add_lengths(name, chunk)
                self._add_values(name, pc.list_flatten(chunk) if pa.types.is_list(chunk.type) else chunk)

    def hexdigest(self) -> str:
        """The checksum of all rows so far."""
        # A hash each for validity, lengths and values, so that no byte can pass from one to another.
        parts = [(name, *(part.hexdigest() for part in sums)) for name, sums in self._sums.items()]
        return hashlib.sha256(repr((self.rows, parts)).encode()).hexdigest()

    def _parts(self, name: str, part: str) -> tuple[Any, ...]:
        """The hashes of which values exist, of their lengths, and of the values themselves."""
        return self._sums.setdefault((name, part), tuple(hashlib.sha256() for _ in range(3)))

    def _add_lengths(self, name: str, chunk: pa.Array) -> None:
        valid, lengths, _ = self._parts(name, "lists")
        valid.update(_bytes(pc.is_valid(chunk)))
        counts = pc.list_value_length(chunk.drop_null()).to_numpy(zero_copy_only=False)
        lengths.update(np.ascontiguousarray(counts, np.int32))

    def _add_values(self, name: str, chunk: pa.Array) -> None:
        valid, lengths, values = self._parts(name, "values")
        valid.update(_bytes(pc.is_valid(chunk)))
        chunk = chunk.drop_null()
        if not len(chunk):
            return
        if pa.types.is_boolean(chunk.type):
            values.update(_bytes(chunk))
            return
        if pa.types.is_floating(chunk.type):  # NaN has many bit patterns
            chunk = pc.if_else(pc.is_nan(chunk), pa.scalar(float("nan"), chunk.type), chunk)
        data = chunk.buffers()[-1]
        if pa.types.is_string(chunk.type):
            ends = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
            lengths.update(np.diff(ends))
            first, last = int(ends[0]), int(ends[-1])
        else:
            width = chunk.type.byte_width
            first, last = chunk.offset * width, (chunk.offset + len(chunk)) * width
        if data is not None:
            values.update(memoryview(data)[first:last])


def _bytes(mask: pa.Array) -> Any:
    return np.ascontiguousarray(mask.to_numpy(zero_copy_only=False)).view(np.uint8)
