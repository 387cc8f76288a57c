"""Granules of one fixed length, and the single granule that holds everything."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any, ClassVar, Literal

import numpy as np

from timeveil.calendar import civil
from timeveil.calendar.civil import AFTER, BEFORE, DAY, HOUR, MINUTE, WEEK, Ints
from timeveil.calendar.rule import Clock

MONDAY, SUNDAY = -3 * DAY, -4 * DAY
"""The Monday and the Sunday before 1970-01-01, as civil seconds."""

_UNITS: dict[str, tuple[tuple[str, int], ...]] = {
    "seconds": (("week", WEEK), ("day", DAY), ("hour", HOUR), ("minute", MINUTE), ("second", 1)),
    "months": (("year", 12), ("month", 1)),
}


@dataclass(frozen=True, slots=True)
class Steps:
    """Granule z is [phase + z * width, phase + (z + 1) * width).

    >>> Steps(3_600).label(civil.as_ints([-1]))
    ['1969-12-31 23:00 to 24:00']
    """

    kind: ClassVar[str] = "steps"
    has_gaps: ClassVar[bool] = False
    extent: ClassVar[None] = None

    width: int
    phase: int = 0
    clock: Clock = "civil"

    @property
    def grain(self) -> int:
        """Divides every boundary."""
        return gcd(self.width, self.phase)

    @property
    def shortest(self) -> int:
        """All are of one length."""
        return self.width

    def index(self, instants: Ints) -> Ints:
        """The granule of each instant."""
        return np.floor_divide(instants - self.phase if self.phase else instants, self.width)

    def following(self, instants: Ints) -> Ints:
        """The granule of each instant; there are no gaps."""
        return self.index(instants)

    def start(self, indices: Ints) -> Ints:
        """First instant of each granule."""
        return indices * self.width + self.phase

    def end(self, indices: Ints) -> Ints:
        """First instant after each granule."""
        return (indices + 1) * self.width + self.phase

    def label(self, indices: Ints) -> list[str]:
        """Dates and times, ISO weeks, or counts of units on a relative axis."""
        start = self.start(indices)
        if self.clock != "civil":
            return _counted(start, self.width, self.clock)
        if self.width % DAY == 0 and self.phase % DAY == 0:
            return _days(start // DAY, self.width // DAY)
        if self.phase % self.width == 0 and self.width in (1, MINUTE):
            return civil.moments(start, "s" if self.width == 1 else "m")
        return _spans(start, self.width)

    def marks(self, low: int, high: int) -> Ints:
        """Every boundary of [low, high)."""
        first = -(-(low - self.phase) // self.width)
        last = -(-(high - self.phase) // self.width)
        return np.arange(first, last, dtype=np.int64) * self.width + self.phase

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""
        return {"kind": self.kind, "width": self.width, "phase": self.phase, "clock": self.clock}


@dataclass(frozen=True, slots=True)
class Everything:
    """One granule without bounds, on any axis."""

    kind: ClassVar[str] = "everything"
    clock: ClassVar[Clock] = "any"
    has_gaps: ClassVar[bool] = False
    extent: ClassVar[None] = None
    grain: ClassVar[int] = DAY * 7 * 12
    shortest: ClassVar[int] = AFTER - BEFORE

    def index(self, instants: Ints) -> Ints:
        """Always 0."""
        return np.zeros(np.shape(instants), dtype=np.int64)

    def following(self, instants: Ints) -> Ints:
        """Always 0."""
        return self.index(instants)

    def start(self, indices: Ints) -> Ints:
        """Before every instant."""
        return np.full(np.shape(indices), BEFORE, dtype=np.int64)

    def end(self, indices: Ints) -> Ints:
        """After every instant."""
        return np.full(np.shape(indices), AFTER, dtype=np.int64)

    def label(self, indices: Ints) -> list[str]:
        """The one label."""
        return ["all"] * len(indices)

    def marks(self, low: int, high: int) -> Ints:  # noqa: ARG002
        """None: the granule never changes."""
        return np.empty(0, dtype=np.int64)

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""
        return {"kind": self.kind}


def _days(first: Ints, length: int) -> list[str]:
    if length == 1:
        return civil.dates(first)
    if length == 7 and not np.any(civil.weekday(first)):
        return _iso_weeks(first)
    if length == 7 and np.all(civil.weekday(first) == 6):
        return _sunday_weeks(first)
    return [f"{a} to {b}" for a, b in zip(civil.dates(first), civil.dates(first + length - 1), strict=True)]


def _iso_weeks(monday: Ints) -> list[str]:
    years = civil.iso_year_of_days(monday)
    weeks = (monday - civil.iso_year_start(years)) // 7 + 1
    return [f"{year:04}-W{week:02}" for year, week in zip(years.tolist(), weeks.tolist(), strict=True)]


def _sunday_weeks(sunday: Ints) -> list[str]:
    """Week 1 contains 1 January, so the Saturday says the year."""
    saturday = sunday + 6
    years = civil.month_of_days(saturday) // 12
    weeks = (saturday - civil.year_start(years)) // 7 + 1
    return [f"{year:04}-week {week}" for year, week in zip(years.tolist(), weeks.tolist(), strict=True)]


def _spans(start: Ints, width: int) -> list[str]:
    """From one time to another, the date written once if both lie on one day."""
    unit: Literal["s", "m"] = "s" if np.any(start % MINUTE) or width % MINUTE else "m"
    end = start + width
    same_day = start // DAY == (end - 1) // DAY
    labels = zip(civil.moments(start, unit), civil.moments(end, unit), (end % DAY).tolist(), strict=True)
    return [
        f"{first} to {_end_of_day(last, second) if same else last}"
        for (first, last, second), same in zip(labels, same_day.tolist(), strict=True)
    ]


def _end_of_day(moment: str, second: int) -> str:
    return moment[moment.index(" ") + 1 :] if second else "24:00"


def largest_unit(clock: str, length: int) -> tuple[str, int]:
    """The largest unit of which a length is a whole number, with its size.

    >>> largest_unit("seconds", 7_200)
    ('hour', 3600)
    """
    return next((name, size) for name, size in _UNITS[clock] if length % size == 0)


def _counted(start: Ints, width: int, clock: str) -> list[str]:
    unit, size = largest_unit(clock, gcd(width, *start[:1].tolist()))
    if width == size:
        return [f"{unit} {first}" for first in (start // size).tolist()]
    step = width // size
    return [f"{unit}s {first} to {first + step}" for first in (start // size).tolist()]
