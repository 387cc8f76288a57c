"""The naive method: groups first, then patterns inside each (Shou, Shang, Chen, Chen, Zhang 2013, §5.2).

Near series make groups of k; a splitting tree in each finds patterns that p series share; leaves below p join
the leaf whose pattern is most like theirs and take its pattern, which then need not be their own.

A node of the tree holds series with one pattern at its level. It is split by their patterns one level up,
until a split would leave someone alone. All nodes of a level are split at once: the node and the symbols of a
series are packed into one number.

Where we depart from the print
    Groups come from a balanced k-d cut in place of the top-down search of Xu et al.
    Algorithm 1 makes a node below p at the last level a good leaf; the prose says "otherwise".
    Levels do not nest: "maximise" takes the highest level at which all agree, even where a lower one fails.
    A split into one child raises the level and goes on.
    Small children merged at the old level are a leaf at once; split again they would come back for ever.
    Similar patterns are those with little pattern loss (eq. 3) between their reconstructions.
Cost: a few sorts, per level, of the series still in the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.domain.wording import Progress, silent
from timeveil.models.series.method.partition import (
    Flags,
    Labels,
    Matrix,
    Partition,
    Symbols,
    equal_before,
    numbered_as_met,
    presplit,
    run_ranges,
    runs_of,
    scaled,
)
from timeveil.symbols import Center, pattern_distance, positions, reconstructed, symbols_at, z_normalised

EQUALLY_FAR = 1e-12
ROOM = 2**62


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaf of each series, -1 where it is in none; leaves are numbered by their first series.

    All series of a leaf have one pattern at its `level`. `undersized` leaves have fewer than p.
    """

    of: Labels
    level: Symbols
    undersized: Flags


def naive(
    matrix: Matrix,
    k: int,
    p: int,
    *,
    max_level: int = 20,
    center: Center = "mean",
    progress: Progress = silent,
) -> Partition:
    """Groups of k with subgroups of p, groups first; nobody is suppressed."""
    progress("cutting by value", 0.0)
    group = presplit(scaled(matrix), np.zeros(len(matrix), np.int64), k)
    progress("finding patterns", 0.4)
    partition = patterns_in(group, matrix, p, max_level=max_level, center=center)
    progress("done", 1.0)
    return partition


def patterns_in(
    group: Labels, matrix: Matrix, p: int, *, max_level: int = 20, center: Center = "mean"
) -> Partition:
    """Patterns and subgroups in the groups of series."""
    u = positions(z_normalised(matrix, center))
    leaves = splitting_tree(u, group, p, max_level)
    rows, bounds = runs_of(leaves.of)
    first = rows[bounds[:-1]]
    symbols = symbols_at(u[first], leaves.level[:, None])
    shapes = reconstructed(symbols, leaves.level[:, None])
    joins = _most_similar(shapes, np.diff(bounds), leaves, group[first])
    used, subgroup = np.unique(joins[leaves.of], return_inverse=True)
    levels = np.repeat(leaves.level[used][:, None], matrix.shape[1], axis=1)
    joined = int(np.count_nonzero(leaves.undersized[leaves.of]))
    own = bool((symbols_at(u, levels[subgroup]) == symbols[used][subgroup]).all())
    return Partition(group, subgroup, symbols[used], levels, own, {"joined": joined, "suppressed": 0})


def _most_similar(shapes: Matrix, size: Labels, leaves: Leaves, group: Labels) -> Labels:
    """The leaf that each leaf ends in: itself, or the most similar good leaf of its group if undersized.

    In a group the smallest leaf goes first; of equally similar leaves the smaller one takes it. The first
    leaves of all groups go at once, then the second ones, and so on.
    """
    joins, size = np.arange(len(size)), size.copy()
    bad, good = np.flatnonzero(leaves.undersized), np.flatnonzero(~leaves.undersized)
    bad = bad[np.lexsort((size[bad], group[bad]))]
    good = good[np.argsort(group[good], kind="stable")]
    begin, end = (np.searchsorted(group[good], group[bad], side=side) for side in ("left", "right"))
    # The rank of each undersized leaf in its group: leaves of equal rank are of different groups.
    turn = equal_before(group[bad])
    for number in range(int(turn.max(initial=-1)) + 1):
        current = np.flatnonzero(turn == number)
        lengths = end[current] - begin[current]
        starts = np.cumsum(lengths) - lengths
        pair = np.repeat(np.arange(len(current)), lengths)
        # All pairs of an undersized leaf and a good one of its group, flattened.
        candidate = good[np.arange(lengths.sum()) - np.repeat(starts - begin[current], lengths)]
        far = pattern_distance(shapes[bad[current]][pair], shapes[candidate])
        nearest = far <= np.minimum.reduceat(far, starts)[pair] + EQUALLY_FAR
        # By pair, nearest first, then smallest: the winner of each pair is at its start.
        order = np.lexsort((size[candidate], ~nearest, pair))
        joins[bad[current]] = candidate[order[starts]]
        size[joins[bad[current]]] += size[bad[current]]
    return joins


class Growing:
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
    """The leaves of one tree per root, from the positions and the root of each series (Algorithm 1)."""
    growing = Growing(len(u))
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


def _maximise(u: Matrix, growing: Growing, rows: Labels, max_level: int) -> None:
    """Raise leaves to the highest level at which all of their series agree."""
    if len(rows):
        order, bounds = runs_of(numbered_as_met(growing.leaf[rows])[0])
        rows = rows[order]
        levels = agreeing_levels(*run_ranges(u[rows], bounds), growing.level[rows[bounds[:-1]]], max_level)
        growing.level[rows] = np.repeat(levels, np.diff(bounds))
