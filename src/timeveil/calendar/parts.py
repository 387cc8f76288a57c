"""Granules that return every day or every year: day parts, shifts, terms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import gcd
from typing import Any, ClassVar

import numpy as np

from timeveil.calendar import civil
from timeveil.calendar.civil import DAY, GAP, Ints
from timeveil.calendar.rule import Clock, OfWholeDays, midnights

_COMMON = 2001


@dataclass(frozen=True, slots=True)
class DayParts:
    """The day cut at fixed times; the last part runs past midnight and belongs to the day it starts on.

    >>> night = DayParts((("morning", 6 * 3600), ("night", 22 * 3600)))
    >>> night.label(night.index(civil.as_ints([3600])))  # 01:00 on 1970-01-01
    ['1969-12-31 night']
    """

    kind: ClassVar[str] = "day-parts"
    clock: ClassVar[Clock] = "civil"
    has_gaps: ClassVar[bool] = False
    extent: ClassVar[None] = None

    parts: tuple[tuple[str, int], ...]

    @property
    def _cuts(self) -> Ints:
        return civil.as_ints([second for _, second in self.parts])

    @property
    def grain(self) -> int:
        """Divides every boundary."""
        return reduce(gcd, (second for _, second in self.parts), DAY)

    @property
    def shortest(self) -> int:
        """The shortest part."""
        cuts = [second for _, second in self.parts]
        return min(b - a for a, b in pairwise([*cuts, cuts[0] + DAY]))

    def index(self, instants: Ints) -> Ints:
        """The part of each instant."""
        days = civil.floor_days(instants)
        part = np.searchsorted(self._cuts, instants - days * DAY, side="right") - 1
        return days * len(self.parts) + part

    def following(self, instants: Ints) -> Ints:
        """The part of each instant; there are no gaps."""
        return self.index(instants)

    def start(self, indices: Ints) -> Ints:
        """First instant of each part."""
        days, part = np.divmod(indices, len(self.parts))
        return days * DAY + self._cuts[part]

    def end(self, indices: Ints) -> Ints:
        """First instant after each part."""
        return self.start(indices + 1)

    def label(self, indices: Ints) -> list[str]:
        """The day it starts on and the part's name."""
        days, part = np.divmod(indices, len(self.parts))
        named = zip(civil.dates(days), part.tolist(), strict=True)
        return [f"{date} {self.parts[number][0]}" for date, number in named]

    def marks(self, low: int, high: int) -> Ints:
        """Every boundary of [low, high)."""
        marks = (midnights(low - DAY, high)[:, None] + self._cuts).ravel()
        return marks[(marks >= low) & (marks < high)]

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""
        return {"kind": self.kind, "parts": {label: civil.clock(second) for label, second in self.parts}}


@dataclass(frozen=True, slots=True)
class Terms(OfWholeDays):
    """The year cut at fixed days; the last term runs past New Year and belongs to the year it starts in.

    Terms named in `gaps` are no granules: instants in them lie in a gap.
    """

    kind: ClassVar[str] = "terms"

    terms: tuple[tuple[str, int, int], ...]
    gaps: tuple[str, ...] = ()

    @property
    def has_gaps(self) -> bool:
        """Whether a term is a gap."""
        return bool(self.gaps)

    @property
    def shortest(self) -> int:
        """The shortest term of a common year."""
        days = [_day_of_year(_COMMON, month, day) for _, month, day in self.terms]
        return min(b - a for a, b in pairwise([*days, days[0] + 365])) * DAY

    @property
    def _kept(self) -> list[int]:
        return [number for number, term in enumerate(self.terms) if term[0] not in self.gaps]

    def index(self, instants: Ints) -> Ints:
        """The term of each instant, counting those that are not gaps."""
        year, term = self._term(instants)
        rank = np.full(len(self.terms), -1, dtype=np.int64)
        rank[self._kept] = np.arange(len(self._kept))
        return np.where(rank[term] < 0, GAP, year * len(self._kept) + rank[term])

    def following(self, instants: Ints) -> Ints:
        """The term of each instant, or the next one after a gap."""
        year, term = self._term(instants)
        after = np.searchsorted(civil.as_ints(self._kept), np.arange(len(self.terms)))
        following: Ints = year * len(self._kept) + after[term]
        return following

    def start(self, indices: Ints) -> Ints:
        """First instant of each term."""
        year, rank = np.divmod(indices, len(self._kept))
        return self._begins(year, civil.as_ints(self._kept)[rank])

    def end(self, indices: Ints) -> Ints:
        """First instant after each term."""
        year, rank = np.divmod(indices, len(self._kept))
        later, term = np.divmod(civil.as_ints(self._kept)[rank] + 1, len(self.terms))
        return self._begins(year + later, term)

    def label(self, indices: Ints) -> list[str]:
        """The year it starts in and the term's name."""
        year, rank = np.divmod(indices, len(self._kept))
        names = [self.terms[number][0] for number in self._kept]
        return [f"{y:04} {names[r]}" for y, r in zip(year.tolist(), rank.tolist(), strict=True)]

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""
        starts = {label: f"{month:02}-{day:02}" for label, month, day in self.terms}
        return {"kind": self.kind, "starts": starts, "gaps": list(self.gaps)}

    def _term(self, instants: Ints) -> tuple[Ints, Ints]:
        """The year each instant's term starts in, and which term it is."""
        days = civil.floor_days(instants)
        month = civil.month_of_days(days)
        month_and_day = (month % 12 + 1) * 100 + days - civil.days_of_month(month)
        cuts = civil.as_ints([m * 100 + d - 1 for _, m, d in self.terms])
        term = np.searchsorted(cuts, month_and_day, side="right") - 1
        return month // 12 - (term < 0), np.mod(term, len(self.terms))

    def _begins(self, year: Ints, term: Ints) -> Ints:
        month = civil.as_ints([month - 1 for _, month, _ in self.terms])[term]
        day = civil.as_ints([day - 1 for _, _, day in self.terms])[term]
        return (civil.days_of_month(year * 12 + month) + day) * DAY


def _day_of_year(year: int, month: int, day: int) -> int:
    months = civil.as_ints([year * 12, year * 12 + month - 1])
    first, of_month = civil.days_of_month(months).tolist()
    return int(of_month - first + day - 1)
