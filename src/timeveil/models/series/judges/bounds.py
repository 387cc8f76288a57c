"""Are bounds exactly what the stated rounding makes of the outermost values?

A bound of d significant digits is the double nearest to a decimal of d digits, and nothing in between: what a
looser test lets pass can carry a message. Decimals are read from Python's own texts, which are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def too_long(bounds: Floats, digits: int) -> Mask:
    """Where a number has more significant digits.

    >>> too_long(np.array([0.123, 0.12300000000000001, 1240.0, 0.0]), 3).tolist()
    [False, True, False, False]
    """
    return _each(bounds, lambda bound: float(f"{bound:.{digits - 1}e}") != bound, bool)


def is_nearest_below(bounds: Floats, values: Floats, digits: int | None) -> Mask:
    """Where no number of so many digits, or no number at all, lies above a bound and not above its value.

    >>> is_nearest_below(np.array([0.123, 0.122, 5.0]), np.array([0.1235, 0.1235, 5.0]), 3).tolist()
    [True, False, True]
    """
    if digits is None:
        return np.asarray(bounds == values)
    return np.asarray(np.where(bounds == 0, values == 0, values < _each(bounds, _next(digits), float)))


def _next(digits: int) -> Callable[[float], float]:
    """The next number of so many digits above a given one that is not 0."""

    def above(bound: float) -> float:
        head, _, power = f"{bound:.{digits - 1}e}".partition("e")
        whole, last = int(head.replace(".", "")), int(power) - digits + 1
        if whole == -(10 ** (digits - 1)):  # towards 0 the digits of a shorter number are finer
            whole, last = 10 * whole, last - 1
        return float(f"{whole + 1}e{last}")

    return above


def _each(bounds: Floats, ask: Callable[[float], Any], kind: type) -> npt.NDArray[Any]:
    """Ask once for every different number: bounds of few digits are few."""
    different, place = np.unique(bounds, return_inverse=True)
    answers: npt.NDArray[Any] = np.array([ask(bound) for bound in different.tolist()], dtype=kind)
    return answers[place.reshape(bounds.shape)]
