"""What questions can name: ranges, and the features of a shape (Shou et al. 2013, Definition 1).

A pattern is a vector of features, each a number computed from the z-normalised values of a series:

| name | features | asked for by |
|---|---|---|
| `differences` | every instant less every other | `(a, b)`: the value at a less that at b |
| `adjacent` | every instant less the next one | `(a, b)`, b right after a |
| `slope` | the slope of the straight line through the series, per instant | `"slope"` |
| `peak-to-trough` | the highest value less the lowest | `"peak-to-trough"` |

Bounds are by interval arithmetic: for any values within their bounds, the feature is within its bounds.

Shapes are compared by the cosine of their features, as in the paper, or by their z-normalised values:
`euclidean` is the root mean square of the differences, instant by instant, and `dtw` the same along the best
warping, in which an instant may meet several that follow each other: rows times the square of the instants.
"""

import math
from collections.abc import Hashable
from itertools import pairwise
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from timeveil.domain.arrays import Floats
from timeveil.errors import ErrorCode, ParameterError, raising
from timeveil.models.series.evidence import Bounds, Cells

Names: TypeAlias = tuple[str, ...]  # the instants of a series
Range: TypeAlias = tuple[float | None, float | None]
"""The two ends of a range, both included; None leaves a side open."""
TINY = 1e-12
DISTANCES = ("cosine", "euclidean", "dtw")
ROUNDING = 1e-9  # the rounding error of a distance; its bounds are taken to be this much wider


class Feature:
    """One number that describes a shape, asked for by its name: usually the slope of its straight line."""

    def __init__(self, name: str) -> None:
        self.name = name

    def keys(self, _instants: Names) -> str:
        """What can be asked for, in words."""
        return f'"{self.name}"'

    def has(self, _instants: Names, key: Hashable) -> bool:
        return key == self.name

    def weights(self, instants: Names, _key: Any) -> Floats:
        """The weight of each z-normalised value in the feature: by least squares, one step between two."""
        steps = np.arange(len(instants), dtype=np.float64) - (len(instants) - 1) / 2
        return steps / max(float(steps @ steps), 1e-300)

    def value(self, instants: Names, key: Any, z: Floats) -> Floats:
        weights = self.weights(instants, key)
        used = np.flatnonzero(weights)
        return z[:, used] @ weights[used]

    def bounds(self, instants: Names, key: Any, cells: Cells) -> Bounds:
        """What the feature can be where symbols allow only some shapes."""
        return linear_bounds(self.weights(instants, key), cells)


class PeakToTrough(Feature):
    """The highest value less the lowest."""

    def value(self, _instants: Names, _key: Any, z: Floats) -> Floats:
        return np.asarray(z.max(axis=1) - z.min(axis=1))

    def bounds(self, _instants: Names, _key: Any, cells: Cells) -> Bounds:
        """Two of n values of deviation 1 are at most sqrt(2n) apart."""
        low, high = cells.values
        most = math.sqrt(2 * low.shape[1]) * (1 + 1e-9)
        least = np.maximum(low.max(axis=1) - high.min(axis=1), 0.0)
        return least, np.minimum(high.max(axis=1) - low.min(axis=1), most)


class Differences(Feature):
    """Differences of two instants; together they compare shapes.

    Two shapes are as far apart as their feature vectors point: 1 less the cosine between them. Centred values
    have the angles of the vectors of all differences (eq. 3).
    """

    def keys(self, instants: Names) -> str:
        return f"pairs of two different instants, such as `{instants[0]}` and `{instants[-1]}`"

    def has(self, instants: Names, key: Hashable) -> bool:
        pair = isinstance(key, tuple) and len(key) == 2 and key[0] != key[1]
        return pair and all(name in instants for name in key)  # type: ignore[attr-defined]  # a pair is iterable

    def weights(self, instants: Names, key: Any) -> Floats:
        weights = np.zeros(len(instants))
        weights[instants.index(key[0])], weights[instants.index(key[1])] = 1.0, -1.0
        return weights

    def vector(self, z: Floats) -> Floats:
        return np.asarray(z - z.mean(axis=1, keepdims=True))

    def back(self, weights: Floats) -> Floats:
        """Weights on the features as weights on the values."""
        return weights

    def lengths(self, low: Floats, _high: Floats) -> tuple[Floats, Floats]:
        """Bounds of the length of the vector: squares of z-normalised values add up to their number."""
        length = np.full(len(low), math.sqrt(low.shape[1]))
        return length, length

    def directions(self, z: Floats) -> Floats:
        """The feature vector of each row brought to length 1; 0 where it has no length."""
        vector = self.vector(z)
        length = np.sqrt(np.square(vector).sum(axis=1, keepdims=True))
        flat = length <= TINY * np.maximum(np.abs(z).max(axis=1, keepdims=True, initial=0.0), 1.0)
        return np.where(flat, 0.0, vector / np.where(flat, 1.0, length))

    def distances(self, z: Floats, like: Floats) -> Floats:
        """The distance of each row from one direction: 0 if neither has one, 1 if only one of them has."""
        directions = self.directions(z)
        flat, straight = ~directions.any(axis=1), bool(like.any())
        return np.where(flat, float(straight), 1.0 - directions @ like if straight else 1.0)

    def distance_bounds(self, cells: Cells, like: Floats) -> tuple[Floats, Floats]:
        """What the distance from one direction can be where symbols allow only some shapes."""
        low, high = cells.values
        may_be_flat, flat = ((low <= 0) & (high >= 0)).all(axis=1), low.shape[1] < 2
        if not like.any():
            return np.where(may_be_flat, 0.0, 1.0), np.full(len(low), 0.0 if flat else 1.0)
        # The cosine is a linear function of the values over the length of their vector.
        least, most = linear_bounds(self.back(like), cells)
        shortest, longest = self.lengths(low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            widest = np.where(most >= 0, most / shortest, most / longest)
            narrowest = np.where(least >= 0, least / longest, least / shortest)
        nearest = 1.0 - np.minimum(np.nan_to_num(widest, nan=1.0), 1.0)
        furthest = 1.0 - np.maximum(np.nan_to_num(narrowest, nan=-1.0), -1.0)
        # A constant series is at distance 1 from every direction.
        nearest = np.where(may_be_flat, np.minimum(nearest, 1.0), nearest)
        furthest = np.where(may_be_flat, np.maximum(furthest, 1.0), furthest)
        return nearest - ROUNDING, furthest + ROUNDING


class Adjacent(Differences):
    """Differences of instants that follow each other: rises and falls."""

    def keys(self, instants: Names) -> str:
        return f"pairs of instants that follow each other, such as `{instants[0]}` and `{instants[1]}`"

    def has(self, instants: Names, key: Hashable) -> bool:
        return isinstance(key, tuple) and key in pairwise(instants)

    def vector(self, z: Floats) -> Floats:
        return z[:, :-1] - z[:, 1:]

    def back(self, weights: Floats) -> Floats:
        return np.asarray(np.append(weights, 0.0) - np.append(0.0, weights))

    def lengths(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        down, up = low[:, :-1] - high[:, 1:], high[:, :-1] - low[:, 1:]
        least = np.maximum(np.maximum(down, -up), 0.0)
        most = np.maximum(np.abs(down), np.abs(up))
        return np.sqrt(np.square(least).sum(axis=1)), np.sqrt(np.square(most).sum(axis=1))


FEATURES: dict[str, Feature] = {
    "differences": Differences("differences"),
    "adjacent": Adjacent("adjacent"),
    "slope": Feature("slope"),
    "peak-to-trough": PeakToTrough("peak-to-trough"),
}


def linear_bounds(weights: Floats, cells: Cells) -> tuple[Floats, Floats]:
    """What a weighted sum of z-normalised values can be where symbols allow only some shapes.

    Their squares add up to the number of instants n, so that a sum with centred weights w is at most
    sqrt(n) * |w|, too. Weights that are not centred must not be used here.
    """
    most = math.sqrt(len(weights)) * float(np.linalg.norm(weights)) * (1 + 1e-9)
    least_sum, most_sum = cells.summed(weights)
    return np.maximum(least_sum, -most), np.minimum(most_sum, most)


def feature(name: str) -> Feature:
    """The features of a name."""
    if not isinstance(name, str) or name not in FEATURES:
        raise bad(f"there are no features called `{name}`", f"use one of {', '.join(FEATURES)}")
    return FEATURES[name]


def distances(name: str, z: Floats, like: Floats) -> Floats:
    """How far each row of z-normalised values is from one shape, or from that of the same row."""
    return _summed(name, z, z, like, nearest=True)


def distance_bounds(name: str, low: Floats, high: Floats, like: Floats) -> Bounds:
    """How far each row can be from one shape, its values being between these.

    Any warping costs at least the sum of its least costs, and the best one at most that of its largest.
    """
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


def ends(name: str, span: object) -> tuple[float, float]:
    """The two ends of a range, an open side at infinity."""
    if not isinstance(span, tuple | list) or len(span) != 2:
        raise bad(f"the range for {name} is not a pair", "give (lo, hi), None for an open side")
    low, high = (
        open_side if bound is None else number(f"an end of the range for {name}", bound)
        for bound, open_side in zip(span, (-math.inf, math.inf), strict=True)
    )
    if low > high:
        raise bad(f"the range for {name} ends before it starts", "give the lower end first")
    return low, high


def number(name: str, value: object) -> float:
    """A number that is not NaN."""
    with raising(bad(f"{name} is beyond all numbers", "give a smaller one"), on=OverflowError):
        if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
            actual = "NaN" if isinstance(value, float) else f"a {type(value).__name__}"
            raise bad(f"{name} is not a number but {actual}", "give a number")
        return float(value)


def bad(message: str, hint: str, code: ErrorCode | None = None) -> ParameterError:
    """The error of a question that cannot be asked, or not answered from what was published."""
    return ParameterError(message, hint=hint, code=code)
