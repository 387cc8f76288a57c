"""A granularity: a named way to cut time into granules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from timeveil.calendar.civil import GAP, Ints, as_ints, bad_calendar
from timeveil.calendar.rule import Clock, Rule
from timeveil.calendar.rules import rule_from

__all__ = ["GAP", "Granularity"]


@dataclass(frozen=True, slots=True)
class Granularity:
    """A name, the convention in words, and the rule that maps instants to granules and back.

    Instants are civil seconds, or seconds or months since a start, whichever `clock` says. A granule is
    half open: start <= t < end. On a table, a `Timeline` looks after zones.

    >>> from timeveil.calendar.catalogue import granularity
    >>> week = granularity("week")
    >>> week.title
    'ISO week, Monday to Sunday'
    >>> week.label(week.index([1_136_073_600]))  # 2006-01-01
    ['2005-W52']
    """

    name: str
    title: str
    rule: Rule

    @property
    def has_gaps(self) -> bool:
        """Whether some instants lie in no granule."""
        return self.rule.has_gaps

    @property
    def clock(self) -> Clock:
        """The number line it reads: `civil`, `seconds`, `months` or `any`."""
        return self.rule.clock

    def index(self, instants: npt.ArrayLike) -> Ints:
        """The granule of each instant, `GAP` where there is none."""
        return self.rule.index(as_ints(instants))

    def start(self, index: npt.ArrayLike) -> Ints:
        """First instant of each granule."""
        return self.rule.start(as_ints(index))

    def end(self, index: npt.ArrayLike) -> Ints:
        """First instant after each granule."""
        return self.rule.end(as_ints(index))

    def label(self, index: npt.ArrayLike) -> list[str]:
        """A label for each granule, unique within the granularity."""
        return self.rule.label(as_ints(index).reshape(-1))

    def as_dict(self) -> dict[str, Any]:
        """The whole definition as plain values, as a manifest carries it."""
        return {"name": self.name, "title": self.title, **self.rule.as_dict()}

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Granularity:
        """The granularity that `as_dict` described.

        >>> from timeveil.calendar.catalogue import granularity
        >>> Granularity.from_dict(granularity("month").as_dict()) == granularity("month")
        True
        """
        if not isinstance(described, Mapping):
            raise bad_calendar("a granularity is not described by a table", "use what `as_dict` gave")
        values = dict(described)
        name, title = values.pop("name", None), values.pop("title", None)
        if not isinstance(name, str) or not name or not isinstance(title, str):
            raise bad_calendar("a granularity has no name or no title", "use what `as_dict` gave")
        return cls(name, title, rule_from(values))

    def __repr__(self) -> str:
        return f"<Granularity {self.name}: {self.title}>"
