"""What `adaptive` and `representative` lose on the sets of a folder, recomputed without any of their code.

    python -m benchmarks.experiments.series_adaptive FOLDER [--effort 0 1 4]

Losses are means per series at k = 10 and P = 5, of envelopes as they are, without rounding. The value loss of
pieces of a random walk is proportional to its step over its range, which differs from walk to walk, so it is
given in steps as well.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.experiments.series_calls import adaptive, representative
from timeveil.models.series.method.partition import Partition

K, P = 10, 5
SETS = {
    "walk": ("walk_6553_generated", "q"),
    "motion": ("motion_20352_perchannel", "q"),
    "cdnow": ("cdnow_monthly_series", "m_"),
    "icu": ("icu2012_hr_series_bc", "h_"),
}
RUNS: tuple[tuple[str, Callable[..., Partition], float], ...] = (
    *((name, adaptive, weight) for name in SETS for weight in (2.0, 10.0, 50.0, 200.0)),
    *((name, representative, 10.0) for name in SETS),
)
MONTHS = 17


def load(folder: Path, name: str) -> Any:
    """A set as a matrix; of motion without the channels that never move, of cdnow without the last month."""
    file, prefix = SETS[name]
    table = pq.read_table(folder / f"{file}.parquet")
    columns = [c for c in table.column_names if c.startswith(prefix)]
    columns = columns[:MONTHS] if name == "cdnow" else columns
    matrix = np.column_stack([table[c].to_numpy().astype(float) for c in columns])
    return np.ascontiguousarray(matrix[np.ptp(matrix, axis=1) > 0] if name == "motion" else matrix)


def value_loss(matrix: Any, group: Any) -> float:
    """Equation 2, the mean over all series."""
    lost = np.empty(len(matrix))
    for number in np.unique(group):
        inside = group == number
        lost[inside] = np.sqrt(np.mean(np.square(np.ptp(matrix[inside], axis=0))))
    return float(lost.mean())


def pattern_loss(matrix: Any, found: Partition) -> float:
    """Equation 3 by all differences of two instants, the mean over all series."""
    curve = NormalDist()
    pairs = list(zip(found.symbols.ravel().tolist(), found.levels.ravel().tolist(), strict=True))
    means = {pair: curve.inv_cdf((pair[0] + 0.5) / pair[1]) for pair in set(pairs)}
    shown = np.array([means[pair] for pair in pairs]).reshape(found.symbols.shape)[found.subgroup]
    dot, mine, theirs = np.zeros(len(matrix)), np.zeros(len(matrix)), np.zeros(len(matrix))
    for i in range(matrix.shape[1]):
        for j in range(i):
            a, b = matrix[:, i] - matrix[:, j], shown[:, i] - shown[:, j]
            dot, mine, theirs = dot + a * b, mine + a * a, theirs + b * b
    both, one = (mine == 0) & (theirs == 0), (mine == 0) ^ (theirs == 0)
    whole = np.sqrt(np.where(mine * theirs > 0, mine * theirs, 1.0))
    return float(np.where(both, 0.0, np.where(one, 1.0, 1 - dot / whole)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.series_adaptive")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--effort", type=int, nargs="+", default=[1])
    arguments = parser.parse_args()
    print("| set | method | shape weight | effort | value loss | pattern loss | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, method, weight in RUNS:
        matrix = load(arguments.folder, name)
        for effort in arguments.effort:
            begin = time.process_time()
            found = method(matrix, K, P, shape_weight=weight, effort=effort)
            seconds = time.process_time() - begin
            value, pattern = value_loss(matrix, found.group), pattern_loss(matrix, found)
            steps = f" ({value / np.diff(matrix, axis=1).std():.2f} steps)" if name == "walk" else ""
            print(
                f"| {name} | {method.__name__} | {weight:g} | {effort} | {value:.4g}{steps} | {pattern:.4f} "
                f"| {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
