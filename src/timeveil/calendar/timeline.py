"""The observed base granules of a table, and where each granularity cuts them.

Rows are counted by base granules: the coarsest ones that every granularity allows. For every granularity
the method needs one array: the first observed base granule in the same granule. Days and coarser are worked
out on the distinct days only.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from timeveil.calendar.axis import Offsets, clocks, published
from timeveil.calendar.catalogue import unit_of
from timeveil.calendar.civil import DAY, FIRST, GAP, HOUR, LAST, MINUTE, WEEK, as_ints
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.rules import Steps
from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.relation import TimeAxis

Gaps = Literal["error", "skip", "suppress", "next"]
Positions = npt.NDArray[np.int32]
Bits = npt.NDArray[np.uint8]

_CLOCK = (
    *((HOUR, "hour"), (30 * MINUTE, "30-minutes"), (15 * MINUTE, "15-minutes")),
    *((5 * MINUTE, "5-minutes"), (MINUTE, "minute"), (1, "second")),
)
_SPANS = (DAY, HOUR, 15 * MINUTE, MINUTE)
_MONTHS = ((12, "year"), (1, "month"))


@dataclass(frozen=True, slots=True)
class Ticks:
    """Base granules of one length: that of an instant is floor((instant + phase) / width)."""

    width: int
    phase: int
    name: str

    def granule(self, instants: Ints) -> Ints:
        return np.floor_divide(instants + self.phase if self.phase else instants, self.width)

    def start(self, granules: Ints) -> Ints:
        return granules * self.width - self.phase


def candidates(axis: TimeAxis) -> tuple[tuple[int, str], ...]:
    """The widths an axis may be counted by, coarsest first, each with its name."""
    if axis.kind != "relative":
        return _CLOCK if axis.kind == "zoned" else ((DAY, "day"), *_CLOCK)
    clock, size = unit_of(axis)
    widths = _MONTHS if clock == "months" else ((WEEK, "week"), (DAY, "day"), *_CLOCK)
    return tuple((width, name) for width, name in widths if width >= size)


def base_for(
    axis: TimeAxis, granularities: Sequence[Granularity], low: int, high: int, resolution: int = 1
) -> Ticks:
    """The coarsest base granules that lose nothing on instants from `low` to `high`.

    A width serves if no granule boundary falls inside a base granule, or if it divides `resolution`,
    which divides every instant: then no base granule holds two different instants. On a zoned axis the
    clocks may not change inside a base granule either.
    """
    grains = [g.rule.grain for g in granularities]
    zone = clocks(axis, as_ints([low, high]))
    for width, name in candidates(axis):
        # Every instant is a multiple of the width: no base granule holds two of them.
        if resolution % width == 0:
            return Ticks(width, 0, name)
        near = (zone.ends() > low - width) & (zone.begins <= high + width)
        phase, *more_phases = set((zone.seconds[near] % width).tolist())
        # Offsets that are not equal modulo the width need different phases: this width cannot serve.
        if more_phases or any(grain % width for grain in grains):
            continue
        # Under this phase clocks change only between base granules.
        if not np.any((zone.begins[near][1:] + phase) % width):
            return Ticks(width, int(phase), name)
    return Ticks(width, 0, name)  # the finest


def at_least(granularities: Iterable[Granularity], ticks: Ticks) -> tuple[Granularity, ...]:
    """Those whose granules are no shorter than a base granule; finer ones cannot be distinguished.

    Lists of boundaries stay: one may have a single short granule among long ones.
    """
    return tuple(g for g in granularities if not g.rule.edges.period or g.rule.shortest >= ticks.width)


@dataclass(frozen=True)
class Granules:
    """The granules of one granularity that hold an observed base granule, in order.

    `code` gives for each position its granule, -1 in a gap. `index` rises strictly; it is that of the
    granularity, or the first instant where a zone's clock granules may repeat. Labels are written when they
    are first asked for: a search that weighs granularities by their widths needs none.
    """

    code: Positions
    index: Ints
    start: pa.Array
    end: pa.Array
    write_labels: Callable[[], list[str]]

    @cached_property
    def label(self) -> list[str]:
        return self.write_labels()


@dataclass(frozen=True, eq=False)
class Timeline:
    """Sorted distinct base granules on an axis."""

    axis: TimeAxis
    base: Ticks
    granules: Ints
    gaps: Gaps = "error"

    def __len__(self) -> int:
        return len(self.granules)

    def firsts(self, h: Granularity) -> Positions:
        """For each position, the first position in the same granule of h; -1 in a gap."""
        heads, code, counts = self._coded(h)
        if len(heads) and code.min() >= 0:
            return np.repeat(heads, np.diff(heads, append=len(self)))
        return np.repeat(np.append(heads, np.int32(-1))[code], counts)

    def cuts(self, h: Granularity) -> tuple[Bits, Bits]:
        """Between which positions outside its gaps h cuts, and which are in its gaps: a bit each."""
        heads, code, counts = self._coded(h)
        in_gaps, begins = np.repeat(code < 0, counts), np.zeros(len(self), dtype=bool)
        begins[heads] = True
        return np.packbits(begins[~in_gaps][1:]), np.packbits(in_gaps)

    def rows_in_gaps(self, h: Granularity, rows_at: Ints) -> int:
        """How many rows are in no granule of h, of so many at each position."""
        return int(rows_at[self.in_gaps(h)].sum()) if h.has_gaps else 0

    def in_gaps(self, h: Granularity) -> Flags:
        """Which positions are in no granule of h, under every policy for gaps."""
        if not h.has_gaps:
            return np.zeros(len(self), np.bool_)
        in_gaps: Flags = h.index(self._civil) == GAP
        return in_gaps

    def granules_of(self, h: Granularity) -> Granules:
        heads, code, counts = self._coded(h)
        code, instants = np.repeat(code, counts), self._instants[heads]
        if self._repeats(h):
            return self._clock_granules(h, code, instants)
        index = self._index(h, self._civil[heads])
        start, end = h.start(index), h.end(index)
        # Bounds outside the years 1 to 9999 have no instant; they are published as null.
        beyond_start, beyond_end = start < FIRST, end > LAST
        zone = self._zone_over(start[~beyond_start], end[~beyond_end])
        # The zone was looked up inside those years only: bounds beyond stay civil, to become null.
        start = np.where(beyond_start, start, zone.first_instant(start))
        end = np.where(beyond_end, end, zone.first_instant(end))
        return Granules(code, index, *self._bounds(start, end), partial(h.label, index))

    def _coded(self, h: Granularity) -> tuple[Positions, Positions, Ints | int]:
        """The first position of each observed granule, each span's granule or -1, and the spans' positions.

        Granules of whole days, hours or minutes are worked out per span of this width, others per position.
        """
        if self._repeats(h):
            wall_clock = self._zone.civil(self._instants)
            return *_runs(self._index(h, wall_clock), self._zone.segment(self._instants)), 1
        grain = 1 if self.axis.kind == "relative" else h.rule.grain
        unit = next((unit for unit in _SPANS if self.base.width < unit and grain % unit == 0), None)
        if unit is None:
            return *_runs(self._index(h, self._civil), None), 1
        firsts, counts = self._spans(unit)
        heads, code = _runs(self._index(h, self._civil[firsts]), None)
        return firsts[heads], code, counts

    def _index(self, h: Granularity, civil: Ints) -> Ints:
        if self.gaps != "next" or not h.has_gaps:
            return h.index(civil)
        index = h.rule.following(civil)
        if self.axis.kind != "zoned":
            return index
        # Move on from granules that no clock of the zone ever showed, such as an hour skipped in spring.
        # Each distinct granule once: few are skipped, and many positions share one.
        granules, inverse = np.unique(index, return_inverse=True)
        while True:
            inside = np.flatnonzero(granules != GAP)
            start, end = h.start(granules[inside]), h.end(granules[inside])
            zone = self._zone_over(start, end)
            empty = inside[zone.first_instant(start) == zone.first_instant(end)]
            if not len(empty):
                return granules[inverse.ravel()]
            granules[empty] = h.rule.following(h.end(granules[empty]))

    def _repeats(self, h: Granularity) -> bool:
        """Whether the granule before and the one after a change of the clocks are kept apart."""
        return self.axis.kind == "zoned" and isinstance(h.rule, Steps) and h.rule.width <= HOUR

    def _clock_granules(self, h: Granularity, code: Positions, instants: Ints) -> Granules:
        """Granules of at most an hour, cut where the clocks change and labelled with the offset."""
        zone = self._zone_over(instants, instants)
        segment = zone.segment(instants)
        offset = zone.seconds[segment]
        index = h.index(instants + offset)
        # A granule cut by a change of the clocks begins or ends at the change.
        start = np.maximum(h.start(index) - offset, zone.begins[segment])
        end = np.minimum(h.end(index) - offset, zone.ends()[segment])

        def labels() -> list[str]:
            zones = (dt.timezone(dt.timedelta(seconds=seconds)) for seconds in offset.tolist())
            texts = (str(zone).removeprefix("UTC") or "+00:00" for zone in zones)
            return [f"{label} {text}" for label, text in zip(h.label(index), texts, strict=True)]

        return Granules(code, start, *self._bounds(start, end), labels)

    def _bounds(self, start: Ints, end: Ints) -> tuple[pa.Array, pa.Array]:
        return published(self.axis, start), published(self.axis, end, round_up=True)

    def _zone_over(self, low: Ints, high: Ints) -> Offsets:
        around = np.concatenate((low, high, self._instants[:1], self._instants[-1:]))
        return clocks(self.axis, np.concatenate((around - DAY, around + DAY)))

    @cached_property
    def _instants(self) -> Ints:
        return self.base.start(self.granules)

    @cached_property
    def _zone(self) -> Offsets:
        return clocks(self.axis, self._instants)

    @cached_property
    def _civil(self) -> Ints:
        """The latest time that the clocks have shown at each position: it never goes back."""
        return self._zone.settled(self._instants)

    def _spans(self, unit: int) -> tuple[Positions, Ints]:
        """The first position of each observed span of this width, and how many positions it has."""
        if unit not in self._known:
            # Positions are sorted, so those of a span are neighbours; it is made of the next shorter ones.
            shorter = next((u for u in _SPANS if self.base.width < u < unit), None)
            firsts = self._spans(shorter)[0] if shorter else np.arange(len(self), dtype=np.int32)
            firsts = firsts[_runs(self._civil[firsts] // unit, None)[0]]
            self._known[unit] = firsts, np.diff(firsts, append=len(self))
        return self._known[unit]

    @cached_property
    def _known(self) -> dict[int, tuple[Positions, Ints]]:
        return {}


def _runs(index: Ints, split: Ints | None) -> tuple[Positions, Positions]:
    """The position where each run of one index begins, and the number of each position's run.

    Positions in a gap get -1 and do not interrupt a run. A change in `split` begins a new one.
    """
    inside = np.flatnonzero(index != GAP)
    gapless = len(inside) == len(index)
    # Without gaps nothing is copied, which is the usual case.
    granules = index if gapless else index[inside]
    begins = np.ones(len(granules), dtype=bool)
    np.not_equal(granules[1:], granules[:-1], out=begins[1:])
    if split is not None:
        begins[1:] |= split[1:] != split[:-1]
    heads = np.flatnonzero(begins).astype(np.int32)
    run = np.cumsum(begins, dtype=np.int32) - np.int32(1)
    if gapless:
        return heads, run
    code = np.full(len(index), -1, dtype=np.int32)
    code[inside] = run
    return inside[heads].astype(np.int32), code
