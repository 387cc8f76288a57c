"""`publish_stream`, `StreamPublisher.push` and packets in records per CPU second, each call timed whole.

Floors to reach: a whole table at 500,000 records a second in slots of 100, at 1,500,000 in slots of 1,000;
120,000 a second through `push` in slots of 100. On two idle cores, 200,000 records and the fastest of
three runs of each setting gave 1,433,000 to 1,651,000, 5,690,000 to 6,471,000 and 454,000 to 515,000; the
least is that of 50 values. With the tables of every slot read, which makes them, a push gave 322,000 to
358,000.

Claims: a slot costs the same however many came before it; the first call of a process is as fast as any
other; and a step is at least a hundred times faster than solving its window as an integer program. Reading
and numbering values are included; the rows of a whole table's release are sorted when first read, which is
timed separately.

CPU time is taken because other work on a machine disturbs it less; the fastest of several runs counts.
"""

from __future__ import annotations

import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import timeveil as tv
from timeveil.models.stream.method.reposition import solve_window

WINDOW = 7
ROLES = tv.Roles(time="day", quasi=["age"], sensitive=["diagnosis"])
SETTINGS = ((100, 10, 3), (100, 20, 4), (100, 50, 5), (1_000, 10, 3), (1_000, 20, 4), (1_000, 50, 5))
"""Records a slot, values, l."""
FLOORS = {100: 500_000, 1_000: 1_500_000}
PUSH_FLOOR = 120_000
PUSHED_SLOTS = 300


def make(rows: int, per_slot: int, values: int, seed: int = 1) -> pa.Table:
    """Records sorted by slot; values as text with shares like Zipf's that drift from slot to slot."""
    rng = np.random.default_rng(seed)
    slots = max(1, rows // per_slot)
    share = np.arange(1, values + 1) ** -0.7 * np.exp(rng.normal(0, 0.7, (slots, values)))
    edges = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)
    drawn = rng.random((slots, per_slot))
    codes = np.concatenate([np.searchsorted(edges[slot], drawn[slot]) for slot in range(slots)])
    names = pa.array([f"diagnosis {value:02}" for value in range(values)])
    text = pa.DictionaryArray.from_arrays(pa.array(codes.clip(0, values - 1)), names).cast(pa.string())
    days = np.repeat(np.arange(slots), per_slot)
    return pa.table({"day": days, "age": rng.integers(0, 100, len(days)), "diagnosis": text})


def run(sizes: Sequence[int], repeat: int) -> list[dict[str, Any]]:
    """All numbers: one entry per table size and setting."""
    return [_measure(rows, *setting, repeat) for rows in sizes for setting in SETTINGS]


def _measure(rows: int, per_slot: int, values: int, l: int, repeat: int) -> dict[str, Any]:
    table = make(rows, per_slot, values)
    snapshots = [table.slice(begin, per_slot) for begin in range(0, PUSHED_SLOTS * per_slot, per_slot)]
    snapshots = [snapshot for snapshot in snapshots if snapshot.num_rows]
    options: dict[str, Any] = {"l": l, "window": WINDOW, "seed": 1}
    first, _ = _timed(lambda: tv.publish_stream(table.slice(0, 100 * per_slot), ROLES, **options))
    whole, packets, pushed, made, sorted_rows = [], [], [], [], []
    for _ in range(repeat):
        seconds, (release, ledger) = _timed(lambda: tv.publish_stream(table, ROLES, **options))
        whole.append(seconds)
        sorted_rows.append(_timed(lambda: release.table.num_rows)[0])  # noqa: B023 called at once
        publisher = tv.StreamPublisher(ROLES, **options)
        seconds, slots = _timed(lambda: [publisher.push(snapshot) for snapshot in snapshots])  # noqa: B023
        pushed.append(seconds)
        made.append(seconds + _timed(lambda: [slot.release.tables for each in slots for slot in each])[0])  # noqa: B023
        packets.append(_timed(lambda: tv.publish_stream(table, ROLES, **options, protect_slot=l - 1))[0])
    records = table.num_rows
    return {
        "rows": records,
        "per_slot": per_slot,
        "values": values,
        "l": l,
        "first_call_s": first,
        "whole_a_second": records / min(whole),
        "push_a_second": len(snapshots) * per_slot / min(pushed),
        "push_and_read_a_second": len(snapshots) * per_slot / min(made),
        "packets_a_second": records / min(packets),
        "sort_rows_s": min(sorted_rows),
        "moved": ledger.facts["moved"] / records,
        "withheld": ledger.facts["withheld"] / records,
        "floor": FLOORS[per_slot],
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def growth(sizes: Sequence[int], per_slot: int = 100) -> list[dict[str, Any]]:
    """Microseconds a slot by the length of the stream, and how long a program takes for one window."""
    return [
        {
            "rows": rows,
            "microseconds_a_slot": _timed(lambda: tv.publish_stream(table, ROLES, l=4, seed=1))[0]  # noqa: B023
            / (rows / per_slot)
            * 1e6,
        }
        for rows in sizes
        for table in (make(rows, per_slot, 20),)
    ]


def program(per_slot: int = 100, values: int = 20, l: int = 4) -> float:
    """Seconds that HiGHS takes for one window."""
    codes = make(WINDOW * per_slot, per_slot, values)["diagnosis"].to_pylist()
    numbers = {name: code for code, name in enumerate(sorted(set(codes)))}
    counts = [
        dict(Counter(numbers[name] for name in codes[begin : begin + per_slot]))
        for begin in range(0, len(codes), per_slot)
    ]
    return _timed(lambda: solve_window(0, counts, l, range(2 * WINDOW + 1), lambda _: WINDOW))[0]


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def table(results: Sequence[dict[str, Any]], grown: Sequence[dict[str, Any]]) -> str:
    """The numbers as text."""
    lines = [
        f"publish_stream, window {WINDOW}, thousand records per CPU second (push in slots of 100: floor "
        f"{PUSH_FLOOR // 1000})",
        f"{'rows':>11} {'a slot':>7} {'values':>7} {'l':>3} {'whole':>7} {'floor':>6} {'push':>6} "
        f"{'and read':>9} {'packets':>8} {'sort rows':>10} {'first call':>11} {'moved':>7} {'withheld':>9}",
    ]
    lines += [
        f"{r['rows']:>11,} {r['per_slot']:>7,} {r['values']:>7} {r['l']:>3} "
        f"{r['whole_a_second'] / 1e3:>7.0f} {r['floor'] / 1e3:>6.0f} "
        f"{r['push_a_second'] / 1e3:>6.0f} {r['push_and_read_a_second'] / 1e3:>9.0f} "
        f"{r['packets_a_second'] / 1e3:>8.0f} "
        f"{r['sort_rows_s']:>9.2f}s {r['first_call_s']:>10.2f}s {r['moved']:>7.2%} {r['withheld']:>9.3%}"
        for r in results
    ]
    if grown:
        lines.append("microseconds a slot of 100 by the length of the stream:")
        lines.append("  ".join(f"{g['rows']:,}: {g['microseconds_a_slot']:.0f}" for g in grown))
        lines.append(f"one window as an integer program: {program() * 1e3:.0f} ms")
    return "\n".join(lines)
