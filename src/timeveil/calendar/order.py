"""Which granularity is finer than which, exactly, and how granules nest.

G is finer than H if every granule of G is inside a granule of H. The order is partial: weeks and months
cross. A granularity without gaps is finer than H exactly if H has no gaps either and each boundary of H is
one of its own; otherwise each uninterrupted stretch of G is looked up in H. Both are checked over the time
after which the two repeat together, at most one Gregorian cycle of 400 years and ten years on either side;
lists of boundaries are compared over their own range, and holidays are always within it. Answers are cached.
"""

from collections.abc import Iterable
from functools import cached_property, lru_cache
from math import lcm

import numpy as np

from timeveil.calendar.civil import AFTER, BEFORE, DAY, GAP, as_ints, year_start
from timeveil.calendar.granularity import Granularity, Rule
from timeveil.calendar.rules import Everything
from timeveil.domain.arrays import Flags, Ints

_WINDOW = (int(year_start(as_ints(1990))) * DAY, int(year_start(as_ints(2410))) * DAY)
_YEAR = 366 * DAY
_GLANCE = 64  # a look at the first few granules refutes most pairs


def is_finer_than(g: Granularity, h: Granularity) -> bool:
    """Whether every granule of g is inside a granule of h."""
    return _finer(g.rule, h.rule)


def up(z: int, g: Granularity, h: Granularity) -> int | None:
    """The granule of h that holds granule z of g, or None where there is none."""
    if isinstance(h.rule, Everything):
        return 0
    if isinstance(g.rule, Everything) or g.clock != h.clock:
        return None
    start, end = int(g.start(z)), int(g.end(z))
    if start >= end:
        return None
    starts, ends, granules = g.rule.stretches(start, end)
    parts = granules == z
    if not np.any(parts) or not _inside(starts[parts], ends[parts], granules[parts], h.rule):
        return None
    return int(h.index(start))


class Order:
    """The finer-than order of some granularities."""

    def __init__(self, granularities: Iterable[Granularity]) -> None:
        self.granularities = tuple({g.name: g for g in granularities}.values())
        self._position = {g.name: i for i, g in enumerate(self.granularities)}

    def directly_coarser(self, g: Granularity) -> tuple[Granularity, ...]:
        """Those coarser than g with nothing strictly between."""
        return tuple(self.granularities[j] for j in np.flatnonzero(self._edges[self._position[g.name]]))

    @cached_property
    def _edges(self) -> Flags:
        """The transitive reduction; of two that cut time in the same way the one named first is the finer."""
        every = self.granularities
        finer = np.array([[g is not h and is_finer_than(g, h) for h in every] for g in every], np.bool_)
        # The upper triangle breaks ties between equals by position, so that the order has no cycle.
        below: Flags = finer & (~finer.T | np.triu(np.ones_like(finer), 1))
        # An edge that two steps can replace has something between its ends.
        steps = below.astype(np.int64)
        edges: Flags = below & (steps @ steps == 0)
        return edges


@lru_cache(maxsize=8_192)
def _finer(g: Rule, h: Rule) -> bool:
    if g == h or isinstance(h, Everything):
        return True
    if isinstance(g, Everything) or g.clock != h.clock or (h.extent and not g.extent):
        return False
    low, high = _window(g, h)
    # A granule of g may have gaps inside: each of its stretches has to be in the same granule of h.
    if g.has_gaps:
        starts, ends, granules = g.stretches(low, high)
        parts = (slice(_GLANCE), slice(None))
        return all(_inside(starts[part], ends[part], granules[part], h) for part in parts)
    if h.has_gaps:
        return False
    # Neither has gaps: every boundary of h has to be one of g, until both repeat.
    if repeats := lcm(g.edges.period * g.least, h.edges.period * h.least):
        high = min(high, low + repeats)
    first, last = h.index(as_ints([low, high])).tolist()
    for count in (min(_GLANCE, last - first), last - first):
        edges = h.start(np.arange(first, first + count + 1))
        edges = edges[edges > BEFORE]
        if not np.array_equal(g.start(g.index(edges)), edges):
            return False
    return True


def _inside(starts: Ints, ends: Ints, granules: Ints, h: Rule) -> bool:
    """Whether h holds each stretch in one granule, the same for all stretches of one granule of g."""
    first = h.index(starts)
    same = granules[1:] == granules[:-1]
    crosses = (first != h.index(ends - 1)).any() or (first[1:] != first[:-1])[same].any()
    if crosses or np.any(first == GAP):
        return False
    if not h.has_gaps or not len(starts):
        return True
    # A gap of h may be inside a stretch whose ends are in one granule.
    h_starts, h_ends, _ = h.stretches(int(starts[0]), int(ends[-1]))
    gaps = h_ends[:-1] < h_starts[1:]
    # A gap at the end of time, so that every stretch has a next one.
    gap_starts, gap_ends = np.append(h_ends[:-1][gaps], AFTER), np.append(h_starts[1:][gaps], AFTER)
    next_gap = np.searchsorted(gap_ends, starts, side="right")
    return bool(np.all(gap_starts[next_gap] >= ends))


def _window(g: Rule, h: Rule) -> tuple[int, int]:
    """The range of a list of boundaries, or the cycle with a year around each holiday in it.

    Of a list without gaps all boundaries are in it.
    """
    if g.extent:
        return g.extent
    lists = [rule.edges.starts[1:] for rule in (g, h) if not rule.edges.period]
    holidays = np.concatenate((g.edges.exceptions, h.edges.exceptions, *lists)).tolist()
    low, high = _WINDOW
    return min([low, *(day - _YEAR for day in holidays)]), max([high, *(day + _YEAR for day in holidays)])
