"""Envelopes: the lowest and the highest value of a group at each instant."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_MOST, _MOST_DIGITS = 22, 15
"""Powers of ten up to this one, and all numbers of this many digits, are doubles without rounding."""
_POWERS = np.array([float(f"1e{n}") for n in (*range(_MOST + 2), *range(-_MOST - 1, 0))])
"""Powers of ten by exponent; the negative ones are at the end, where negative indices point."""


def envelopes(matrix: Numbers, group: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Per group, numbered from 0, the lowest and highest value at each instant; -1 is in no group.

    >>> low, high = envelopes(np.array([[1.0, 5.0], [3.0, 4.0], [9.0, 9.0]]), np.array([0, 0, -1]))
    >>> low.tolist(), high.tolist()
    ([[1.0, 4.0]], [[3.0, 5.0]])
    """
    order = np.argsort(group)
    order = order[np.searchsorted(group[order], 0) :]
    if len(order) == 0:
        return np.empty((0, matrix.shape[1])), np.empty((0, matrix.shape[1]))
    sizes = np.bincount(group[order])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    low, high = np.empty((len(sizes), matrix.shape[1])), np.empty((len(sizes), matrix.shape[1]))
    # Instant by instant: a sorted copy of the whole matrix would double its memory.
    for instant in range(matrix.shape[1]):
        values = matrix[order, instant]
        low[:, instant] = np.minimum.reduceat(values, starts)
        high[:, instant] = np.maximum.reduceat(values, starts)
    # Adding 0.0 turns -0.0 into 0.0, so that zero is written in one way.
    return low + 0.0, high + 0.0


def rounded_outward(low: Numbers, high: Numbers, digits: int) -> tuple[Numbers, Numbers]:
    """Bounds with few significant digits that still contain the given ones.

    The lower goes down and the upper up, each to its own `digits` significant digits, so that a bound need
    not be somebody's exact value.

    >>> low, high = rounded_outward(np.array([0.12345, -12345.0]), np.array([0.12345, 12.0]), 3)
    >>> low.tolist(), high.tolist()
    ([0.123, -12400.0], [0.124, 12.0])
    """
    return _down(np.asarray(low, np.float64), digits), -_down(-np.asarray(high, np.float64), digits) + 0.0


def _down(values: Numbers, digits: int) -> Numbers:
    """The nearest number of few digits that is not above; the value itself if there is no such number."""
    size = np.abs(values)
    usual = (size > _POWERS[-_MOST]) & (size < _POWERS[_MOST])
    magnitude = np.floor(np.log10(np.where(usual, size, 1.0))).astype(np.int64)
    magnitude += (size >= _POWERS[magnitude + 1]).astype(np.int64) - (
        size < _POWERS[magnitude]
    )  # a logarithm is not exact
    exponent = magnitude - (digits - 1)
    # of whole numbers and exact powers of ten a quotient or a product is the double nearest to the decimal
    usual &= (np.abs(exponent) <= _MOST) & (digits <= _MOST_DIGITS)
    exponent = np.where(usual, exponent, 0)
    up, down = _POWERS[np.maximum(exponent, 0)], _POWERS[np.maximum(-exponent, 0)]
    nearest = np.rint(np.where(usual, values, 0.0) / up * down)
    out = nearest / down * up
    result: Numbers = np.where(out > values, (nearest - 1) / down * up, out)
    # Rare: sizes beyond the exact powers of ten go one by one.
    for at in np.argwhere(~usual & (size > 0)):
        result[tuple(at)] = _text_down(float(values[tuple(at)]), digits)
    return result + 0.0


def _text_down(value: float, digits: int) -> float:
    """The number of few digits that is not above a very small or very large value, by decimals."""
    near = float(f"{value:.{digits - 1}e}")
    if near > value:
        exact = Decimal(value)
        step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
        near = float((exact / step).to_integral_value(ROUND_FLOOR) * step)
    return near if near <= value and np.isfinite(near) else value
