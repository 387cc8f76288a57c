"""The naive method: groups first, then patterns inside each (Shou, Shang, Chen, Chen, Zhang 2013, §5.2).

Series near each other make groups of k; a splitting tree in each finds patterns; leaves below p join the leaf
whose pattern is most like theirs, and take its pattern, which then need not be their own.

Where we depart from the print
    Groups come from a balanced k-d cut in place of the top-down search of Xu et al., which is in `baselines`.
    Similar patterns are those with little pattern loss (eq. 3) between their reconstructions.
"""

from __future__ import annotations

import numpy as np

from timeveil.domain.progress import Progress, silent
from timeveil.models.series.method.formation import presplit
from timeveil.models.series.method.partition import Labels, Matrix, Partition, compact
from timeveil.models.series.method.splitting import Leaves, gathered, splitting_tree
from timeveil.symbols.sax import Center, positions, power_of_two, reconstructed, symbols_at, z_normalised
from timeveil.symbols.shape import unit_shapes


def naive(
    matrix: Matrix,
    k: int,
    p: int,
    *,
    max_level: int = 20,
    center: Center = "mean",
    exact: bool = False,
    progress: Progress = silent,
) -> Partition:
    """Groups of k with subgroups of p, groups first; nobody is suppressed.

    >>> matrix = np.array([[1.0, 2, 3], [2, 3, 4], [9, 8, 7], [8, 7, 6]])
    >>> found = naive(matrix, 2, 2)
    >>> found.group.tolist(), found.subgroup.tolist()
    ([0, 0, 1, 1], [0, 0, 1, 1])
    """
    progress("cutting by value", 0.0)
    values = matrix / power_of_two(matrix.min(), matrix.max())  # squares of huge values must not overflow
    group = presplit(values, np.zeros(len(matrix), np.int64), k)
    progress("finding patterns", 0.4)
    found = patterns_in(group, matrix, p, max_level=max_level, center=center, exact=exact)
    progress("done", 1.0)
    return found


def patterns_in(
    group: Labels,
    matrix: Matrix,
    p: int,
    *,
    max_level: int = 20,
    center: Center = "mean",
    exact: bool = False,
) -> Partition:
    """Patterns and subgroups in groups that are given."""
    u = positions(z_normalised(matrix, center))
    leaves = splitting_tree(u, group, p, max_level, exact=exact)
    rows, bounds = gathered(leaves.of)
    first = rows[bounds[:-1]]
    symbols = symbols_at(u[first], leaves.level[:, None])
    shape = unit_shapes(reconstructed(symbols, leaves.level[:, None]))
    ends_in = _joined(shape, np.diff(bounds), leaves, group[first])
    used, subgroup = compact(ends_in[leaves.of])
    levels = np.repeat(leaves.level[used][:, None], matrix.shape[1], axis=1)
    joined = int(np.count_nonzero(leaves.undersized[leaves.of]))
    own = bool((symbols_at(u, levels[subgroup]) == symbols[used][subgroup]).all())
    return Partition(group, subgroup, symbols[used], levels, own, {"joined": joined, "suppressed": 0})


def _joined(shape: Matrix, size: Labels, leaves: Leaves, group: Labels) -> Labels:
    from timeveil.models.series.kernels.similar_leaves import most_similar  # noqa: PLC0415

    ends_in: Labels = most_similar(shape, size, leaves.undersized, *gathered(group))
    return ends_in
