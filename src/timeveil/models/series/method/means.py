"""The mean of each group at each instant, in steps so coarse that the last member stays hidden.

Where few people have high values, the middle of an envelope is far above the mean, and totals read off
envelopes are too high. A mean of n values shows the last one to anyone who knows the others, so it is rounded
to the nearest of n + 1 steps from the lowest to the highest bound. One step of the mean is the width of the
envelope in the sum: of the last value the others learn at most on which side of one point it is.

The first and the last two steps are not published (dominance): there one member could have most of the
distance of all from a bound, so that the mean would show the values of the others. Groups of fewer than 4
have no other steps. Where both bounds are equal the mean adds nothing, and is published.
Cost: a sort per instant.
"""

from __future__ import annotations

import numpy as np

from timeveil.models.series.method.partition import Labels, Matrix

OUTER_STEPS = 2


def group_means(matrix: Matrix, group: Labels, low: Matrix, high: Matrix) -> Matrix:
    """Per group and instant the rounded mean, nan where it is not published; -1 is in no group.

    >>> values, low, high = np.array([[0.0], [2.0], [2.5], [4.0]]), np.zeros((1, 1)), np.full((1, 1), 4.0)
    >>> group_means(values, np.zeros(4, np.int64), low, high).tolist()
    [[2.0]]
    """
    size = np.bincount(group[group >= 0])
    starts, means = np.cumsum(size) - size, np.full(low.shape, np.nan)
    for instant in range(matrix.shape[1]) if len(size) else ():
        # Sorted by value: a sum of floats depends on their order, and that of the rows must not show.
        order = np.lexsort((matrix[:, instant], group))
        order = order[np.searchsorted(group[order], 0) :]
        bottom, width = low[:, instant], high[:, instant] - low[:, instant]
        flat = width == 0
        share = (matrix[order, instant] - bottom[group[order]]) / np.where(flat, 1.0, width)[group[order]]
        step = np.floor(np.add.reduceat(share, starts) + 0.5)
        inner = (step >= OUTER_STEPS) & (step <= size - OUTER_STEPS)
        means[:, instant] = np.where(flat, bottom, np.where(inner, bottom + width * (step / size), np.nan))
    return means
