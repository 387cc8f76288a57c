"""The base granules that rows are counted by: the coarsest that every granularity allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from timeveil.calendar.catalogue import unit_of
from timeveil.calendar.civil import DAY, HOUR, MINUTE, WEEK, Ints
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.zone import Offsets, offsets
from timeveil.domain.relation import TimeAxis

_CLOCK = (
    (HOUR, "hour"),
    (30 * MINUTE, "30-minutes"),
    (15 * MINUTE, "15-minutes"),
    (5 * MINUTE, "5-minutes"),
    (MINUTE, "minute"),
    (1, "second"),
)
_MONTHS = ((12, "year"), (1, "month"))


@dataclass(frozen=True, slots=True)
class Ticks:
    """Base granules of one length: that of an instant is floor((instant + phase) / width).

    >>> Ticks(3_600, 0, "hour").granule(np.array([-1, 7_200]))
    array([-1,  2])
    """

    width: int
    phase: int
    name: str

    def granule(self, instants: Ints) -> Ints:
        """The base granule of each instant."""
        return np.floor_divide(instants + self.phase if self.phase else instants, self.width)

    def start(self, granules: Ints) -> Ints:
        """The first instant of each base granule."""
        return granules * self.width - self.phase


def candidates(axis: TimeAxis) -> tuple[tuple[int, str], ...]:
    """The widths an axis may be counted by, coarsest first, each with its name."""
    if axis.kind == "zoned":
        return _CLOCK
    if axis.kind == "civil":
        return ((DAY, "day"), *_CLOCK)
    seconds = ((WEEK, "week"), (DAY, "day"), *_CLOCK)
    clock, size = unit_of(axis)
    return tuple(c for c in (_MONTHS if clock == "months" else seconds) if c[0] >= size)


def base_for(
    axis: TimeAxis, granularities: Sequence[Granularity], low: int, high: int, resolution: int = 1
) -> Ticks:
    """The coarsest base granules that lose nothing on instants from `low` to `high`.

    A width serves if no granule boundary falls inside a base granule, or if it divides `resolution`,
    which divides every instant: then no base granule holds two different instants. On a zoned axis the
    clocks may not change inside a base granule either.
    """
    grains = [g.rule.grain for g in granularities]
    zone = offsets(axis.zone or "", low, high) if axis.kind == "zoned" else None
    for width, name in candidates(axis):
        if resolution % width == 0:
            return Ticks(width, 0, name)
        if all(grain % width == 0 for grain in grains):
            phase = 0 if zone is None else _phase(zone, width, low, high)
            if phase is not None:
                return Ticks(width, phase, name)
    width, name = candidates(axis)[-1]
    return Ticks(width, 0, name)


def at_least(granularities: Iterable[Granularity], ticks: Ticks) -> tuple[Granularity, ...]:
    """Those whose granules are no shorter than a base granule; the others could not be told apart.

    Lists of boundaries stay: a short granule among long ones says nothing of the others.

    >>> from timeveil.calendar.catalogue import CATALOGUE
    >>> [g.name for g in at_least([CATALOGUE["hour"], CATALOGUE["week"]], Ticks(86_400, 0, "day"))]
    ['week']
    """
    return tuple(g for g in granularities if g.rule.extent or g.rule.shortest >= ticks.width)


def _phase(zone: Offsets, width: int, low: int, high: int) -> int | None:
    """The phase under which clocks change only between base granules and all read alike within one."""
    near = (zone.ends() > low - width) & (zone.begins <= high + width)
    phases = set((zone.seconds[near] % width).tolist())
    if len(phases) != 1:
        return None
    phase = int(phases.pop())
    changes = zone.begins[near][1:]
    return phase if not np.any((changes + phase) % width) else None
