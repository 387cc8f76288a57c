"""Rows on their way to a file and back: cut to one size, and summed up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.folder.types import written_type

BLOCK_ROWS = 1 << 20


def blocks(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The same rows in tables of exactly `BLOCK_ROWS` rows, the last one shorter.

    Where a batch ended says something about the run that made it, so no file is cut there.
    """
    size = BLOCK_ROWS
    waiting: list[pa.RecordBatch] = []
    count = 0
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
    """Names and written types alone: no metadata of anybody's."""
    return pa.schema([pa.field(field.name, written_type(field.type)) for field in schema])


def in_written_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in its written types; dictionaries are resolved, so no value travels that no row has."""
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class Sum:
    """A checksum of a table's rows in their order, however they are cut into batches."""

    def __init__(self) -> None:
        self.rows = 0
        self._sums: dict[tuple[str, str], tuple[Any, ...]] = {}

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """The next rows, in their written types."""
        self.rows += rows.num_rows
        for name in rows.schema.names:
            column = rows.column(name)
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            for chunk in chunks:
                if pa.types.is_list(chunk.type):
                    _add_lengths(self._sum(name, "lists"), chunk)
                    chunk = pc.list_flatten(chunk)  # noqa: PLW2901
                _add(self._sum(name, "values"), chunk)

    def _sum(self, name: str, part: str) -> tuple[Any, ...]:
        return self._sums.setdefault((name, part), tuple(hashlib.sha256() for _ in range(3)))

    def hexdigest(self) -> str:
        """The sum of all rows so far."""
        parts = [(name, *(part.hexdigest() for part in sums)) for name, sums in self._sums.items()]
        return hashlib.sha256(repr((self.rows, parts)).encode()).hexdigest()


def _add_lengths(sums: tuple[Any, ...], chunk: pa.Array) -> None:
    known, lengths, _ = sums
    known.update(_bytes(pc.is_valid(chunk)))
    found = pc.list_value_length(chunk.drop_null()).to_numpy(zero_copy_only=False)
    lengths.update(np.ascontiguousarray(found, np.int32))


def _add(sums: tuple[Any, ...], chunk: pa.Array) -> None:
    known, lengths, values = sums
    known.update(_bytes(pc.is_valid(chunk)))
    chunk = chunk.drop_null()
    if pa.types.is_string(chunk.type):
        _, offsets, data = chunk.buffers()
        if len(chunk):
            ends = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
            lengths.update(np.diff(ends))
            if data is not None:
                values.update(memoryview(data)[ends[0] : ends[-1]])
        return
    if pa.types.is_boolean(chunk.type):
        values.update(_bytes(chunk))
        return
    if pa.types.is_floating(chunk.type):
        chunk = pc.if_else(pc.is_nan(chunk), pa.scalar(float("nan"), chunk.type), chunk)
    width = chunk.type.byte_width
    if len(chunk):
        values.update(
            memoryview(chunk.buffers()[1])[chunk.offset * width : (chunk.offset + len(chunk)) * width]
        )


def _bytes(mask: pa.Array) -> Any:
    return np.ascontiguousarray(mask.to_numpy(zero_copy_only=False)).view(np.uint8)
