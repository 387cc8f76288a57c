"""Which granularity is finer than which, exactly, and how granules nest.

G is finer than H if every granule of G lies in a granule of H. The order is partial: weeks and months
cross. Rules of fixed length are compared by arithmetic. The others are compared on the stretches between
all points where either may change, over one Gregorian cycle of 400 years and ten years on either side;
lists of boundaries are compared over their own range. Answers are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from timeveil.calendar.business import WorkingDays, WorkingPeriods
from timeveil.calendar.civil import DAY, GAP, Ints, as_ints, year_start
from timeveil.calendar.custom import Groups
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.parts import DayParts
from timeveil.calendar.rule import Rule
from timeveil.calendar.steps import Everything, Steps

_GLANCE = 3 * 366 * DAY
_CYCLE = (int(year_start(as_ints(1990))) * DAY, int(year_start(as_ints(2410))) * DAY)


def is_finer_than(g: Granularity, h: Granularity) -> bool:
    """Whether every granule of g lies in a granule of h.

    >>> from timeveil.calendar.catalogue import CATALOGUE as c
    >>> is_finer_than(c["day"], c["month"]), is_finer_than(c["week"], c["month"])
    (True, False)
    >>> is_finer_than(c["business-day"], c["day"]), is_finer_than(c["day"], c["business-day"])
    (True, False)
    """
    return _finer(g.rule, h.rule)


def up(z: int, g: Granularity, h: Granularity) -> int | None:
    """The granule of h that holds granule z of g, or None where there is none.

    >>> from timeveil.calendar.catalogue import CATALOGUE as c
    >>> up(2006 * 12 + 1, c["month"], c["quarter"]) == 2006 * 4
    True
    """
    found = int(up_all(as_ints([z]), g, h)[0])
    return None if found == GAP else found


def up_all(z: npt.ArrayLike, g: Granularity, h: Granularity) -> Ints:
    """The granule of h that holds each granule of g, `GAP` where there is none."""
    indices = as_ints(z)
    if isinstance(h.rule, Everything):
        return np.zeros(np.shape(indices), dtype=np.int64)
    if isinstance(g.rule, Everything) or not _comparable(g.rule, h.rule):
        return np.full(np.shape(indices), GAP, dtype=np.int64)
    start, end = g.start(indices), g.end(indices)
    first, last = h.index(start), h.index(end - 1)
    holds = (first == last) & (g.index(start) == indices)
    found = np.where(holds, first, GAP)
    if h.has_gaps:
        for at in np.flatnonzero(found != GAP):
            found[at] = _holder(g.rule, h.rule, int(indices[at]), int(start[at]), int(end[at]))
    return found


class Order:
    """The finer-than order of some granularities.

    >>> from timeveil.calendar.catalogue import CATALOGUE as c
    >>> order = Order([c["day"], c["week"], c["month"], c["all"]])
    >>> [g.name for g in order.directly_coarser(c["day"])]
    ['week', 'month']
    """

    def __init__(self, granularities: Iterable[Granularity]) -> None:
        self.granularities = tuple({g.name: g for g in granularities}.values())
        self._position = {g.name: i for i, g in enumerate(self.granularities)}

    def directly_coarser(self, g: Granularity) -> tuple[Granularity, ...]:
        """Those coarser than g with nothing strictly between."""
        return tuple(self.granularities[j] for j in np.flatnonzero(self._edges[self._position[g.name]]))

    def coarser(self, g: Granularity) -> tuple[Granularity, ...]:
        """All those coarser than g."""
        return tuple(self.granularities[j] for j in np.flatnonzero(self._below[self._position[g.name]]))

    def up(self, z: int, g: Granularity, h: Granularity) -> int | None:
        """The granule of h that holds granule z of g, or None where there is none."""
        return up(z, g, h)

    @cached_property
    def _below(self) -> npt.NDArray[np.bool_]:
        """Strictly finer; of two that cut time alike the one named first counts as the finer."""
        named = self.granularities
        finer = np.zeros((len(named), len(named)), dtype=np.bool_)
        for i, g in enumerate(named):
            finer[i] = [i != j and _finer(g.rule, h.rule) for j, h in enumerate(named)]
        first = np.triu(np.ones_like(finer), 1)
        below: npt.NDArray[np.bool_] = finer & (~finer.T | first)
        return below

    @cached_property
    def _edges(self) -> npt.NDArray[np.bool_]:
        """The transitive reduction."""
        steps = self._below.astype(np.int64)
        edges: npt.NDArray[np.bool_] = self._below & (steps @ steps == 0)
        return edges


@lru_cache(maxsize=8_192)
def _finer(g: Rule, h: Rule) -> bool:
    match g, h:
        case _ if g == h or isinstance(h, Everything):
            finer = True
        case Everything(), _:
            finer = False
        case _ if not _comparable(g, h) or (h.extent is not None and g.extent is None):
            finer = False
        case Steps(), Steps():
            finer = h.width % g.width == 0 and (h.phase - g.phase) % g.width == 0
        case Steps(), _:
            finer = all(_steps_are_finer(g, h, window) for window in _windows(h, h))
        case _, Steps():
            finer = g.shortest <= h.width and all(_lies_in_steps(g, h, w) for w in _windows(g, g))
        case DayParts(), DayParts():
            finer = {second for _, second in h.parts} <= {second for _, second in g.parts}
        case _, DayParts() if g.grain % DAY == 0:
            finer = False
        case DayParts(), _ if h.grain % DAY == 0 and not h.has_gaps:
            finer = any(second == 0 for _, second in g.parts)
        case _:
            finer = all(_nests(*_on_stretches(g, h, window)) for window in _windows(g, h))
    return finer


def _comparable(g: Rule, h: Rule) -> bool:
    return g.clock == h.clock or "any" in (g.clock, h.clock)


def _steps_are_finer(g: Steps, h: Rule, window: tuple[int, int]) -> bool:
    """Every boundary of h is one of g, and h leaves nothing out."""
    if not h.has_gaps and h.grain % g.width == 0 and g.phase % g.width == 0:
        return True
    marks = h.marks(*window)
    index = h.index(marks)
    changes = marks[1:][index[1:] != index[:-1]]
    return not np.any(index == GAP) and not np.any((changes - g.phase) % g.width)


def _lies_in_steps(g: Rule, h: Steps, window: tuple[int, int]) -> bool:
    """No stretch of g crosses a boundary of h, nor do two stretches of one granule lie apart in h."""
    low, high = window
    marks = np.unique(np.append(g.marks(low, high), [low, high]))
    index, first, last = g.index(marks[:-1]), h.index(marks[:-1]), h.index(marks[1:] - 1)
    inside = index != GAP
    return bool(np.array_equal(first[inside], last[inside])) and _nests(index, first)


def _nests(of_g: Ints, of_h: Ints) -> bool:
    """Whether each granule of g meets one granule of h and no gap."""
    inside = of_g != GAP
    of_g, of_h = of_g[inside], of_h[inside]
    crosses = (of_g[1:] == of_g[:-1]) & (of_h[1:] != of_h[:-1])
    return not np.any(of_h == GAP) and not np.any(crosses)


def _on_stretches(g: Rule, h: Rule, window: tuple[int, int]) -> tuple[Ints, Ints]:
    """Both indices on every stretch of time in which neither changes."""
    low, high = window
    if window == _CYCLE and g.grain % DAY == 0 == h.grain % DAY:
        return _on_days(g), _on_days(h)
    marks = np.unique(np.concatenate(([low], g.marks(low, high), h.marks(low, high))))
    return g.index(marks), h.index(marks)


@lru_cache(maxsize=128)
def _on_days(rule: Rule) -> Ints:
    low, high = _CYCLE
    return rule.index(np.arange(low, high, DAY, dtype=np.int64))


def _windows(g: Rule, h: Rule) -> Iterator[tuple[int, int]]:
    """The ranges to compare over: three years, which settle most cases, then all that matters."""
    low, high = _whole_window(g, h)
    if high - low > _GLANCE:
        yield low, low + _GLANCE
    yield low, high


def _whole_window(g: Rule, h: Rule) -> tuple[int, int]:
    """The range of a list of boundaries, or the cycle with all holidays in it."""
    if g.extent is not None:
        return g.extent
    holidays = [day * DAY for day in (*_holidays(g), *_holidays(h))]
    year = 366 * DAY
    return min([_CYCLE[0], *(day - year for day in holidays)]), max(
        [_CYCLE[1], *(day + year for day in holidays)]
    )


def _holidays(rule: Rule) -> tuple[int, ...]:
    match rule:
        case WorkingDays():
            return rule.holidays
        case WorkingPeriods():
            return rule.days.holidays
        case Groups():
            return _holidays(rule.of)
    return ()


def _holder(g: Rule, h: Rule, z: int, start: int, end: int) -> int:
    """The granule of h that holds all of granule z, whose gaps do not count."""
    marks = np.unique(np.concatenate(([start], g.marks(start, end), h.marks(start, end))))
    held = np.unique(h.index(marks[g.index(marks) == z]))
    return int(held[0]) if len(held) == 1 else GAP
