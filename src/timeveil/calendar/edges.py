"""Granules by their boundaries: where each begins and ends, and all that follows from it.

A granularity maps integers to disjoint, ordered sets of instants (Mascetti et al. 2006, Definition 9).
Every calendar here is one of two things: a list of boundaries, which may repeat with a period (`Edges`),
or several granules of such a list taken together (`Grouped`). The granule of an instant, the next granule
after a gap, start, end and what the order compares are worked out here, once for every rule.

Cost: one search among the boundaries per instant, at most 4,800 of them for the whole Gregorian calendar;
`by_cells` turns that into one table lookup where instants outnumber the cells between boundaries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import ClassVar

import numpy as np

from timeveil.calendar.civil import AFTER, BEFORE, GAP, Ints, as_ints

Stretches = tuple[Ints, Ints, Ints]
"""Start, end and granule of each uninterrupted piece of time, in order."""
_MANY = 1_000


@dataclass(frozen=True, eq=False)
class Edges:
    """Granules that begin at `starts` and end at `ends`, once or again after every `period`.

    Granule 0 is the first one listed. `omitted` are the numbers of granules to leave out, such as holidays;
    the remaining ones are numbered without holes.

    >>> hours = Edges(as_ints([0]), as_ints([3_600]), 3_600)
    >>> hours.index(as_ints([-1, 3_600]))
    array([-1,  1])
    """

    starts: Ints
    ends: Ints
    period: int = 0
    omitted: Ints = field(default_factory=lambda: as_ints([]))

    @cached_property
    def has_gaps(self) -> bool:
        """Whether some instants are in no granule."""
        if self.period:
            around = self.ends[-1] != self.starts[0] + self.period
        else:
            around = self.starts[0] > BEFORE or self.ends[-1] < AFTER
        return bool(around or len(self.omitted) or np.any(self.ends[:-1] != self.starts[1:]))

    @cached_property
    def even(self) -> bool:
        """Whether all granules are of one length, one after the other."""
        return len(self.starts) == 1 and not self.has_gaps

    @cached_property
    def grain(self) -> int:
        """A number that divides every boundary; 0 if there is none."""
        bounded = [edge for edge in (*self.starts.tolist(), *self.ends.tolist()) if BEFORE < edge < AFTER]
        return gcd(self.period, *bounded)

    @cached_property
    def shortest(self) -> int:
        """Length of the shortest granule."""
        return int(np.min(self.ends - self.starts))

    @property
    def extent(self) -> tuple[int, int] | None:
        """The range outside which there are only gaps."""
        if self.period or not self.has_gaps:
            return None
        return int(self.starts[0]), int(self.ends[-1])

    def following(self, instants: Ints) -> Ints:
        """The granule of each instant, or else the next one after it; `GAP` if none comes."""
        count = len(self.starts)
        if not self.period and not self.has_gaps:
            return np.zeros(np.shape(instants), np.int64)
        if not self.period:
            position = np.searchsorted(self.ends, instants, side="right")
            return np.where(position == count, GAP, position)
        origin = int(self.starts[0])
        since = instants - origin if origin else instants
        if self.even:
            return np.floor_divide(since, self.period)
        cycle, offset = np.divmod(since, self.period)
        number: Ints = cycle * count + np.searchsorted(self.ends - origin, offset, side="right")
        return number - np.searchsorted(self.omitted, number) if len(self.omitted) else number

    def index(self, instants: Ints) -> Ints:
        """The granule of each instant, `GAP` where there is none."""
        number = self.following(instants)
        return np.where(self.start(number) <= instants, number, GAP) if self.has_gaps else number

    def start(self, numbers: Ints) -> Ints:
        """First instant of each granule."""
        return self._at(self.starts, numbers)

    def end(self, numbers: Ints) -> Ints:
        """First instant after each granule."""
        return self._at(self.ends, numbers)

    def stretches(self, low: int, high: int) -> Stretches:
        """The granules that meet [low, high)."""
        first, last = self.following(as_ints([low, high - 1])).tolist()
        if last == GAP:
            last = len(self.starts) - 1
        numbers = as_ints([]) if first == GAP else np.arange(first, last + 1)
        numbers = numbers[self.start(numbers) < high]
        return self.start(numbers), self.end(numbers), numbers

    @property
    def exceptions(self) -> Ints:
        """The first instants of the granules left out."""
        return self._listed(self.starts, self.omitted)

    def _at(self, edges: Ints, numbers: Ints) -> Ints:
        if len(self.omitted):
            # The n-th omitted granule comes before the remaining granule of number omitted[n] - n.
            passed = self.omitted - np.arange(len(self.omitted))
            numbers = numbers + np.searchsorted(passed, numbers, side="right")
        return self._listed(edges, numbers)

    def _listed(self, edges: Ints, numbers: Ints) -> Ints:
        if not self.period:
            return edges[np.clip(numbers, 0, len(edges) - 1)]
        cycle, rank = np.divmod(numbers, len(edges))
        return cycle * self.period + edges[rank]


@dataclass(frozen=True, eq=False)
class Grouped:
    """Several granules of another list at a time.

    `group` gives the number of the group that holds a granule, `first` the number of a group's first
    granule; `least` is the smallest number of granules in a group. Gaps between the granules of a group
    stay gaps.
    """

    of: Edges | Grouped
    group: Callable[[Ints], Ints]
    first: Callable[[Ints], Ints]
    least: int
    even: ClassVar[bool] = False

    @property
    def has_gaps(self) -> bool:
        """Whether some instants are in no granule."""
        return self.of.has_gaps

    @property
    def grain(self) -> int:
        """A number that divides every boundary."""
        return self.of.grain

    @property
    def period(self) -> int:
        """After which the boundaries repeat, 0 if they do not."""
        return self.of.period * self.least

    @property
    def shortest(self) -> int:
        """A lower bound; the last group of a list may hold a single granule."""
        return self.of.shortest * (1 if self.extent else self.least)

    @property
    def extent(self) -> tuple[int, int] | None:
        """The range outside which there are only gaps."""
        return self.of.extent

    @property
    def exceptions(self) -> Ints:
        """The first instants of the granules left out before grouping."""
        return self.of.exceptions

    def following(self, instants: Ints) -> Ints:
        """The group of each instant, or else the next one after it; `GAP` if none comes."""
        return self._groups(self.of.following(instants))

    def index(self, instants: Ints) -> Ints:
        """The group of each instant, `GAP` where there is none."""
        return self._groups(self.of.index(instants))

    def start(self, numbers: Ints) -> Ints:
        """First instant of each group."""
        return self.of.start(self.first(numbers))

    def end(self, numbers: Ints) -> Ints:
        """First instant after each group."""
        return self.of.end(self.first(numbers + 1) - 1)

    def stretches(self, low: int, high: int) -> Stretches:
        """The granules that meet [low, high), each with the number of its group."""
        starts, ends, numbers = self.of.stretches(low, high)
        return starts, ends, self.group(numbers)

    def _groups(self, numbers: Ints) -> Ints:
        if not self.has_gaps:
            return self.group(numbers)
        in_gap = numbers == GAP
        return np.where(in_gap, GAP, self.group(np.where(in_gap, 0, numbers)))


def by_cells(edges: Edges | Grouped, look_up: Callable[[Ints], Ints], instants: Ints) -> Ints:
    """`look_up` of every instant, worked out once per cell where cells are far fewer than instants.

    A cell is the time from one multiple of the grain to the next: no boundary is inside.
    """
    if edges.even or edges.grain <= 1 or instants.size < _MANY:
        return look_up(instants)
    cells = np.floor_divide(instants, edges.grain)
    low, high = int(cells.min()), int(cells.max())
    if high - low >= instants.size // 4:
        return look_up(instants)
    table: Ints = look_up(np.arange(low, high + 1) * edges.grain)
    answers: Ints = table[cells - low]
    return answers
