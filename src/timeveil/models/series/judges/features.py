"""The features of a shape that questions can name (Shou et al. 2013, Definition 1).

A pattern is a vector of features, each a number computed from the z-normalised values of a series:

| name | features | asked for by |
|---|---|---|
| `differences` | every instant less every other | `(a, b)`: the value at a less that at b |
| `adjacent` | every instant less the next one | `(a, b)`, b right after a |
| `slope` | the slope of the straight line through the series, per instant | `"slope"` |
| `peak-to-trough` | the highest value less the lowest | `"peak-to-trough"` |

`FEATURES` has them; a further one is an entry with the same functions. Bounds are by interval arithmetic: for
any values within their bounds, the feature is within its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from timeveil.errors import ParameterError
from timeveil.models.series.original import Floats

Weights = Callable[[tuple[str, ...], Any], Floats]
TINY = 1e-12
ROUNDING = 1e-9
"""The rounding error of a distance; its bounds are taken to be this much wider."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One way to describe a shape.

    `keys` describes the features by the names of the instants, `has` tests for one. `value` computes one per
    row of z-normalised values, `bounds` what it can be when each value is between two others. `angle`
    compares shapes by all features together; None where there is only one.
    """

    keys: Callable[[tuple[str, ...]], str]
    has: Callable[[tuple[str, ...], Hashable], bool]
    value: Callable[[tuple[str, ...], Any, Floats], Floats]
    bounds: Callable[[tuple[str, ...], Any, Floats, Floats], tuple[Floats, Floats]]
    angle: Angle | None = None


@dataclass(frozen=True, slots=True)
class Angle:
    """How far apart the feature vectors of two shapes point: 1 less the cosine between them.

    `vector` gives the features of each row, `back` turns weights on the features into weights on the
    values, `lengths` bounds the length of the vector when each value is between two others.
    """

    vector: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]
    lengths: Callable[[Floats, Floats], tuple[Floats, Floats]]

    def directions(self, z: Floats) -> Floats:
        """The feature vector of each row brought to length 1; 0 where it has no length."""
        vector = self.vector(z)
        length = np.sqrt(np.square(vector).sum(axis=1, keepdims=True))
        flat = length <= TINY * np.maximum(np.abs(z).max(axis=1, keepdims=True, initial=0.0), 1.0)
        unit: Floats = np.where(flat, 0.0, vector / np.where(flat, 1.0, length))
        return unit

    def distances(self, z: Floats, like: Floats) -> Floats:
        """The distance of each row from one direction: 0 if neither has one, 1 if only one of them has."""
        directions = self.directions(z)
        flat, straight = ~directions.any(axis=1), bool(like.any())
        return np.where(flat, float(straight), 1.0 - directions @ like if straight else 1.0)

    def distance_bounds(self, low: Floats, high: Floats, like: Floats) -> tuple[Floats, Floats]:
        """What the distance from one direction can be, each value being between its bounds."""
        may_be_flat, flat = ((low <= 0) & (high >= 0)).all(axis=1), low.shape[1] < 2
        straight = bool(like.any())
        if not straight:
            return np.where(may_be_flat, 0.0, 1.0), np.full(len(low), 0.0 if flat else 1.0)
        # The cosine is a linear function of the values over the length of their vector.
        least, most = linear_bounds(self.back(like), low, high)
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


def _is_pair(instants: tuple[str, ...], key: Hashable) -> bool:
    return (
        isinstance(key, tuple)
        and len(key) == 2
        and all(name in instants for name in key)
        and key[0] != key[1]
    )


def _follows(instants: tuple[str, ...], key: Hashable) -> bool:
    return isinstance(key, tuple) and key in pairwise(instants)


def _pair_weights(instants: tuple[str, ...], key: tuple[str, str]) -> Floats:
    weights = np.zeros(len(instants))
    weights[instants.index(key[0])], weights[instants.index(key[1])] = 1.0, -1.0
    return weights


def _slope_weights(instants: tuple[str, ...], _key: object) -> Floats:
    """Least squares: the instants are one step apart."""
    steps = np.arange(len(instants), dtype=np.float64) - (len(instants) - 1) / 2
    weights: Floats = steps / max(float(steps @ steps), 1e-300)
    return weights


def _linear(weights: Weights) -> dict[str, Any]:
    def value(instants: tuple[str, ...], key: Any, z: Floats) -> Floats:
        weight = weights(instants, key)
        used = np.flatnonzero(weight)
        sums: Floats = z[:, used] @ weight[used]
        return sums

    def bounds(instants: tuple[str, ...], key: Any, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return linear_bounds(weights(instants, key), low, high)

    return {"value": value, "bounds": bounds}


def linear_bounds(weights: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """What a weighted sum of z-normalised values can be, each between its bounds.

    Their squares add up to the number of instants n, so that a sum with centred weights w is at most
    sqrt(n) * |w|, too. Weights that are not centred must not be used here.

    >>> low, high = linear_bounds(np.array([1.0, -1.0]), np.array([[0.0, -1.0]]), np.array([[2.0, 0.0]]))
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([0.0], [2.0])
    """
    used = np.flatnonzero(weights)
    up, down = np.maximum(weights[used], 0.0), np.minimum(weights[used], 0.0)
    most = math.sqrt(low.shape[1]) * float(np.linalg.norm(weights)) * (1 + 1e-9)
    least_sum, most_sum = low[:, used] @ up + high[:, used] @ down, high[:, used] @ up + low[:, used] @ down
    return np.maximum(least_sum, -most), np.minimum(most_sum, most)


def _spread(_instants: tuple[str, ...], _key: object, z: Floats) -> Floats:
    spread: Floats = z.max(axis=1) - z.min(axis=1)
    return spread


def _spread_bounds(
    _instants: tuple[str, ...], _key: object, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Two of n values of deviation 1 are at most sqrt(2n) apart."""
    most = math.sqrt(2 * low.shape[1]) * (1 + 1e-9)
    least = np.maximum(low.max(axis=1) - high.min(axis=1), 0.0)
    return least, np.minimum(high.max(axis=1) - low.min(axis=1), most)


def _centred(z: Floats) -> Floats:
    """The centred values: their angles are those of the vectors of all differences (eq. 3)."""
    centred: Floats = z - z.mean(axis=1, keepdims=True)
    return centred


def _lengths(low: Floats, _high: Floats) -> tuple[Floats, Floats]:
    """The squares of z-normalised values about their mean add up to their number."""
    length = np.full(len(low), math.sqrt(low.shape[1]))
    return length, length


def _steps(z: Floats) -> Floats:
    stepped: Floats = z[:, :-1] - z[:, 1:]
    return stepped


def _from_steps(weights: Floats) -> Floats:
    back: Floats = np.append(weights, 0.0) - np.append(0.0, weights)
    return back


def _step_lengths(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    down, up = low[:, :-1] - high[:, 1:], high[:, :-1] - low[:, 1:]
    least = np.maximum(np.maximum(down, -up), 0.0)
    most = np.maximum(np.abs(down), np.abs(up))
    return np.sqrt(np.square(least).sum(axis=1)), np.sqrt(np.square(most).sum(axis=1))


def _pairs_of(instants: tuple[str, ...]) -> str:
    return f"pairs of two different instants, such as `{instants[0]}` and `{instants[-1]}`"


def _steps_of(instants: tuple[str, ...]) -> str:
    return f"pairs of instants that follow each other, such as `{instants[0]}` and `{instants[1]}`"


def _single(name: str) -> dict[str, Any]:
    return {"keys": lambda _: f'"{name}"', "has": lambda _, key: key == name}


_DIFFERENCES = Angle(_centred, back=lambda weights: weights, lengths=_lengths)
_STEPS = Angle(_steps, back=_from_steps, lengths=_step_lengths)

FEATURES: dict[str, Feature] = {
    "differences": Feature(keys=_pairs_of, has=_is_pair, angle=_DIFFERENCES, **_linear(_pair_weights)),
    "adjacent": Feature(keys=_steps_of, has=_follows, angle=_STEPS, **_linear(_pair_weights)),
    "slope": Feature(**_single("slope"), **_linear(_slope_weights)),
    "peak-to-trough": Feature(**_single("peak-to-trough"), value=_spread, bounds=_spread_bounds),
}


def feature_label(key: Hashable) -> str:
    """A feature in words.

    >>> feature_label(("h08", "h20")), feature_label("slope")
    ('`h08` less `h20`', '`slope`')
    """
    return " less ".join(f"`{name}`" for name in (key if isinstance(key, tuple) else (key,)))


def feature(name: str) -> Feature:
    """The features of a name.

    >>> feature("slope").angle is None
    True
    """
    if name not in FEATURES:
        raise ParameterError(
            f"there are no features called `{name}`", hint=f"use one of {', '.join(FEATURES)}"
        )
    return FEATURES[name]
