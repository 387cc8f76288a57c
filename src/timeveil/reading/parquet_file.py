"""Parquet files, read no further than their limits.

The end of a file, its footer, describes the rest, and is looked at first: how long it is, how many columns it
names, and how much the columns asked for would take in memory. What it cannot tell is how long text becomes:
a long one may stand in a dictionary once and in every row by its number. Where that could be too much, the
dictionaries are looked at; where it still could, text is read as numbers and dictionary, and summed up before
it is written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from timeveil.domain.stored import BATCH_ROWS
from timeveil.errors import EngineError, InputError, TimeveilError, instead_of
from timeveil.reading.footer import (
    BIT_PACKED,
    BYTE_ARRAY,
    OVERLAPPING,
    PLAIN,
    PLAIN_LENGTHS,
    RLE,
    Chunk,
    Footer,
    Leaf,
    read_footer,
)
from timeveil.reading.limits import limits, refuse_columns, too_large
from timeveil.reading.refusals import not_parquet, unreadable

T = TypeVar("T")

FAILURES = (OSError, pa.ArrowException, ValueError, KeyError, TypeError, OverflowError)
"""What pyarrow says to a file that is not one, or that names columns in bytes that are no text."""


class ParquetTable:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.name: str | None = path.name
        self._path = path
        with self._guarded(lambda: SafeParquet(path, ())) as file:
            self.names: tuple[str, ...] = tuple(file.names)

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns, whole."""
        with self._guarded(lambda: SafeParquet(self._path, columns, checksums=True)) as file:
            return self._guarded(file.read)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns, a batch at a time."""
        with self._guarded(lambda: SafeParquet(self._path, columns, checksums=True)) as file:
            yield file.schema.empty_table()
            batches = file.batches(BATCH_ROWS)
            while (batch := self._guarded(lambda: next(batches, None))) is not None:
                yield pa.Table.from_batches([batch])

    def _guarded(self, take: Callable[[], T]) -> T:
        return instead_of(FAILURES, self._refusal, take)

    def _refusal(self, cause: Exception) -> TimeveilError:
        if isinstance(cause, MemoryError):
            return EngineError(
                f"there is not enough memory to read `{self._path.name}`",
                hint="let DuckDB work from disk: engine='duckdb'",
                code="engine-failed",
            )
        if isinstance(cause, OSError) and cause.errno is not None:
            return unreadable(self._path.name, cause)
        return not_parquet(self._path.name)


class SafeParquet:
    """Some columns of a Parquet file, opened after its footer was found to be within the limits.

    With `given` its columns must be these.
    """

    def __init__(
        self,
        path: Path,
        columns: Sequence[str] | None = None,
        *,
        given: Sequence[str] | None = None,
        checksums: bool = False,
    ) -> None:
        self._path = path
        self.footer = read_footer(path)
        self._file = pq.ParquetFile(path, page_checksum_verification=checksums, pre_buffer=False)
        try:
            self._refuse_others(given)
            self._prepare(columns, checksums)
        except BaseException:
            self._file.close()
            raise

    def _refuse_others(self, given: Sequence[str] | None) -> None:
        self.metadata = self._file.metadata
        refuse_columns(self._path.name, self.metadata.num_columns)
        self.whole = self._file.schema_arrow
        self.names = self.whole.names
        if given is not None and self.names != list(given):
            raise pa.ArrowInvalid("the columns are not those of the table")

    def _prepare(self, columns: Sequence[str] | None, checksums: bool) -> None:  # noqa: FBT001
        self.columns = list(self.names if columns is None else columns)
        self.schema = self.whole if columns is None else pa.schema([self.whole.field(n) for n in columns])
        self._left = limits().allowance(self._path.stat().st_size)
        claims = _Claims(self.footer, None if columns is None else set(columns))
        if claims.bytes > self._left:
            raise self._too_large(f"would take {claims.bytes:,} bytes")
        self._rows, self._wary = BATCH_ROWS, claims.at_worst > self._left
        if not self._wary:
            return
        if claims.overlapping:  # each text is made in full as it is read: few at a time
            self._rows = max(1, min(BATCH_ROWS, self._left // claims.largest))
            return
        plain, self._file = self._file, self._reopened(checksums, sorted(claims.texts))
        if self._longest(sorted(claims.texts)) + claims.bytes > self._left:
            plain.close()
            return
        self._file.close()
        self._file, self._wary = plain, False

    def _reopened(self, checksums: bool, texts: list[str]) -> pq.ParquetFile:  # noqa: FBT001
        return pq.ParquetFile(
            self._path,
            metadata=self.metadata,
            read_dictionary=texts,
            page_checksum_verification=checksums,
            pre_buffer=False,
        )

    def _longest(self, texts: list[str]) -> int:
        """Bytes of all texts if each were the longest of its dictionary; the first row brings that in."""
        total = 0
        for group, values in enumerate(self.footer.rows):
            for batch in self._file.iter_batches(1, row_groups=[group], columns=texts):
                total += values * sum(_longest(column) for column in batch.columns)
                break
        return total

    def __enter__(self) -> SafeParquet:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self) -> pa.Table:
        """All rows."""
        if not self._wary:
            return self._file.read(columns=self.columns).select(self.columns)
        return pa.Table.from_batches(self.batches(self._rows), self.schema)

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows in order, so many at a time."""
        for batch in self._file.iter_batches(batch_size=min(rows, self._rows), columns=self.columns):
            chosen = batch.select(self.columns)
            yield self._written_out(chosen) if self._wary else chosen

    def _written_out(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Text in full, where the table has it so, after its length was summed up."""
        self._left -= sum(_length(column) for column in batch.columns)
        if self._left < 0:
            raise self._too_large("holds a text so often that it would take more than is allowed")
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(batch.columns, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema.remove_metadata())

    def _too_large(self, what: str) -> InputError:
        allowed = limits().allowance(self._path.stat().st_size)
        return too_large(
            self._path.name, f"{what} in memory, and at most {allowed:,} bytes are allowed", "unpacked"
        )


class _Claims:
    """What the footer says that some columns take in memory, and what it leaves open."""

    def __init__(self, footer: Footer, wanted: set[str] | None) -> None:
        self.bytes = self.at_worst = self.largest = 0
        self.texts: set[str] = set()
        self.overlapping = False
        for group in footer.groups:
            for leaf, chunk in zip(footer.leaves, group, strict=True):
                if wanted is None or _is_wanted(leaf.path, wanted):
                    self._add(leaf, chunk)

    def _add(self, leaf: Leaf, chunk: Chunk) -> None:
        self.bytes += chunk.values * leaf.width
        if leaf.kind != BYTE_ARRAY:
            return
        self.bytes += chunk.unpacked
        if chunk.encodings <= {PLAIN, RLE, BIT_PACKED, PLAIN_LENGTHS}:
            return
        self.texts.add(leaf.path)
        self.at_worst += chunk.values * chunk.unpacked
        self.largest = max(self.largest, chunk.unpacked)
        self.overlapping = self.overlapping or OVERLAPPING in chunk.encodings


def _is_wanted(path: str, wanted: set[str]) -> bool:
    """Whether a leaf belongs to a column; one with dots in its name may be a leaf or a tree."""
    parts = path.split(".")
    return any(".".join(parts[:end]) in wanted for end in range(1, len(parts) + 1))


def _length(column: pa.Array) -> int:
    """Bytes of a column when it is written out."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return 4 * len(column) + _length(column.flatten())
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return 4 * len(column) + int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _longest(column: pa.Array) -> int:
    """Bytes of the longest text of a dictionary; of lists, of as many as no row has."""
    if not pa.types.is_dictionary(column.type):
        return limits().unpacked
    return int(pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
