"""Pattern mining and sanitization: random walks, random baskets, or any table of transactions.

Claims: all small groups of 100,000 series of 10 instants and 6 symbols at a smallest support of 0.1 %, also
those that follow from one symbol at every instant, are found and closed within 15 seconds of one core, mining
included. Nothing is compiled, so the first use takes as long as every other. Times are seconds of the
processor, the shortest of several runs in one process.

    python -m benchmarks.speed.patterns baskets.parquet --transaction tid --item item --share 0.1
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from timeveil.models.patterns.method.channels import maximal_channels
from timeveil.models.patterns.method.family import mine_family
from timeveil.models.patterns.method.sanitizing import additive, raised
from timeveil.models.patterns.method.transactions import Sets, Transactions, symbols_of
from timeveil.symbols import z_normalised

K, INSTANTS, SYMBOLS, CAP = 10, 10, 6, 5_000_000


def walks(rows: int) -> Transactions:
    """Symbols of random walks."""
    matrix = np.cumsum(np.random.default_rng(1).normal(size=(rows, INSTANTS)), axis=1)
    return symbols_of(z_normalised(matrix), [str(instant) for instant in range(INSTANTS)], SYMBOLS)


def baskets(transaction: np.ndarray, item: np.ndarray) -> Transactions:
    """Transactions from one row per transaction and item."""
    names, items = np.unique(item, return_inverse=True)
    owner = np.unique(transaction, return_inverse=True)[1]
    owner, items = np.divmod(np.unique(owner * len(names) + items), len(names))
    return Transactions(tuple(map(str, names)), 1, Sets.of_lengths(np.bincount(owner), items))


def dense(rows: int) -> Transactions:
    """Baskets of 40 items, from one that nearly everybody has to one that few have."""
    owner, items = np.nonzero(np.random.default_rng(1).random((rows, 40)) < np.linspace(0.95, 0.05, 40))
    return baskets(owner, items)


def run(rows: int, repeat: int) -> list[dict[str, Any]]:
    """All numbers, one entry per table and smallest support."""
    series, dense_rows = walks(rows), dense(rows // 20)
    return [
        _measure("walks", series, 0.005, repeat),
        _measure("walks", series, 0.001, repeat),
        _measure("baskets", dense_rows, 0.2, repeat),
    ]


def _measure(
    name: str, rows: Transactions, share: float, repeat: int, longest: int | None = None
) -> dict[str, Any]:
    least = int(np.ceil(share * rows.rows))
    frequent = rows.frequent(least)
    spent: dict[str, list[float]] = {"mining": [], "finding": [], "closing": []}
    for _ in range(repeat):
        family, seconds = _timed(mine_family, frequent, least, longest or frequent.instants, CAP)
        spent["mining"].append(seconds)
        channels, seconds = _timed(maximal_channels, family, K, CAP)
        spent["finding"].append(seconds)
        _, seconds = _timed(lambda mined, small: raised(mined, additive(small, K)), family, channels)
        spent["closing"].append(seconds)
    return {
        "table": name,
        "rows": rows.rows,
        "share": share,
        "patterns": len(family) - 1,
        "boxes": sum(len(form.ranks) for form in channels.boxes),
        "channels": len(channels),
        **{f"{phase}_cpu_s": min(seconds) for phase, seconds in spent.items()},
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What the work returns, and the seconds of the processor that it took."""
    begin = time.process_time()
    outcome = work(*arguments)
    return outcome, time.process_time() - begin


def table(results: Sequence[dict[str, Any]]) -> str:
    """The numbers as text."""
    lines = [
        f"patterns, k = {K}: seconds of the processor",
        f"{'table':>12} {'rows':>9} {'support':>8} {'patterns':>9} {'boxes':>9} {'channels':>9} "
        f"{'mining':>8} {'finding':>8} {'closing':>8}",
    ]
    lines += [
        f"{r['table']:>12} {r['rows']:>9,} {r['share']:>8.1%} {r['patterns']:>9,} {r['boxes']:>9,} "
        f"{r['channels']:>9,} {r['mining_cpu_s']:>7.2f}s {r['finding_cpu_s']:>7.2f}s "
        f"{r['closing_cpu_s']:>7.2f}s"
        for r in results
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure a table of transactions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="Parquet file with one row per transaction and item")
    parser.add_argument("--transaction", default="tid", help="column of transactions")
    parser.add_argument("--item", default="item", help="column of items")
    parser.add_argument("--share", type=float, default=0.1, help="smallest support as a share")
    parser.add_argument("--longest", type=int, help="most items of a pattern")
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    columns = pq.read_table(options.path, columns=[options.transaction, options.item]).drop_null()
    rows = baskets(*(np.array(column.to_pylist()) for column in columns.columns))
    measured = _measure(options.path.stem, rows, options.share, options.repeat, options.longest)
    print(table([measured]))


if __name__ == "__main__":
    main()
