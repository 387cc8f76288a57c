"""The pages of a Parquet file: what each would unpack to, before any of it is unpacked.

A page is unpacked in one piece, to the size that its own header states, whatever the footer says about the
column. Headers and footer are structs of Thrift's compact protocol. A few numbers of them are read, and all
else is skipped: what the fields mean to a reader of cells is left to pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from timeveil.errors import raising

_TAIL_BYTES = 8
_HEADERS = (1 << 10, 1 << 16, 1 << 24)
"""Bytes in which the header of a page is looked for; statistics can make it long."""
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12


class Chunk(NamedTuple):
    """A column of a row group: its number of values, and the bytes that each of its pages unpacks to."""

    group: int
    column: str
    values: int
    pages: tuple[int, ...]


def chunks_of(file: pa.NativeFile) -> Iterator[Chunk]:
    """Every column of every row group; a file that cannot be followed is refused with a `ValueError`."""
    with raising(ValueError("no Parquet file"), on=(LookupError, TypeError, RecursionError)):
        tail = file.size() - _TAIL_BYTES
        length = int.from_bytes(file.read_at(4, tail), "little")
        footer = _Reader(file.read_at(length, tail - length))
        for number, group in enumerate(footer.struct({4: _Reader.row_groups})[4]):
            for column, values, size, first, dictionary in group:
                begin = dictionary if 0 < dictionary < first else first
                pages = _pages(file, begin, size) if values else ()  # without values none is unpacked
                yield Chunk(number, column, values, tuple(pages))


def _pages(file: pa.NativeFile, at: int, size: int) -> Iterator[int]:
    end = at + size
    while at < end:
        unpacked, packed, header = _page(file, at)
        at += header + packed
        yield unpacked


def _page(file: pa.NativeFile, at: int) -> tuple[int, int, int]:
    """The unpacked and the packed size of a page, and the length of its header."""
    for window in _HEADERS:
        reader = _Reader(file.read_at(window, at))
        try:
            header = reader.struct({2: _Reader.number, 3: _Reader.number})
        except IndexError:  # it is longer than the window, or the file ends
            continue
        return max(header[2], 0), max(header[3], 0), reader.at
    raise LookupError("a page without an end")


class _Reader:
    """A position in bytes; beyond their end is an `IndexError`."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, wanted: Mapping[int, Callable[[_Reader], Any]]) -> dict[int, Any]:
        """The wanted fields of a struct by number, each read by its function; of a field twice, the last."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self.number()
            if number in wanted:
                fields[number] = wanted[number](self)
            else:
                self._skip(head & 15)
        return fields

    def row_groups(self) -> list[list[tuple[Any, ...]]]:
        return [self.struct({1: _Reader.columns})[1] for _ in range(self._items())]

    def columns(self) -> list[tuple[Any, ...]]:
        return [self.struct({3: _Reader.description})[3] for _ in range(self._items())]

    def description(self) -> tuple[Any, ...]:
        """Name, number of values, packed size, and where the first page and the dictionary begin."""
        fields = self.struct({3: _Reader.first_name, **dict.fromkeys((5, 7, 9, 11), _Reader.number)})
        return fields[3], max(fields[5], 0), fields[7], fields[9], fields.get(11, 0)

    def first_name(self) -> str:
        names = [self._binary() for _ in range(self._items())]
        return names[0].decode("utf-8", "replace")

    def number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value, shift = 0, 0
        while (part := self._byte()) > 127:
            value, shift = value | (part & 127) << shift, shift + 7
        return value | part << shift

    def _items(self) -> int:
        """How many items the list here has, which must be structs or texts."""
        size = self._byte() >> 4
        return self._varint() if size == 15 else size

    def _binary(self) -> bytes:
        size = self._varint()
        self.at += size
        return self.data[self.at - size : self.at]

    def _skip(self, kind: int, *, in_list: bool = False) -> None:
        if kind in _INTEGERS:
            self._varint()
        elif kind == _STRUCT:
            self.struct({})
        elif kind == _BINARY:
            self._binary()
        elif kind in _LISTS:
            kind = self.data[self.at] & 15
            for _ in range(self._items()):
                self._skip(kind, in_list=True)
        else:  # Parquet has no maps
            self.at += {_BYTE: 1, _DOUBLE: 8}[kind] if kind not in _BOOLEANS else in_list
