"""The kinds of calendar: for each its boundaries, its labels, and how a manifest writes it down.

Each says where its granules begin and end (`edges`) and what they are called (`label`); everything else is
the same for all and is in `timeveil.calendar.edges`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from timeveil.calendar import civil
from timeveil.calendar.civil import (
    AFTER,
    BEFORE,
    CYCLE,
    CYCLE_YEARS,
    DAY,
    GAP,
    MINUTE,
    WEEK,
    Clock,
    Ints,
    as_ints,
)
from timeveil.calendar.edges import Edges, Rule

MONDAY, SUNDAY = -3 * DAY, -4 * DAY
"""The Monday and the Sunday before 1970-01-01, as civil seconds."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONDAY_TO_FRIDAY = (0, 1, 2, 3, 4)


@dataclass(frozen=True)
class Steps(Rule):
    """Granules of one length: z is [phase + z * width, phase + (z + 1) * width).

    >>> Steps(3_600).label(as_ints([-1]))
    ['1969-12-31 23:00 to 24:00']
    """

    kind = "steps"
    width: int
    phase: int = 0
    clock: Clock = "civil"

    @cached_property
    def edges(self) -> Edges:
        """One granule, again and again."""
        return Edges(as_ints([self.phase]), as_ints([self.phase + self.width]), self.width)

    def label(self, indices: Ints) -> list[str]:
        """Dates and times, ISO weeks, or counts of units on a relative axis."""
        start = self.start(indices)
        if self.clock != "civil":
            return civil.count_labels(start, self.width, self.clock)
        if self.width % DAY == 0 and self.phase % DAY == 0:
            return civil.day_labels(start // DAY, self.width // DAY)
        # Seconds and minutes are named by their start alone.
        if self.phase % self.width == 0 and self.width in (1, MINUTE):
            return civil.moments(start, "s" if self.width == 1 else "m")
        return civil.time_labels(start, self.width)


@dataclass(frozen=True)
class Everything(Rule):
    """One granule without bounds, on any axis."""

    kind = "everything"

    @property
    def clock(self) -> Clock:
        """It reads on every axis."""
        return "any"

    @cached_property
    def edges(self) -> Edges:
        """From before every instant to after every instant."""
        return Edges(as_ints([BEFORE]), as_ints([AFTER]))

    def label(self, indices: Ints) -> list[str]:
        """The one label."""
        return ["all"] * len(indices)


@cache
def _calendar_months() -> Edges:
    """The 4,800 months of a Gregorian cycle; January of year 0 is number 0."""
    # One boundary more than there are months: the last one ends December of year 399.
    firsts = civil.days_of_month(np.arange(CYCLE_YEARS * 12 + 1)) * DAY
    return Edges(firsts[:-1], firsts[1:], CYCLE)


@dataclass(frozen=True)
class Months(Rule):
    """Granule z is the `length` months from month number phase + z * length, January of year 0 being 0.

    >>> Months(3).label(as_ints([2006 * 4]))
    ['2006-Q1']
    """

    kind = "months"
    length: int
    phase: int = 0

    @cached_property
    def edges(self) -> Edges:
        """Calendar months."""
        return _calendar_months()

    @property
    def least(self) -> int:
        """The number of months."""
        return self.length

    def label(self, indices: Ints) -> list[str]:
        """`2006-01`, `2006-Q1`, `2006-H1`, `2006`, `2000s`, or first to last month or year."""
        return [civil.month_label(month, self.length) for month in self.first(indices).tolist()]

    def group(self, numbers: Ints) -> Ints:
        """`length` months at a time."""
        return np.floor_divide(numbers - self.phase if self.phase else numbers, self.length)

    def first(self, indices: Ints) -> Ints:
        """The first month of each granule."""
        return indices * self.length + self.phase


@dataclass(frozen=True)
class IsoYears(Rule):
    """Granule z is ISO year z: it begins on the Monday of the week with 4 January."""

    kind = "iso-years"

    @cached_property
    def edges(self) -> Edges:
        """The 400 ISO years of a Gregorian cycle."""
        mondays = civil.iso_year_start(np.arange(CYCLE_YEARS + 1)) * DAY
        return Edges(mondays[:-1], mondays[1:], CYCLE)

    def label(self, indices: Ints) -> list[str]:
        """`2006 (ISO)`."""
        return [f"{year:04} (ISO)" for year in indices.tolist()]


@dataclass(frozen=True)
class DayParts(Rule):
    """The day cut at fixed seconds; the last part runs past midnight and belongs to the day it starts on.

    >>> night = DayParts((("morning", 6 * 3600), ("night", 22 * 3600)))
    >>> night.label(night.index(as_ints([3600])))  # 01:00 on 1970-01-01
    ['1969-12-31 night']
    """

    kind = "day-parts"
    parts: tuple[tuple[str, int], ...]

    @cached_property
    def edges(self) -> Edges:
        """The parts of one day."""
        starts = as_ints([second for _, second in self.parts])
        # The last part ends where the first one of the next day begins, so there is no gap around midnight.
        return Edges(starts, np.append(starts[1:], starts[0] + DAY), DAY)

    def label(self, indices: Ints) -> list[str]:
        """The day it starts on and the part's name."""
        days, part = np.divmod(indices, len(self.parts))
        return [
            f"{date} {self.parts[number][0]}"
            for date, number in zip(civil.dates(days), part.tolist(), strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Each part with the time it starts at."""
        return {"kind": self.kind, "parts": {label: civil.clock_text(second) for label, second in self.parts}}


@dataclass(frozen=True)
class Terms(Rule):
    """The year cut at fixed days; the last term runs past New Year and belongs to the year it starts in.

    Each term is its label, month and day. The terms named in `gaps` are no granules.
    """

    kind = "terms"
    terms: tuple[tuple[str, int, int], ...]
    gaps: tuple[str, ...] = ()

    @cached_property
    def edges(self) -> Edges:
        """The terms of the 400 years of a Gregorian cycle, less the gaps."""
        months = np.arange(CYCLE_YEARS)[:, None] * 12 + as_ints([month - 1 for _, month, _ in self.terms])
        # Every term of every year, also those that are gaps: a term ends where the next one starts.
        starts = (civil.days_of_month(months) + as_ints([day - 1 for _, _, day in self.terms])).ravel() * DAY
        ends = np.append(starts[1:], starts[0] + CYCLE)
        granules = np.tile([label not in self.gaps for label, _, _ in self.terms], CYCLE_YEARS)
        return Edges(starts[granules], ends[granules], CYCLE)

    def label(self, indices: Ints) -> list[str]:
        """The year it starts in and the term's name."""
        labels = [label for label, _, _ in self.terms if label not in self.gaps]
        years, terms = np.divmod(indices, len(labels))
        return [
            f"{year:04} {labels[term]}" for year, term in zip(years.tolist(), terms.tolist(), strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Each term with the day it starts on, and the gaps."""
        starts = {label: f"{month:02}-{day:02}" for label, month, day in self.terms}
        return {"kind": self.kind, "starts": starts, "gaps": list(self.gaps)}


@dataclass(frozen=True)
class WorkingDays(Rule):
    """Granule z is the z-th working day from 1969-12-29 on; weekends and holidays are gaps.

    `workdays` are numbers from 0 (Monday) to 6, `holidays` days since 1970-01-01; both sorted.
    """

    kind = "working-days"
    workdays: tuple[int, ...] = MONDAY_TO_FRIDAY
    holidays: tuple[int, ...] = ()

    @cached_property
    def edges(self) -> Edges:
        """The working days of a week; holidays on one of them are left out."""
        starts = as_ints(self.workdays) * DAY + MONDAY
        week = Edges(starts, starts + DAY, WEEK)
        holidays = week.index(as_ints(self.holidays) * DAY)
        return replace(week, omitted=holidays[holidays != GAP])

    def label(self, indices: Ints) -> list[str]:
        """The date."""
        return civil.dates(self.start(indices) // DAY)

    def as_dict(self) -> dict[str, Any]:
        """The weekdays and the holidays."""
        return {
            "kind": self.kind,
            "days": [WEEKDAYS[day] for day in self.workdays],
            "holidays": civil.dates(as_ints(self.holidays)),
        }


@dataclass(frozen=True)
class WorkingPeriods(Rule):
    """The working days of each granule of another rule of whole days without gaps, such as a month."""

    kind = "working-periods"
    of: Rule
    days: WorkingDays

    @cached_property
    def edges(self) -> Edges:
        """Working days."""
        return self.days.edges

    def label(self, indices: Ints) -> list[str]:
        """The period's label, marked as its working days only."""
        return [f"{label} (working days)" for label in self.of.label(indices)]

    def as_dict(self) -> dict[str, Any]:
        """The period and the working days."""
        return {"kind": self.kind, "of": self.of.as_dict(), "days": self.days.as_dict()}

    def group(self, numbers: Ints) -> Ints:
        """The period of each working day."""
        return self.of.index(self.days.start(numbers))

    def first(self, indices: Ints) -> Ints:
        """The first working day of each period."""
        return self.days.following(self.of.start(indices))


@dataclass(frozen=True)
class Boundaries(Rule):
    """Granule z is between boundary z and boundary z + 1; before the first and after the last is a gap."""

    kind = "boundaries"
    at: tuple[int, ...]
    labels: tuple[str, ...] = ()
    clock: Clock = "civil"

    @cached_property
    def edges(self) -> Edges:
        """The boundaries, once."""
        return Edges(as_ints(self.at[:-1]), as_ints(self.at[1:]))

    def label(self, indices: Ints) -> list[str]:
        """The label from the definition, or both boundaries."""
        labels = self.labels or self._spans
        return [labels[index] for index in np.clip(indices, 0, len(labels) - 1).tolist()]

    def as_dict(self) -> dict[str, Any]:
        """Boundaries, labels and clock."""
        at = self._dates if self.clock == "civil" else list(self.at)
        return {"kind": self.kind, "at": at, "labels": list(self.labels), "clock": self.clock}

    @cached_property
    def _spans(self) -> list[str]:
        if self.clock == "civil":
            return [f"{a} until {b}" for a, b in pairwise(self._dates)]
        unit, size = civil.largest_unit(self.clock, self.grain)
        return [f"{unit}s {a // size} to {b // size}" for a, b in pairwise(self.at)]

    @property
    def _dates(self) -> list[str]:
        at = as_ints(self.at)
        if not np.any(at % DAY):
            return civil.dates(at // DAY)
        return civil.moments(at, "s" if np.any(at % MINUTE) else "m")


@dataclass(frozen=True)
class Groups(Rule):
    """Granule z is `count` granules of another rule from anchor + z * count on."""

    kind = "groups"
    of: Rule
    count: int
    anchor: int = 0

    @property
    def clock(self) -> Clock:
        """That of the rule it groups."""
        return self.of.clock

    @cached_property
    def edges(self) -> Edges:
        """Those of the rule it groups."""
        return self.of.edges

    @property
    def least(self) -> int:
        """Groups of groups multiply."""
        return self.of.least * self.count

    def label(self, indices: Ints) -> list[str]:
        """The labels of its first and last granule."""
        start = indices * self.count + self.anchor
        firsts, lasts = self.of.label(start), self.of.label(start + self.count - 1)
        return [a if a == b else f"{a} to {b}" for a, b in zip(firsts, lasts, strict=True)]

    def as_dict(self) -> dict[str, Any]:
        """The rule it groups, how many at a time, and from where."""
        return {"kind": self.kind, "of": self.of.as_dict(), "n": self.count, "anchor": self.anchor}

    def group(self, numbers: Ints) -> Ints:
        """`count` granules of the other rule at a time."""
        return np.floor_divide(self.of.group(numbers) - self.anchor, self.count)

    def first(self, indices: Ints) -> Ints:
        """The first granule of the first granule of the other rule."""
        # Two steps down: to the granule of the other rule, then to the boundary where that one begins.
        return self.of.first(indices * self.count + self.anchor)
