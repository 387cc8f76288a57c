"""Which people fit? Exact sets of people in ranges of sorted rows, by array arithmetic.

Rows are sorted so that everyone who fits a piece of knowledge is in one range, from `first` to before `last`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from timeveil.evidence.codes import Integers, distinct

_AT_ONCE = 2_000_000


def people_in_ranges(person: Integers, first: Integers, last: Integers) -> Integers:
    """The number of different people in each range; neither bound ever decreases from range to range.

    A row is in a run of consecutive ranges. Of a person's runs, taken in row order, only the part beyond the
    run before adds to the count, so that each range counts a person once.

    >>> people_in_ranges(np.array([7, 8, 7]), np.array([0, 0, 2]), np.array([2, 3, 3])).tolist()
    [2, 2, 1]
    """
    row = np.arange(len(person))
    opening = np.searchsorted(last, row, side="right")  # the first range that ends after the row
    closing = np.searchsorted(first, row, side="right")  # one past the last that begins at or before it
    order = np.argsort(person, kind="stable")
    opening, closing, owner = opening[order], closing[order], person[order]
    repeated = np.flatnonzero(owner[1:] == owner[:-1]) + 1
    opening[repeated] = np.maximum(opening[repeated], closing[repeated - 1])
    adds = opening < closing
    change = np.bincount(opening[adds], minlength=len(first) + 1).astype(np.int64)
    change -= np.bincount(closing[adds], minlength=len(first) + 1)
    return np.cumsum(change)[: len(first)]


class Crowd:
    """People sorted by (key, when); a key is what is known of a person."""

    def __init__(self, key: Integers, when: Integers, person: Integers, ticks: int) -> None:
        self._ticks = ticks + 1
        keys = key * self._ticks + when
        order = np.argsort(keys, kind="stable")
        self._keys, self._person = keys[order], person[order]
        self._people = int(person.max(initial=0)) + 1

    def ranges(self, key: Integers, low: Integers, high: Integers) -> tuple[Integers, Integers]:
        """The rows of people with this key at a time in [low, high)."""
        first = np.searchsorted(self._keys, key * self._ticks + low)
        return first, np.maximum(np.searchsorted(self._keys, key * self._ticks + high), first)

    def in_each(self, first: Integers, last: Integers) -> Integers:
        """The number of different people in each range.

        Ranges may be in any order, but none may be strictly inside another; ranges of one tolerance never
        are.
        """
        order = np.lexsort((last, first))
        people = np.empty(len(first), dtype=np.int64)
        people[order] = people_in_ranges(self._person, first[order], last[order])
        return people

    def in_all(self, first: Integers, last: Integers) -> Integers:
        """The number of different people who are in every range of a case (a line of the arrays is a case).

        Each person in the shortest range of a case is looked up in the others, so that a case costs as many
        look-ups as its shortest range has rows.
        """
        cost = (last - first).min(axis=1)
        people = np.zeros(len(first), dtype=np.int64)
        batch = (np.cumsum(cost) - cost) // _AT_ONCE
        begins = np.flatnonzero(np.diff(batch, prepend=-1))
        for low, high in zip(begins, [*begins[1:], len(first)], strict=False):
            people[low:high] = self._in_all(first[low:high], last[low:high], cost[low:high])
        return people

    def _in_all(self, first: Integers, last: Integers, cost: Integers) -> Integers:
        cases = len(first)
        shortest = first[np.arange(cases), (last - first).argmin(axis=1)]
        case = np.repeat(np.arange(cases), cost)
        step = np.arange(len(case)) - np.repeat(np.cumsum(cost) - cost, cost)
        pairs = distinct(case * self._people + self._person[shortest[case] + step])
        case, person = pairs // self._people, pairs % self._people
        for column in range(first.shape[1]):
            inside = self._is_in(person, first[case, column], last[case, column])
            case, person = case[inside], person[inside]
        return np.bincount(case, minlength=cases)

    def _is_in(self, person: Integers, first: Integers, last: Integers) -> npt.NDArray[np.bool_]:
        index = np.searchsorted(self._rows, person * len(self._keys) + first)
        following = np.append(self._rows, np.iinfo(np.int64).max)[index]
        return np.asarray(following < person * len(self._keys) + last)

    @cached_property
    def _rows(self) -> Integers:
        """Every (person, row), sorted."""
        rows = len(self._keys)
        return np.sort(self._person * rows + np.arange(rows))
