"""Envelopes: the lowest and the highest value of a group at each instant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


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
    for instant in range(matrix.shape[1]):
        values = matrix[order, instant]
        low[:, instant] = np.minimum.reduceat(values, starts)
        high[:, instant] = np.maximum.reduceat(values, starts)
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
    """The nearest number of few digits that is not above; the value itself where there is none."""
    size = np.abs(values)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        exponent = np.floor(np.log10(size)) - (digits - 1)
        exponent = np.where(np.isfinite(exponent), exponent, 0.0)
        # dividing by a power of ten gives the double nearest to the decimal, multiplying by a fraction not
        up, down = np.power(10.0, np.maximum(exponent, 0.0)), np.power(10.0, np.maximum(-exponent, 0.0))
        nearest = np.rint(values / up * down)
        out = nearest / down * up
        out = np.where(out > values, (nearest - 1) / down * up, out)
    fits = np.isfinite(out) & (out <= values) & (size > 0)
    result: Numbers = np.where(fits, out, values) + 0.0
    return result
