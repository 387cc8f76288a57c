"""Frequent itemsets with their supports, as a tree; closed and maximal ones among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from timeveil.errors import InputError, ParameterError
from timeveil.models.patterns.method.transactions import Ints, Sets, Transactions

MOST_ROWS = 2**31 - 1
"""Rows have numbers of 32 bits, and so have the sizes of groups."""


@dataclass(frozen=True)
class Family:
    """All itemsets of at least `least` rows, the empty one included (F(D, sigma)).

    Node 0 is the empty set; the children of a node stand together, in the order of their items; the items
    of a node are those on its way from the root. Every subset of a set in the family is in it.
    """

    item: Ints
    support: Ints
    first: Ints
    kids: Ints
    kinds: int
    instants: int

    @property
    def tree(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The four columns."""
        return self.item, self.support, self.first, self.kids

    @cached_property
    def links(self) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
        """Where each node's items begin, all items, the node without each, and who has a node above it."""
        from timeveil.models.patterns.kernels.boxes import links  # noqa: PLC0415

        return links(self.item, self.first, self.kids)  # type: ignore[no-any-return]

    @property
    def sets(self) -> Sets:
        """The items of every node."""
        begins, paths, _, _ = self.links
        return begins, paths

    @property
    def maximal(self) -> NDArray[np.bool_]:
        """Nodes without a frequent proper superset."""
        return ~self.links[3]

    def closed(self, support: Ints | None = None) -> NDArray[np.bool_]:
        """Nodes without a frequent proper superset of the same support."""
        begins, _, drops, _ = self.links
        supports = self.support if support is None else support
        above = np.repeat(np.arange(len(self.item)), np.diff(begins))
        closed = np.ones(len(self.item), np.bool_)
        closed[drops[supports[drops] == supports[above]]] = False
        return closed

    def with_support(self, support: Ints) -> Family:
        """The same sets with other counts."""
        return replace(self, support=support)

    def child(self, node: int, item: int) -> int:
        """The node with one item more, -1 if it is not in the family."""
        low, high = int(self.first[node]), int(self.first[node] + self.kids[node])
        place = low + int(np.searchsorted(self.item[low:high], item))
        return place if place < high and self.item[place] == item else -1

    def node(self, items: Sequence[int]) -> int:
        """The node of a set of items in ascending order, -1 if it is not in the family."""
        found = 0
        for item in items:
            found = self.child(found, item) if found >= 0 else -1
        return found

    def without(self, nodes: Ints) -> Family:
        """The sets that are left when some go, and with each all that hold it."""
        begins, _, drops, _ = self.links
        gone = np.zeros(len(self.item), np.bool_)
        gone[nodes] = True
        lengths = np.diff(begins)
        for length in range(1, int(lengths.max(initial=0)) + 1):
            level = np.flatnonzero(lengths == length)
            below = drops[begins[level][:, None] + np.arange(length)]
            gone[level] |= gone[below].any(axis=1)
        kept = np.concatenate([[0], np.cumsum(~gone)])
        first, ends = kept[self.first], kept[self.first + self.kids]
        left = ~gone
        return replace(
            self,
            item=self.item[left],
            support=self.support[left],
            first=first[left],
            kids=(ends - first)[left],
        )


def mine_family(rows: Transactions, least: int, longest: int, most: int) -> Family:
    """Mine every set of at least `least` rows and at most `longest` items; more than `most` are refused."""
    from timeveil.models.patterns.kernels.itemsets import mine_baskets, mine_symbols  # noqa: PLC0415

    if rows.rows > MOST_ROWS:
        raise InputError(
            f"there are {rows.rows:,} rows, and {MOST_ROWS:,} is the most that patterns are mined from",
            hint="take a sample of them",
            code="too-large",
            facts={"rows": rows.rows, "most": MOST_ROWS},
        )
    longest = min(longest, rows.instants)
    if rows.columns is None:
        found = mine_baskets(rows.starts, rows.items, len(rows.names), least, longest, most)
    else:
        found = mine_symbols(rows.columns, rows.kinds, least, longest, most)
    item, support, first, kids, whole = found
    if not whole:
        raise ParameterError(
            f"more than {most - 1:,} patterns have {least:,} rows or more",
            hint="raise min_support, or set max_len",
            code="too-many-patterns",
            facts={"patterns": most - 1, "min_support": least},
        )
    return Family(item, support, first, kids, rows.kinds, rows.instants)
