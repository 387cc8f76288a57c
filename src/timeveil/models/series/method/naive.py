"""The naive method: groups first, then patterns inside each (Shou, Shang, Chen, Chen, Zhang 2013, §5.2).

Near series make groups of k; a splitting tree in each finds patterns; leaves below p join the leaf whose
pattern is most like theirs and take its pattern, which then need not be their own.

Where we depart from the print
    Groups come from a balanced k-d cut in place of the top-down search of Xu et al.
    Similar patterns are those with little pattern loss (eq. 3) between their reconstructions.
"""

from __future__ import annotations

import numpy as np

from timeveil.domain.wording import Progress, silent
from timeveil.models.series.method.partition import Labels, Matrix, Partition, equal_before, presplit, runs_of
from timeveil.models.series.method.tree import Leaves, splitting_tree
from timeveil.symbols import (
    Center,
    pattern_distance,
    positions,
    power_of_two,
    reconstructed,
    symbols_at,
    z_normalised,
)

EQUALLY_FAR = 1e-12


def naive(
    matrix: Matrix,
    k: int,
    p: int,
    *,
    max_level: int = 20,
    center: Center = "mean",
    progress: Progress = silent,
) -> Partition:
    """Groups of k with subgroups of p, groups first; nobody is suppressed.

    >>> matrix = np.array([[1.0, 2, 3], [2, 3, 4], [9, 8, 7], [8, 7, 6]])
    >>> partition = naive(matrix, 2, 2)
    >>> partition.group.tolist(), partition.subgroup.tolist()
    ([0, 0, 1, 1], [0, 0, 1, 1])
    """
    progress("cutting by value", 0.0)
    values = matrix / power_of_two(matrix.min(), matrix.max())  # squares of huge values must not overflow
    group = presplit(values, np.zeros(len(matrix), np.int64), k)
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
