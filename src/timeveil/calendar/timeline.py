"""The observed base granules of a table, and where each granularity cuts them.

Rows are counted by base granules. For every granularity the method needs one array: the first observed
base granule in the same granule. Days and coarser are worked out on the distinct days only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from timeveil.calendar import axis as axes
from timeveil.calendar.civil import DAY, FIRST, GAP, HOUR, LAST, Ints, floor_days
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.steps import Steps
from timeveil.calendar.ticks import Ticks, at_least, base_for
from timeveil.calendar.zone import Offsets, offsets
from timeveil.domain.relation import TimeAxis

__all__ = ["Gaps", "Granules", "Ticks", "Timeline", "at_least", "base_for"]

Gaps = Literal["error", "skip", "suppress", "next"]
Positions = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Granules:
    """The granules of one granularity that hold an observed base granule, in order.

    `code` gives for each position the granule it lies in, -1 in a gap. `index` rises strictly; it is
    the granularity's own, but the first instant where a zone's clock granules may repeat.
    """

    code: Positions
    index: Ints
    label: list[str]
    start: pa.Array
    end: pa.Array


class Timeline:
    """Sorted distinct base granules on an axis.

    >>> from timeveil.calendar.catalogue import granularity
    >>> days = np.array([13_144, 13_145, 13_152])  # Tuesday 2005-12-27, Wednesday, Wednesday
    >>> line = Timeline(TimeAxis("civil", pa.date32()), Ticks(86_400, 0, "day"), days)
    >>> line.firsts(granularity("week"))
    array([0, 0, 2], dtype=int32)
    >>> line.granules_of(granularity("week")).label
    ['2005-W52', '2006-W01']
    """

    def __init__(self, axis: TimeAxis, base: Ticks, granules: Ints, gaps: Gaps = "error") -> None:
        self.axis = axis
        self.base = base
        self.granules = granules
        self.gaps = gaps

    def __len__(self) -> int:
        return len(self.granules)

    def firsts(self, h: Granularity) -> Positions:
        """For each position, the first position in the same granule of h; -1 in a gap."""
        heads, code = self._coded(h)
        if len(heads) == 0:
            return code
        first: Positions = np.where(code < 0, np.int32(-1), heads[code])
        return first

    def in_gaps(self, h: Granularity) -> npt.NDArray[np.bool_]:
        """Which positions lie in no granule of h, whatever becomes of them."""
        if not h.has_gaps:
            return np.zeros(len(self), np.bool_)
        lost: npt.NDArray[np.bool_] = h.rule.index(self._civil) == GAP
        return lost

    def granules_of(self, h: Granularity) -> Granules:
        """The observed granules of h with their labels and bounds."""
        heads, code = self._coded(h)
        instants = self._instants[heads]
        if self._repeats(h):
            return self._clock_granules(h, code, instants)
        index = self._index(h, self._civil[heads])
        start, end = h.start(index), h.end(index)
        beyond_start, beyond_end = start < FIRST, end > LAST
        if self._zone is not None:
            zone = self._zone_over(start[~beyond_start], end[~beyond_end])
            start = np.where(beyond_start, start, zone.first_instant(start))
            end = np.where(beyond_end, end, zone.first_instant(end))
        return Granules(code, index, h.label(index), *self._bounds(start, end))

    def refines(self, g: Granularity, h: Granularity) -> bool:
        """Whether every observed granule of g lies in one of h; what lies in a gap of g does not count."""
        of_g, of_h = self.firsts(g), self.firsts(h)
        inside = of_g >= 0
        mine = of_h[inside]
        return bool(np.all(mine >= 0) and np.array_equal(mine, of_h[of_g[inside]]))

    def _coded(self, h: Granularity) -> tuple[Positions, Positions]:
        """The first position of each observed granule, and each position's granule or -1."""
        if self._by_day(h):
            firsts, counts = self._days
            heads, code = _runs(self._index(h, self._civil[firsts]), None)
            return firsts[heads], np.repeat(code, counts)
        split = self._zone.segment(self._instants) if self._zone is not None and self._repeats(h) else None
        return _runs(self._index(h, self._shown if self._repeats(h) else self._civil), split)

    def _index(self, h: Granularity, civil: Ints) -> Ints:
        if self.gaps == "next" and h.has_gaps:
            following = h.rule.following(civil)
            return following if self._zone is None else self._past_skipped(h, following)
        return h.rule.index(civil)

    def _past_skipped(self, h: Granularity, index: Ints) -> Ints:
        """Move on from granules that no clock of the zone ever showed, such as an hour skipped in spring."""
        granules, place = np.unique(index, return_inverse=True)
        while True:
            real = granules != GAP
            start, end = h.start(granules[real]), h.end(granules[real])
            zone = self._zone_over(start, end)
            empty = np.flatnonzero(real)[zone.first_instant(start) == zone.first_instant(end)]
            if not len(empty):
                return granules[place.ravel()]
            granules[empty] = h.rule.following(h.end(granules[empty]))

    def _by_day(self, h: Granularity) -> bool:
        return self.axis.kind != "relative" and self.base.width < DAY and h.rule.grain % DAY == 0

    def _repeats(self, h: Granularity) -> bool:
        """Whether the granule before and the one after a change of the clocks are kept apart."""
        return self.axis.kind == "zoned" and isinstance(h.rule, Steps) and h.rule.width <= HOUR

    def _clock_granules(self, h: Granularity, code: Positions, instants: Ints) -> Granules:
        """Granules of at most an hour, cut where the clocks change and labelled with the offset."""
        zone = self._zone_over(instants, instants)
        segment = zone.segment(instants)
        offset = zone.seconds[segment]
        own = h.index(instants + offset)
        start = np.maximum(h.start(own) - offset, zone.begins[segment])
        end = np.minimum(h.end(own) - offset, zone.ends()[segment])
        label = [f"{text} {_written(o)}" for text, o in zip(h.label(own), offset.tolist(), strict=True)]
        return Granules(code, start, label, *self._bounds(start, end))

    def _bounds(self, start: Ints, end: Ints) -> tuple[pa.Array, pa.Array]:
        return axes.published(self.axis, start), axes.published(self.axis, end, round_up=True)

    def _zone_over(self, low: Ints, high: Ints) -> Offsets:
        ends = [int(a.min()) for a in (low, high, self._instants) if len(a)]
        tops = [int(a.max()) for a in (low, high, self._instants) if len(a)]
        return offsets(self.axis.zone or "", min(ends, default=0) - DAY, max(tops, default=0) + DAY)

    @cached_property
    def _instants(self) -> Ints:
        return self.base.start(self.granules)

    @cached_property
    def _zone(self) -> Offsets | None:
        return axes.clocks(self.axis, self._instants) if self.axis.kind == "zoned" else None

    @cached_property
    def _shown(self) -> Ints:
        """What the clocks show at each position."""
        return self._instants if self._zone is None else self._zone.civil(self._instants)

    @cached_property
    def _civil(self) -> Ints:
        """The same, never going back."""
        return self._instants if self._zone is None else self._zone.settled(self._instants)

    @cached_property
    def _days(self) -> tuple[Positions, Ints]:
        """The first position of each observed day, and how many positions it has."""
        heads, _ = _runs(floor_days(self._civil), None)
        return heads, np.diff(np.append(heads, len(self)))


def _runs(index: Ints, split: Ints | None) -> tuple[Positions, Positions]:
    """The position where each run of one index begins, and the number of each position's run.

    Positions in a gap get -1 and do not interrupt a run. A change in `split` begins a new one.
    """
    inside = np.flatnonzero(index != GAP)
    whole = len(inside) == len(index)
    kept = index if whole else index[inside]
    new = np.ones(len(kept), dtype=bool)
    np.not_equal(kept[1:], kept[:-1], out=new[1:])
    if split is not None:
        new[1:] |= split[1:] != split[:-1]
    heads = np.flatnonzero(new).astype(np.int32)
    run = np.cumsum(new, dtype=np.int32) - np.int32(1)
    if whole:
        return heads, run
    code = np.full(len(index), -1, dtype=np.int32)
    code[inside] = run
    return inside[heads].astype(np.int32), code


def _written(offset: int) -> str:
    """An offset from UTC as text."""
    size = abs(offset)
    text = f"{size // HOUR:02}:{size % HOUR // 60:02}" + (f":{size % 60:02}" if size % 60 else "")
    return f"{'-' if offset < 0 else '+'}{text}"
