"""Small files that claim, or unpack to, far more than they are: memory stays bounded by bytes on disk."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.sabotage import parquet_bytes as thrift

import timeveil as tv
from timeveil.folder.manifest import as_json

RELEASES = Path(__file__).parents[1] / "fuzz" / "releases"
LEDGER = Path(__file__).parents[1] / "fixtures" / "version_0_1" / "events.ledger"
PLAIN: dict[str, Any] = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
MOST, LARGEST = 500, 10_000_000
"""Megabytes in memory, and bytes on disk."""
MEASURED = """
import sys
from timeveil.cli import run
code = run(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print("\\npeak", int(peak.split()[1]) // 1024, code)
"""
if not Path("/proc/self/status").exists():
    pytest.skip("the peak of a process is read from /proc", allow_module_level=True)


def peak_of(*arguments: str) -> tuple[int, int, str]:
    """Megabytes that a command took, its exit code, and what it said."""
    # Not by getrusage: a new process begins with the peak of the one that started it.
    done = subprocess.run([sys.executable, "-c", MEASURED, *arguments], capture_output=True, text=True)
    peak, code = (int(number) for number in done.stdout.split("\npeak ")[1].split())
    return peak, code, done.stdout + done.stderr


def zeros(size: int) -> bytes:
    """Zeros as zstd packs them, a megabyte at a time."""
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        for _ in range(size >> 20):
            stream.write(bytes(1 << 20))
    return bytes(packed.getvalue())


def lying(path: Path) -> None:
    """Every page has more zeros behind its values than may be in memory; the footer knows nothing of them."""
    size = (MOST + 100) << 20
    body = zeros(size)

    def inflated(header: thrift.Struct, _: bytes) -> thrift.Page:
        thrift.put(header, thrift.PAGE_UNPACKED, thrift.INT32, size)
        return header, body

    thrift.rewritten(path, inflated)


def folder_of(model: str, place: Path) -> Path:
    """A release whose table is Parquet."""
    release = tv.open_release(RELEASES / model)
    return tv.write(tv.Release(release.guarantee, release.manifest, release.tables), place / "out")


def sealed(folder: Path, rows: int, change: Callable[[dict[str, Any]], None] = lambda _: None) -> Path:
    """The manifest with the hash and the rows of its table."""
    manifest = json.loads((folder / "release.json").read_text("utf-8"))
    content = (folder / "data.parquet").read_bytes()
    manifest["tables"]["data"] |= {"rows": rows, "sha256": hashlib.sha256(content).hexdigest()}
    manifest["counts"]["rows"] = rows
    change(manifest)
    (folder / "release.json").write_bytes(as_json(manifest))
    return folder


def a_page_that_lies(place: Path) -> Path:
    folder = folder_of("time", place)
    rows = tv.open_release(folder).table.num_rows
    lying(folder / "data.parquet")
    return sealed(folder, rows)


def a_long_letter(place: Path) -> Path:
    folder = folder_of("time", place)
    os.truncate(folder / "README.txt", 2 << 30)
    return folder


def written(path: Path, schema: pa.Schema, blocks: Iterator[list[pa.Array]], **options: Any) -> None:
    with pq.ParquetWriter(path, schema, **{**PLAIN, **options}) as file:
        for arrays in blocks:
            file.write_table(pa.table(arrays, schema=schema))


def many_groups(place: Path) -> Path:
    """Different numbers in one column, which is little on disk, and the same in all others."""
    folder, rows, block = folder_of("time", place), 6_000_000, 1_000_000
    schema = tv.open_release(folder).table.schema
    same = [pa.repeat(pa.scalar(tv.open_release(folder).table[name][0].as_py(), kind), block)
            for name, kind in zip(schema.names, schema.types, strict=True)]  # fmt: skip
    schema = schema.set(0, pa.field("zip", pa.int64()))
    blocks = ([pa.array(np.arange(start, start + block)), *same[1:]] for start in range(0, rows, block))
    written(folder / "data.parquet", schema, blocks, column_encoding={"zip": "DELTA_BINARY_PACKED"})
    return sealed(folder, rows, lambda manifest: manifest["columns"][0].update(type="int64"))


def many_envelopes(place: Path) -> Path:
    """Series of many instants, each in a group of its own with the bounds of all."""
    folder, rows, block, width = folder_of("series", place), 90_000, 10_000, 100
    described = json.loads((folder / "release.json").read_text("utf-8"))["columns"]
    others = [column for column in described[1:] if column["role"] not in ("low", "high")]
    instants = [f"t{number}" for number in range(width)]
    bounds = [(f"{name}_{end}", role) for name in instants for end, role in (("lo", "low"), ("hi", "high"))]

    def change(manifest: dict[str, Any]) -> None:
        manifest["series"] |= {"instants": instants, "values": instants, "pattern": ["t0"]}
        manifest["parameters"]["publish_pattern"] = ["t0"]
        bounded = [{"name": name, "role": role, "type": "double"} for name, role in bounds]
        manifest["columns"] = [described[0], *bounded, *others]

    tail = {"pattern": pa.scalar("a"), "level": pa.scalar([2], pa.list_(pa.int16()))}
    same = [pa.repeat(pa.scalar(float(role == "high")), block) for _, role in bounds]
    same += [pa.repeat(tail.get(column["name"], pa.scalar(7)), block) for column in others]
    names = ["group", *(name for name, _ in bounds), *(column["name"] for column in others)]
    schema = pa.schema([("group", pa.int32()), *((n, a.type) for n, a in zip(names[1:], same, strict=True))])
    blocks = ([pa.array(np.arange(at, at + block), pa.int32()), *same] for at in range(1, rows, block))
    written(folder / "data.parquet", schema, blocks)
    return sealed(folder, rows, change)


def many_objects(place: Path) -> Path:
    folder = folder_of("time", place)
    text = (folder / "release.json").read_text("utf-8")
    (folder / "release.json").write_text(
        text.replace('"levels": {}', f'"levels": [{"{}," * 3_000_000}0]'), "utf-8"
    )
    return folder


BOMBS = [a_page_that_lies, a_long_letter, many_groups, many_envelopes, many_objects]


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
def test_a_small_folder_takes_little_memory(bomb: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = bomb(tmp_path)
    assert sum(file.stat().st_blocks * 512 for file in folder.iterdir()) < LARGEST
    peak, code, said = peak_of("verify", str(folder))
    assert peak < MOST, said
    assert code == (0 if bomb is a_long_letter else 1 if bomb is many_objects else 2), said
    if code == 2:
        assert "`data.parquet`" in said
        assert "TIMEVEIL_LIMITS=unpacked" in said


def test_a_small_ledger_takes_little_memory(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    shutil.copy(LEDGER, ledger)
    pq.write_table(pq.read_table(ledger), ledger, compression="zstd", use_dictionary=False)
    lying(ledger)
    assert ledger.stat().st_size < LARGEST
    peak, code, said = peak_of("verify", str(LEDGER.with_suffix("")), "--ledger", str(ledger))
    assert peak < MOST, said
    assert code == 2
    assert "`ledger` has pages of" in said
