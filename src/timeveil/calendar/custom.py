"""Granules between listed boundaries, and several granules of another rule at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import gcd
from typing import Any, ClassVar

import numpy as np

from timeveil.calendar import civil
from timeveil.calendar.civil import DAY, GAP, Ints
from timeveil.calendar.rule import Clock, Rule
from timeveil.calendar.steps import largest_unit


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Granule z lies between edge z and edge z + 1; before the first and after the last edge is a gap."""

    kind: ClassVar[str] = "boundaries"
    has_gaps: ClassVar[bool] = True

    edges: tuple[int, ...]
    labels: tuple[str, ...] = ()
    clock: Clock = "civil"

    @property
    def grain(self) -> int:
        """Divides every boundary."""
        return reduce(gcd, self.edges, DAY if self.clock == "civil" else 0)

    @property
    def shortest(self) -> int:
        """The shortest granule."""
        return min(b - a for a, b in pairwise(self.edges))

    @property
    def extent(self) -> tuple[int, int]:
        """From the first edge to the last."""
        return self.edges[0], self.edges[-1]

    def index(self, instants: Ints) -> Ints:
        """The granule of each instant."""
        index = np.searchsorted(civil.as_ints(self.edges), instants, side="right") - 1
        outside = (index < 0) | (index >= len(self.edges) - 1)
        return np.where(outside, GAP, index)

    def following(self, instants: Ints) -> Ints:
        """The granule of each instant, the first one for those before it."""
        index = np.searchsorted(civil.as_ints(self.edges), instants, side="right") - 1
        return np.where(index >= len(self.edges) - 1, GAP, np.maximum(index, 0))

    def start(self, indices: Ints) -> Ints:
        """First instant of each granule."""
        return civil.as_ints(self.edges)[np.clip(indices, 0, len(self.edges) - 2)]

    def end(self, indices: Ints) -> Ints:
        """First instant after each granule."""
        return civil.as_ints(self.edges)[np.clip(indices, 0, len(self.edges) - 2) + 1]

    def label(self, indices: Ints) -> list[str]:
        """The label given, or both edges."""
        labels = self.labels or self._bounds()
        return [labels[index] for index in np.clip(indices, 0, len(self.edges) - 2).tolist()]

    def marks(self, low: int, high: int) -> Ints:
        """The edges of [low, high)."""
        return civil.as_ints([edge for edge in self.edges if low <= edge < high])

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""
        at = self._dates() if self.clock == "civil" else list(self.edges)
        return {"kind": self.kind, "at": at, "labels": list(self.labels), "clock": self.clock}

    def _bounds(self) -> list[str]:
        if self.clock == "civil":
            return [f"{a} until {b}" for a, b in pairwise(self._dates())]
        unit, size = largest_unit(self.clock, self.grain)
        return [f"{unit}s {a // size} to {b // size}" for a, b in pairwise(self.edges)]

    def _dates(self) -> list[str]:
        edges = civil.as_ints(self.edges)
        if not np.any(edges % DAY):
            return civil.dates(edges // DAY)
        return civil.moments(edges, "s" if np.any(edges % 60) else "m")


@dataclass(frozen=True, slots=True)
class Groups:
    """Granule z is `count` granules of another rule from anchor + z * count on."""

    kind: ClassVar[str] = "groups"

    of: Rule
    count: int
    anchor: int = 0

    @property
    def clock(self) -> Clock:
        """That of the rule it groups."""
        return self.of.clock

    @property
    def has_gaps(self) -> bool:
        """As the rule it groups."""
        return self.of.has_gaps

    @property
    def grain(self) -> int:
        """As the rule it groups."""
        return self.of.grain

    @property
    def shortest(self) -> int:
        """A lower bound; the last group of a list of boundaries may hold a single granule."""
        return self.of.shortest * (1 if self.of.extent else self.count)

    @property
    def extent(self) -> tuple[int, int] | None:
        """As the rule it groups."""
        return self.of.extent

    def index(self, instants: Ints) -> Ints:
        """The group of each instant."""
        return self._grouped(self.of.index(instants))

    def following(self, instants: Ints) -> Ints:
        """The group of each instant, or that of the next granule."""
        return self._grouped(self.of.following(instants))

    def start(self, indices: Ints) -> Ints:
        """First instant of the first granule."""
        return self.of.start(indices * self.count + self.anchor)

    def end(self, indices: Ints) -> Ints:
        """First instant after the last granule."""
        return self.of.end((indices + 1) * self.count + self.anchor - 1)

    def label(self, indices: Ints) -> list[str]:
        """The labels of its first and last granule."""
        first = self.of.label(indices * self.count + self.anchor)
        last = self.of.label((indices + 1) * self.count + self.anchor - 1)
        return [a if a == b else f"{a} to {b}" for a, b in zip(first, last, strict=True)]

    def marks(self, low: int, high: int) -> Ints:
        """As the rule it groups: a superset."""
        return self.of.marks(low, high)

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""
        return {"kind": self.kind, "of": self.of.as_dict(), "n": self.count, "anchor": self.anchor}

    def _grouped(self, index: Ints) -> Ints:
        in_gap = index == GAP
        group = np.floor_divide(np.where(in_gap, 0, index) - self.anchor, self.count)
        return np.where(in_gap, GAP, group)
