"""`generalize_time` with `recode="local"` next to the global call, on the same table with hierarchies.

Claim, at 10,000,000 rows: local recoding takes at most five times what the global call takes. Seconds are
those of the processor, on whatever cores; calls alternate, and the fastest of each counts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import timeveil as tv
from benchmarks.speed.whole_catalogue import DUCKDB_GRANULES, ROLES, K, make, warm_up

WAYS: tuple[Literal["global", "local"], ...] = ("global", "local")


def run(sizes: Sequence[int], repeat: int) -> list[dict[str, Any]]:
    """All numbers, one entry per table size."""
    return [_measure(rows, repeat) for rows in sizes]


def _measure(rows: int, repeat: int) -> dict[str, Any]:
    events = make(rows)
    warm_up(events)
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(repeat):
        for way in WAYS:
            begin = time.process_time()
            tv.generalize_time(
                events,
                ROLES,
                K,
                granularities=list(DUCKDB_GRANULES),
                suppress=0.05,
                hierarchies={"zip": "suppression", "sex": "suppression"},
                recode=way,
            )
            seconds[way].append(time.process_time() - begin)
    fastest = {f"{way}_s": min(measured) for way, measured in seconds.items()}
    return {"rows": rows, **fastest, "ratio": fastest["local_s"] / fastest["global_s"]}


def table(results: Sequence[dict[str, Any]]) -> str:
    """The numbers as text."""
    lines = [
        "generalize_time: 15 granularities, 2 hierarchies, rows / 10 people, in memory, CPU seconds",
        f"{'rows':>11} {'global':>8} {'local':>8} {'local/global':>13}",
    ]
    lines += [
        f"{r['rows']:>11,} {r['global_s']:>7.1f}s {r['local_s']:>7.1f}s {r['ratio']:>13.2f}" for r in results
    ]
    return "\n".join(lines)
