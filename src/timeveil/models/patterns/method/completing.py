"""What follows from everybody having one symbol at every instant, before any group is computed.

If a set X is counted, and X with each symbol of an instant but one, then X with that one is what is left:
its count is that of X less the others. What follows can be used again, until nothing more does. A count that
follows is as good as published, and can be any number from 0 on; it may be a small group by itself.

The family stays downward closed. Say that X with s follows, because X and X with every other symbol of the
instant are there. A part of X with s is either a part of X, which is there; or a part of X together with s,
and this part is there, and with every other symbol, too, so that with s it is there or follows, too.
Hence the cell theorem holds for the larger family as for the published one.

Cost: a look at every set, and at each of its items at whose instant the set without it may be full; and a few
looks for each that follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from timeveil.errors import ParameterError
from timeveil.models.patterns.method.family import Family
from timeveil.models.patterns.method.settings import CAP
from timeveil.models.patterns.method.transactions import Ints


@dataclass(frozen=True)
class Completed:
    """A family with all that follows: the node that each was before, and the rounds in which others followed.

    Those that followed have numbers after all that were there before, one for each of `rounds`.
    """

    family: Family
    was: NDArray[np.int32]
    rounds: Ints

    @staticmethod
    def only(family: Family) -> Completed:
        """A family of which nothing is known to follow."""
        return Completed(family, np.arange(len(family.item), dtype=np.int32), np.zeros(0, np.int64))

    @cached_property
    def origin(self) -> Ints:
        """The node that each was before, -1 if it follows."""
        before = len(self.was) - len(self.rounds)
        return np.where(self.was < before, self.was, -1).astype(np.int64)

    @cached_property
    def since(self) -> Ints:
        """The round in which each followed from what has an earlier one, among sets of its length; else 0."""
        before = len(self.was) - len(self.rounds)
        return np.concatenate([np.zeros(before, np.int64), self.rounds])[self.was]

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
    from timeveil.models.patterns.kernels.completion import as_tree, deepest, follow  # noqa: PLC0415
    from timeveil.models.patterns.kernels.itemset_lookup import kid_table  # noqa: PLC0415

    kinds, instants = family.kinds, family.instants
    if kinds == 1:
        return Completed.only(family)
    if kinds == 2 and 3 ** int(deepest(family.first, family.kids)) > most:
        raise _too_many(most)  # of two symbols all follow, over any of the same instants
    table = kid_table(family.item, family.first, family.kids, kinds, -(-instants // (64 // kinds)))
    item, support, parent, rounds = follow(*family.tree, table, kinds, instants, most)
    if len(family.item) + len(item) > most:
        raise _too_many(most)
    order = np.argsort(parent * kinds * instants + item)
    items, supports, first, kids, was = as_tree(*family.tree, item, support, parent, order)
    return Completed(Family(items, supports, first, kids, kinds, instants), was, rounds)


def _too_many(most: int) -> ParameterError:
    return ParameterError(
        f"everybody has one symbol at every instant, and the counts of more than {most:,} patterns follow",
        hint="raise min_support, take fewer instants, or set max_len",
        code="too-many-patterns",
        facts={"cap": most},
    )
