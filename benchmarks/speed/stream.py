"""The whole of `publish_stream` against one `group by slot, value` of DuckDB, on the same Arrow table.

Claims: repositioning a stream takes no longer than counting it once; with buckets no longer than counting
it three times; a slot costs the same however many came before; and the step is at least a thousand times
faster per arrival than solving the window as an integer program. What is timed is the whole call, reading
and encoding included; the rows of the release are put in their order when first looked at, which is timed
on its own.

The machine's noise hits both sides alike: runs alternate and the fastest of each counts.
"""

from __future__ import annotations

import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import timeveil as tv
from timeveil.models.stream.kernels.anatomy import bench_of
from timeveil.models.stream.kernels.chance import chance_of
from timeveil.models.stream.kernels.placements import (
    Rows,
    Rules,
    arrivals_of,
    cells_of,
    most_at_once,
    publish_rows,
)
from timeveil.models.stream.kernels.ring import ring_of
from timeveil.models.stream.method.exact import solve_window
from timeveil.models.stream.method.whole import KERNEL_ROWS

VALUES = 50
PER_SLOT = 100
WINDOW = 7
L = 4
ROLES = tv.Roles(time="day", quasi=["age"], sensitive=["diagnosis"])
COUNT = (
    "SELECT count(*), max(n) FROM (SELECT day, diagnosis, count(*) AS n FROM stream GROUP BY day, diagnosis)"
)
PROGRAMS = 5


def codes(rows: int, seed: int = 1) -> Any:
    """Values with Zipf's frequencies: the commonest has a share of 2 in 9, so a third of slots is skewed."""
    share = 1 / np.arange(1, VALUES + 1)
    edges = np.cumsum(share / share.sum())
    rng = np.random.default_rng(seed)
    return np.searchsorted(edges, rng.random(rows), side="right").clip(0, VALUES - 1).astype(np.int32)


def make(rows: int) -> pa.Table:
    """A hundred records a slot, sorted by slot, values as text."""
    names = pa.array([f"diagnosis {value:02}" for value in range(VALUES)])
    text = pa.DictionaryArray.from_arrays(pa.array(codes(rows)), names).cast(pa.string())
    days = np.arange(rows, dtype=np.int64) // PER_SLOT
    ages = np.random.default_rng(2).integers(0, 100, rows, dtype=np.int32)
    return pa.table({"day": days, "age": ages, "diagnosis": text})


def publish(table: pa.Table, buckets: Any) -> tuple[tv.Release, tv.Ledger]:
    """What is claimed to be fast."""
    return tv.publish_stream(table, ROLES, l=L, window=WINDOW, buckets=buckets, seed=1)


def run(sizes: Sequence[int], repeat: int) -> list[dict[str, Any]]:
    """All numbers, one entry per table size."""
    return [_measure(rows, repeat) for rows in sizes]


def _measure(rows: int, repeat: int) -> dict[str, Any]:
    table = make(rows)
    for buckets in ("none", "anatomy"):  # the first call in a process loads or compiles the kernels
        publish(table.slice(0, KERNEL_ROWS), buckets)
    con = duckdb.connect()
    con.register("stream", table)
    plain, bucketed, counted, order = [], [], [], []
    for _ in range(repeat):
        counted.append(_timed(lambda: con.execute(COUNT).fetchall())[0])
        seconds, (release, ledger) = _timed(lambda: publish(table, "none"))
        plain.append(seconds)
        order.append(_timed(lambda: release.table.num_rows)[0])  # noqa: B023
        bucketed.append(_timed(lambda: publish(table, "anatomy"))[0])
    slots = rows // PER_SLOT
    program = _program()
    return {
        "rows": rows,
        "plain_s": min(plain),
        "buckets_s": min(bucketed),
        "duckdb_s": min(counted),
        "plain_ratio": min(plain) / min(counted),
        "buckets_ratio": min(bucketed) / min(counted),
        "order_rows_s": min(order),
        "microseconds_a_slot": min(plain) / slots * 1e6,
        "highs_s_a_window": program,
        "highs_ratio": program / (min(bucketed) / slots),
        "moved": ledger.facts["moved"] / rows,
        "withheld": ledger.facts["withheld"] / rows,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "duckdb": duckdb.__version__,
    }


def _program() -> float:
    """Seconds that HiGHS takes for one window of the same stream."""
    found = codes(PROGRAMS * WINDOW * PER_SLOT)
    spent = []
    for number in range(PROGRAMS):
        begin = number * WINDOW * PER_SLOT
        counts = [
            dict(Counter(found[at : at + PER_SLOT].tolist()))
            for at in range(begin, begin + WINDOW * PER_SLOT, PER_SLOT)
        ]
        move = range(2 * WINDOW + 1)
        spent.append(_timed(lambda: solve_window(0, counts, L, move, lambda _: WINDOW))[0])  # noqa: B023
    return min(spent)


def growth(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """The kernel alone on streams made on the fly, as numbers: nanoseconds a record by length."""
    return [{"rows": rows, "nanoseconds_a_record": _kernel(rows) / rows * 1e9} for rows in sizes]


def _kernel(rows: int) -> float:
    code = codes(rows)
    slot = np.arange(rows, dtype=np.int64) // PER_SLOT
    nobody = np.zeros(0, np.int32)
    for fixed in (code, slot, nobody):
        fixed.flags.writeable = False
    slots, begin = arrivals_of(slot)
    del slot
    most = int(most_at_once(slots, begin, 2 * WINDOW))
    late = np.zeros(rows, np.int16)
    move = np.arange(2 * WINDOW + 1, dtype=np.int64)
    seconds, _ = _timed(
        lambda: publish_rows(
            Rows(code, nobody, late, np.zeros(0, np.int32)),
            slots,
            begin,
            ring_of(WINDOW, VALUES, L),
            cells_of(WINDOW, VALUES, most, 0),
            bench_of(0, VALUES, L),
            Rules(L, 0, len(slots), True, 0, False, 0),
            move,
            np.full(VALUES, WINDOW, np.int64),
            np.zeros((0, 4), np.int64),
            chance_of(1),
            np.zeros(5, np.int64),
        )
    )
    return seconds


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def table(results: Sequence[dict[str, Any]], grown: Sequence[dict[str, Any]]) -> str:
    """The numbers as text."""
    lines = [
        f"publish_stream: {PER_SLOT} records a slot, {VALUES} values as text, l = {L}, window {WINDOW}",
        f"{'rows':>11} {'no buckets':>11} {'buckets':>9} {'DuckDB x1':>10} {'none/x1':>8} {'buckets/x1':>11} "
        f"{'us a slot':>10} {'order rows':>11} {'HiGHS a window':>15} {'HiGHS/ours':>11}",
    ]
    lines += [
        f"{r['rows']:>11,} {r['plain_s']:>10.2f}s {r['buckets_s']:>8.2f}s {r['duckdb_s']:>9.2f}s "
        f"{r['plain_ratio']:>8.2f} {r['buckets_ratio']:>11.2f} {r['microseconds_a_slot']:>10.1f} "
        f"{r['order_rows_s']:>10.2f}s {r['highs_s_a_window'] * 1e3:>13.0f}ms {r['highs_ratio']:>11,.0f}"
        for r in results
    ]
    lines += [f"moved {r['moved']:.2%}, withheld {r['withheld']:.3%}" for r in results[-1:]]
    if grown:
        lines.append("the step alone, streams made on the fly, nanoseconds a record by length:")
        lines.append("  ".join(f"{g['rows']:,}: {g['nanoseconds_a_record']:.1f}" for g in grown))
    return "\n".join(lines)
