"""Granules by their boundaries: where each begins and ends, and all that follows from it.

A granularity maps integers to disjoint, ordered sets of instants (Mascetti et al. 2006, Definition 9). Every
calendar here is a list of boundaries, which may repeat with a period (`Edges`), or takes several granules of
such a list together. The granule of an instant, the next granule after a gap, start, end and what the order
compares are worked out here, once for every kind of calendar (`Rule`).

Cost: one search among the boundaries per instant, at most 4,800 of them for the whole Gregorian calendar.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from timeveil.calendar.civil import AFTER, BEFORE, GAP, Clock, as_ints, bad_calendar
from timeveil.domain.arrays import Ints
from timeveil.domain.judgement import as_dict as plain_data

__all__ = ["GAP", "Granularity"]


@dataclass(frozen=True, eq=False)
class Edges:
    """Granules that begin at `starts` and end at `ends`, once or again after every `period`.

    Granule 0 is the first one listed. `omitted` are the numbers of granules to leave out, such as holidays;
    the remaining ones are numbered without holes.
    """

    starts: Ints
    ends: Ints
    period: int = 0
    omitted: Ints = field(default_factory=lambda: as_ints([]))

    @cached_property
    def has_gaps(self) -> bool:
        once = self.starts[0] > BEFORE or self.ends[-1] < AFTER
        around = self.ends[-1] != self.starts[0] + self.period if self.period else once
        return bool(around or len(self.omitted) or np.any(self.ends[:-1] != self.starts[1:]))

    @cached_property
    def grain(self) -> int:
        """A number that divides every boundary; 0 if there is none."""
        # Edges at infinity are boundaries of nothing.
        bounded = [edge for edge in (*self.starts.tolist(), *self.ends.tolist()) if BEFORE < edge < AFTER]
        return gcd(self.period, *bounded)

    def following(self, instants: Ints) -> Ints:
        """The granule of each instant, or else the next one after it; `GAP` if none comes."""
        if not self.period:
            position = np.searchsorted(self.ends, instants, side="right")
            return np.where(position == len(self.ends), GAP, position)
        # Which period, and which granule of it ends after the instant.
        origin = int(self.starts[0])
        since = instants - origin if origin else instants
        if len(self.starts) == 1 and not self.has_gaps:
            return np.floor_divide(since, self.period)
        cycle, offset = np.divmod(since, self.period)
        number: Ints = cycle * len(self.ends) + np.searchsorted(self.ends - origin, offset, side="right")
        return number - np.searchsorted(self.omitted, number) if len(self.omitted) else number

    def index(self, instants: Ints) -> Ints:
        # In a gap the following granule has not begun yet.
        number = self.following(instants)
        return np.where(self.start(number) <= instants, number, GAP) if self.has_gaps else number

    def start(self, numbers: Ints) -> Ints:
        return self._listed(self.starts, self._counting_omitted(numbers))

    def end(self, numbers: Ints) -> Ints:
        return self._listed(self.ends, self._counting_omitted(numbers))

    @property
    def exceptions(self) -> Ints:
        """The first instants of the granules left out."""
        return self._listed(self.starts, self.omitted)

    def _counting_omitted(self, numbers: Ints) -> Ints:
        # The n-th omitted granule comes before the remaining granule of number omitted[n] - n.
        passed = self.omitted - np.arange(len(self.omitted))
        return numbers + np.searchsorted(passed, numbers, side="right") if len(passed) else numbers

    def _listed(self, edges: Ints, numbers: Ints) -> Ints:
        if not self.period:
            return edges[np.clip(numbers, 0, len(edges) - 1)]
        # Numbers continue from one period to the next.
        cycle, rank = np.divmod(numbers, len(edges))
        return cycle * self.period + edges[rank]


class Rule(ABC):
    """A kind of calendar: its boundaries and labels, and what follows from them for every kind.

    Kinds are frozen dataclasses: two rules are equal if their definitions are. A rule that takes several
    granules of `edges` together overrides `group`, the number of the group of each, `first`, the number of a
    group's first one, and `least`, the smallest size of a group. Gaps inside a group stay gaps.
    """

    kind: ClassVar[str]
    clock: Clock = "civil"

    def __init_subclass__(cls, *, kind: str) -> None:
        cls.kind = kind

    @property
    @abstractmethod
    def edges(self) -> Edges:
        """The boundaries, before grouping."""

    @abstractmethod
    def label(self, indices: Ints) -> list[str]:
        """A name for each granule, unique within the granularity."""

    def as_dict(self) -> dict[str, Any]:
        """The definition as plain values, beginning with its kind."""
        return {"kind": self.kind, **plain_data(self)}

    @property
    def least(self) -> int:
        return 1

    def group(self, numbers: Ints) -> Ints:
        return numbers

    def first(self, indices: Ints) -> Ints:
        return indices

    @property
    def has_gaps(self) -> bool:
        return self.edges.has_gaps

    @property
    def grain(self) -> int:
        return self.edges.grain

    @property
    def extent(self) -> tuple[int, int] | None:
        """The range of a list of boundaries, outside which there are only gaps."""
        edges = self.edges
        once = not edges.period and edges.has_gaps
        return (int(edges.starts[0]), int(edges.ends[-1])) if once else None

    @property
    def shortest(self) -> int:
        """Length of the shortest granule, or a lower bound; a list may end with a group of one granule."""
        return int(np.min(self.edges.ends - self.edges.starts)) * (1 if self.extent else self.least)

    def index(self, instants: Ints) -> Ints:
        return self._groups(self.edges.index(instants))

    def following(self, instants: Ints) -> Ints:
        return self._groups(self.edges.following(instants))

    def start(self, indices: Ints) -> Ints:
        return self.edges.start(self.first(indices))

    def end(self, indices: Ints) -> Ints:
        # The last granule of a group is the one before the first of the next group.
        return self.edges.end(self.first(indices + 1) - 1)

    def stretches(self, low: int, high: int) -> tuple[Ints, Ints, Ints]:
        """Start, end and granule of each piece of time without a gap or boundary that meets [low, high)."""
        edges = self.edges
        first, last = edges.following(as_ints([low, high - 1])).tolist()
        if last == GAP:
            last = len(edges.starts) - 1
        numbers = as_ints([]) if first == GAP else np.arange(first, last + 1)
        numbers = numbers[edges.start(numbers) < high]
        return edges.start(numbers), edges.end(numbers), self.group(numbers)

    def _groups(self, numbers: Ints) -> Ints:
        if not self.has_gaps:
            return self.group(numbers)
        # GAP is the least int64: group arithmetic on it would overflow, so 0 takes its place.
        in_gap = numbers == GAP
        return np.where(in_gap, GAP, self.group(np.where(in_gap, 0, numbers)))


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
        """Whether some instants are in no granule."""
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
        from timeveil.calendar.definitions import rule_from  # noqa: PLC0415 (definitions build on this class)

        if not isinstance(described, Mapping):
            raise bad_calendar("a granularity is not described by a table", "use what `as_dict` returned")
        values = dict(described)
        name, title = values.pop("name", None), values.pop("title", None)
        if not isinstance(name, str) or not name or not isinstance(title, str):
            raise bad_calendar("a granularity has no name or no title", "use what `as_dict` returned")
        return cls(name, title, rule_from(values))

    def __repr__(self) -> str:
        return f"<Granularity {self.name}: {self.title}>"
