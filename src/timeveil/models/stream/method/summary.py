"""Small sums over records. Long streams use the kernels of the same names; short ones need none."""

from __future__ import annotations

from typing import Any

import numpy as np

from timeveil.models.stream.method.slots import Ints


def fixed(array: Any) -> Any:
    """The array, not to be written to: kernels are compiled for such input alone."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def arrivals_of(slot: Ints) -> tuple[Ints, Ints]:
    """The slots that occur and the first row of each (and the end of all); nothing if rows are not sorted.

    >>> [part.tolist() for part in arrivals_of(np.array([3, 3, 5]))]
    [[3, 5], [0, 2, 3]]
    """
    steps = np.diff(slot)
    if len(slot) == 0 or bool((steps < 0).any()):
        none = np.empty(0, np.int64)
        return none, none if len(slot) else np.zeros(1, np.int64)
    heads = np.concatenate([[0], np.flatnonzero(steps) + 1])
    return slot[heads], np.append(heads, len(slot))


def first_seen(code: Any, values: int) -> Any:
    """For each code its place in the order of first occurrence.

    >>> first_seen(np.array([2, 0, 2, 1]), 3).tolist()
    [1, 2, 0]
    """
    distinct, at = np.unique(code, return_index=True)
    place = np.full(values, -1, np.int32)
    place[distinct[np.argsort(at)]] = np.arange(len(distinct))
    return place


def sum_up(late: Any, code: Any, extra: Ints, values: int, furthest: int) -> tuple[Ints, Ints, Ints]:
    """How many rows were moved by each distance, and per value how many came and how many are withheld.

    `extra` is how far each row had come before it arrived; an empty array says: not at all.
    """
    there = late >= 0
    moved = np.bincount((late + extra if len(extra) else late)[there], minlength=furthest + 1)
    return moved, np.bincount(code, minlength=values), np.bincount(code[~there], minlength=values)
