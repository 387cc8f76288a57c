"""What follows from everybody having one symbol at every instant, before any group is computed.

If a set X is counted, and X with each symbol of an instant but one, then X with that one is what is left:
its count is that of X less the others. What follows can be used again, until nothing more does. A count that
follows is as good as published, and can be any number from 0 on; it may be a small group by itself.

The family stays downward closed. Say that X with s follows, because X and X with every other symbol of the
instant are there. A part of X with s is either a part of X, which is there; or a part of X together with s,
and this part is there, and with every other symbol, too, so that with s it is there or follows, too.
Hence the cell theorem holds for the larger family as for the published one.

Cost: a look at every set and each of its items, once and again for every round that its length takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.errors import ParameterError
from timeveil.patterns.family import Family
from timeveil.patterns.settings import CAP
from timeveil.patterns.transactions import Ints


@dataclass(frozen=True, slots=True)
class Completed:
    """A family with all that follows: the node that each was before, and the round in which it followed.

    What was there before has round 0. Of the others `origin` is -1; they follow from what has an earlier
    round, among sets of their length.
    """

    family: Family
    origin: Ints
    since: Ints

    @staticmethod
    def only(family: Family) -> Completed:
        """A family of which nothing is known to follow."""
        nodes = len(family.item)
        return Completed(family, np.arange(nodes), np.zeros(nodes, np.int64))

    def source(self, node: int) -> int:
        """The node itself as it was before or, if it follows, the rarest that it would not follow without.

        >>> ints = lambda *numbers: np.array(numbers, np.int64)
        >>> one = Family(ints(-1, 0, 1), ints(10, 5, 4), ints(1, 3, 3), ints(2, 0, 0), 3, 1)
        >>> whole = completed(one)
        >>> whole.family.support.tolist(), whole.source(3)
        ([10, 5, 4, 1], 2)
        """
        while self.origin[node] < 0:
            node = min(self._others(node), key=lambda other: int(self.family.support[other]))
        return int(self.origin[node])

    def _others(self, node: int) -> list[int]:
        """The nodes with another symbol of one instant, all of which were there before it followed."""
        bounds, members = self.family.sets
        items, kinds = members[bounds[node] : bounds[node + 1]].tolist(), self.family.kinds
        for place, item in enumerate(items):
            first = item - item % kinds
            nodes = [
                self.family.node([*items[:place], other, *items[place + 1 :]])
                for other in range(first, first + kinds)
                if other != item
            ]
            if all(other >= 0 and self.since[other] < self.since[node] for other in nodes):
                return nodes
        raise AssertionError("what follows, follows from something")


def completed(family: Family, most: int = CAP) -> Completed:
    """The family with all sets whose counts follow from everybody having one symbol at every instant.

    A set follows from sets of its own length and one that is shorter: lengths are done one after the other.
    More than `most` sets are refused.
    """
    from timeveil.kernels.completion import as_tree, beside, follow, short  # noqa: PLC0415
    from timeveil.kernels.itemset_lookup import kid_table  # noqa: PLC0415

    kinds, instants = family.kinds, family.instants
    if kinds == 1:
        return Completed.only(family)
    table = kid_table(family.item, family.first, family.kids, kinds, -(-instants // (64 // kinds)))
    more, parent, depth = beside(family.item, family.first, family.kids, table, kinds)
    if (
        kinds == 2 and 3 ** int(depth.max()) > most
    ):  # of two symbols all follow, over any of the same instants
        raise _too_many(most)
    queue = short(more, kinds, instants)
    queue = queue[np.argsort(depth[queue // instants], kind="stable")]
    item, support, parent, since = follow(
        family.item, family.support, table, more, parent, depth, queue, kinds, instants, most
    )
    if len(item) > most:
        raise _too_many(most)
    nodes = len(family.item)
    new = nodes + np.lexsort([item[nodes:], parent[nodes:]])
    which, first, kids = as_tree(item, parent, family.first, family.kids, new)
    origin = np.where(which < nodes, which, -1)
    return Completed(Family(item[which], support[which], first, kids, kinds, instants), origin, since[which])


def _too_many(most: int) -> ParameterError:
    return ParameterError(
        f"everybody has one symbol at every instant, and the counts of more than {most:,} patterns follow",
        hint="raise min_support, take fewer instants, or set max_len",
        code="too-many-patterns",
        facts={"cap": most},
    )
