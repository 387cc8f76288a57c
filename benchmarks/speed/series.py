"""KAPRA on a matrix of random walks, beside one scikit-learn KDTree build on the same matrix in the same run.

Claims: 1,000,000 x 10 in at most 3 builds; time grows with an exponent of at most 1.15 from a tenth of the
rows; memory stays below 8 times the matrix. Seconds are of the processor, which a busy machine changes less.
Up to 50,000 of such series adoption takes more passes, so an exponent from below that number means nothing.
"""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from timeveil.models.series.method.kapra import kapra
from timeveil.models.series.method.partition import Matrix

K, P, INSTANTS = 10, 5, 10
ALONE = """
from pathlib import Path
from benchmarks.speed.series import K, P, kapra, walks

def held(what):  # not ru_maxrss, which starts at what the parent process had
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1])

kapra(walks(51_000), K, P)
matrix = walks({rows})
before = held("VmRSS")
kapra(matrix, K, P)
print((held("VmHWM") - before) * 1024 / matrix.nbytes)
"""


def walks(rows: int, instants: int = INSTANTS) -> Matrix:
    """Random walks, as many as rows."""
    return np.cumsum(np.random.default_rng(1).normal(size=(rows, instants)), axis=1)


def run(sizes: Sequence[int], repeat: int) -> list[dict[str, Any]]:
    """All numbers, one entry per number of series."""
    kapra(walks(3000), K, P)  # the first call in a process loads or compiles the kernels
    kapra(walks(51_000), K, P)
    return [_measure(rows, repeat) for rows in sizes]


def _measure(rows: int, repeat: int) -> dict[str, Any]:
    matrix, tenth = walks(rows), walks(rows // 10)
    tree = _tree_build()
    spent: dict[str, list[float]] = {"kapra": [], "paper": [], "tenth": [], "tree": []}
    for _ in range(repeat):
        if tree:
            spent["tree"].append(_timed(lambda: tree(matrix)))
        spent["kapra"].append(_timed(lambda: kapra(matrix, K, P)))
        spent["paper"].append(_timed(lambda: kapra(matrix, K, P, adoption=False)))
        spent["tenth"].append(_timed(lambda: kapra(tenth, K, P)))
    best = {name: min(seconds) if seconds else None for name, seconds in spent.items()}
    whole, part = min(spent["kapra"]), min(spent["tenth"])
    return {
        "rows": rows,
        "kapra_s": whole,
        "without_adoption_s": best["paper"],
        "kdtree_s": best["tree"],
        "ratio": whole / best["tree"] if best["tree"] else None,
        "exponent": math.log10(whole / part),
        "memory_ratio": _peak(rows),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _tree_build() -> Callable[[Matrix], Any] | None:
    """How scikit-learn builds a k-d tree, if it is there."""
    try:
        from sklearn.neighbors import KDTree
    except ModuleNotFoundError:
        return None
    return KDTree  # type: ignore[no-any-return]


def _peak(rows: int) -> float:
    """Memory that a process of its own grows by at most, in sizes of the matrix; kernels count too."""
    done = subprocess.run([sys.executable, "-c", ALONE.format(rows=rows)], check=True, capture_output=True)  # noqa: S603
    return float(done.stdout)


def _timed(work: Callable[[], Any]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def table(results: Sequence[dict[str, Any]]) -> str:
    """The numbers as text."""
    lines = [
        f"kapra: random walks of {INSTANTS} instants, k = {K}, P = {P}",
        f"{'series':>11} {'kapra':>9} {'no adoption':>12} {'KDTree':>9} {'kapra/KDTree':>13} "
        f"{'exponent':>9} {'memory':>8}",
    ]
    for r in results:
        tree = "absent" if r["kdtree_s"] is None else f"{r['kdtree_s']:.2f}s"
        ratio = "-" if r["ratio"] is None else f"{r['ratio']:.2f}"
        lines.append(
            f"{r['rows']:>11,} {r['kapra_s']:>8.2f}s {r['without_adoption_s']:>11.2f}s {tree:>9} {ratio:>13} "
            f"{r['exponent']:>9.2f} {r['memory_ratio']:>7.1f}x"
        )
    if any(r["kdtree_s"] is None for r in results):
        lines.append(
            "scikit-learn is not installed, so there is nothing to compare with: pip install '.[bench]'"
        )
    return "\n".join(lines)
