"""The methods that are compared, each as what readers of a release see: envelopes and shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.experiments.series_baselines import bfp2ka, tga, xu_groups
from benchmarks.experiments.series_calls import adaptive, kapra, naive, representative
from benchmarks.experiments.series_judging import drawn_shapes
from timeveil.domain.arrays import Ints
from timeveil.models.series.judges.measure import ReleaseSummary
from timeveil.models.series.method.paper import patterns_in
from timeveil.models.series.method.partition import Matrix, Partition
from timeveil.models.series.parameters import LEAST_REPRESENTED, SeriesParameters
from timeveil.symbols import envelopes, from_letters, positions, symbols_at, to_letters, z_normalised

LEVEL = 20
WEIGHTS = (2, 10, 50, 200)
METHODS: dict[str, Callable[[Matrix, int, int], Partition]] = {
    "Naive": naive,
    "KAPRA": kapra,
    **{f"adaptive {weight}": partial(adaptive, shape_weight=weight) for weight in WEIGHTS},
    "representative 10": partial(representative, shape_weight=10),
}
PUBLIC: dict[str, dict[str, object]] = {
    "Naive": {"method": "naive"},
    "KAPRA": {"method": "kapra"},
    **{f"adaptive {weight}": {"method": "adaptive", "shape_weight": weight} for weight in WEIGHTS},
    "representative 10": {"method": "representative", "shape_weight": 10},
}
"""The same by the names of `anonymize_series`."""
BASELINES = ("Naive, top-down", "TGA", "BFP2KA")
"""Our reading of what the paper compares with."""


def applies(name: str, p: int) -> bool:
    """Whether a method can be run with so small a p."""
    return p >= LEAST_REPRESENTED or not name.startswith("representative")


def top_down(matrix: Matrix, k: int, p: int) -> Partition:
    """Naive with the groups of Xu et al. in place of a balanced cut."""
    return patterns_in(xu_groups(matrix, k), matrix, SeriesParameters(k=k, p=p))


@dataclass(frozen=True, slots=True)
class Published:
    """What is said of each series: the place of its row in `low`, `high` and `shape`, or -1."""

    run: Ints
    low: Matrix
    high: Matrix
    shape: Matrix

    def shown(self) -> ReleaseSummary:
        """The same as a workload takes it, runs of one envelope together."""
        instants = np.arange(self.low.shape[1])
        return ReleaseSummary(
            np.bincount(self.run[self.run >= 0], minlength=len(self.low)),
            self.run,
            instants,
            instants,
            self.low,
            self.high,
            self.shape,
        )


def seen(matrix: Matrix, partition: Partition) -> Published:
    """What a partition publishes, before bounds are rounded."""
    group = np.unique(partition.group, return_inverse=True)[1] - int((partition.group < 0).any())
    low, high = envelopes(matrix, group)
    number = len(partition.symbols)
    group_of = np.zeros(number, np.int64)
    inside = partition.subgroup >= 0
    group_of[partition.subgroup[inside]] = group[inside]
    by_group = np.argsort(group_of, kind="stable")
    place = np.empty(number, np.int64)
    place[by_group] = np.arange(number)
    run = np.where(inside, place[partition.subgroup], -1)
    shape = drawn_shapes(partition.symbols, partition.levels)[by_group]
    return Published(run, low[group_of[by_group]], high[group_of[by_group]], shape)


def seen_points(series: Matrix) -> Published:
    """Made-up series, one for each, published as they are; equal ones are one row."""
    points, run = np.unique(series, axis=0, return_inverse=True)
    return Published(run.ravel(), points, points, points)


def by_tga(matrix: Matrix, k: int) -> Published:
    """Random series inside the envelopes of groups."""
    return seen_points(tga(matrix, k)[1])


def by_bfp2ka(matrix: Matrix, k: int) -> Published:
    """Strings of symbols as numbers; the matrix has whole numbers below 52."""
    found = bfp2ka([to_letters(row) for row in matrix.astype(np.uint8)], k)
    return seen_points(np.array([from_letters(text) for text in found], np.float64))


def letters_of(matrix: Matrix) -> list[str]:
    """Series as strings of 20 symbols."""
    return [to_letters(row) for row in symbols_at(positions(z_normalised(matrix)), LEVEL)]
