"""Adoption: a series may move to any cell whose pattern is truly its own (beyond the paper).

Levels do not nest and leaves are few, so most series have a pattern in common with cells far from their leaf.
A group whose series all fit better elsewhere is dissolved; a series moves on where k and p allow; two series
change places. Each step lowers value loss plus `WEIGHT` times pattern loss, value loss counted in what a
series loses on average. Series that recycling left out join the cell they cost least in, if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeveil.models.series.method.formation import ranges
from timeveil.models.series.method.partition import Labels, Matrix, compact
from timeveil.models.series.method.splitting import Levels
from timeveil.symbols.sax import reconstructed
from timeveil.symbols.shape import unit_shapes

WEIGHT = 100.0
PASSES = 4
MANY = 500_000
"""Above so many numbers, series times instants, there is one pass, of the widest groups, in narrow windows,
and nobody changes places."""
WIDEST = 8
WINDOW, NARROW = 32, 16
"""Cells of a pattern that a series looks at, and how many where there are many."""
AT_ONCE = 1 << 14  # series a call, so that an interrupt is heard


@dataclass(frozen=True, slots=True)
class Cells:
    """The cell of each series, -1 where it is in none; the leaf of each cell; the pattern of each leaf."""

    of: Labels
    leaf: Labels
    symbols: NDArray[np.uint8]
    level: Levels

    def renumbered(self) -> tuple[Cells, Labels]:
        """The cells that are not empty, and which they were."""
        used, of = compact(self.of)
        return replace(self, of=of, leaf=self.leaf[used]), used


def adopt_series(matrix: Matrix, u: Matrix, cells: Cells, group_of: Labels, k: int, p: int) -> Cells:
    """The cells after adoption, given the group of each; those of a group that is dissolved are empty."""
    from timeveil.models.series.kernels.adoption import adopt, desk_of, dissolve, exchange  # noqa: PLC0415

    leaves, places = _arranged(matrix, cells, group_of)
    shapes = unit_shapes(matrix)
    price = WEIGHT * float((places.width * places.series).sum() / places.series.sum())
    many = matrix.size > MANY
    desk = (matrix, u, shapes, leaves, places, desk_of(matrix.shape[1], k))
    rows = np.argsort(cells.of, kind="stable")  # neighbours after each other
    for _ in range(1 if many else PASSES):
        moved = 0
        widest = np.argsort(-places.width, kind="stable")
        widest = widest[: len(widest) // WIDEST] if many else widest
        for first in range(0, len(widest), AT_ONCE):
            moved += dissolve(*desk, k, price, widest[first : first + AT_ONCE])
        for first in range(0, len(matrix), AT_ONCE):
            some = rows[first : first + AT_ONCE]
            moved += adopt(*desk, k, p, price, some)
            if not many:
                moved += exchange(*desk, price, some)
        if not moved:
            break
    return replace(cells, of=places.cell)


def _arranged(matrix: Matrix, cells: Cells, group_of: Labels) -> tuple[Any, Any]:
    """Leaves that can be looked up by pattern, and who is where."""
    from timeveil.models.series.kernels.adoption import Places, chain_up  # noqa: PLC0415
    from timeveil.models.series.kernels.pattern_lookup import Leaves, table_of  # noqa: PLC0415

    inside = cells.of >= 0
    group = np.where(inside, group_of[cells.of], -1)
    low, high = ranges(matrix, group)
    mean = ((low + high) / 2).mean(axis=1)[group_of]
    order = np.lexsort((mean, cells.leaf))
    level = cells.level.astype(np.int64)
    begin = np.searchsorted(cells.leaf[order], np.arange(len(level) + 1))
    shape = unit_shapes(reconstructed(cells.symbols, level[:, None]))
    present = np.unique(level)[::-1].copy()
    table, window = table_of(cells.symbols, level), NARROW if matrix.size > MANY else WINDOW
    leaves = Leaves(cells.symbols, shape, level, present, order, begin, mean[order], table, window)
    count = np.bincount(group[inside], minlength=len(low))
    size = np.bincount(cells.of[inside], minlength=len(group_of))
    chain = np.empty(len(low), np.int64), np.full(len(matrix), -1, np.int64)
    places = Places(cells.of.copy(), group_of, cells.leaf, size, count, low, high, np.empty(len(low)), *chain)
    chain_up(places)
    return leaves, places
