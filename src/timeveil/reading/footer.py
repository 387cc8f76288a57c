"""The footer of a Parquet file: what it says of its columns, read before any library looks at it.

pyarrow ends the whole process on some footers that do not fit together. So the few numbers that are needed
are read here, from the compact form of Thrift: a field is its type and the step from the number of the field
before it; whole numbers are of variable length.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timeveil.reading.limits import limits, refuse_irregular, too_large

TAIL = 8
MAGIC = b"PAR1"
DEEPEST = 30
BYTE_ARRAY, FIXED = 6, 7
PLAIN, RLE, BIT_PACKED, PLAIN_LENGTHS, OVERLAPPING = 0, 3, 4, 6, 7
"""Encodings by their numbers; overlapping texts say how much of the one before them they repeat."""
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 8, 4: 4, 5: 8, BYTE_ARRAY: 4}
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column of plain values: its path in the table and its physical type."""

    path: str
    kind: int
    length: int

    @property
    def width(self) -> int:
        """Bytes of one value in memory; of text, of where it begins."""
        return _WIDTHS.get(self.kind) or max(self.length, 1)


@dataclass(frozen=True, slots=True)
class Chunk:
    """One column of one row group."""

    encodings: frozenset[int]
    values: int
    unpacked: int
    packed: int
    data_page: int
    has_dictionary: bool
    has_more: bool
    """Statistics, indexes or anything else that no row shows."""


@dataclass(frozen=True, slots=True)
class Footer:
    """Row groups with a chunk for each leaf; `size` is that of the footer with its tail."""

    leaves: tuple[Leaf, ...]
    groups: tuple[tuple[Chunk, ...], ...]
    rows: tuple[int, ...]
    size: int


def read_footer(path: Path) -> Footer:
    """The footer of a file; a `ValueError` if it is none."""
    size, most = refuse_irregular(path), limits().description
    with path.open("rb") as file:
        file.seek(-min(size, TAIL), io.SEEK_END)
        tail = file.read(TAIL)
        told = int.from_bytes(tail[:4], "little")
        if tail[4:] != MAGIC or told + TAIL > size:
            raise ValueError("no footer")
        if told > most:
            what = f"describes itself in {told:,} bytes, and at most {most:,} are read"
            raise too_large(path.name, what, "description")
        file.seek(-(told + TAIL), io.SEEK_END)
        content = file.read(told)
    try:
        return _footer(_Reader(content).struct(0), told + TAIL)
    except (IndexError, KeyError, TypeError, AttributeError, OverflowError):
        pass
    raise ValueError("no footer")


def _footer(told: dict[int, Any], size: int) -> Footer:
    leaves = tuple(_leaves(told[2]))
    groups, rows = [], []
    for group in told.get(4, ()):
        chunks = tuple(_chunk(chunk) for chunk in group[1])
        if len(chunks) != len(leaves):
            raise ValueError("a row group with other columns")
        groups.append(chunks)
        rows.append(max(group[3], 0))
    return Footer(leaves, tuple(groups), tuple(rows), size)


def _leaves(elements: list[dict[int, Any]]) -> list[Leaf]:
    """The leaves of the schema, which lists every branch before what is on it."""
    found, open_branches = [], [(elements[0].get(5, 0), "")]
    for element in elements[1:]:
        while open_branches[-1][0] == 0:
            open_branches.pop()
        left, before = open_branches.pop()
        open_branches.append((left - 1, before))
        path = before + element[4].decode("utf-8", "replace")
        if element.get(5):
            open_branches.append((element[5], f"{path}."))
        else:
            found.append(Leaf(path, element[1], element.get(2, 0)))
    return found


def _chunk(told: dict[int, Any]) -> Chunk:
    about = told[3]
    return Chunk(
        encodings=frozenset(about[2]),
        values=max(about[5], 0),
        unpacked=max(about[6], 0),
        packed=about[7],
        data_page=about[9],
        has_dictionary=about.get(11) is not None,
        has_more=not {*told} <= {1, 2, 3} or not {*about} <= {*range(1, 8), 9, 11, 13, 16},
    )


class _Reader:
    """Thrift's compact form, as dicts from the number of a field to its value."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def struct(self, depth: int) -> dict[int, Any]:
        """The fields of a structure."""
        if depth > DEEPEST:
            raise ValueError("nested too deep")
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._whole()
            found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_LIST, _SET):
            return self._list(depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _MAP:
            return self._map(depth)
        if kind in (_BINARY, _DOUBLE):
            return self._take(self._number() if kind == _BINARY else 8)
        return self._byte() if kind in (_TRUE, _FALSE, _BYTE) else self._whole()

    def _list(self, depth: int) -> list[Any]:
        if depth > DEEPEST:
            raise ValueError("nested too deep")
        head = self._byte()
        size = head >> 4 if head >> 4 != 15 else self._number()
        return [self._value(head & 15, depth + 1) for _ in self._few(size)]

    def _map(self, depth: int) -> None:
        size = self._number()
        kinds = self._byte() if size else 0
        for _ in self._few(size):
            self._value(kinds >> 4, depth + 1)
            self._value(kinds & 15, depth + 1)

    def _few(self, size: int) -> range:
        """Every element takes a byte or more."""
        if size > len(self._content) - self._at:
            raise ValueError("longer than the footer")
        return range(size)

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _take(self, size: int) -> bytes:
        begin, self._at = self._at, self._at + size
        if self._at > len(self._content):
            raise ValueError("longer than the footer")
        return self._content[begin : self._at]

    def _number(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7
            if shift > 63:
                raise ValueError("a number without end")

    def _whole(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)
