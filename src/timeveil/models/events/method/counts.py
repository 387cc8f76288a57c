"""Counting nodes: one scan per combination of hierarchy levels answers every granularity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from timeveil.engines import Events, Levels, Tally
from timeveil.models.events.method.plan import Plan
from timeveil.models.events.method.search import Node, Order
from timeveil.recoding.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True)
class Ladder:
    """A hierarchy and the levels of it that may be used."""

    hierarchy: Hierarchy
    usable: tuple[int, ...]


class Counts:
    """Tallies of nodes: one scan per combination of levels, made when first asked for."""

    def __init__(self, events: Events, plan: Plan, ladders: Mapping[str, Ladder], k: int) -> None:
        self._events = events
        self.plan = plan
        self._ladders = ladders
        self.k = k
        self._scanned: dict[tuple[int, ...], dict[str, Tally]] = {}
        self._tables: dict[tuple[str, int], pa.Table] = {}
        self.order = Order(plan.timeline, plan.allowed, [ladder.usable for ladder in ladders.values()])

    def __call__(self, node: Node) -> Tally:
        """One node's tally."""
        return self.scan(node.levels)[node.granularity]

    def scan(self, combination: tuple[int, ...]) -> dict[str, Tally]:
        """Every granularity at one combination of levels, the base granularity too."""
        if combination not in self._scanned:
            nodes = list(self.order.granularities)
            if self.plan.base.name not in {g.name for g in self.plan.allowed}:
                nodes.append(self.plan.base)
            tallies = self._events.tally(self.plan.timeline, nodes, self.levels(combination), self.k)
            self._scanned[combination] = {g.name: t for g, t in zip(nodes, tallies, strict=True)}
        return self._scanned[combination]

    @property
    def scanned(self) -> dict[tuple[int, ...], dict[str, Tally]]:
        """What has been counted so far."""
        return self._scanned

    def levels(self, combination: tuple[int, ...]) -> Levels:
        """What each generalised quasi-identifier publishes at these levels."""
        return {
            column: self._level(column, number)
            for column, number in zip(self._ladders, combination, strict=True)
            if number > 0
        }

    def level_names(self, combination: tuple[int, ...]) -> dict[str, dict[str, Any]]:
        """The same in words."""
        return {
            column: {"level": number, "name": self._ladders[column].hierarchy.names[number - 1]}
            for column, number in zip(self._ladders, combination, strict=True)
            if number > 0
        }

    def _level(self, column: str, number: int) -> pa.Table:
        if (column, number) not in self._tables:
            values = self._events.values(column)
            self._tables[column, number] = self._ladders[column].hierarchy.level(number, values)
        return self._tables[column, number]
