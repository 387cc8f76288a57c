"""The bytes of a Parquet file taken apart and put together again: what no reader of cells ever sees.

Thrift's compact protocol is read into lists of fields, `[number, kind, value]`, which a test may change.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

TRUE, FALSE, BYTE, INT16, INT32, INT64, DOUBLE, BINARY, LIST, SET, _, STRUCT = range(1, 13)
Struct = list[list[Any]]
Page = tuple[Struct, bytes]
"""The header and the packed values of a page."""

# Numbers of fields in Parquet's definition.
ROW_GROUPS, KEY_VALUES, CREATED_BY = 4, 5, 6
COLUMNS, TOTAL_BYTES, ROWS, GROUP_OFFSET, GROUP_PACKED = 1, 2, 3, 5, 6
CHUNK_OFFSET, DESCRIPTION = 2, 3
VALUES, UNPACKED, PACKED, FIRST_PAGE = 5, 6, 7, 9
PAGE_UNPACKED, PAGE_PACKED, DATA_PAGE, STATISTICS = 2, 3, 5, 5


def field(struct: Struct, number: int) -> Any:
    return next(value for given, _, value in struct if given == number)


def put(struct: Struct, number: int, kind: int, value: Any) -> None:
    """Set a field, in the order of numbers."""
    struct[:] = sorted([*(f for f in struct if f[0] != number), [number, kind, value]], key=lambda f: f[0])


def read(data: bytes, at: int) -> tuple[Struct, int]:
    """The struct at a position, and where it ends."""
    struct: Struct = []
    number = 0
    while data[at]:
        kind, step, at = data[at] & 15, data[at] >> 4, at + 1
        if step:
            number += step
        else:
            number, at = _number(data, at)
        value, at = _value(data, at, kind)
        struct.append([number, kind, value])
    return struct, at + 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (TRUE, FALSE):
        return kind == TRUE, at
    if kind == BYTE:
        return data[at], at + 1
    if kind in (INT16, INT32, INT64):
        return _number(data, at)
    if kind == BINARY:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind == STRUCT:
        return read(data, at)
    assert kind == LIST, kind
    inner, size, at = data[at] & 15, data[at] >> 4, at + 1
    if size == 15:
        size, at = _varint(data, at)
    items = []
    for _ in range(size):
        item, at = _value(data, at, inner)
        items.append(item)
    return (inner, items), at


def write(struct: Struct) -> bytes:
    out, before = b"", 0
    for number, kind, value in struct:
        step = number - before
        out += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _written(number)
        out, before = out + _written_value(kind, value), number
    return out + b"\0"


def _plain(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def _written(value: int) -> bytes:
    return _plain(value << 1 if value >= 0 else (-value << 1) - 1)


def _written_value(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return bytes([value])
    if kind in (INT16, INT32, INT64):
        return _written(value)
    if kind == BINARY:
        return _plain(len(value)) + value
    if kind == STRUCT:
        return write(value)
    inner, items = value
    head = bytes([len(items) << 4 | inner]) if len(items) < 15 else bytes([240 | inner]) + _plain(len(items))
    return head + b"".join(_written_value(inner, item) for item in items)


def rewritten(
    path: Path,
    page: Callable[[Struct, bytes], Page] = lambda header, body: (header, body),
    footer: Callable[[Struct], None] = lambda _: None,
) -> None:
    """Change every page and the footer of a file; sizes and offsets are put right before the footer is."""
    data = path.read_bytes()
    described, _ = read(data, len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
    out = b"PAR1"
    for group in field(described, ROW_GROUPS)[1]:
        put(group, GROUP_OFFSET, INT64, len(out))
        for chunk in field(group, COLUMNS)[1]:
            column = field(chunk, DESCRIPTION)
            at, begin = field(column, FIRST_PAGE), len(out)
            end = at + field(column, PACKED)
            while at < end:
                header, at = read(data, at)
                size = field(header, PAGE_PACKED)
                header, body = page(header, data[at : at + size])
                put(header, PAGE_PACKED, INT32, len(body))
                out, at = out + write(header) + body, at + size
            put(column, FIRST_PAGE, INT64, begin)
            put(column, PACKED, INT64, len(out) - begin)
    footer(described)
    tail = write(described)
    path.write_bytes(out + tail + len(tail).to_bytes(4, "little") + b"PAR1")
