"""Parquet files, read no further than the limits allow.

Footer and page headers are checked first: how much the chosen columns would take in memory, in all and at a
time. Neither says how long text becomes, because a long text may be in a dictionary once and in every row by
its number. Where that may be too much, few rows are read at a time, and their length is summed.

A page is unpacked in one piece, to the size that its own header states, whatever the footer says. Both are
structs of Thrift's compact protocol, of which a few numbers are looked at; the rest is left to pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from timeveil.domain.stored import BATCH_ROWS
from timeveil.errors import EngineError, InputError, TimeveilError, raising, raising_each
from timeveil.reading.files import UNLIMITED, Source, file_size, limits, read_error, refuse_columns, too_large

FAILURES = (OSError, pa.ArrowException, ValueError, KeyError, TypeError, OverflowError)
"""What pyarrow raises on a file that is not Parquet, or whose column names are not text."""
_MAGIC = b"PAR1"
_TAIL_BYTES = 8
_MOST_ITEMS = 1_000_000
"""Items of a list in the footer, columns or row groups; more can be raised with the limit on columns."""
_INT32 = 2**31 - 1
_PAGES = 4
"""How many times the room for a file one page of each column may take: some programs write large pages."""
REPEATS = "repeats texts that would take too much"
_HEADERS = (1 << 10, 1 << 16, 1 << 24)
"""Bytes in which the header of a page is looked for; statistics can make it long."""
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
_NO_PARQUET = (LookupError, TypeError, AttributeError, RecursionError)


class ParquetTable(Source):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        self._refusal = partial(unreadable, path.name, "a Parquet file")
        with raising(self._refusal, on=FAILURES):
            self._file = OpenFile(path)
        self.names = tuple(self._file.schema.names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        for batch in raising_each(self._file.batches(columns), self._refusal, on=FAILURES):
            yield pa.Table.from_batches([batch])


def unreadable(name: str, kind: str, cause: Exception) -> TimeveilError:
    """The error for a file of some kind that pyarrow did not read."""
    if isinstance(cause, MemoryError):
        hint = 'let DuckDB work from disk with {engine="duckdb"}'
        return EngineError(f"not enough memory to read `{name}`", hint=hint)
    if isinstance(cause, OSError) and cause.errno is not None:
        return read_error(name, cause)
    message = f"`{name}` is not {kind}, or is incomplete"
    hint = "copy it again, or write it again with the program that made it"
    return InputError(message, hint=hint, code="file-unreadable")


class OpenFile:
    """A file whose footer is within the limits, open for as long as its columns may be asked for."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        """Open a file, or what a file contains in one of its texts."""
        self.path = path
        file_size(path)  # refuses what is no file
        self._handle = pa.OSFile(str(path)) if content is None else pa.BufferReader(content)
        self._parquet = self._read()
        self.schema: pa.Schema = self._parquet.schema_arrow
        self.rows: int = self._parquet.metadata.num_rows

    @property
    def unpacked(self) -> int:
        """Bytes of all its pages."""
        return sum(sum(chunk.pages) for chunk in self._chunks)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of some columns in order, after a batch without rows."""
        allowed = most = limits().allowance(self._handle.size())
        chosen = pa.schema([self.schema.field(name) for name in columns])
        yield pa.RecordBatch.from_pylist([], chosen)
        batch_rows = self._batch_rows(chosen, allowed)
        # A wide table is read in fewer rows: what is made of a batch is several times as large.
        width = 4 * sum(_width(field.type) for field in chosen)
        most_rows = min(batch_rows or BATCH_ROWS, limits().room(self._handle.size()) // max(width, 1))
        for batch in self._parquet.iter_batches(batch_size=max(most_rows, 1), columns=chosen.names):
            if batch_rows is not None:
                allowed -= sum(written_length(column) for column in batch.columns)
                if allowed < 0:
                    raise too_large_in_memory(self.path, REPEATS, most)
            yield batch.select(chosen.names)

    def _read(self, dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
        """The file with its footer; some columns are read as numbers with a dictionary."""
        most, size = limits(), self._handle.size()
        tail = self._handle.read_at(_TAIL_BYTES, max(size - _TAIL_BYTES, 0))
        footer = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MAGIC or footer + _TAIL_BYTES > size:
            raise ValueError("no footer")
        if footer > most.description:
            claim = f"describes itself in {footer:,} bytes; at most {most.description:,} are read"
            raise too_large(self.path.name, claim, "description")
        parquet = pq.ParquetFile(
            self._handle,
            read_dictionary=list(dictionaries) or None,
            page_checksum_verification=True,
            pre_buffer=False,
            thrift_string_size_limit=min(most.description, _INT32),
            thrift_container_size_limit=min(max(most.columns, _MOST_ITEMS), _INT32),
        )
        refuse_columns(self.path.name, parquet.metadata.num_columns)
        return parquet

    @cached_property
    def _chunks(self) -> list[Chunk]:
        return list(chunks_of(self._handle))

    def _batch_rows(self, schema: pa.Schema, allowed: int) -> int | None:
        """Check what the file claims; return how many rows to read at a time if texts may be a bomb."""
        metadata, room = self._parquet.metadata, limits().room(self._handle.size())
        if not schema.names or not metadata.num_row_groups or allowed >= UNLIMITED:
            return None
        chunks = [chunk for chunk in self._chunks if chunk.column in schema.names]
        lists = [field.name for field in schema if pa.types.is_nested(field.type)]
        items = sum(chunk.values for chunk in chunks if chunk.column in lists)
        sizes, at_once = [0] * metadata.num_row_groups, [0] * metadata.num_row_groups
        for chunk in chunks:
            sizes[chunk.group] += sum(chunk.pages)
            at_once[chunk.group] += max(chunk.pages, default=0)
        # From headers alone, before any page is unpacked; how long texts become is examined below.
        if max(at_once) > _PAGES * room:
            raise too_large_in_memory(self.path, f"has pages of {max(at_once):,} bytes", _PAGES * room)
        claimed = sum(sizes) + metadata.num_rows * sum(_width(field.type) for field in schema) + 8 * items
        if claimed > allowed:
            raise too_large_in_memory(self.path, f"would take {claimed:,} bytes", allowed)
        # The path of a leaf begins with its column's name, which may have dots of its own.
        columns = tuple(f"{name}." for name in schema.names)
        leaves = [leaf for leaf in self._parquet.schema if f"{leaf.path}.".startswith(columns)]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        if not texts or (metadata.num_rows + items) * max(sizes) <= allowed:
            return None
        longest = self._longest_text(texts)
        if longest is None:  # each text may repeat most of the one before it
            longest = max(sizes)
        # One row may have any number of items, so lists are refused by the most that they may become.
        elif lists and items * longest > allowed:
            raise too_large_in_memory(self.path, REPEATS, allowed)
        return max(1, min(BATCH_ROWS, room // max(longest, 1)))

    def _longest_text(self, texts: list[str]) -> int | None:
        """Bytes of the longest text in any dictionary; None if texts may overlap, and be longer than any."""
        paths = [leaf.path for leaf in self._parquet.schema]
        for group, _ in _first_rows(self._parquet, texts):
            # pyarrow ends the process on some chunk descriptions; those that its reader accepted are safe.
            chunks = [self._parquet.metadata.row_group(group).column(paths.index(text)) for text in texts]
            if any("DELTA_BYTE_ARRAY" in chunk.encodings for chunk in chunks):
                return None
        first_rows = [batch for _, batch in _first_rows(self._read(texts), texts)]
        return max((_longest(column) for batch in first_rows for column in batch.columns), default=0)


def _first_rows(file: pq.ParquetFile, columns: list[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The first row of each row group, with which the reader brings in the dictionaries."""
    for group in range(file.metadata.num_row_groups):
        batch = next(file.iter_batches(1, row_groups=[group], columns=columns), None)
        if batch is not None:
            yield group, batch


def _width(kind: pa.DataType) -> int:
    """Bytes of one value in memory; of text and lists, of the offset at which it begins."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return 4


def written_length(column: pa.Array) -> int:
    """Bytes of a column when its dictionary is written out."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return 4 * len(column) + int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _longest(column: pa.Array) -> int:
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return _longest(column.values)
    is_coded = pa.types.is_dictionary(column.type)
    return int(pc.max(pc.binary_length(column.dictionary)).as_py() or 0) if is_coded else 0


def too_large_in_memory(path: Path, claim: str, most: int) -> InputError:
    """The error for a file that would take more memory than is allowed."""
    return too_large(path.name, f"{claim} in memory; at most {most:,} bytes are allowed", "unpacked")


class Chunk(NamedTuple):
    """A column of a row group: its number of values, and the bytes that each of its pages unpacks to."""

    group: int
    column: str
    values: int
    pages: tuple[int, ...]


def chunks_of(file: pa.NativeFile) -> Iterator[Chunk]:
    """Every column of every row group; a file that cannot be followed is refused with a `ValueError`."""
    with raising(ValueError("no Parquet file"), on=_NO_PARQUET):
        tail = file.size() - _TAIL_BYTES
        length = int.from_bytes(file.read_at(4, tail), "little")
        footer = _Reader(file.read_at(length, tail - length)).struct()
        for number, group in enumerate(footer[4]):
            for column in group[1]:
                described = column[3]
                values, size, first = max(described[5], 0), described[7], described[9]
                dictionary = described.get(11, 0)
                at = dictionary if 0 < dictionary < first else first
                end, pages = at + size if values else at, []  # without values none is unpacked
                while at < end:
                    unpacked, packed, header = _page(file, at)
                    at += header + packed
                    pages.append(unpacked)
                yield Chunk(number, described[3][0].decode("utf-8", "replace"), values, tuple(pages))


def _page(file: pa.NativeFile, at: int) -> tuple[int, int, int]:
    """The unpacked and the packed size of a page, and the length of its header."""
    for window in _HEADERS:
        reader = _Reader(file.read_at(window, at))
        try:
            header = reader.struct()
        except IndexError:  # it is longer than the window, or the file ends
            continue
        return max(header[2], 0), max(header[3], 0), reader.at
    raise LookupError("a page without an end")


class _Reader:
    """A position in bytes; beyond their end is an `IndexError`."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self) -> dict[int, Any]:
        """The fields of a struct by number; of a field twice, the last."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number()
            # The kind of a field with yes or no is its value.
            fields[number] = head & 15 == 1 if head & 15 in _BOOLEANS else self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self._number()
        if kind == _STRUCT:
            return self.struct()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in _LISTS:
            head = self._byte()
            return [self._value(head & 15) for _ in range(self._varint() if head >> 4 == 15 else head >> 4)]
        return self._bytes({**dict.fromkeys((*_BOOLEANS, _BYTE), 1), _DOUBLE: 8}[kind])  # it has no maps

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            part = self._byte()
            value |= (part & 127) << shift
            if part < 128:
                return value
        raise LookupError("a number without an end")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self.data):
            raise IndexError
        return self.data[self.at - size : self.at]
