"""Adoption: a series may move to any cell whose pattern is truly its own (beyond the paper).

Group formation leaves groups of more than k and cells of more than p. Their series look at the cells, of any level,
whose pattern is theirs too; one moves where the total value loss falls and its own pattern loss does not rise.
Series that recycling left out join the cell they cost least in, if there is one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from timeveil.model.progress import Progress, silent
from timeveil.series.formation import ranges
from timeveil.series.partition import Labels, Matrix
from timeveil.series.splitting import Levels
from timeveil.symbols.sax import reconstructed
from timeveil.symbols.shape import unit_shapes

PASSES = 4
AT_ONCE = 1 << 16  # series a call, so that an interrupt is heard


def adopt_series(
    matrix: Matrix,
    u: Matrix,
    cell: Labels,
    group_of: Labels,
    leaf_of: Labels,
    symbols: NDArray[np.uint8],
    level: Levels,
    k: int,
    p: int,
    progress: Progress = silent,
) -> Labels:
    """The cell of each series after adoption, given the group and leaf of each cell and the pattern of each leaf."""
    from timeveil.kernels.adoption import Leaves, Places, adopt, chain_up, table_of  # noqa: PLC0415

    cell = cell.copy()
    inside = cell >= 0
    group = np.where(inside, group_of[cell], -1)
    low, high = ranges(matrix, group)
    mean = ((low + high) / 2).mean(axis=1)[group_of]
    order = np.lexsort((np.arange(len(mean)), mean, leaf_of))
    begin = np.searchsorted(leaf_of[order], np.arange(len(level) + 1))
    levels = level.astype(np.int64)
    leaves = Leaves(
        symbols,
        unit_shapes(reconstructed(symbols, levels[:, None])),
        levels,
        np.unique(levels)[::-1].copy(),
        order,
        begin,
        mean[order],
        table_of(symbols, levels),
    )
    groups = len(low)
    count = np.bincount(group[inside], minlength=groups)
    size = np.bincount(cell[inside], minlength=len(group_of))
    after, head = np.full(len(cell), -1, np.int64), np.empty(groups, np.int64)
    places = Places(cell, group_of, leaf_of, size, count, low, high, np.empty(groups), head, after)
    chain_up(places)
    shapes = unit_shapes(matrix)
    for number in range(PASSES):
        moved = 0
        for first in range(0, len(cell), AT_ONCE):
            last = min(first + AT_ONCE, len(cell))
            moved += adopt(matrix, u, shapes, leaves, places, k, p, first, last)
        progress("adopting", (number + 1) / PASSES)
        if not moved:
            break
    return cell
