"""KAPRA: patterns first, then groups (Shou, Shang, Chen, Chen, Zhang 2013, §5.3).

A splitting tree over all series finds patterns that p of them share; series left alone are recycled at lower
levels; the subgroups, cut to fewer than 2p by value, are united to groups of k with little value loss.

Where we depart from the print
    Large subgroups are cut by a balanced k-d cut, which is faster than the top-down search and loses less.
    `adoption` lets a series move on to any cell whose pattern is its own.
    Where fewer than k series found a pattern, all series are one subgroup.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from timeveil.domain.progress import Progress, silent
from timeveil.models.series.method.adopting import Cells, adopt_series
from timeveil.models.series.method.formation import form_groups, presplit, ranges
from timeveil.models.series.method.partition import Labels, Matrix, Partition, compact
from timeveil.models.series.method.recycling import recycle
from timeveil.models.series.method.splitting import Leaves, Nodes, agreeing, gathered, splitting_tree
from timeveil.symbols.sax import Center, positions, power_of_two, symbols_at, z_normalised


def kapra(
    matrix: Matrix,
    k: int,
    p: int,
    *,
    max_level: int = 20,
    center: Center = "mean",
    exact: bool = False,
    adoption: bool = True,
    progress: Progress = silent,
) -> Partition:
    """Groups of k with subgroups of p, patterns first; every pattern is each member's own.

    `exact` takes the clear path: the tree node by node, and group formation among all subgroups.

    >>> matrix = np.array([[1.0, 2, 3], [2, 3, 4], [9, 8, 7], [8, 7, 6]])
    >>> found = kapra(matrix, 4, 2)
    >>> found.group.tolist(), found.subgroup.tolist()
    ([0, 0, 0, 0], [0, 0, 1, 1])
    """
    progress("finding patterns", 0.0)
    u = positions(z_normalised(matrix, center))
    leaves = _leaves(u, k, p, max_level, exact=exact)
    values = matrix / power_of_two(matrix.min(), matrix.max())  # squares of huge values must not overflow
    progress("cutting by value", 0.3)
    cells = _cells(values, u, leaves, p)
    order = np.arange(len(matrix))
    if adoption:
        progress("adopting", 0.4)
        cells, order, values, u = _lined_up(cells, cells.of, order, values, u)
        alone = np.arange(len(cells.leaf))
        cells, _ = adopt_series(values, u, cells, alone, p, p).renumbered()
    progress("forming groups", 0.6)
    low, high = ranges(values, cells.of)
    group_of = form_groups(low, high, np.bincount(cells.of[cells.of >= 0]), k, exact=exact)
    if adoption:
        progress("adopting", 0.7)
        cells, order, values, u = _lined_up(cells, np.append(group_of, -1)[cells.of], order, values, u)
        cells, used = adopt_series(values, u, cells, group_of, k, p).renumbered()
        group_of = compact(group_of[used])[1]
    progress("done", 1.0)
    levels = np.repeat(cells.level[cells.leaf][:, None], matrix.shape[1], axis=1)
    facts = {"patterns": len(cells.level), "suppressed": int(np.count_nonzero(cells.of < 0))}
    of = np.empty_like(cells.of)
    of[order] = cells.of
    group = np.where(of >= 0, group_of[of], -1)
    return Partition(group, of, cells.symbols[cells.leaf], levels, True, facts)


def _lined_up(
    cells: Cells, labels: Labels, order: Labels, values: Matrix, u: Matrix
) -> tuple[Cells, Labels, Matrix, Matrix]:
    """Everything in the order of the labels: who is near each other is so in memory, too."""
    line = np.concatenate([np.flatnonzero(labels < 0), gathered(labels)[0]])
    return replace(cells, of=cells.of[line]), order[line], values[line], u[line]


def _cells(values: Matrix, u: Matrix, leaves: Leaves, p: int) -> Cells:
    """Leaves cut by value into cells of fewer than 2p."""
    of = presplit(values, leaves.of, p)
    inside = np.flatnonzero(of >= 0)[::-1]
    first = np.empty(len(leaves.level), np.int64)
    first[leaves.of[inside]] = inside
    leaf = np.empty(int(of.max()) + 1, np.int64)
    leaf[of[inside]] = leaves.of[inside]
    return Cells(of, leaf, symbols_at(u[first], leaves.level[:, None]), leaves.level)


def _leaves(u: Matrix, k: int, p: int, max_level: int, *, exact: bool) -> Leaves:
    """Leaves of p or more for at least k series."""
    whole: Labels = np.zeros(len(u), np.int64)
    leaves = recycle(u, splitting_tree(u, whole, p, max_level, exact=exact), p, exact=exact)
    if np.count_nonzero(leaves.of >= 0) >= k:
        return leaves
    one = Nodes(*gathered(whole), np.ones(1, np.uint8))
    return Leaves(whole, agreeing(u, one, max_level).level, np.zeros(1, np.bool_))
