"""The splitting tree: patterns at the highest level that p series share (Shou et al. 2013, §5.2.2).

A node holds series with one pattern at its level. It is split by their patterns one level up, until it is too
small to be split without leaving somebody alone. The tree of all nodes is grown level by level on arrays;
`exact` grows it node by node as the paper tells it, and gives the same leaves.

Where we depart from the print
    Algorithm 1 lets a node below p at the last level become a good leaf; the prose says "otherwise".
    Levels do not nest: "maximise" takes the highest level at which all agree, even where a lower one fails.
    A split into one child raises the level and goes on.
    Small children merged at the old level are a leaf at once; split again they would come back for ever.
Cost: one pass over the series still in the tree per level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from timeveil.models.series.method.partition import Labels, Matrix
from timeveil.symbols.sax import symbols_at

Flags = NDArray[np.bool_]
Levels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaf of each series, -1 where it is in none; leaves are numbered by their first series.

    All series of a leaf have one pattern at its `level`. `undersized` leaves have fewer than p.
    """

    of: Labels
    level: Levels
    undersized: Flags


@dataclass(frozen=True, slots=True)
class Nodes:
    """Runs of rows between bounds, with the level of each run."""

    rows: Labels
    bounds: Labels
    level: Levels

    @property
    def sizes(self) -> Labels:
        """How many rows each has."""
        return np.diff(self.bounds)

    def where(self, chosen: Flags) -> Nodes:
        """Some of the nodes."""
        sizes = self.sizes
        rows = self.rows[np.repeat(chosen, sizes)]
        return nodes_of(rows, sizes[chosen], self.level[chosen])


def nodes_of(rows: Labels, sizes: Labels, level: Levels) -> Nodes:
    """Nodes of so many rows each."""
    return Nodes(rows, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), level)


def splitting_tree(u: Matrix, roots: Labels, p: int, max_level: int, *, exact: bool = False) -> Leaves:
    """The leaves of one tree per root, given the positions of the series and the root of each.

    >>> u = np.array([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1], [0.8, 0.2]])
    >>> splitting_tree(u, np.zeros(4, np.int64), p=2, max_level=3).of.tolist()
    [0, 0, 1, 1]
    """
    grown = (_node_by_node if exact else _level_by_level)(u, roots, p, max_level)
    return leaves_of(len(u), [nodes for nodes, _ in grown], [bad for _, bad in grown])


def leaves_of(series: int, parts: list[Nodes], undersized: list[bool]) -> Leaves:
    """Leaves of all parts, numbered by their first series."""
    rows = np.concatenate([part.rows for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    level = np.concatenate([part.level for part in parts])
    bad = np.repeat(np.array(undersized), [len(part.level) for part in parts])
    begin = np.cumsum(sizes) - sizes
    rank = np.argsort(np.minimum.reduceat(rows, begin)) if len(sizes) else begin
    number = np.empty(len(sizes), np.int64)
    number[rank] = np.arange(len(sizes))
    of = np.full(series, -1, np.int64)
    of[rows] = np.repeat(number, sizes)
    return Leaves(of, level[rank], bad[rank])


def gathered(labels: Labels) -> tuple[Labels, Labels]:
    """Rows label by label, in their order, and the bounds of each label; rows with -1 are left out.

    >>> rows, bounds = gathered(np.array([1, 0, -1, 1]))
    >>> rows.tolist(), bounds.tolist()
    ([1, 0, 3], [0, 1, 3])
    """
    from timeveil.models.series.kernels.sorting import sort_by_label  # noqa: PLC0415

    order, bounds = sort_by_label(labels)
    return order, bounds


def agreeing(u: Matrix, nodes: Nodes, max_level: int) -> Nodes:
    """The same nodes at the highest level at which all their series agree."""
    from timeveil.models.series.kernels.symbol_tree import highest_levels  # noqa: PLC0415

    return Nodes(
        nodes.rows, nodes.bounds, highest_levels(u, nodes.rows, nodes.bounds, nodes.level, max_level)
    )


def _level_by_level(u: Matrix, roots: Labels, p: int, max_level: int) -> list[tuple[Nodes, bool]]:
    from timeveil.models.series.kernels.symbol_tree import group_equal  # noqa: PLC0415

    rows, bounds = gathered(roots)
    nodes = Nodes(rows, bounds, np.ones(len(bounds) - 1, np.uint8))
    done: list[tuple[Nodes, bool]] = []
    for level in range(1, max_level + 1):
        sizes = nodes.sizes
        done.append((nodes.where(sizes < p), True))
        if level == max_level:
            done.append((nodes.where(sizes >= p), False))
            break
        done.append((agreeing(u, nodes.where((sizes >= p) & (sizes < 2 * p)), max_level), False))
        nodes = nodes.where(sizes >= 2 * p)
        order, cuts, parent = group_equal(u, nodes.rows, nodes.bounds, nodes.level.astype(np.int64) + 1)
        children = Nodes(order, cuts, np.full(len(parent), level + 1, np.uint8))
        kept, merged, nodes = _sorted_out(nodes, children, parent, p)
        done += [(kept, False), (agreeing(u, merged, max_level), False)]
    return done


def _sorted_out(nodes: Nodes, children: Nodes, parent: Labels, p: int) -> tuple[Nodes, Nodes, Nodes]:
    """Nodes that stay whole, nodes merged of small children, and the children that go on."""
    sizes = children.sizes
    small = sizes < p
    count = len(nodes.level)
    whole = np.bincount(parent[~small], minlength=count) == 0
    scattered = np.bincount(parent[small], sizes[small], minlength=count).astype(np.int64)
    merges = ~whole & (scattered >= p)
    into = small & merges[parent]
    merged = nodes_of(children.where(into).rows, scattered[merges], nodes.level[merges])
    return nodes.where(whole), merged, children.where(~into & ~whole[parent])


def _node_by_node(u: Matrix, roots: Labels, p: int, max_level: int) -> list[tuple[Nodes, bool]]:
    """Algorithm 1 as corrected."""
    symbols = [symbols_at(u, level) for level in range(1, max_level + 1)]
    rows, bounds = gathered(roots)
    leaves = [
        leaf
        for begin, end in pairwise(bounds.tolist())
        for leaf in _leaves_below(symbols, rows[begin:end], 1, p)
    ]
    return [
        (nodes_of(members, np.array([len(members)]), np.array([level], np.uint8)), bad)
        for members, level, bad in leaves
    ]


def _leaves_below(
    symbols: list[NDArray[np.uint8]], members: Labels, level: int, p: int
) -> Iterator[tuple[Labels, int, bool]]:
    """Members, level, and whether there are too few of them, of every leaf below a node."""
    if len(members) < p:
        yield members, level, True
    elif level == len(symbols):
        yield members, level, False
    elif len(members) < 2 * p:
        yield members, _highest(symbols, members, level), False
    else:
        children: dict[bytes, list[int]] = {}
        for row in members.tolist():
            children.setdefault(symbols[level][row].tobytes(), []).append(row)
        small = [row for child in children.values() if len(child) < p for row in child]
        if all(len(child) < p for child in children.values()):
            yield members, level, False
            return
        if len(small) >= p:
            merged = np.array(small)
            yield merged, _highest(symbols, merged, level), False
        for child in children.values():
            if len(child) >= p or len(small) < p:
                yield from _leaves_below(symbols, np.array(child), level + 1, p)


def _highest(symbols: list[NDArray[np.uint8]], members: Labels, least: int) -> int:
    for level in range(len(symbols), least, -1):
        if (symbols[level - 1][members] == symbols[level - 1][members[0]]).all():
            return level
    return least
