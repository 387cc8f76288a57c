"""Values that no byte may show, tables that hold them, and where to look for them.

`MARK` stands in every private text: ids, dropped columns, rows that are withheld. `SHOWN` stands in cells
that may be published, but not told by a command. Private numbers (ids, times, readings, the seed) are looked
for as text and as the bytes that Arrow, Parquet and SQLite would store.
"""

from __future__ import annotations

import base64
import datetime as dt
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

MARK = "Qz7canary"
SHOWN = "Wx4shown"
SEED = 0x5EED_0A1B_2C3D_4E5F_6A7B_8C9D_0E1F_2A3B
FIRST_ID = 8_171_625_344_000_000_123
START = dt.datetime(2024, 3, 4)
ZSTD = b"\x28\xb5\x2f\xfd"

Patterns = dict[bytes, str]


def moments(rows: int, people: int = 12) -> list[dt.datetime]:
    """Two weeks of times that are odd to the second."""
    return [
        START + dt.timedelta(days=row // people % 14, hours=3, minutes=11 + 17 * row % 43, seconds=49)
        for row in range(rows)
    ]


def ids(numbers: Iterable[int], *, numeric: bool) -> list[Any]:
    return [FIRST_ID + 7919 * n if numeric else f"{MARK}-who-{n}" for n in numbers]


def visits(*, numeric: bool = False) -> pa.Table:
    """Twelve people seen daily for two weeks, two whom nobody resembles, and one without a time."""
    rows = 168
    lone = [12, 13, 14]
    return pa.table(
        {
            "who": ids([*(row % 12 for row in range(rows)), *lone], numeric=numeric),
            "name": [f"{MARK}-name-{row}" for row in range(rows + 3)],
            "when": pa.array([*moments(rows), *moments(2), None], pa.timestamp("us")),
            "zip": [*(f"{SHOWN}-zip-{row % 2}" for row in range(rows)), *[f"{MARK}-zip-{n}" for n in lone]],
            "ill": [*(f"{SHOWN}-ill-{row % 5}" for row in range(rows)), *[f"{MARK}-ill-{n}" for n in lone]],
        }
    )


def cases(*, numeric: bool = False) -> pa.Table:
    """Snapshots of uneven values, some of which must wait or be withheld; one record without a time."""
    rng = np.random.default_rng(5)
    rows = 168
    ill = [
        f"{SHOWN}-ill-{code if rng.random() < 0.4 else row // 60}"
        for row, code in enumerate(rng.integers(0, 6, rows))
    ]
    return pa.table(
        {
            "who": ids(range(rows + 1), numeric=numeric),
            "name": [f"{MARK}-name-{row}" for row in range(rows + 1)],
            "when": pa.array([*moments(rows), None], pa.timestamp("us")),
            "zip": [*(f"{SHOWN}-one-{row:03}" for row in range(rows)), f"{MARK}-zip"],
            "ill": [*ill, f"{MARK}-ill"],
        }
    )


def curves(*, numeric: bool = False) -> pa.Table:
    """Series of readings with many digits; two of them are not whole and left out."""
    rng = np.random.default_rng(7)
    people = 42
    readings = rng.normal(40, 9, (people, 6)).round(11)
    columns = {f"t{place}": readings[:, place].tolist() for place in range(6)}
    for place, lost in enumerate((3, 17)):
        columns[f"t{place}"][lost] = None
    tariffs = [f"{MARK}-tariff" if row in (3, 17) else f"{SHOWN}-tariff-{row % 3}" for row in range(people)]
    return pa.table(
        {
            "who": ids(range(people), numeric=numeric),
            "name": [f"{MARK}-name-{row}" for row in range(people)],
            **columns,
            "tariff": tariffs,
        }
    )


def baskets(*, numeric: bool = False) -> pa.Table:
    """What people bought: items that many have, and some of one person alone."""
    rng = np.random.default_rng(11)
    bought = [
        (person, item)
        for person in range(60)
        for item in (*(i for i in ("bread", "milk", "tea", "rum") if rng.random() < 0.6), f"{MARK}-{person}")
    ]
    return pa.table(
        {
            "who": ids([person for person, _ in bought], numeric=numeric),
            "name": [f"{MARK}-name-{place}" for place in range(len(bought))],
            "item": [item for _, item in bought],
        }
    )


TABLES = {"visits": visits, "cases": cases, "curves": curves, "baskets": baskets}


def texts(text: str) -> Iterator[bytes]:
    """A text as it may be encoded."""
    plain = text.encode()
    yield from (plain, text.encode("utf-16-le"), text.encode("utf-16-be"), plain.hex().encode())
    for shift in range(3):  # three letters of base64 stand for two bytes less at either end
        coded = base64.b64encode(b"\0" * shift + plain)
        yield coded[4 if shift else 0 : len(coded) - 4]


def numbers(value: float) -> Iterator[bytes]:
    """A number as text and as it is stored."""
    yield repr(value).encode()
    if isinstance(value, int) and value >= 1 << 64:
        for half in (value >> 64, value & (1 << 64) - 1):
            yield from (str(half).encode(), half.to_bytes(8, "little"), half.to_bytes(8, "big"))
        yield from (f"{value:x}".encode(), f"{value:X}".encode())
        return
    if isinstance(value, int):
        yield from (struct.pack("<q", value), struct.pack(">q", value))
    yield struct.pack("<d", value)


def times(value: dt.datetime) -> Iterator[bytes]:
    """A time as text and as it is stored; the day alone may be published."""
    yield from (value.isoformat().encode(), value.isoformat(" ").encode())
    seconds = int((value - dt.datetime(1970, 1, 1)).total_seconds())
    yield from (struct.pack("<q", seconds * factor) for factor in (1, 10**3, 10**6, 10**9))


def private() -> Patterns:
    """Everything that must not leave the building, by the bytes it would leave in."""
    found = dict.fromkeys(texts(MARK), "private text")
    found |= dict.fromkeys(numbers(SEED), "seed")
    for number in range(169):
        found |= dict.fromkeys(numbers(FIRST_ID + 7919 * number), "id")
    for time in set(moments(168)):
        found |= dict.fromkeys(times(time), "time")
    for name in (f"t{place}" for place in range(6)):
        for reading in curves()[name].drop_null().to_pylist():
            found |= dict.fromkeys(numbers(reading), "reading")
    return found


PRIVATE = private()
TOLD = PRIVATE | dict.fromkeys(texts(SHOWN), "published text")


def seen(content: bytes, patterns: Patterns = PRIVATE) -> list[str]:
    """What of it some bytes show."""
    return sorted({name for pattern, name in patterns.items() if pattern in content})


def layers(path: Path) -> Iterator[bytes]:
    """A file, and what is in it once it is decompressed, read, or taken as metadata."""
    content = path.read_bytes()
    yield path.name.encode()
    yield content
    if content[:4] == content[-4:] == b"PAR1":
        with pq.ParquetFile(path) as file:
            yield str(file.metadata.metadata).encode() + str(file.schema_arrow.metadata).encode()
            yield from in_memory(file.read())
        start = content.find(ZSTD)
        while start >= 0:
            yield inflated(content[start:])
            start = content.find(ZSTD, start + 1)


def inflated(content: bytes) -> bytes:
    """A compressed page, whatever follows it."""
    out = bytearray()
    stream = pa.CompressedInputStream(pa.BufferReader(content), "zstd")
    try:
        while piece := stream.read(64):
            out += piece
    except OSError:  # the end of the page, where another header begins
        pass
    return bytes(out)


def in_memory(table: pa.Table) -> Iterator[bytes]:
    """All bytes that an Arrow table holds on to, in use or not."""
    yield str(table.schema.metadata).encode() + "".join(str(f.metadata) for f in table.schema).encode()
    yield str(table.to_pydict()).encode()
    for column in table.columns:
        for chunk in column.chunks:
            yield from _buffers(chunk)


def _buffers(array: pa.Array) -> Iterator[bytes]:
    yield from (buffer.to_pybytes() for buffer in array.buffers() if buffer is not None)
    if pa.types.is_dictionary(array.type):
        yield from _buffers(array.dictionary)


def leaks(path: Path, patterns: Patterns = PRIVATE) -> list[str]:
    """What a file shows, or any file in a folder."""
    if path.is_dir():
        return [
            line for below in sorted(path.rglob("*")) if below.is_file() for line in leaks(below, patterns)
        ]
    names = {name for layer in layers(path) for name in seen(layer, patterns)}
    return [f"{path.name}: {name}" for name in sorted(names)]


def store(table: pa.Table, path: Path) -> None:
    """An input file, in the format of its name."""
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pq.write_table(table, path)
