"""How narrow envelopes of k series can be made when nothing else counts: groups by simulated annealing.

Far too slow to publish with, and blind to shapes. It shows what a target for the value loss can ask for.
"""

from __future__ import annotations

from benchmarks.experiments.series_calls import adaptive
from benchmarks.experiments.series_judging import value_loss
from timeveil.models.series.method.partition import Matrix
from timeveil.symbols import envelopes

EFFORT = 40


def annealed(matrix: Matrix, k: int, effort: int = EFFORT) -> float:
    """The mean value loss of groups of k to 2k - 1 series, after long annealing by width alone."""
    group = adaptive(matrix, k, k, shape_weight=0, effort=effort).group
    low, high = envelopes(matrix, group)
    return float(value_loss(low, high)[group].mean())
