"""Distances of shapes other than the paper's cosine, on z-normalised values.

| name | distance, in deviations of the series |
|---|---|
| `euclidean` | root mean square of the differences, instant by instant |
| `dtw` | the same along the best warping, in which an instant may meet several that follow each other |

Both add up a cost for each pair of instants that meet; the second is dynamic time warping. Where a value is
only known to be in a range, the least and the largest cost of each pair bound the distance: any warping costs
at least the sum of its least costs, and the best one at most the sum of its largest. Cost of `dtw`: rows
times the square of the instants.
"""

from __future__ import annotations

import numpy as np

from timeveil.models.series.evidence import Bounds
from timeveil.models.series.evidence.original import Floats
from timeveil.models.series.judges.features import ROUNDING, bad

DISTANCES = ("cosine", "euclidean", "dtw")


def check_distance(name: object) -> str:
    """The name of a distance."""
    if not isinstance(name, str) or name not in DISTANCES:
        raise bad(f"there is no distance called `{name}`", f"use one of {', '.join(DISTANCES)}")
    return name


def distances(name: str, z: Floats, like: Floats) -> Floats:
    """How far each row of z-normalised values is from one shape, or from that of the same row.

    >>> z = np.array([[0.0, 0.0, 3.0, 0.0]])
    >>> like = np.array([0.0, 3.0, 0.0, 0.0])
    >>> distances("euclidean", z, like).round(3).tolist(), distances("dtw", z, like).tolist()
    ([2.121], [0.0])
    """
    return _summed(name, z, z, like, nearest=True)


def distance_bounds(name: str, low: Floats, high: Floats, like: Floats) -> Bounds:
    """How far each row can be from one shape, its values being between these."""
    nearest, furthest = (_summed(name, low, high, like, nearest=side) for side in (True, False))
    return nearest - ROUNDING, furthest + ROUNDING


def _summed(name: str, low: Floats, high: Floats, like: Floats, *, nearest: bool) -> Floats:
    """The distance with the least, or the largest, cost of each pair of instants."""

    def cost(instant: int, other: int) -> Floats:
        under, over = low[:, instant] - like[..., other], high[:, instant] - like[..., other]
        gap = np.maximum(under, -over).clip(0.0) if nearest else np.maximum(-under, over)
        return np.asarray(np.square(gap))

    count = low.shape[1]
    if name == "euclidean":
        total = np.sum([cost(instant, instant) for instant in range(count)], axis=0)
        return np.asarray(np.sqrt(total / count))
    # The least sum up to each pair of instants, row by row; before the first, nothing but the start is free.
    before = [np.zeros(len(low)), *[np.full(len(low), np.inf)] * count]
    for instant in range(count):
        row = [np.full(len(low), np.inf)]
        for other in range(count):
            reached = np.minimum(np.minimum(before[other], before[other + 1]), row[other])
            row.append(reached + cost(instant, other))
        before = row
    return np.asarray(np.sqrt(before[-1] / count))
