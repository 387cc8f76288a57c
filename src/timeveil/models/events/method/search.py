"""Least generalisation (Mascetti et al. 2006, §4.2).

Find, among calendar granularities and levels of value hierarchies, the least general ones under which
every (quasi-identifiers, time) value is shared by k people. Granularities are only partially ordered
(weeks do not nest in months), so the search walks a graph, not a ladder.

Where we depart from the print (each with a test; see docs/explanation/errata.md)
    Procedure 1, line 3: `minimum = null`, not `≠ null`.
    Procedure 1: one shared best, a fixed graph, and nodes in finest-first order, so that a tie keeps
    the finer granularity.
    The base granularity is always a node.
Cost: one scan per node tried (Theorem 6); nodes above a success are not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.order import is_finer_than
from timeveil.calendar.timeline import Timeline
from timeveil.engines import Events, Levels, Tally
from timeveil.models.events.method.plan import Plan
from timeveil.recoding import Hierarchy


@dataclass(frozen=True, slots=True)
class Node:
    """One way to generalise: a level per hierarchy, and a granularity by name."""

    levels: tuple[int, ...]
    granularity: str


@dataclass(frozen=True, slots=True)
class Walk:
    """What Algorithm 1 found and which nodes it had to try."""

    best: Node | None
    tried: tuple[Node, ...]


def generality(tally: Tally) -> tuple[int, int]:
    """gen_c (Definition 7), as a key that sorts by ≤_c: smallest group up, group total down."""
    return (tally.smallest_group, -tally.group_total)


def least_generalization(order: Order, tally: Callable[[Node], Tally], k: int) -> Walk:
    """Algorithm 1: the least general node whose groups all hold k people, finest nodes first."""
    best: tuple[tuple[int, int], Node] | None = None
    covered: set[Node] = set()
    tried: list[Node] = []
    for node in order.nodes:
        if node in covered:
            continue
        tried.append(node)
        counted = tally(node)
        if counted.smallest_group < k:  # only a failure sends us coarser (Property 1)
            continue
        covered.update(order.coarser_than(node))
        if best is None or generality(counted) < best[0]:
            best = (generality(counted), node)
    return Walk(best[1] if best else None, tuple(tried))


class Order:
    """Level combinations times granularities, ordered by what refines what on the data at hand.

    Granularities that partition the observed granules alike are one node, named by the finest;
    `aliases` lists the others. A granularity that leaves rows out in its gaps is comparable only with
    those that leave out the same rows. `levels` lists per hierarchy the levels that may be used.
    """

    def __init__(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Sequence[Sequence[int]] = ()
    ) -> None:
        shapes = {g.name: Partition.of(timeline.firsts(g)) for g in granularities}
        ranked = sorted(granularities, key=lambda g: (-shapes[g.name].granules, *_rank(g, granularities)))
        self.aliases: dict[str, list[str]] = {}
        self.granularities: list[Granularity] = []
        for granularity in ranked:
            shape = shapes[granularity.name]
            # Equal cuts of the data are one node; as finer ones come first, it has the finest name.
            twin = next((g for g in self.granularities if shapes[g.name] == shape), None)
            if twin is None:
                self.granularities.append(granularity)
                self.aliases[granularity.name] = []
            else:
                self.aliases[twin.name].append(granularity.name)
        names = [g.name for g in self.granularities]
        self._finer = {(g, h): shapes[g].refines(shapes[h]) for g in names for h in names}
        self.levels = sorted(product(*levels), key=lambda combination: (sum(combination), combination))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node, each after all that are finer."""
        return tuple(Node(levels, g.name) for levels in self.levels for g in self.granularities)

    def representative(self, name: str) -> str:
        """The node's granularity for one that partitions the data alike."""
        return next(node for node, aliases in self.aliases.items() if name == node or name in aliases)

    def is_finer(self, a: Node, b: Node) -> bool:
        """Whether `a` refines `b`; a node refines itself."""
        below = all(x <= y for x, y in zip(a.levels, b.levels, strict=True))
        return below and self._finer[a.granularity, b.granularity]

    def coarser_than(self, node: Node) -> set[Node]:
        """All nodes strictly above one."""
        return {other for other in self.nodes if other != node and self.is_finer(node, other)}

    def minimal(self, nodes: Sequence[Node]) -> list[Node]:
        """Those of some nodes that no other of them is finer than: the frontier."""
        return [n for n in nodes if not any(m != n and self.is_finer(m, n) for m in nodes)]


def _rank(granularity: Granularity, among: Sequence[Granularity]) -> tuple[int, int]:
    """Finer ones first, where the data at hand do not decide: how many are finer, then the length."""
    finer = sum(is_finer_than(other, granularity) for other in among if other is not granularity)
    return finer, granularity.rule.shortest


@dataclass(frozen=True, slots=True)
class Partition:
    """How a granularity cuts the observed positions: where a new granule begins, and which are in gaps."""

    cuts: bytes
    gaps: bytes
    granules: int

    @classmethod
    def of(cls, firsts: npt.NDArray[np.int32]) -> Partition:
        """From the first position of each position's granule, -1 in a gap."""
        inside = firsts[firsts >= 0]
        cuts = inside[1:] != inside[:-1]
        return cls(np.packbits(cuts).tobytes(), np.packbits(firsts < 0).tobytes(), int(cuts.sum()))

    def refines(self, other: Partition) -> bool:
        """Whether the other cuts only where this one does, and leaves out the same rows."""
        if self.gaps != other.gaps:
            return False
        cuts, other_cuts = (np.frombuffer(p.cuts, np.uint8) for p in (self, other))
        # One bit per pair of neighbours: refining is being a superset of cuts.
        return not bool((other_cuts & ~cuts).any())


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
        """The number and the name of each of these levels."""
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
