"""Pattern mining and sanitization on random walks, beside one run of pyfim's relim on the same rows.

Claims, at 100,000 series of 10 instants and 6 symbols: mining takes no longer than relim, and finding and
closing all small groups, also those that follow from one symbol at every instant, at most a quarter of that.
The latter holds at a smallest support of 0.5 %, where it takes a twenty-fifth, and with less room at 0.1 %,
where 37,000 maximal boxes of 4.5 million cells are found and looked into: 0.20 to 0.24 of the mining. It
takes no longer with more series, so with a million it is far below. Times are those that pass, the shortest
of some runs in one process. Mining is one thread; while boxes are searched for, another thread looks into
them. The processor's time is given, too: 0.28 to 0.33, and 0.24 to 0.28 if one thread does both.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from timeveil.models.patterns.method.channels import Channels, maximal_channels
from timeveil.models.patterns.method.family import Family, mine_family
from timeveil.models.patterns.method.sanitizing import additive, raised
from timeveil.models.patterns.method.transactions import Transactions, of_symbols
from timeveil.symbols.sax import positions, symbols_at, z_normalised

K, INSTANTS, SYMBOLS, CAP = 10, 10, 6, 5_000_000
SHARES = (0.005, 0.001)
ALONE = "from benchmarks.speed.patterns import million; million({rows})"


def walks(rows: int) -> Transactions:
    """Symbols of random walks, as many as rows."""
    matrix = np.cumsum(np.random.default_rng(1).normal(size=(rows, INSTANTS)), axis=1)
    columns = np.ascontiguousarray(symbols_at(positions(z_normalised(matrix)), SYMBOLS).T)
    return of_symbols(columns, SYMBOLS, tuple(f"{j}={s}" for j in range(INSTANTS) for s in range(SYMBOLS)))


def run(rows: int, repeat: int) -> list[dict[str, Any]]:
    """All numbers, one entry per smallest support."""
    _whole(walks(1000), 50)  # the first call in a process loads or compiles the kernels
    found = walks(rows)
    return [_measure(found, share, repeat) for share in SHARES]


def million(rows: int = 1_000_000) -> None:
    """A large table in a process of its own: prints seconds and the most memory that it held."""
    begin = time.process_time()
    family, channels = _whole(walks(rows), rows // 1000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{len(family.item)} {len(channels)} {time.process_time() - begin} {peak}")


def large(rows: int = 1_000_000) -> dict[str, Any]:
    """What `million` prints."""
    code = ALONE.format(rows=rows)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    patterns, channels, seconds, peak = done.stdout.split()
    return {
        "rows": rows,
        "patterns": int(patterns),
        "channels": int(channels),
        "seconds": float(seconds),
        "peak_gb": float(peak),
    }


def _whole(rows: Transactions, least: int) -> Any:
    family = mine_family(rows, least, INSTANTS, CAP)
    channels = maximal_channels(family, rows, K, CAP)
    _close(family, channels, rows)
    return family, channels


def _close(family: Family, channels: Channels, rows: Transactions) -> Family:
    return raised(family, additive(channels, rows, K), len(rows.names))


def _measure(rows: Transactions, share: float, repeat: int) -> dict[str, Any]:
    least = int(share * rows.rows)
    relim = _relim(rows, least)
    spent: dict[str, list[tuple[float, float]]] = {"relim": [], "mining": [], "finding": [], "closing": []}
    for _ in range(repeat):
        if relim:
            spent["relim"].append(_timed(relim)[0])
        seconds, family = _timed(lambda: mine_family(rows, least, INSTANTS, CAP))
        spent["mining"].append(seconds)
        seconds, channels = _timed(partial(maximal_channels, family, rows, K, CAP))
        spent["finding"].append(seconds)
        seconds, _ = _timed(partial(_close, family, channels, rows))
        spent["closing"].append(seconds)
    passed, worked = (_shortest(spent, place) for place in (0, 1))
    return {
        "rows": rows.rows,
        "share": share,
        "patterns": len(family.item) - 1,
        "boxes": len(channels.boxes[0]) - 1,
        "channels": len(channels),
        **{f"{name}_s": seconds for name, seconds in passed.items()},
        **{f"{name}_cpu_s": seconds for name, seconds in worked.items()},
        "mining_ratio": passed["mining"] / passed["relim"] if passed["relim"] else None,
        "sanitizing_ratio": _after_mining(passed),
        "sanitizing_cpu_ratio": _after_mining(worked),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _shortest(spent: dict[str, list[tuple[float, float]]], place: int) -> dict[str, Any]:
    """Of every phase the shortest time of one kind, None for what was not run."""
    return {name: min(pair[place] for pair in pairs) if pairs else None for name, pairs in spent.items()}


def _after_mining(seconds: dict[str, Any]) -> float:
    """How long finding and closing take, as a part of mining."""
    return float((seconds["finding"] + seconds["closing"]) / seconds["mining"])


def _relim(rows: Transactions, least: int) -> Callable[[], Any] | None:
    """How pyfim mines the same, if it is there."""
    try:
        import fim
    except ModuleNotFoundError:
        return None
    baskets = [tuple(row) for row in rows.items.reshape(rows.rows, -1).tolist()]
    return lambda: fim.relim(baskets, target="s", supp=-least, zmin=1, report="a")


def _timed(work: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """Seconds that passed and seconds of the processor, and what came out."""
    begin = time.perf_counter(), time.process_time()
    found = work()
    return (time.perf_counter() - begin[0], time.process_time() - begin[1]), found


def table(results: Sequence[dict[str, Any]], million: dict[str, Any]) -> str:
    """The numbers as text."""
    lines = [
        f"patterns: random walks of {INSTANTS} instants, {SYMBOLS} symbols, k = {K}",
        f"{'series':>9} {'support':>8} {'patterns':>9} {'boxes':>8} {'channels':>9} {'relim':>8} "
        f"{'mining':>8} {'/relim':>7} {'finding':>8} {'closing':>8} {'/mining':>8} {'(CPU)':>6}",
    ]
    for r in results:
        relim = "absent" if r["relim_s"] is None else f"{r['relim_s']:.3f}s"
        ratio = "-" if r["mining_ratio"] is None else f"{r['mining_ratio']:.2f}"
        lines.append(
            f"{r['rows']:>9,} {r['share']:>8.1%} {r['patterns']:>9,} {r['boxes']:>8,} {r['channels']:>9,} "
            f"{relim:>8} {r['mining_s']:>7.3f}s {ratio:>7} {r['finding_s']:>7.3f}s {r['closing_s']:>7.3f}s "
            f"{r['sanitizing_ratio']:>8.2f} {r['sanitizing_cpu_ratio']:>6.2f}"
        )
    lines.append(
        f"{million['rows']:,} series at 0.1 %: {million['patterns']:,} patterns, {million['channels']:,} "
        f"channels, {million['seconds']:.1f} s, {million['peak_gb']:.2f} GB at most"
    )
    if any(r["relim_s"] is None for r in results):
        lines.append("pyfim is not installed, so there is nothing to compare with: pip install '.[bench]'")
    return "\n".join(lines)
