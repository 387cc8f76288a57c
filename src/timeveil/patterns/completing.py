"""What follows from everybody having one symbol at every instant, before any group is computed.

If a set X is counted, and X with each symbol of an instant but one, then X with that one is what is left:
its count is that of X less the others. What follows can be used again, until nothing more does. A count that
follows is as good as published, and can be any number from 0 on; it may be a small group by itself.

The family stays downward closed. Say that X with s follows, because X and X with every other symbol of the
instant are there. A part of X with s is either a part of X, which is there; or a part of X together with s,
and this part is there, and with every other symbol, too, so that with s it follows in the same round.
Hence the cell theorem holds for the larger family as for the published one.

Cost: a look at every set and each of its items per round, of which there are few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.patterns.family import Family
from timeveil.patterns.transactions import Ints


@dataclass(frozen=True, slots=True)
class Completed:
    """A family with all that follows: the node that each was before, and the round in which it followed.

    What was there before followed in round 0; of the others `origin` is -1.
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


def completed(family: Family) -> Completed:
    """The family with all sets whose counts follow from everybody having one symbol at every instant."""
    whole, turn = Completed.only(family), 0
    origin, since = whole.origin, whole.since
    while family.kinds > 1:
        turn += 1
        lines, supports = _following(family)
        if not lines:
            break
        family, order = _joined(family, lines, supports)
        fresh = order >= len(origin)
        before = np.where(fresh, 0, order)
        origin, since = np.where(fresh, -1, origin[before]), np.where(fresh, turn, since[before])
    return Completed(family, origin, since)


Lines = dict[int, Ints]
"""Sets of items by their length, one in a line."""


def _following(family: Family) -> tuple[Lines, dict[int, Ints]]:
    """All sets that follow from what is there, each once, with their supports."""
    from timeveil.kernels.boxes import additions  # noqa: PLC0415

    kinds, instants = family.kinds, family.instants
    begins, paths, drops, _ = family.links
    counts = additions(paths, drops, len(family.item), kinds, instants).ravel()
    found = np.flatnonzero(counts == kinds - 1)
    if len(found) == 0:
        return {}, {}
    place = drops * instants + paths // kinds
    hit = np.flatnonzero(counts[place] == kinds - 1)
    slot = np.searchsorted(found, place[hit])
    owner = np.searchsorted(begins, hit, side="right") - 1
    others = np.bincount(slot, family.support[owner], len(found)).astype(np.int64)
    symbol = kinds * (kinds - 1) // 2 - np.bincount(slot, paths[hit] % kinds, len(found)).astype(np.int64)
    node, item = found // instants, found % instants * kinds + symbol
    lengths, supports = np.diff(begins)[node], family.support[node] - others
    lines, people = {}, {}
    for length in np.unique(lengths).tolist():
        mine = np.flatnonzero(lengths == length)
        held = paths[begins[node[mine]][:, None] + np.arange(length)]
        every = np.sort(np.concatenate([held, item[mine][:, None]], axis=1), axis=1)
        lines[length + 1], first = np.unique(every, axis=0, return_index=True)
        people[length + 1] = supports[mine][first]
    return lines, people


def _joined(family: Family, lines: Lines, supports: dict[int, Ints]) -> tuple[Family, Ints]:
    """The family with further sets, length by length, and for each node which it was; new ones come last."""
    begins, _, drops, _ = family.links
    nodes, size = len(family.item), family.kinds * family.instants
    depth = np.diff(begins)
    rank = np.zeros(nodes, np.int64)
    order, keys = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    support, fresh = [family.support], nodes
    for length in range(1, max([int(depth.max()), *lines]) + 1):
        here = np.flatnonzero(depth == length)
        more = lines.get(length, np.zeros((0, length), np.int64))
        above = np.zeros(len(more), np.int64)
        for column in range(length - 1):
            above = np.searchsorted(keys[column + 1], above * size + more[:, column])
        key = np.concatenate([rank[drops[begins[here] + length - 1]] * size, above * size])
        key += np.concatenate([family.item[here], more[:, -1]])
        places = np.argsort(key, kind="stable")
        rank[here] = np.argsort(places)[: len(here)]
        order.append(np.concatenate([here, fresh + np.arange(len(more))])[places])
        keys.append(key[places])
        support.append(supports.get(length, np.zeros(0, np.int64)))
        fresh += len(more)
    every = np.concatenate(order)
    offsets = np.cumsum([0, *map(len, keys)])
    item = np.concatenate([key % size for key in keys])
    item[0] = -1
    parents = [offset + key // size for offset, key in zip(offsets, keys[1:], strict=False)]
    kids = np.bincount(np.concatenate(parents), minlength=len(every))
    first = 1 + np.cumsum(kids) - kids
    larger = Family(item, np.concatenate(support)[every], first, kids, family.kinds, family.instants)
    return larger, every
