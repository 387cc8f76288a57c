"""`publish_stream` with packets against the same without, on the same Arrow table, in the same run.

Claims: to protect people from those who know the true slot takes no more than three times as long, end to
end; and memory beside the input and what comes out is that of a window, however long the stream. Runs
alternate and the fastest of each counts.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import timeveil as tv
from benchmarks.speed.stream import PER_SLOT, ROLES, VALUES, WINDOW, L, codes, make
from timeveil.models.stream.kernels.mixture import mix_of, pool_of
from timeveil.models.stream.kernels.packet_cells import desk_of
from timeveil.models.stream.method.whole import KERNEL_ROWS

PROTECT = L - 1


def run(sizes: Sequence[int], repeat: int) -> list[dict[str, Any]]:
    """All numbers, one entry per table size."""
    return [_measure(rows, repeat) for rows in sizes]


def _measure(rows: int, repeat: int) -> dict[str, Any]:
    table = make(rows)
    for protect in (None, PROTECT):  # the first call in a process loads or compiles the kernels
        _publish(table.slice(0, KERNEL_ROWS), protect)
    plain, packets = [], []
    for _ in range(repeat):
        plain.append(_timed(lambda: _publish(table, None))[0])
        seconds, (_, ledger) = _timed(lambda: _publish(table, PROTECT))
        packets.append(seconds)
    facts = ledger.facts
    return {
        "rows": rows,
        "plain_s": min(plain),
        "packets_s": min(packets),
        "ratio": min(packets) / min(plain),
        "moved": facts["moved"] / rows,
        "withheld": facts["withheld"] / rows,
        "mean_delay": facts["mean_distance"] * facts["moved"] / rows,
        "bytes_of_a_window": _window_bytes(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _publish(table: pa.Table, protect: int | None) -> tuple[tv.Release, tv.Ledger]:
    return tv.publish_stream(table, ROLES, l=L, window=WINDOW, seed=1, protect_slot=protect)


def _window_bytes() -> int:
    """What the kernel works in: it goes by the rows of a window and the values, not by the stream."""
    room = WINDOW * PER_SLOT
    parts = [*pool_of(room, 0), *mix_of(room, VALUES), *desk_of(room, VALUES, 0, room)]
    return int(sum(part.nbytes for part in parts))


def settings_of_the_spec(slots: int = 20_000, per_slot: int = 50) -> dict[str, float]:
    """Fifty records a slot, fifty values, l = 4: what packets of 3 cost."""
    rows = slots * per_slot
    names = pa.array([f"diagnosis {value:02}" for value in range(VALUES)])
    table = pa.table(
        {
            "day": np.arange(rows, dtype=np.int64) // per_slot,
            "age": np.zeros(rows, np.int32),
            "diagnosis": pa.DictionaryArray.from_arrays(pa.array(codes(rows)), names).cast(pa.string()),
        }
    )
    facts = _publish(table, PROTECT)[1].facts
    moved = facts["moved"] / rows
    return {
        "per_slot": per_slot,
        "moved": moved,
        "withheld": facts["withheld"] / rows,
        "mean_delay": facts["mean_distance"] * moved,
    }


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def table(results: Sequence[dict[str, Any]], costs: Sequence[dict[str, float]]) -> str:
    """The numbers as text."""
    lines = [
        f"publish_stream with packets of {PROTECT}: {PER_SLOT} records a slot, {VALUES} values, l = {L}, "
        f"window {WINDOW}",
        f"{'rows':>11} {'without':>9} {'packets':>9} {'ratio':>6} {'moved':>7} {'withheld':>9} "
        f"{'mean delay':>11}",
    ]
    lines += [
        f"{r['rows']:>11,} {r['plain_s']:>8.2f}s {r['packets_s']:>8.2f}s {r['ratio']:>6.2f} "
        f"{r['moved']:>7.2%} {r['withheld']:>9.3%} {r['mean_delay']:>11.3f}"
        for r in results
    ]
    lines += [
        f"{c['per_slot']} records a slot: moved {c['moved']:.2%}, withheld {c['withheld']:.3%}, "
        f"mean delay {c['mean_delay']:.3f}"
        for c in costs
    ]
    lines += [f"room that the kernel works in: {r['bytes_of_a_window'] / 1e3:.0f} kB" for r in results[-1:]]
    return "\n".join(lines)
