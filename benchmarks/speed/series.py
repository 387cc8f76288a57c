"""`adaptive` and `kapra` on random walks of different height, next to one scikit-learn KDTree build.

Seconds are those of the processor, so that other work on the machine counts less; runs alternate, and the
fastest of each counts. The method on a matrix is timed, not reading a table or writing a release. One entry
times a whole small job in a process of its own, imports included, as somebody who tries timeveil meets it.
"""

from __future__ import annotations

import math
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

from benchmarks.experiments.series_calls import adaptive, kapra
from timeveil.models.series.method.partition import Matrix

K, P, INSTANTS = 10, 5, 10
SIZES = (100_000, 1_000_000)
METHODS: dict[str, Callable[[Matrix, int, int], Any]] = {
    "adaptive, effort 0": partial(adaptive, effort=0),
    "adaptive, effort 1": adaptive,
    "kapra": kapra,
}
FIRST_JOB = """
import timeveil as tv
table = tv.datasets.load_curves(300)
hours = [name for name in table.column_names if name.startswith("h") and name != "household"]
roles = tv.Roles(respondent="household", series=hours, sensitive=["tariff"])
release, ledger = tv.anonymize_series(table, roles, k=10, p=5)
"""


def walks(rows: int, instants: int = INSTANTS) -> Matrix:
    """Random walks whose heights differ more than their steps."""
    steps = np.random.default_rng(1).standard_normal((rows, instants))
    steps[:, 0] *= 10
    return np.cumsum(steps, axis=1)


def run(sizes: Sequence[int], repeat: int) -> list[dict[str, Any]]:
    """Seconds of every method and of a KDTree build, by number of series."""
    results = []
    for rows in sorted(sizes):
        matrix, tree = walks(rows), _tree_build()
        spent: dict[str, float] = dict.fromkeys([*METHODS, "KDTree"], math.inf)
        for _ in range(repeat):
            for name, method in METHODS.items():
                spent[name] = min(spent[name], _timed(lambda: method(matrix, K, P)))  # noqa: B023  # called at once
            if tree:
                spent["KDTree"] = min(spent["KDTree"], _timed(lambda: tree(matrix)))  # noqa: B023
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        results.append(
            {
                "rows": rows,
                "seconds": spent,
                "process_peak": peak,
                "cores": os.cpu_count(),
                "python": platform.python_version(),
            }
        )
    return results


def first_job() -> float:
    """Processor seconds of a process that publishes 300 load curves of 24 hours."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", FIRST_JOB], check=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _tree_build() -> Callable[[Matrix], Any] | None:
    """How scikit-learn builds a k-d tree, if it is installed."""
    try:
        from sklearn.neighbors import KDTree  # needs the extra `bench`
    except ModuleNotFoundError:
        return None
    return KDTree  # type: ignore[no-any-return]


def _timed(work: Callable[[], Any]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def table(results: Sequence[dict[str, Any]], first: float) -> str:
    """The numbers as text."""
    names = list(results[0]["seconds"])
    lines = [
        f"series: random walks of {INSTANTS} instants, k = {K}, P = {P}",
        f"{'series':>11} " + " ".join(f"{name:>18}" for name in names) + f" {'peak memory':>12}",
    ]
    for result in results:
        seconds = " ".join(f"{result['seconds'][name]:>17.2f}s" for name in names)
        lines.append(f"{result['rows']:>11,} {seconds} {result['process_peak'] / 2**20:>8,.0f} MiB")
    lines.append(f"a first job, 300 series of 24 hours, imports included: {first:.2f}s")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(run([int(size) for size in sys.argv[1:]] or SIZES[:1], 1), first_job()))
