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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.order import is_finer_than
from timeveil.calendar.timeline import Timeline
from timeveil.engines import Tally


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
        self,
        timeline: Timeline,
        granularities: Sequence[Granularity],
        levels: Sequence[Sequence[int]] = (),
    ) -> None:
        shapes = {g.name: Partition.of(timeline.firsts(g)) for g in granularities}
        ranked = sorted(granularities, key=lambda g: (-shapes[g.name].granules, *_rank(g, granularities)))
        self.aliases: dict[str, list[str]] = {}
        self.granularities: list[Granularity] = []
        for granularity in ranked:
            shape = shapes[granularity.name]
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

    def stands_for(self, name: str) -> str:
        """The granularity that represents one of the same partition."""
        return next(kept for kept, others in self.aliases.items() if name == kept or name in others)

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
    """Finer ones first, where the data at hand do not tell: how many are finer, then the length."""
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
        mine, theirs = (np.frombuffer(p.cuts, np.uint8) for p in (self, other))
        return not bool((theirs & ~mine).any())
