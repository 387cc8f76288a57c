"""The kinds of calendar: for each its boundaries, its labels, and how a manifest writes it down.

Each says where its granules begin and end (`edges`) and what they are called (`label`); everything else is
the same for all and is in `timeveil.calendar.granularity`.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from math import gcd
from typing import Any, Literal

import numpy as np

from timeveil.calendar import civil
from timeveil.calendar.civil import DAY, GAP, MINUTE, WEEK, Clock, as_ints
from timeveil.calendar.granularity import Edges, Rule
from timeveil.domain.arrays import Ints

MONDAY, SUNDAY = -3 * DAY, -4 * DAY  # the Monday and the Sunday before 1970-01-01, as civil seconds
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONDAY_TO_FRIDAY = (0, 1, 2, 3, 4)
_MONTH_FORMS = {1: "{:04}-{:02}", 3: "{:04}-Q{}", 6: "{:04}-H{}", 12: "{:04}", 120: "{:04}s"}
"""Labels of whole months, quarters, half-years, years and decades, by their number of months."""


@dataclass(frozen=True)
class Steps(Rule, kind="steps"):
    """Granules of one length: z is [phase + z * width, phase + (z + 1) * width)."""

    width: int
    phase: int = 0
    clock: Clock = "civil"

    @cached_property
    def edges(self) -> Edges:
        return Edges(as_ints([self.phase]), as_ints([self.phase + self.width]), self.width)

    def label(self, indices: Ints) -> list[str]:
        start = self.start(indices)
        if self.clock != "civil":
            # Counts of the largest unit that fits.
            unit, size = _largest_unit(self.clock, gcd(self.width, *start[:1].tolist()))
            if self.width == size:
                return [f"{unit} {first}" for first in (start // size).tolist()]
            return [f"{unit}s {first} to {first + self.width // size}" for first in (start // size).tolist()]
        if self.width % DAY == 0 and self.phase % DAY == 0:
            return _day_labels(start // DAY, self.width // DAY)
        # Seconds and minutes are named by their start alone.
        if self.phase % self.width == 0 and self.width in (1, MINUTE):
            return _moments(start, "s" if self.width == 1 else "m")
        return _time_labels(start, self.width)


@dataclass(frozen=True)
class Everything(Rule, kind="everything"):
    """One granule without bounds, on any axis."""

    clock = "any"

    @cached_property
    def edges(self) -> Edges:
        return Edges(as_ints([civil.BEFORE]), as_ints([civil.AFTER]))

    def label(self, indices: Ints) -> list[str]:
        return ["all"] * len(indices)


@cache
def _calendar_months() -> Edges:
    """The 4,800 months of a Gregorian cycle; January of year 0 is number 0."""
    # One boundary more than there are months: the last one ends December of year 399.
    firsts = civil.days_of_month(np.arange(civil.CYCLE_YEARS * 12 + 1)) * DAY
    return Edges(firsts[:-1], firsts[1:], civil.CYCLE)


@dataclass(frozen=True)
class Months(Rule, kind="months"):
    """Granule z is the `length` months from month number phase + z * length, January of year 0 being 0."""

    length: int
    phase: int = 0

    @property
    def edges(self) -> Edges:
        return _calendar_months()

    @property
    def least(self) -> int:
        return self.length

    def label(self, indices: Ints) -> list[str]:
        return [_month_label(month, self.length) for month in self.first(indices).tolist()]

    def group(self, numbers: Ints) -> Ints:
        return np.floor_divide(numbers - self.phase if self.phase else numbers, self.length)

    def first(self, indices: Ints) -> Ints:
        return indices * self.length + self.phase


@dataclass(frozen=True)
class IsoYears(Rule, kind="iso-years"):
    """Granule z is ISO year z: it begins on the Monday of the week with 4 January."""

    @cached_property
    def edges(self) -> Edges:
        fourth = civil.year_start(np.arange(civil.CYCLE_YEARS + 1)) + 3
        mondays = (fourth - civil.weekday(fourth)) * DAY
        return Edges(mondays[:-1], mondays[1:], civil.CYCLE)

    def label(self, indices: Ints) -> list[str]:
        return [f"{year:04} (ISO)" for year in indices.tolist()]


@dataclass(frozen=True)
class DayParts(Rule, kind="day-parts"):
    """The day cut at fixed seconds; the last part runs past midnight and belongs to the day it starts on."""

    parts: tuple[tuple[str, int], ...]

    @cached_property
    def edges(self) -> Edges:
        starts = as_ints([second for _, second in self.parts])
        # The last part ends where the first one of the next day begins, so there is no gap around midnight.
        return Edges(starts, np.append(starts[1:], starts[0] + DAY), DAY)

    def label(self, indices: Ints) -> list[str]:
        days, part = np.divmod(indices, len(self.parts))
        return [f"{date} {self.parts[n][0]}" for date, n in zip(_dates(days), part.tolist(), strict=True)]

    def as_dict(self) -> dict[str, Any]:
        times = _moments(as_ints([second for _, second in self.parts]), "s")
        # Seconds are written only where there are some.
        starts = [time.partition(" ")[2].removesuffix(":00") for time in times]
        return {"kind": self.kind, "parts": dict(zip(dict(self.parts), starts, strict=True))}


@dataclass(frozen=True)
class Terms(Rule, kind="terms"):
    """The year cut at fixed days; the last term runs past New Year and belongs to the year it starts in.

    Each term is its label, month and day. The terms named in `gaps` are no granules.
    """

    terms: tuple[tuple[str, int, int], ...]
    gaps: tuple[str, ...] = ()

    @cached_property
    def edges(self) -> Edges:
        labels, months, days = zip(*self.terms, strict=True)
        january = np.arange(civil.CYCLE_YEARS)[:, None] * 12
        # Every term of every year, also those that are gaps: a term ends where the next one starts.
        starts = (civil.days_of_month(january + as_ints(months) - 1) + as_ints(days) - 1).ravel() * DAY
        ends = np.append(starts[1:], starts[0] + civil.CYCLE)
        granules = np.tile([label not in self.gaps for label in labels], civil.CYCLE_YEARS)
        return Edges(starts[granules], ends[granules], civil.CYCLE)

    def label(self, indices: Ints) -> list[str]:
        labels = [label for label, _, _ in self.terms if label not in self.gaps]
        years, terms = np.divmod(indices, len(labels))
        return [f"{year:04} {labels[n]}" for year, n in zip(years.tolist(), terms.tolist(), strict=True)]

    def as_dict(self) -> dict[str, Any]:
        starts = {label: f"{month:02}-{day:02}" for label, month, day in self.terms}
        return {"kind": self.kind, "starts": starts, "gaps": list(self.gaps)}


@dataclass(frozen=True)
class WorkingDays(Rule, kind="working-days"):
    """Granule z is the z-th working day from 1969-12-29 on; weekends and holidays are gaps.

    `workdays` are numbers from 0 (Monday) to 6, `holidays` days since 1970-01-01; both sorted.
    """

    workdays: tuple[int, ...] = MONDAY_TO_FRIDAY
    holidays: tuple[int, ...] = ()

    @cached_property
    def edges(self) -> Edges:
        starts = as_ints(self.workdays) * DAY + MONDAY
        week = Edges(starts, starts + DAY, WEEK)
        holidays = week.index(as_ints(self.holidays) * DAY)
        return replace(week, omitted=holidays[holidays != GAP])

    def label(self, indices: Ints) -> list[str]:
        return _dates(self.start(indices) // DAY)

    def as_dict(self) -> dict[str, Any]:
        days = [WEEKDAYS[day] for day in self.workdays]
        return {"kind": self.kind, "days": days, "holidays": _dates(as_ints(self.holidays))}


@dataclass(frozen=True)
class WorkingPeriods(Rule, kind="working-periods"):
    """The working days of each granule of another rule of whole days without gaps, such as a month."""

    of: Rule
    days: Rule

    @property
    def edges(self) -> Edges:
        return self.days.edges

    def label(self, indices: Ints) -> list[str]:
        return [f"{label} (working days)" for label in self.of.label(indices)]

    def group(self, numbers: Ints) -> Ints:
        return self.of.index(self.days.start(numbers))

    def first(self, indices: Ints) -> Ints:
        return self.days.following(self.of.start(indices))


@dataclass(frozen=True)
class Boundaries(Rule, kind="boundaries"):
    """Granule z is between boundary z and boundary z + 1; before the first and after the last is a gap.

    If `coded`, these are granules as well, without a start and without an end, and the first has number 0.
    """

    at: tuple[int, ...]
    labels: tuple[str, ...] = ()
    clock: Clock = "civil"
    coded: bool = False

    @cached_property
    def edges(self) -> Edges:
        at = (civil.BEFORE, *self.at, civil.AFTER) if self.coded else self.at
        return Edges(as_ints(at[:-1]), as_ints(at[1:]))

    def label(self, indices: Ints) -> list[str]:
        labels = self.labels or self._spans
        return [labels[index] for index in np.clip(indices, 0, len(labels) - 1).tolist()]

    def as_dict(self) -> dict[str, Any]:
        at = self._times if self.clock == "civil" else list(self.at)
        stated = {"kind": self.kind, "at": at, "labels": list(self.labels), "clock": self.clock}
        return {**stated, "coded": True} if self.coded else stated

    @cached_property
    def _spans(self) -> list[str]:
        if self.clock == "civil":
            ends, spans = self._times, [f"{a} until {b}" for a, b in pairwise(self._times)]
        else:
            unit, size = _largest_unit(self.clock, self.grain)
            ends = [f"{unit} {a // size}" for a in self.at]
            spans = [f"{unit}s {a // size} to {b // size}" for a, b in pairwise(self.at)]
        return [f"before {ends[0]}", *spans, f"{ends[-1]} or later"] if self.coded else spans

    @property
    def _times(self) -> list[str]:
        at = as_ints(self.at)
        return _moments(at, "s" if np.any(at % MINUTE) else "m") if np.any(at % DAY) else _dates(at // DAY)


@dataclass(frozen=True)
class Groups(Rule, kind="groups"):
    """Granule z is `n` granules of another rule from anchor + z * n on."""

    of: Rule
    n: int
    anchor: int = 0

    @property
    def clock(self) -> Clock:  # type: ignore[override]  # that of the rule it groups
        return self.of.clock

    @property
    def edges(self) -> Edges:
        return self.of.edges

    @property
    def least(self) -> int:
        return self.of.least * self.n

    def label(self, indices: Ints) -> list[str]:
        start = indices * self.n + self.anchor
        firsts, lasts = self.of.label(start), self.of.label(start + self.n - 1)
        return [a if a == b else f"{a} to {b}" for a, b in zip(firsts, lasts, strict=True)]

    def group(self, numbers: Ints) -> Ints:
        return np.floor_divide(self.of.group(numbers) - self.anchor, self.n)

    def first(self, indices: Ints) -> Ints:
        # Two steps down: to the granule of the other rule, then to the boundary where that one begins.
        return self.of.first(indices * self.n + self.anchor)


def _dates(days: Ints) -> list[str]:
    return list(np.datetime_as_string(days.astype("datetime64[D]")).tolist())


def _moments(seconds: Ints, unit: Literal["s", "m"]) -> list[str]:
    texts = np.datetime_as_string(seconds.astype("datetime64[s]"), unit=unit)
    return [moment.replace("T", " ") for moment in texts.tolist()]


def _day_labels(first: Ints, length: int) -> list[str]:
    """Labels of granules of whole days: dates, ISO weeks, weeks from Sunday, or first to last date."""
    if length == 1:
        return _dates(first)
    if length == 7 and np.all(civil.weekday(first) % 6 == 0):
        # The Thursday of an ISO week decides its year and number. Week 1 from Sunday contains 1 January, so
        # the Saturday decides.
        iso = not np.any(civil.weekday(first))
        deciding = first + (3 if iso else 6)
        years = civil.month_of_days(deciding) // 12
        weeks = (deciding - civil.year_start(years)) // 7 + 1
        form = "{:04}-W{:02}" if iso else "{:04}-week {}"
        return [form.format(year, week) for year, week in zip(years.tolist(), weeks.tolist(), strict=True)]
    return [f"{a} to {b}" for a, b in zip(_dates(first), _dates(first + length - 1), strict=True)]


def _month_label(first: int, length: int) -> str:
    """`2006-01`, `2006-Q1`, `2006-H1`, `2006`, `2000s`, or first to last month or year."""
    year, month = divmod(first, 12)
    last_year, last_month = divmod(first + length - 1, 12)
    if length in _MONTH_FORMS and first % length == 0:
        return _MONTH_FORMS[length].format(year, month // length + 1)
    if first % 12 == 0 and length % 12 == 0:
        return f"{year:04} to {last_year:04}"
    return f"{year:04}-{month + 1:02} to {last_year:04}-{last_month + 1:02}"


def _time_labels(start: Ints, width: int) -> list[str]:
    """From one time to another, the date written once if both are on one day."""
    unit: Literal["s", "m"] = "s" if np.any(start % MINUTE) or width % MINUTE else "m"
    end = start + width
    same_day = (start // DAY == (end - 1) // DAY).tolist()
    labels = []
    for first, last, same, second in zip(
        _moments(start, unit), _moments(end, unit), same_day, (end % DAY).tolist(), strict=True
    ):
        time_of_day = last.partition(" ")[2] if second else "24:00"
        labels.append(f"{first} to {time_of_day if same else last}")
    return labels


def _largest_unit(clock: str, length: int) -> tuple[str, int]:
    """The largest unit of which a length is a whole number, with its size."""
    units = reversed(civil.UNITS.items())
    return next((name, size) for name, (line, size) in units if line == clock and length % size == 0)
