"""Working days, and longer periods of which only the working days count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from timeveil.calendar import civil
from timeveil.calendar.civil import DAY, GAP, Ints
from timeveil.calendar.rule import OfWholeDays, Rule

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONDAY_TO_FRIDAY = (0, 1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class WorkingDays(OfWholeDays):
    """Granule z is the z-th working day from 1969-12-29 on; weekends and holidays are gaps.

    `workdays` are numbers from 0 (Monday) to 6, `holidays` days since 1970-01-01; both sorted.
    """

    kind: ClassVar[str] = "working-days"
    has_gaps: ClassVar[bool] = True
    shortest: ClassVar[int] = DAY

    workdays: tuple[int, ...] = MONDAY_TO_FRIDAY
    holidays: tuple[int, ...] = ()

    def index(self, instants: Ints) -> Ints:
        """The working day of each instant."""
        return self.of_days(civil.floor_days(instants))

    def of_days(self, days: Ints) -> Ints:
        """The working day of each day, `GAP` on a weekend or holiday."""
        count, works = self._from_week_days(days)
        free = self._free()
        position = np.searchsorted(free, count)
        holiday = np.zeros(np.shape(days), dtype=bool)
        if len(free):
            holiday = free[np.minimum(position, len(free) - 1)] == count
        return np.where(works & ~holiday, count - position, GAP)

    def following(self, instants: Ints) -> Ints:
        """The working day of each instant, or the next one."""
        count, _ = self._from_week_days(civil.floor_days(instants))
        return count - np.searchsorted(self._free(), count)

    def day(self, indices: Ints) -> Ints:
        """Each working day in days since 1970-01-01."""
        free = self._free()
        count = indices + np.searchsorted(free - np.arange(len(free)), indices, side="right")
        week, rank = np.divmod(count, len(self.workdays))
        return week * 7 + civil.as_ints(self.workdays)[rank] - 3

    def start(self, indices: Ints) -> Ints:
        """First instant of each working day."""
        return self.day(indices) * DAY

    def end(self, indices: Ints) -> Ints:
        """First instant after each working day."""
        return (self.day(indices) + 1) * DAY

    def label(self, indices: Ints) -> list[str]:
        """The date."""
        return civil.dates(self.day(indices))

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""
        return {
            "kind": self.kind,
            "days": [WEEKDAYS[day] for day in self.workdays],
            "holidays": civil.dates(civil.as_ints(self.holidays)),
        }

    def _from_week_days(self, days: Ints) -> tuple[Ints, np.ndarray[Any, np.dtype[np.bool_]]]:
        """How many workdays of the week lie before each day, holidays among them, and whether it is one."""
        week, day = np.divmod(days + 3, 7)
        before = np.searchsorted(civil.as_ints(self.workdays), np.arange(7))
        return week * len(self.workdays) + before[day], np.isin(np.arange(7), self.workdays)[day]

    def _free(self) -> Ints:
        """The holidays that fall on a workday, counted as `_from_week_days` counts."""
        count, works = self._from_week_days(civil.as_ints(self.holidays))
        free: Ints = count[works]
        return free


@dataclass(frozen=True, slots=True)
class WorkingPeriods(OfWholeDays):
    """The working days of each granule of another rule, such as those of a month."""

    kind: ClassVar[str] = "working-periods"
    has_gaps: ClassVar[bool] = True
    shortest: ClassVar[int] = DAY

    of: Rule
    days: WorkingDays

    def index(self, instants: Ints) -> Ints:
        """The period of each instant that lies on a working day."""
        return np.where(self.days.index(instants) == GAP, GAP, self.of.index(instants))

    def following(self, instants: Ints) -> Ints:
        """The period of the first working day from each instant on."""
        return self.of.index(self.days.start(self.days.following(instants)))

    def start(self, indices: Ints) -> Ints:
        """First instant of the first working day."""
        return self.days.start(self.days.following(self.of.start(indices)))

    def end(self, indices: Ints) -> Ints:
        """First instant after the last working day."""
        return self.days.end(self.days.following(self.of.end(indices)) - 1)

    def label(self, indices: Ints) -> list[str]:
        """The period's label, saying that only its working days are meant."""
        return [f"{label} (working days)" for label in self.of.label(indices)]

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""
        return {"kind": self.kind, "of": self.of.as_dict(), "days": self.days.as_dict()}
