"""A stream without end: a publisher whose memory and whose cost of a slot do not grow with the slots before.

Claims: a million slots pushed one by one into a `StreamPublisher` leave its memory as it was after the first
hundredth of them, and the last slots take as long as the first; the same holds in service, where every slot
goes through the state file into a folder of its own.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import timeveil as tv
from timeveil.service import Parameters, Service

ROLES = tv.Roles(time="slot", quasi=["age"], sensitive=["value"])
OPTIONS: dict[str, Any] = {"l": 3, "window": 7}
PER_SLOT = 8
PARTS = 10
FILE = 50
"""Slots of one file of the inbox."""


def snapshots(slots: int, at_once: int = 1, seed: int = 1) -> Iterator[pa.Table]:
    """Small snapshots of six values, `at_once` slots in a table."""
    names = pa.array(["flu", "cold", "mumps", "measles", "gout", "ague"])
    rng = np.random.default_rng(seed)
    for first in range(0, slots, at_once):
        rows = PER_SLOT * min(at_once, slots - first)
        codes = np.minimum(rng.geometric(0.35, rows), 6).astype(np.int32) - 1
        yield pa.table(
            {
                "slot": first + np.arange(rows) // PER_SLOT,
                "age": rng.integers(0, 90, rows),
                "value": names.take(pa.array(codes)),
            }
        )


def pushed(slots: int) -> list[dict[str, Any]]:
    """Push slots one by one; memory, state and time a slot after each tenth."""
    publisher = tv.StreamPublisher(ROLES, seed=1, **OPTIONS)
    found, published = [_look(0, 0.0)], 0
    begin = time.perf_counter()
    for number, snapshot in enumerate(snapshots(slots), start=1):
        published += len(publisher.push(snapshot))
        if number in _marks(slots):
            spent = time.perf_counter() - begin
            found.append(_look(number, spent, state_kb=round(len(publisher.state()) / 1000, 1)))
            begin = time.perf_counter()
    published += len(publisher.close())
    if published != slots:
        raise AssertionError(f"{published} of {slots} slots were published")
    return _a_slot(found)


def in_service(slots: int) -> list[dict[str, Any]]:
    """The same through an inbox, a state file and folders; memory, state file and time a slot."""
    home = Path(tempfile.mkdtemp(prefix="timeveil-endless-"))
    try:
        return _a_slot(_served(home, slots))
    finally:
        shutil.rmtree(home)


def _served(home: Path, slots: int) -> list[dict[str, Any]]:
    inbox, state = home / "inbox", home / "stream.db"
    inbox.mkdir()
    found, spent = [_look(0, 0.0)], 0.0
    with Service(inbox, home / "published", state, Parameters(ROLES, OPTIONS), seed=1) as service:
        for number, snapshot in enumerate(snapshots(slots, FILE), start=1):
            file = inbox / f"{number:09}.parquet"
            pq.write_table(snapshot, file)
            begin = time.perf_counter()
            service.run()
            spent += time.perf_counter() - begin
            file.unlink()
            shutil.rmtree(home / "published" / "slots")  # the claim is about the publisher, not the disk
            if number in _marks(slots // FILE):
                size = round(state.stat().st_size / 1000, 1)
                found.append(_look(number * FILE, spent, state_kb=size))
                spent = 0.0
        service.close_streams()
        if service.tally.published != slots:
            raise AssertionError(f"{service.tally.published} of {slots} slots were published")
    return found


def _marks(slots: int) -> set[int]:
    """After a hundredth, and after each tenth."""
    return {max(slots // 100, 1), *(slots * part // PARTS for part in range(1, PARTS + 1))}


def _look(slots: int, seconds: float, **more: Any) -> dict[str, Any]:
    return {"slots": slots, "seconds": seconds, "resident_mb": resident(), **more}


def _a_slot(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Seconds since the look before as milliseconds a slot."""
    return [
        {**now, "ms_a_slot": now["seconds"] * 1000 / (now["slots"] - before["slots"])}
        for before, now in pairwise(found)
    ]


def resident() -> float:
    """Megabytes of memory that the process holds now."""
    pa.default_memory_pool().release_unused()
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1000, 1)
    raise AssertionError("the system does not tell how much memory is held")


def table(results: dict[str, Sequence[dict[str, Any]]]) -> str:
    """The numbers as text."""
    lines = [
        f"a stream without end: {PER_SLOT} records a slot, l = {OPTIONS['l']}, window {OPTIONS['window']}"
    ]
    for name, found in results.items():
        lines.append(f"{name:>12} {'resident':>10} {'state':>10} {'a slot':>9}")
        lines += [
            f"{r['slots']:>12,} {r['resident_mb']:>7.1f} MB {r['state_kb']:>7.1f} kB "
            f"{r['ms_a_slot']:>6.2f} ms"
            for r in found
        ]
    return "\n".join(lines)
