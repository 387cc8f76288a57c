"""`adaptive` against one build of scikit-learn's KDTree on the same matrix.

Claims, at 1,000,000 series of 10 instants: without refining it takes at most two builds, one refining pass at
most eight; time grows with the number of series to the power of at most 1.15 from 100,000 on; memory beyond
the matrix stays under eight matrices. Long series work: 100,000 of 100 instants, 10,000 of 1,000.

Seconds are those of the processor, so that others on the machine do not count; runs alternate and the fastest
of each counts. What is timed is the method on a matrix, not reading a table or writing a release.
"""

from __future__ import annotations

import itertools
import math
import os
import platform
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from timeveil.models.series.method.adaptive import adaptive

K, P = 10, 5
INSTANTS = 10
SIZES = (100_000, 1_000_000)
SHAPES = ((100_000, 100), (10_000, 1_000))


def make(rows: int, instants: int, seed: int = 1) -> Any:
    """Random walks of different height."""
    rng = np.random.default_rng(seed)
    steps = rng.standard_normal((rows, instants))
    steps[:, 0] *= 10
    return np.cumsum(steps, axis=1)


def run(sizes: Sequence[int], repeat: int) -> list[dict[str, Any]]:
    """All numbers, one entry per number of series, smallest first."""
    adaptive(make(1000, INSTANTS), K, P)  # the first call in a process loads or compiles the kernels
    results = [_measure(rows, repeat) for rows in sorted(sizes)]
    for smaller, larger in itertools.pairwise(results):
        grown = math.log(larger["series"] / smaller["series"])
        for name in ("start", "pass"):
            larger[f"{name}_exponent"] = math.log(larger[f"{name}_s"] / smaller[f"{name}_s"]) / grown
    return results


def _measure(rows: int, repeat: int) -> dict[str, Any]:
    from sklearn.neighbors import KDTree

    matrix = make(rows, INSTANTS)
    before = _held()
    start, whole, tree = [], [], []
    passes = 1
    for _ in range(repeat):
        start.append(_timed(lambda: adaptive(matrix, K, P, effort=0)))
        begin = time.process_time()
        passes = adaptive(matrix, K, P).facts["passes"]
        whole.append(time.process_time() - begin)
        tree.append(_timed(lambda: KDTree(matrix)))
    one_pass = (min(whole) - min(start)) / passes
    return {
        "series": rows,
        "instants": INSTANTS,
        "start_s": min(start),
        "default_s": min(whole),
        "passes": passes,
        "pass_s": one_pass,
        "kdtree_s": min(tree),
        "start_ratio": min(start) / min(tree),
        "pass_ratio": one_pass / min(tree),
        "memory_ratio": (_peak() - before) / matrix.nbytes,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def long_series(shapes: Sequence[tuple[int, int]] = SHAPES) -> list[dict[str, Any]]:
    """Seconds of both efforts on few series of many instants."""
    found = []
    for rows, instants in shapes:
        matrix = make(rows, instants)
        seconds = [_timed(lambda: adaptive(matrix, K, P, effort=effort)) for effort in (0, 1)]  # noqa: B023
        found.append({"series": rows, "instants": instants, "start_s": seconds[0], "default_s": seconds[1]})
    return found


def _timed(work: Callable[[], Any]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _held() -> int:
    """Bytes this process holds now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def table(results: Sequence[dict[str, Any]], long: Sequence[dict[str, Any]]) -> str:
    """The numbers as text."""
    lines = [
        f"adaptive: {INSTANTS} instants, k = {K}, P = {P}",
        f"{'series':>11} {'effort 0':>9} {'effort 1':>9} {'one pass':>9} {'KDTree':>8} {'start/tree':>11} "
        f"{'pass/tree':>10} {'memory/matrix':>14} {'exponents':>12}",
    ]
    lines += [
        f"{r['series']:>11,} {r['start_s']:>8.2f}s {r['default_s']:>8.2f}s {r['pass_s']:>8.2f}s "
        f"{r['kdtree_s']:>7.2f}s {r['start_ratio']:>11.2f} {r['pass_ratio']:>10.2f} "
        f"{r['memory_ratio']:>14.1f} "
        + (f"{r['start_exponent']:>6.2f}{r['pass_exponent']:>6.2f}" if "start_exponent" in r else "")
        for r in results
    ]
    lines += [
        f"{r['series']:>11,} x {r['instants']:,} instants: "
        f"effort 0 {r['start_s']:.1f}s, effort 1 {r['default_s']:.1f}s"
        for r in long
    ]
    return "\n".join(lines)
