"""All frequent itemsets with their supports (F(D, sigma)), and how they are mined.

Eclat: the rows that have an item are bits of words, and the rows that have two items are the conjunction of
their bits. All pairs of siblings are taken at once, as far as they fit into a block. Baskets are mined from
their rarest item on, which keeps the conjunctions short; series by instant.

Cost: one conjunction of bits for every set that is frequent but for its last item.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeveil.domain.arrays import Flags, Ints, Words
from timeveil.errors import ParameterError
from timeveil.models.patterns.method.transactions import Sets, Transactions, packed, ranges

BLOCK_WORDS = 1 << 17  # words of conjunctions that are computed at once: about what a core's cache holds


@dataclass(frozen=True)
class Family:
    """A downward closed family of itemsets as a tree, with the empty set as node 0.

    Nodes are sorted by length, then by `parent`, then by `rank`; the items of a node are those on its path
    from the root, in ascending rank. `item_of` names the item of each rank.
    """

    item_of: Ints
    rank: Ints
    support: Ints
    parent: Ints
    levels: Ints = field(repr=False)
    kinds: int
    instants: int

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def depth(self) -> int:
        return len(self.levels) - 2

    @cached_property
    def children(self) -> tuple[Ints, Ints]:
        """First child and number of children of each node."""
        count = np.bincount(self.parent[1:], minlength=len(self))
        return np.concatenate([[0], np.cumsum(count)[:-1]]) + 1, count

    @cached_property
    def _keys(self) -> Ints:
        return self.parent[1:] * len(self.item_of) + self.rank[1:]

    def child(self, node: Ints | int, rank: Ints | int) -> Ints:
        """The child of each node by its rank, which must exist."""
        return np.searchsorted(self._keys, node * len(self.item_of) + rank) + 1

    def node(self, items: Sequence[int]) -> int:
        """The node of a set of items, -1 if it is not in the family."""
        node = 0
        for rank in np.flatnonzero(np.isin(self.item_of, list(items))).tolist():
            parent, node = node, int(self.child(node, rank))
            if node == len(self) or (self.parent[node], self.rank[node]) != (parent, rank):
                return -1
        return node

    def items(self, node: int) -> list[int]:
        items = []
        while node:
            items.append(int(self.item_of[self.rank[node]]))
            node = int(self.parent[node])
        return items[::-1]

    @cached_property
    def links(self) -> tuple[list[Ints], list[Ints]]:
        """By length: the ranks of every node, and the nodes that it becomes without each."""
        paths, drops = [np.zeros((1, 0), np.int64)], [np.zeros((1, 0), np.int64)]
        for length in range(1, self.depth + 1):
            level = slice(self.levels[length], self.levels[length + 1])
            parent, rank = self.parent[level], self.rank[level]
            above = parent - self.levels[length - 1]
            paths.append(np.column_stack([paths[-1][above], rank]))
            drops.append(np.column_stack([self.child(drops[-1][above], rank[:, None]), parent]))
        return paths, drops

    @property
    def sets(self) -> Sets:
        """The items of every node, ascending."""
        lengths = np.repeat(np.arange(self.depth + 1), np.diff(self.levels))
        items = [np.sort(self.item_of[paths], axis=1).ravel() for paths in self.links[0]]
        return Sets.of_lengths(lengths, np.concatenate(items))

    def table(self, chosen: Flags, names: tuple[str, ...]) -> pa.Table:
        """The chosen sets with their supports, by length and then by items."""
        sets = self.sets.take(np.flatnonzero(chosen))
        order = np.lexsort([*sets.keys(len(names))[::-1], sets.lengths])
        return pa.table({"pattern": sets.take(order).as_lists(names), "support": self.support[chosen][order]})

    @cached_property
    def maximal(self) -> Flags:
        """Nodes without a frequent proper superset."""
        maximal = np.ones(len(self), np.bool_)
        for drops in self.links[1]:
            # Whatever remains when an item is dropped has a superset.
            maximal[drops] = False
        return maximal

    def closed(self) -> Flags:
        """Nodes without a frequent proper superset of the same support."""
        closed = np.ones(len(self), np.bool_)
        for start, drops in zip(self.levels, self.links[1], strict=False):
            same = self.support[drops] == self.support[start : start + len(drops), None]
            closed[drops[same]] = False
        return closed

    def without(self, nodes: Ints) -> Family:
        """The sets that remain when these and all their supersets leave."""
        stays = np.ones(len(self), np.bool_)
        stays[nodes] = False
        for start, drops in zip(self.levels, self.links[1], strict=False):
            # By ascending length, so that what leaves takes all its supersets with it.
            stays[start : start + len(drops)] &= stays[drops].all(axis=1)
        number = np.concatenate([[0], np.cumsum(stays)])
        levels = number[self.levels]
        return replace(
            self,
            rank=self.rank[stays],
            support=self.support[stays],
            parent=number[self.parent[stays]],
            levels=levels[: np.searchsorted(levels, levels[-1]) + 1],
        )


class Nodes:
    """Nodes of a tree as they are discovered, in any order in which parents come first."""

    def __init__(self, support: int, least: int = 1, most: int = 1 << 62) -> None:
        self.parts: list[tuple[Ints, ...]] = []
        self.total, self.least, self.most = 0, least, most
        self.add(np.array([-1]), np.array([support]), np.array([0]), 0)

    def add(self, rank: Ints, support: Ints, parent: Ints, length: int) -> Ints:
        """Add sets of one length; the numbers that they get. More sets than `most` are refused."""
        self.parts.append((rank, support, parent, np.full(len(rank), length)))
        self.total += len(rank)
        if self.total > self.most:
            raise too_many(self.least, self.most)
        return np.arange(self.total - len(rank), self.total)

    def family(self, item_of: Ints, kinds: int, instants: int) -> tuple[Family, Ints]:
        """The family that they are, and the number here of each of its nodes."""
        rank, support, parent, length = map(np.concatenate, zip(*self.parts, strict=True))
        # number level by level: a child's place depends on its parent's number
        order = np.argsort(length, kind="stable")
        levels = np.searchsorted(length[order], np.arange(int(length.max()) + 2))
        number = np.zeros(len(rank), np.int64)
        for start, stop in pairwise(levels[1:]):
            level = order[start:stop]
            level = level[np.argsort(number[parent[level]] * len(item_of) + rank[level])]
            order[start:stop] = level
            number[level] = np.arange(start, stop)
        family = Family(item_of, rank[order], support[order], number[parent[order]], levels, kinds, instants)
        return family, order


def mine_family(rows: Transactions, least: int, longest: int, most: int) -> Family:
    """Mine every set of at least `least` rows and at most `longest` items; more than `most` are refused."""
    counts = np.bincount(rows.sets.items, minlength=len(rows.names))
    # Rarest items first keeps the bit lines short; boxes of series need items in the order of instants.
    item_of = np.arange(len(counts)) if rows.kinds > 1 else np.argsort(counts, kind="stable")
    nodes = Nodes(rows.rows, least, most)
    frequent = np.flatnonzero(counts[item_of] >= least)
    numbers = nodes.add(frequent, counts[item_of][frequent], np.zeros(len(frequent), np.int64), 1)
    if longest > 1:
        projections = _projections(rows.sets, item_of, frequent)
        for number, projection in zip(numbers.tolist(), projections, strict=True):
            _mine_below(nodes, number, projection, len(item_of), longest)
    return nodes.family(item_of, rows.kinds, rows.instants)[0]


def too_many(least: int, most: int) -> ParameterError:
    """The error for more patterns than `most`."""
    message = f"more than {most - 1:,} patterns have {least:,} rows or more"
    hint = "raise {min_support}, or set {max_len}"
    facts = {"patterns": most - 1, "min_support": least}
    return ParameterError(message, hint=hint, code="too-many-patterns", facts=facts)


Projection = tuple[Ints, Ints, int]
"""The ranks that follow one in its rows, the column of the row of each, and the number of rows."""


def _projections(sets: Sets, item_of: Ints, ranks: Ints) -> Iterator[Projection]:
    """The rows of each of these ranks, with what follows it there."""
    kinds, row = len(item_of), sets.owners
    # entries are (row, rank), sorted; `order` has those of one rank after the other
    rank = np.sort(row * kinds + np.argsort(item_of)[sets.items]) - row * kinds
    narrow: NDArray[np.integer] = rank.astype(np.uint16) if kinds < 1 << 16 else rank
    order = np.argsort(narrow, kind="stable")  # of short integers one pass per byte
    bounds = np.concatenate([[0], np.cumsum(np.bincount(rank, minlength=kinds))])
    row_end = sets.bounds[1:][row]
    for start, stop in zip(bounds[ranks].tolist(), bounds[ranks + 1].tolist(), strict=True):
        entries = order[start:stop]
        lengths = row_end[entries] - entries - 1
        columns = np.repeat(np.arange(len(entries)), lengths)
        yield rank[ranges(entries + 1, lengths)], columns, len(entries)


def _mine_below(nodes: Nodes, number: int, projection: Projection, kinds: int, longest: int) -> None:
    """All sets with the same first item, from the rows that have it."""
    later, column, rows = projection
    counts = np.bincount(later, minlength=kinds)
    frequent = np.flatnonzero(counts >= nodes.least)
    numbers = nodes.add(frequent, counts[frequent], np.full(len(frequent), number), 2)
    if len(frequent) < 2 or longest < 3:
        return
    # bit columns of the rows with this rank: a line per frequent later rank
    line = np.full(len(counts), -1)
    line[frequent] = np.arange(len(frequent))
    inside = line[later] >= 0
    flags = np.zeros((len(frequent), rows), np.bool_)
    flags[line[later[inside]], column[inside]] = True
    # Depth first: what waits is bounded by the depth, where breadth would hold a whole level of bits.
    pending = [_Siblings(2, numbers, frequent, np.full(len(frequent), len(frequent)), packed(flags))]
    while pending:
        pending += [sets for sets in pending.pop().joined(nodes) if sets.length < longest]


@dataclass(frozen=True, slots=True)
class _Siblings:
    """Sets of one length: their numbers, last ranks and rows as bits.

    The sets that share all items but the last are neighbours; `end` is the end of each one's neighbourhood.
    """

    length: int
    number: Ints
    rank: Ints
    end: Ints
    bits: Words

    def joined(self, nodes: Nodes) -> Iterator[_Siblings]:
        """Add all frequent unions of two neighbours to the nodes; what is to be joined after them.

        As many are joined at once as fit into one block; the others wait.
        """
        partners = self.end - np.arange(len(self.end)) - 1
        # At least the partners of the first set, however long lines are: every call makes progress.
        room = max(BLOCK_WORDS // self.bits.shape[1], int(partners[0]))
        upto = int(np.searchsorted(np.cumsum(partners), room, "right"))
        if upto < len(self.end):
            waiting = (self.number[upto:], self.rank[upto:], self.end[upto:] - upto, self.bits[upto:])
            yield _Siblings(self.length, *waiting)
        # all pairs of neighbours at once: conjunction, then support
        left = np.repeat(np.arange(upto), partners[:upto])
        right = ranges(np.arange(upto) + 1, partners[:upto])
        bits = self.bits[left]
        bits &= self.bits[right]
        counts = np.einsum("ij->i", np.bitwise_count(bits), dtype=np.int64)
        frequent = np.flatnonzero(counts >= nodes.least)
        left, rank = left[frequent], self.rank[right[frequent]]
        numbers = nodes.add(rank, counts[frequent], self.number[left], self.length + 1)
        end = np.searchsorted(left, left, "right")
        # Sets without a sibling have no further union.
        if (end - np.searchsorted(left, left) > 1).any():
            yield _Siblings(self.length + 1, numbers, rank, end, bits[frequent])
