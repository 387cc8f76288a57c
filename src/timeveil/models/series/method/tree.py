"""The splitting tree and recycling: patterns that p series share (Shou et al. 2013, §5.2.2 and §5.3.2).

A node holds series with one pattern at its level. It is split by their patterns one level up, until a split
would leave someone alone. Leaves below p are undersized: their series are then regrouped by their own
patterns from the highest such level down to 1, where all agree, so fewer than p are left over.

All nodes of a level are split at once: the node and the symbols of a series are packed into one number.

Where we depart from the print
    Algorithm 1 makes a node below p at the last level a good leaf; the prose says "otherwise".
    Levels do not nest: "maximise" takes the highest level at which all agree, even where a lower one fails.
    A split into one child raises the level and goes on.
    Small children merged at the old level are a leaf at once; split again they would come back for ever.
    A pattern at one level does not follow from that a level above: recycling regroups series, not leaves.
    Leaves with one level and one pattern, from whatever branch, are one leaf.
Cost: a few sorts, per level, of the series still in the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.models.series.method.partition import (
    Flags,
    Labels,
    Matrix,
    Symbols,
    numbered_as_met,
    run_ranges,
    runs_of,
)
from timeveil.symbols import symbols_at

ROOM = 2**62


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaf of each series, -1 where it is in none; leaves are numbered by their first series.

    All series of a leaf have one pattern at its `level`. `undersized` leaves have fewer than p.
    """

    of: Labels
    level: Symbols
    undersized: Flags


class _Growing:
    """Leaves while a tree grows: of each series a number, its leaf's level, and whether it is undersized."""

    def __init__(self, count: int) -> None:
        self.leaf = np.full(count, -1, np.int64)
        self.level = np.ones(count, np.int64)
        self.undersized = np.zeros(count, np.bool_)
        self._made = 0

    def add(self, rows: Labels, label: Labels, level: int | Symbols, *, undersized: bool = False) -> None:
        """Make a leaf of all rows with one label, at one level or at that of each row."""
        if len(rows):
            self.leaf[rows] = label + self._made
            self.level[rows], self.undersized[rows] = level, undersized
            self._made += int(label.max()) + 1

    def leaves(self) -> Leaves:
        """All leaves, numbered by their first series."""
        inside = np.flatnonzero(self.leaf >= 0)
        of = np.full(len(self.leaf), -1, np.int64)
        of[inside], first = numbered_as_met(self.leaf[inside])
        first = inside[first]
        return Leaves(of, self.level[first].astype(np.uint8), self.undersized[first])


def splitting_tree(u: Matrix, roots: Labels, p: int, max_level: int) -> Leaves:
    """The leaves of one tree per root, given the positions of the series and the root of each (Algorithm 1).

    >>> u = np.array([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1], [0.8, 0.2]])
    >>> splitting_tree(u, np.zeros(4, np.int64), p=2, max_level=3).of.tolist()
    [0, 0, 1, 1]
    """
    growing = _Growing(len(u))
    to_maximise = []
    rows, node = np.arange(len(u)), roots
    for level in range(1, max_level + 1):
        size = np.bincount(node)[node]
        growing.add(rows[size < p], node[size < p], level, undersized=True)
        if level == max_level:
            growing.add(rows[size >= p], node[size >= p], level)
            break
        # Too small to split in two of p: a leaf now, at a higher level later if its series agree there.
        medium = (p <= size) & (size < 2 * p)
        growing.add(rows[medium], node[medium], level)
        to_maximise.append(rows[medium])
        rows, node = rows[size >= 2 * p], node[size >= 2 * p]
        if len(rows) == 0:
            break
        child = same_pattern(u[rows], level + 1, node)
        small = np.bincount(child)[child] < p
        # no child of p: the node stays as it is
        stuck = (np.bincount(node[~small], minlength=int(node.max()) + 1) == 0)[node]
        growing.add(rows[stuck], node[stuck], level)
        # p or more in small children: these are one leaf
        merged = small & ~stuck & (np.bincount(node[small], minlength=int(node.max()) + 1) >= p)[node]
        growing.add(rows[merged], node[merged], level)
        to_maximise.append(rows[merged])
        rows, node = rows[~stuck & ~merged], child[~stuck & ~merged]
    _maximise(u, growing, np.concatenate([np.empty(0, np.int64), *to_maximise]), max_level)
    return growing.leaves()


def recycle(u: Matrix, leaves: Leaves, p: int) -> Leaves:
    """The leaves of at least p, equal ones merged; series that find no other are in none (§5.3.2)."""
    growing = _Growing(len(u))
    alone = leaves.undersized[leaves.of]
    good, waiting = np.flatnonzero(~alone), np.flatnonzero(alone)
    growing.add(good, leaves.of[good], leaves.level[leaves.of[good]])
    level = int(leaves.level[leaves.undersized].max(initial=0))
    # At level 1 all patterns agree, so this ends there at the latest.
    while len(waiting) >= p:
        label = same_pattern(u[waiting], level, np.zeros(len(waiting), np.int64))
        large = np.bincount(label)[label] >= p
        growing.add(waiting[large], label[large], level)
        waiting = waiting[~large]
        level -= 1
    inside = growing.leaf >= 0
    levels = growing.level[inside]
    # The level as the node: only leaves of one level and one pattern merge.
    growing.leaf[inside] = same_pattern(u[inside], levels, levels)
    return growing.leaves()


def agreeing_levels(low: Matrix, high: Matrix, least: Labels, max_level: int) -> Labels:
    """The highest level at which the lowest and highest positions of a leaf share all symbols, or `least`."""
    levels, waiting = least.copy(), np.arange(len(low))
    for level in range(max_level, 1, -1):
        waiting = waiting[levels[waiting] < level]
        agree = (symbols_at(low[waiting], level) == symbols_at(high[waiting], level)).all(axis=1)
        levels[waiting[agree]] = level
        waiting = waiting[~agree]
    return levels


def same_pattern(u: Matrix, level: int | Labels, node: Labels) -> Labels:
    """A number for each series; those of one node with one pattern at the level, and no others, share it."""
    base = int(np.max(level, initial=1))
    label = node
    for instant in range(u.shape[1]):
        # Before a packed number could overflow, labels are numbered anew: at most one per series.
        if (int(label.max(initial=0)) + 1) * base > ROOM:
            label = np.unique(label, return_inverse=True)[1]
        label = label * base + symbols_at(u[:, instant], level)
    return np.unique(label, return_inverse=True)[1]


def _maximise(u: Matrix, growing: _Growing, rows: Labels, max_level: int) -> None:
    """Raise leaves to the highest level at which all of their series agree."""
    if len(rows):
        order, bounds = runs_of(numbered_as_met(growing.leaf[rows])[0])
        rows = rows[order]
        levels = agreeing_levels(*run_ranges(u[rows], bounds), growing.level[rows[bounds[:-1]]], max_level)
        growing.level[rows] = np.repeat(levels, np.diff(bounds))
