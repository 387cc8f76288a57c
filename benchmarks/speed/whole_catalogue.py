"""The whole of `generalize_time` against one `count(distinct)` of DuckDB, on the same Arrow table.

Claim, at 10,000,000 rows: counting people under fifteen granularities, choosing one and assigning every row
to its group takes at most three times what DuckDB takes to count them under one (day), and with the rows of
the release in their order at most four times. The whole call is timed; rows are put in order when they are
first read, which is timed on its own.

Seconds are those of the processor, on whatever cores, so that other work on the machine counts less; runs
alternate, and the fastest of each counts. Memory is the table itself and the most that a fresh process holds
beyond it during the call, as a multiple of the table.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import timeveil as tv
from benchmarks.generated import events

DAYS = 3 * 365
K = 5
DUCKDB_GRANULES = {
    "hour": "date_trunc('hour', happened_at)",
    "6-hours": "time_bucket(INTERVAL 6 HOURS, happened_at)",
    "day-part": "time_bucket(INTERVAL 6 HOURS, happened_at)",
    "shift": "time_bucket(INTERVAL 8 HOURS, happened_at - INTERVAL 7 HOURS)",
    "day": "date_trunc('day', happened_at)",
    "week": "date_trunc('week', happened_at)",
    "week-sunday": "date_trunc('week', happened_at + INTERVAL 1 DAY)",
    "month": "date_trunc('month', happened_at)",
    "quarter": "date_trunc('quarter', happened_at)",
    "half-year": "year(happened_at) * 2 + (month(happened_at) - 1) // 6",
    "year": "date_trunc('year', happened_at)",
    "iso-year": "isoyear(happened_at)",
    "decade": "date_trunc('decade', happened_at)",
    "academic-term": "year(happened_at - INTERVAL 1 MONTH) * 3 + (month(happened_at) + 9) // 5",
    "all": "1",
}
"""Fifteen granularities; the expressions stand for the same number of groups, not the same labels."""

ROLES = tv.Roles(respondent="person", time="happened_at", quasi=["zip", "sex"], sensitive=["value"])


def make(rows: int) -> pa.Table:
    """A tenth as many people as rows, two quasi-identifiers, three years."""
    return events(rows, people=rows // 10, days=DAYS, seed=1)


def generalize(table: pa.Table, suppress: float = 0.05) -> tuple[tv.Release, tv.Ledger]:
    """What is claimed to be fast."""
    return tv.generalize_time(table, ROLES, K, granularities=list(DUCKDB_GRANULES), suppress=suppress)


def warm_up(table: pa.Table) -> None:
    """The first call in a process imports what it needs; that is not measured."""
    generalize(table.slice(0, 1000), suppress=0.99)


def run(sizes: Sequence[int], repeat: int) -> list[dict[str, Any]]:
    """All numbers, one entry per table size."""
    return [_measure(rows, repeat) for rows in sizes]


def _measure(rows: int, repeat: int) -> dict[str, Any]:
    table = make(rows)
    warm_up(table)
    con = duckdb.connect()
    con.register("events", table)
    ours, one, order = [], [], []
    for _ in range(repeat):
        seconds, (release, _) = _timed(lambda: generalize(table))
        ours.append(seconds)
        one.append(_timed(lambda: _count_distinct(con, "day"))[0])
        order.append(_timed(lambda: release.table.num_rows)[0])  # noqa: B023
    every = sum(_timed(lambda: _count_distinct(con, name))[0] for name in DUCKDB_GRANULES)  # noqa: B023
    memory = json.loads(_in_fresh_process(rows))
    return {
        "rows": rows,
        "granularity": release.manifest["granularity"],
        "generalize_time_s": min(ours),
        "duckdb_one_s": min(one),
        "duckdb_all_s": every,
        "ratio_to_one": min(ours) / min(one),
        "ratio_with_order_to_one": (min(ours) + min(order)) / min(one),
        "ratio_all_to_ours": every / min(ours),
        "order_rows_s": min(order),
        "input_mb": table.nbytes / 1e6,
        "memory_ratio": (memory["growth"] + table.nbytes) / table.nbytes,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "duckdb": duckdb.__version__,
    }


def _count_distinct(con: duckdb.DuckDBPyConnection, name: str) -> Any:
    return con.execute(
        f"SELECT count(*), min(people) FROM (SELECT zip, sex, {DUCKDB_GRANULES[name]} AS granule, "
        "count(DISTINCT person) AS people FROM events GROUP BY ALL)"
    ).fetchall()


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def _in_fresh_process(rows: int) -> str:
    command = [sys.executable, "-c", f"from benchmarks.speed import whole_catalogue as w; w.peak({rows})"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def peak(rows: int) -> None:
    """Print the most memory this process holds during the call beyond what it holds before."""
    table = make(rows)
    warm_up(table)
    before, highest, done = _resident(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            highest[0] = max(highest[0], _resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    generalize(table)
    done.set()
    watcher.join()
    print(json.dumps({"growth": highest[0] - before}))


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def table(results: Sequence[dict[str, Any]]) -> str:
    """The numbers as text."""
    lines = [
        "generalize_time: 15 granularities, 2 quasi-identifiers, rows / 10 people, in memory, CPU seconds",
        f"{'rows':>11} {'call':>8} {'DuckDB x1':>10} {'DuckDB x15':>11} {'call/x1':>8} {'x15/call':>9} "
        f"{'order rows':>11} {'(call+order)/x1':>16} {'memory/input':>13}",
    ]
    lines += [
        f"{r['rows']:>11,} {r['generalize_time_s']:>7.2f}s {r['duckdb_one_s']:>9.2f}s "
        f"{r['duckdb_all_s']:>10.1f}s {r['ratio_to_one']:>8.2f} {r['ratio_all_to_ours']:>9.1f} "
        f"{r['order_rows_s']:>10.2f}s {r['ratio_with_order_to_one']:>16.2f} {r['memory_ratio']:>13.1f}"
        for r in results
    ]
    if len(results) > 1:
        first, last = results[0], results[-1]
        growth = last["generalize_time_s"] / first["generalize_time_s"]
        lines.append(f"rows x {last['rows'] / first['rows']:.0f} -> time x {growth:.1f}")
    return "\n".join(lines)
