"""Granules counted in months, and ISO years."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from timeveil.calendar import civil
from timeveil.calendar.civil import DAY, Ints
from timeveil.calendar.rule import OfWholeDays

_SHORT = 28 * DAY


@dataclass(frozen=True, slots=True)
class Months(OfWholeDays):
    """Granule z is the `length` months from month number phase + z * length, January of year 0 being 0.

    >>> Months(3).label(civil.as_ints([2006 * 4]))
    ['2006-Q1']
    """

    kind: ClassVar[str] = "months"
    has_gaps: ClassVar[bool] = False

    length: int
    phase: int = 0

    @property
    def shortest(self) -> int:
        """A lower bound: as if every month were a February."""
        return self.length * _SHORT

    def index(self, instants: Ints) -> Ints:
        """The granule of each instant."""
        months = civil.month_of_days(civil.floor_days(instants))
        return np.floor_divide(months - self.phase, self.length)

    def following(self, instants: Ints) -> Ints:
        """The granule of each instant; there are no gaps."""
        return self.index(instants)

    def start(self, indices: Ints) -> Ints:
        """First instant of each granule."""
        return civil.days_of_month(indices * self.length + self.phase) * DAY

    def end(self, indices: Ints) -> Ints:
        """First instant after each granule."""
        return self.start(indices + 1)

    def label(self, indices: Ints) -> list[str]:
        """`2006-01`, `2006-Q1`, `2006-H1`, `2006`, `2000s`, or first to last month or year."""
        first = (indices * self.length + self.phase).tolist()
        return [_label(month, self.length) for month in first]

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""
        return {"kind": self.kind, "length": self.length, "phase": self.phase}


@dataclass(frozen=True, slots=True)
class IsoYears(OfWholeDays):
    """Granule z is ISO year z: it begins on the Monday of the week with 4 January."""

    kind: ClassVar[str] = "iso-years"
    has_gaps: ClassVar[bool] = False
    shortest: ClassVar[int] = 364 * DAY

    def index(self, instants: Ints) -> Ints:
        """The ISO year of each instant."""
        return civil.iso_year_of_days(civil.floor_days(instants))

    def following(self, instants: Ints) -> Ints:
        """The ISO year of each instant; there are no gaps."""
        return self.index(instants)

    def start(self, indices: Ints) -> Ints:
        """First instant of each ISO year."""
        return civil.iso_year_start(indices) * DAY

    def end(self, indices: Ints) -> Ints:
        """First instant after each ISO year."""
        return self.start(indices + 1)

    def label(self, indices: Ints) -> list[str]:
        """`2006 (ISO)`."""
        return [f"{year:04} (ISO)" for year in indices.tolist()]

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""
        return {"kind": self.kind}


def _label(first: int, length: int) -> str:
    year, month = divmod(first, 12)
    last_year, last_month = divmod(first + length - 1, 12)
    match length:
        case 1:
            label = f"{year:04}-{month + 1:02}"
        case 3 if not month % 3:
            label = f"{year:04}-Q{month // 3 + 1}"
        case 6 if not month % 6:
            label = f"{year:04}-H{month // 6 + 1}"
        case 12 if not month:
            label = f"{year:04}"
        case 120 if not month and not year % 10:
            label = f"{year:04}s"
        case _ if not month and not length % 12:
            label = f"{year:04} to {last_year:04}"
        case _:
            label = f"{year:04}-{month + 1:02} to {last_year:04}-{last_month + 1:02}"
    return label
