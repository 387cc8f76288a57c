"""How shapes are written down: one symbol per instant, and envelopes of values (Shou et al. 2013, §5.1).

A series is brought to mean 0 and deviation 1; at level L the real line is cut into L cells of equal
probability, and an instant's symbol is the number of the cell that holds its value. With `u = Phi(z)` at hand
the symbol at any level is `floor(L * u)`. Levels do not nest. The paper compares two shapes by the cosine
distance of the vectors of all differences between two of their instants (eq. 3): one minus the correlation.
Where this departs from the print is in `docs/explanation/errata.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from functools import cache
from statistics import NormalDist
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from timeveil.domain.arrays import Flags, Floats, Ints

Center = Literal["mean", "median"]

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_LEVELS = len(LETTERS)
_SYMBOLS = {letter: symbol for symbol, letter in enumerate(LETTERS)}
SNAP = 1e-12  # a z-normalised value nearer to 0 than this is 0: it is what is left of rounding
NUDGE = 1e-13
"""Added to every position, so that `floor(L * u)` sees a value on a border above it in spite of rounding."""
_BELOW_ONE = float(np.nextafter(1.0, 0.0))
_BLOCK = 1 << 16
_MOST, _MOST_DIGITS = 22, 15
"""Powers of ten up to this one, and all numbers of this many digits, are doubles without rounding."""
_POWERS = np.array([float(f"1e{n}") for n in (*range(_MOST + 2), *range(-_MOST - 1, 0))])
"""Powers of ten by exponent; the negative ones are at the end, where negative indices point."""


def z_normalised(matrix: ArrayLike, center: Center = "mean") -> Floats:
    """Each row with its centre at 0 and population deviation 1; a constant row is 0 everywhere."""
    rows = np.ascontiguousarray(matrix, dtype=np.float64)
    normalised = np.empty_like(rows)
    # In blocks, so that the intermediate arrays stay small.
    for start in range(0, len(rows), _BLOCK):
        z, flat = _above_lowest(rows[start : start + _BLOCK])
        # The deviation is about the mean whatever the centre is.
        mean: Any = z.mean(axis=1, keepdims=True)
        middle: Any = mean if center == "mean" else np.median(z, axis=1, keepdims=True)
        deviation = np.sqrt(np.square(z - mean).mean(axis=1, keepdims=True))
        z -= middle
        z /= np.where(deviation > 0, deviation, 1.0)
        z[np.abs(z) < SNAP] = 0.0
        # A spread so small that its square vanishes counts as constant.
        normalised[start : start + _BLOCK] = np.where(flat | (deviation == 0), 0.0, z)
    return normalised


def positions(z: ArrayLike) -> Floats:
    """Where on the normal curve each value is: the share of the curve below it, strictly between 0 and 1."""
    z = np.asarray(z, dtype=np.float64)
    u = np.fromiter(map(math.erfc, (z * -math.sqrt(0.5)).ravel().tolist()), np.float64, z.size)
    u = u.reshape(z.shape) / 2 + NUDGE
    return np.minimum(u, _BELOW_ONE, out=u)


def positions_of(matrix: ArrayLike, center: Center, representation: Representation | None = None) -> Floats:
    """The positions of each row's features; without a representation, those of its values."""
    z = z_normalised(matrix, center)
    return positions(z if representation is None else representation.features(z))


def symbols_at(u: ArrayLike, levels: ArrayLike) -> NDArray[np.uint8]:
    """The symbol of each position at its level: the number, from 0, of one of `levels` equally likely cells.

    `levels` is one number, or one for each instant, or one for each position.
    """
    levels = np.asarray(levels)
    return np.asarray(np.clip(np.floor(np.asarray(u) * levels), 0, levels - 1).astype(np.uint8))


def borders(symbols: ArrayLike, levels: ArrayLike) -> Floats:
    """The lowest z-normalised value that each symbol covers; that of symbol L at level L is infinite."""
    return np.asarray(_quantiles()[np.asarray(levels), 2 * np.asarray(symbols)])


def reconstructed(symbols: ArrayLike, levels: ArrayLike) -> Floats:
    """The z-normalised value that halves the probability of each symbol's cell."""
    return np.asarray(_quantiles()[np.asarray(levels), 2 * np.asarray(symbols) + 1])


@cache
def _quantiles() -> Floats:
    """Per level, a row each, the values that cut the normal curve into twice as many equal parts."""
    quantiles, normal = np.full((MOST_LEVELS + 1, 2 * MOST_LEVELS + 1), np.inf), NormalDist()
    quantiles[:, 0] = -np.inf
    for level in range(1, MOST_LEVELS + 1):
        quantiles[level, 1 : 2 * level] = [normal.inv_cdf(part / (2 * level)) for part in range(1, 2 * level)]
    return quantiles


def to_letters(symbols: ArrayLike) -> str:
    """Symbols as a text: a to z, then A to Z."""
    return "".join(LETTERS[symbol] for symbol in np.asarray(symbols).tolist())


def from_letters(text: str) -> NDArray[np.uint8]:
    """The symbols of such a text."""
    return np.array([_SYMBOLS[letter] for letter in text], dtype=np.uint8)


def unit_shapes(matrix: ArrayLike) -> Floats:
    """Each row centred on its mean and of length 1; a constant row is 0 everywhere."""
    shapes, flat = _above_lowest(np.ascontiguousarray(matrix, dtype=np.float64))
    shapes -= shapes.mean(axis=-1, keepdims=True)
    length = np.sqrt(np.square(shapes).sum(axis=-1, keepdims=True))
    flat |= length == 0
    shapes /= np.where(flat, 1.0, length)
    return np.where(flat, 0.0, shapes)


def pattern_distance(matrix: ArrayLike, other: ArrayLike) -> Floats:
    """How far each row of one matrix is from that of another in shape, between 0 and 2."""
    first, second = unit_shapes(matrix), unit_shapes(other)
    # Exactly one of the two constant: by convention 1 apart. Two constant ones are 0 apart as they are.
    flat = ~first.any(axis=-1) ^ ~second.any(axis=-1)
    return np.where(flat, 1.0, np.square(first - second).sum(axis=-1) / 2)


@dataclass(frozen=True, slots=True)
class Representation:
    """What the symbols of patterns describe: features, each a weighted sum of the `count` values of a series.

    | name | a symbol for | its feature |
    |---|---|---|
    | `sax` | every instant | the z-normalised value |
    | `paa` | every `segment` instants in a row | the mean of their z-normalised values |
    | `slopes` | every step to the next instant, and back to the first | the rise, over the root of 2 |

    This class is `sax`. Methods and judges know no more of a representation than these four methods.
    """

    of_instants: ClassVar[bool] = True

    count: int
    segment: int = 1

    def names(self, instants: Sequence[str]) -> tuple[str, ...]:
        return tuple(instants)

    def features(self, z: Floats) -> Floats:
        return z

    def sequence(self, features: Floats) -> Floats:
        """The shortest row of values that has these features, or is nearest to having them."""
        return features

    def weights(self, weights: Floats, drift: float) -> tuple[Floats, float]:
        """A weighted sum of z-normalised values as one of features: their weights, and how far off it may be.

        The mean of the values is at most `drift` from 0.
        """
        return weights, 0 * drift


class Segments(Representation):
    """Means of several instants in a row: piecewise aggregate approximation (`paa`)."""

    of_instants = False

    @property
    def _starts(self) -> Ints:
        return np.arange(0, self.count, self.segment)

    @property
    def _lengths(self) -> Ints:
        return np.diff(self._starts, append=self.count)

    def names(self, instants: Sequence[str]) -> tuple[str, ...]:
        parts = (instants[start : start + self.segment] for start in self._starts)
        return tuple(part[0] if len(part) == 1 else f"{part[0]}..{part[-1]}" for part in parts)

    def features(self, z: Floats) -> Floats:
        return np.asarray(np.add.reduceat(z, self._starts, axis=-1) / self._lengths)

    def sequence(self, features: Floats) -> Floats:
        return np.repeat(features, self._lengths, axis=-1)

    def weights(self, weights: Floats, _drift: float) -> tuple[Floats, float]:
        sums = np.add.reduceat(weights, self._starts)
        # What the means leave open: squares of z-normalised values add up to their number.
        remainder = weights - self.sequence(sums / self._lengths)
        return sums, float(np.linalg.norm(remainder)) * math.sqrt(self.count)


class Slopes(Representation):
    """Rises from each instant to the next; with the step from the last to the first they add up to 0."""

    of_instants = False

    def names(self, instants: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"{a} to {b}" for a, b in zip(instants, (*instants[1:], instants[0]), strict=True))

    def features(self, z: Floats) -> Floats:
        return np.asarray((np.roll(z, -1, axis=-1) - z) * math.sqrt(0.5))

    def sequence(self, features: Floats) -> Floats:
        rises = features - features.mean(axis=-1, keepdims=True)
        z = np.roll(np.cumsum(rises, axis=-1), 1, axis=-1) * math.sqrt(2)
        return np.asarray(z - z.mean(axis=-1, keepdims=True))

    def weights(self, weights: Floats, drift: float) -> tuple[Floats, float]:
        steps = -np.cumsum(weights - weights.mean()) * math.sqrt(2)
        # Any constant may be added, since rises add up to 0: with this one, the fewest of them count.
        return steps - np.sort(steps)[len(steps) // 2], drift * abs(float(weights.sum()))


def representation_of(parameters: Mapping[str, Any], count: int) -> Representation:
    """The representation that parameters state, of series of this many instants."""
    kinds = {"paa": Segments, "slopes": Slopes}
    kind = kinds.get(parameters.get("representation") or "", Representation)
    return kind(count, parameters.get("segment") or 1)


def power_of_two(low: Floats, high: Floats) -> Floats:
    """A divisor that brings values between these bounds near 1 and changes none of their digits."""
    largest = np.maximum(np.abs(low), np.abs(high))
    return np.asarray(np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1] - 1))


def _above_lowest(rows: Floats) -> tuple[Floats, Flags]:
    """How far each value is above the lowest of its row, and which rows are constant.

    The unit lets no square overflow. Near values have exact differences: a small spread far from 0 keeps all
    of its digits.
    """
    low, high = rows.min(axis=-1, keepdims=True), rows.max(axis=-1, keepdims=True)
    unit = power_of_two(low, high)
    above: Floats = rows / unit
    above -= low / unit
    return above, low == high


def envelopes(matrix: Floats, group: Ints) -> tuple[Floats, Floats]:
    """Per group, numbered from 0, the lowest and highest value at each instant; -1 is in no group."""
    order = np.argsort(group)
    order = order[np.searchsorted(group[order], 0) :]
    sizes = np.bincount(group[order])
    starts = np.cumsum(sizes) - sizes
    low, high = np.empty((2, len(sizes), matrix.shape[1]))
    # Instant by instant: a sorted copy of the whole matrix would double its memory.
    for instant in range(matrix.shape[1]) if len(sizes) else ():
        values = matrix[order, instant]
        low[:, instant] = np.minimum.reduceat(values, starts)
        high[:, instant] = np.maximum.reduceat(values, starts)
    # Adding 0.0 turns -0.0 into 0.0, so that zero is written in one way.
    return low + 0.0, high + 0.0


def rounded_outward(low: Floats, high: Floats, digits: int) -> tuple[Floats, Floats]:
    """Bounds with few significant digits that still contain the given ones.

    The lower goes down and the upper up, each to its own `digits` significant digits, so that a bound need
    not be somebody's exact value.
    """
    return _down(np.asarray(low, np.float64), digits), -_down(-np.asarray(high, np.float64), digits) + 0.0


def _down(values: Floats, digits: int) -> Floats:
    """The nearest number of few digits that is not above; the value itself if there is no such number."""
    size = np.abs(values)
    usual = (size > _POWERS[-_MOST]) & (size < _POWERS[_MOST])
    magnitude = np.floor(np.log10(np.where(usual, size, 1.0))).astype(np.int64)
    # A logarithm is not exact: it may be one off next to a power of ten.
    magnitude += (size >= _POWERS[magnitude + 1]).astype(np.int64) - (size < _POWERS[magnitude])
    exponent = magnitude - (digits - 1)
    # Of whole numbers and exact powers of ten a quotient or a product is the double nearest to the decimal.
    usual &= (np.abs(exponent) <= _MOST) & (digits <= _MOST_DIGITS)
    exponent = np.where(usual, exponent, 0)
    up, down = _POWERS[np.maximum(exponent, 0)], _POWERS[np.maximum(-exponent, 0)]
    nearest = np.rint(np.where(usual, values, 0.0) / up * down)
    rounded = nearest / down * up
    result: Floats = np.where(rounded > values, (nearest - 1) / down * up, rounded)
    # Rare: sizes beyond the exact powers of ten go one by one, by decimals.
    for index in zip(*np.nonzero(~usual & (size > 0)), strict=True):
        value = float(values[index])
        near = float(f"{value:.{digits - 1}e}")
        if near > value:
            near = float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(Decimal(value)))
        result[index] = near if near <= value and np.isfinite(near) else value
    return result + 0.0
