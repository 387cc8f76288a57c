"""Patterns: one symbol per instant, by equally likely cells of the normal curve (Shou et al. 2013, §5.1).

A series is brought to mean 0 and deviation 1; at level L the real line is cut into L cells of equal
probability, and an instant's symbol is the number of the cell that holds its value. With `u = Phi(z)` at hand
the symbol at any level is `floor(L * u)`: a level costs one multiplication. Levels do not nest.

Where we depart from the print
    The deviation is the population's; a constant series is 0 at every instant.
    The text centres on the mean, the worked example on the median: `center` says which.
    A value on a border between two cells belongs to the upper one.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Center = Literal["mean", "median"]
Numbers = NDArray[np.float64]

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_LEVELS = len(LETTERS)
SNAP = 1e-12
"""A z-normalised value nearer to 0 than this is 0: it is what is left of rounding."""
NUDGE = 1e-13
"""Added to every position, so that `floor(L * u)` sees a value on a border above it in spite of rounding."""
_BELOW_ONE = float(np.nextafter(1.0, 0.0))
_BLOCK = 1 << 16


def z_normalised(matrix: ArrayLike, center: Center = "mean") -> Numbers:
    """Each row with its centre at 0 and population deviation 1; a constant row is 0 everywhere.

    >>> z_normalised([[1.0, 3.0], [5.0, 5.0]]).tolist()
    [[-1.0, 1.0], [0.0, 0.0]]
    """
    rows = np.ascontiguousarray(matrix, dtype=np.float64)
    out = np.empty_like(rows)
    # In blocks, so that the intermediate arrays stay small.
    for start in range(0, len(rows), _BLOCK):
        out[start : start + _BLOCK] = _normalised(rows[start : start + _BLOCK], center)
    return out


def positions(z: ArrayLike) -> Numbers:
    """Where on the normal curve each value is: the share of the curve below it, strictly between 0 and 1.

    >>> [round(float(u), 6) for u in positions([0.0, 1.96])]
    [0.5, 0.975002]
    """
    from scipy.special import ndtr  # noqa: PLC0415

    u: Numbers = ndtr(np.asarray(z, dtype=np.float64))
    u += NUDGE
    return np.minimum(u, _BELOW_ONE, out=u)


def symbols_at(u: ArrayLike, levels: ArrayLike) -> NDArray[np.uint8]:
    """The symbol of each position at its level: the number, from 0, of one of `levels` equally likely cells.

    `levels` is one number, or one for each instant, or one for each position.

    >>> symbols_at(positions([-2.0, 0.0, 2.0]), 3).tolist(), symbols_at(positions([0.0]), 2).tolist()
    ([0, 1, 2], [1])
    """
    levels = np.asarray(levels)
    symbols: NDArray[np.uint8] = np.clip(np.floor(np.asarray(u) * levels), 0, levels - 1).astype(np.uint8)
    return symbols


def breakpoints(level: int) -> Numbers:
    """The borders of the cells at a level, from low to high, one fewer than there are cells.

    >>> breakpoints(4).round(4).tolist()
    [-0.6745, 0.0, 0.6745]
    """
    from scipy.special import ndtri  # noqa: PLC0415

    return np.asarray(ndtri(np.arange(1, level) / level), dtype=np.float64)


def cell(symbol: int, level: int) -> tuple[float, float]:
    """The lowest and highest z-normalised value that a symbol covers; infinite at the ends.

    >>> cell(0, 2)
    (-inf, 0.0)
    """
    borders = np.concatenate([[-np.inf], breakpoints(level), [np.inf]])
    return float(borders[symbol]), float(borders[symbol + 1])


def reconstructed(symbols: ArrayLike, levels: ArrayLike) -> Numbers:
    """The z-normalised value that halves the probability of each symbol's cell.

    >>> reconstructed([[0, 1, 2]], 3).round(4).tolist()
    [[-0.9674, 0.0, 0.9674]]
    """
    from scipy.special import ndtri  # noqa: PLC0415

    return np.asarray(ndtri((np.asarray(symbols) + 0.5) / np.asarray(levels)), dtype=np.float64)


def to_letters(symbols: ArrayLike) -> str:
    """Symbols as a text: a to z, then A to Z.

    >>> to_letters([0, 25, 26])
    'azA'
    """
    return "".join(LETTERS[symbol] for symbol in np.asarray(symbols).tolist())


def from_letters(text: str) -> NDArray[np.uint8]:
    """The symbols of such a text.

    >>> from_letters("azA").tolist()
    [0, 25, 26]
    """
    return np.array([_SYMBOLS[letter] for letter in text], dtype=np.uint8)


_SYMBOLS = {letter: symbol for symbol, letter in enumerate(LETTERS)}


def power_of_two(low: Numbers, high: Numbers) -> Numbers:
    """A divisor that brings values between these bounds near 1 and changes none of their digits.

    >>> power_of_two(np.array([-3.0]), np.array([1.0])).tolist()
    [2.0]
    """
    largest = np.maximum(np.abs(low), np.abs(high))
    divisor: Numbers = np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1] - 1)
    return divisor


def above_lowest(rows: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """How far each value is above the lowest of its row, in a unit that lets no square overflow.

    Near values have exact differences: a small spread far from 0 keeps all of its digits.

    >>> above_lowest(np.array([[1e15, 1e15 + 3]]), np.array([[1e15]]), np.array([[1e15 + 3]])) * 2**49
    array([[0., 3.]])
    """
    unit = power_of_two(low, high)
    above: Numbers = rows / unit
    above -= low / unit
    return above


def _normalised(rows: Numbers, center: Center) -> Numbers:
    low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
    z: Numbers = above_lowest(rows, low, high)
    # The deviation is about the mean whatever the centre is.
    mean: Any = z.mean(axis=1, keepdims=True)
    middle: Any = mean if center == "mean" else np.median(z, axis=1, keepdims=True)
    deviation = np.sqrt(np.square(z - mean).mean(axis=1, keepdims=True))
    z -= middle
    z /= np.where(deviation > 0, deviation, 1.0)
    z[np.abs(z) < SNAP] = 0.0
    # A spread so small that its square vanishes counts as constant.
    z[np.broadcast_to((low == high) | (deviation == 0), z.shape)] = 0.0
    return z
