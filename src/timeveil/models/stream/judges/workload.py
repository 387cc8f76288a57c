"""Random window counts of a stream, answered from several ways to publish it.

A window is a number of consecutive slots at random. It asks for the sensitive value of a random record, for
one of its quasi-identifiers, for both, or for neither, each in a quarter of the cases. Every way of
publishing answers as `answer` would: exactly what is published exactly, through the buckets what is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from timeveil.evidence.codes import Integers

Floats: TypeAlias = npt.NDArray[np.float64]
_LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Windows:
    """Slots [first, first + length); `value` and `column`, `known` are what is asked for, -1 for nothing."""

    length: int
    first: Integers
    value: Integers
    column: Integers
    known: Integers


@dataclass(frozen=True, slots=True)
class Shown:
    """One way to publish records, sorted by `begin`: each is shown in the span of slots [begin, end).

    `group` is the bucket within which values are told, or -1 where each record shows its own.
    """

    begin: Integers
    end: Integers
    group: Integers
    value: Integers
    quasi: tuple[Integers, ...]


def shown(
    begin: Integers, end: Integers, group: Integers, value: Integers, quasi: tuple[Integers, ...]
) -> Shown:
    """The same records, sorted."""
    order = np.lexsort((group, begin))
    columns = tuple(codes[order] for codes in quasi)
    return Shown(begin[order], end[order], group[order], value[order], columns)


def draw(truth: Shown, slots: int, length: int, number: int, rng: np.random.Generator) -> Windows:
    """Windows of one length at random over slots 0 to `slots` - 1."""
    span = min(length, slots)
    first = rng.integers(0, slots - span + 1, number)
    record = rng.integers(0, len(truth.value), number)
    asked, columns = rng.integers(0, 4, number), len(truth.quasi)
    column = rng.integers(0, columns, number) if columns else np.full(number, -1)
    column = np.where(asked >= 2, column, -1)
    known = np.full(number, -1)
    for place in range(columns):
        known = np.where(column == place, truth.quasi[place][record], known)
    value = np.where(asked % 2 == 1, truth.value[record], -1)
    return Windows(span, first, value, column, known)


def estimates(published: Shown, windows: Windows) -> Floats:
    """What each window count comes to, where records shown over several slots are spread evenly."""
    widest = int((published.end - published.begin).max(initial=1))
    low = np.searchsorted(published.begin, windows.first - widest + 1, side="left")
    high = np.searchsorted(published.begin, windows.first + windows.length, side="left")
    return np.array(
        [_estimate(published, windows, case, slice(low[case], high[case])) for case in range(len(low))]
    )


def _estimate(published: Shown, windows: Windows, case: int, near: slice) -> float:
    begin, end = published.begin[near], published.end[near]
    first, last = windows.first[case], windows.first[case] + windows.length
    weight = np.clip(np.minimum(end, last) - np.maximum(begin, first), 0, None) / (end - begin)
    column, value = windows.column[case], windows.value[case]
    fits = weight * (published.quasi[column][near] == windows.known[case]) if column >= 0 else weight
    if value < 0:
        return float(fits.sum())
    group, holds = published.group[near], published.value[near] == value
    if not len(group) or group[0] < 0:
        return float(fits[holds].sum())
    place = group - group.min()
    size = np.bincount(place)
    share = np.bincount(place, weights=holds) / np.maximum(size, 1)
    return float((fits * share[place]).sum())


def relative_errors(truth: Shown, published: Shown, windows: Windows, slots: int) -> Floats:
    """Each window's error; a count below 1 % of what such a window holds on average is judged as that."""
    true = estimates(truth, windows)
    least = max(1.0, _LEAST_SHARE * len(truth.value) * windows.length / max(slots, 1))
    return np.abs(estimates(published, windows) - true) / np.maximum(true, least)
