"""Where the better methods start: groups near in value, and in them subgroups near in shape.

Nearness is that of features: the values, and the shapes with a share `lean`, brought to their principal axes.
Rows nearest to each other are gathered into groups, each group is cut into subgroups by shape alone. Which
lean serves the caller's weight best is tried out, beside a plain k-d cut of the values, which wins where
instants have nothing to do with each other. Cost: O(n log n), times the instants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeveil.domain.progress import Progress
from timeveil.symbols.sax import power_of_two
from timeveil.symbols.shape import unit_shapes

LEANS = (0.0, 0.05, 0.2, 1.0)
AXES = 12
FEW = 200_000
"""Up to so many rows every way is tried on all of them, and groups are gathered in large segments."""
CELLS, CELL = 12, 4096
"""How many rows, in pieces as dense as the whole, are tried of more."""
SEGMENT, SMALL_SEGMENT = 512, 96
SAMPLE, POOLS = 8192, 64
"""Principal axes come from so many rows; of more instants, from means over so many runs of them."""
AT_ONCE = 1 << 16

Floats = NDArray[Any]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Series:
    """The matrix ready for work: values of deviation 1 over all, unit centred shapes, which are constant.

    `scale` brings values back.
    """

    values: Floats
    shapes: Floats
    flat: NDArray[np.int64]
    scale: float

    def take(self, rows: Places) -> Series:
        """Some rows, or all in another order."""
        return Series(self.values[rows], self.shapes[rows], self.flat[rows], self.scale)


@dataclass(frozen=True, slots=True)
class Start:
    """Rows in `order`, subgroup by subgroup and group by group.

    `groups` and `blocks` are bounds in it, `came` the group of each block; `unit` is the mean width of
    groups formed by value alone; `lean` the share of shape, None where values were cut as they are.
    """

    order: Places
    groups: Places
    blocks: Places
    came: Places
    unit: float
    lean: float | None


def series_of(matrix: Floats) -> Series:
    """Scale values so that none overflows, and work out the shapes."""
    n, d = matrix.shape
    power = power_of_two(matrix.min(), matrix.max())
    values = matrix / power
    deviation = float(values.std()) or 1.0
    values /= deviation
    shapes = np.empty((n, d), np.float32)
    for first in range(0, n, AT_ONCE):
        shapes[first : first + AT_ONCE] = unit_shapes(matrix[first : first + AT_ONCE])
    flat = np.asarray(~shapes.any(axis=1), dtype=np.int64)
    return Series(values, shapes, flat, float(power) * deviation)


def start(series: Series, axes: Axes, k: int, p: int, weight: float, progress: Progress) -> Start:
    """The best of the ways to start by width / unit + weight / 3 * loss of shape."""
    n = len(series.values)
    tried, known = series, axes
    if n > FEW:
        from timeveil.models.series.kernels.cuts import balanced_cut  # noqa: PLC0415

        progress("looking around", 0.0)
        order, cells, _ = balanced_cut(axes.features(series, 0.0), np.array([0, n]), CELL, in_place=True)
        some = np.linspace(0, len(cells) - 2, CELLS).astype(np.int64)
        tried = series.take(np.concatenate([order[cells[c] : cells[c + 1]] for c in some]))
        known = Axes(tried)
    unit, least, best = 0.0, np.inf, None
    for number, lean in enumerate((*LEANS, None)):
        progress("forming groups", 0.1 + 0.8 * number / (len(LEANS) + 1))
        found = _arranged(tried, known, lean, k, p)
        width, loss = _losses(tried, found)
        unit = unit or width or 1.0
        if width / unit + weight / 3 * loss < least:
            least, best = width / unit + weight / 3 * loss, found
    assert best is not None  # noqa: S101
    if n > FEW:
        best = _arranged(series, axes, best.lean, k, p)
    return Start(best.order, best.groups, best.blocks, best.came, unit, best.lean)


def _arranged(series: Series, axes: Axes, lean: float | None, k: int, p: int) -> Start:
    """Groups by value and shape, subgroups in them by shape."""
    from timeveil.models.series.kernels.cuts import balanced_cut  # noqa: PLC0415
    from timeveil.models.series.kernels.gathering import gather_nearest  # noqa: PLC0415

    n = len(series.values)
    whole = np.array([0, n])
    if lean is None:
        order, groups, _ = balanced_cut(series.values.astype(np.float32), whole, k, in_place=True)
    else:
        features = axes.features(series, lean)
        segment = SEGMENT if n <= FEW else SMALL_SEGMENT
        order, segments, _ = balanced_cut(features, whole, max(segment, 4 * k), in_place=True)
        nearest, groups = gather_nearest(features, segments, k)  # now in order
        order = order[nearest]
    inner, blocks, came = balanced_cut(axes.of_shapes(series.shapes)[order], groups, p, in_place=True)
    return Start(order[inner], groups, blocks, came, 0.0, lean)


def _losses(series: Series, found: Start) -> tuple[float, float]:
    """Mean width of the groups, and the least mean loss of shape that the blocks can have."""
    n, d = series.values.shape
    square = np.zeros(len(found.groups) - 1)
    length = np.zeros(len(found.blocks) - 1)
    for j in range(d):
        values = series.values[found.order, j]
        square += np.square(
            np.maximum.reduceat(values, found.groups[:-1]) - np.minimum.reduceat(values, found.groups[:-1])
        )
        length += np.square(np.add.reduceat(series.shapes[found.order, j], found.blocks[:-1]))
    width = np.diff(found.groups) @ np.sqrt(square / d) / n
    flats = np.add.reduceat(series.flat[found.order], found.blocks[:-1])
    return float(width), float((n - np.maximum(np.sqrt(length), flats).sum()) / n)


class Axes:
    """Principal axes of values and shapes together, for any share of the shapes."""

    def __init__(self, series: Series) -> None:
        n, d = series.values.shape
        some = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
        pools = min(d, POOLS)
        self._starts = np.arange(pools) * d // pools
        self._lengths = np.diff(self._starts, append=d)
        values, shapes = (self._pooled(part[some]) for part in (series.values, series.shapes))
        both = np.concatenate([values, shapes], axis=1)
        both -= both.mean(axis=0)
        self._moments = both.T @ both

    def features(self, series: Series, lean: float) -> Floats:
        """Each row on the axes along which most happens."""
        pools, d = len(self._lengths), series.values.shape[1]
        share = np.repeat([1.0, lean * np.sqrt(d)], pools)
        turn = share[:, None] * _principal(self._moments * np.outer(share, share))
        return _turned(
            [(series.values, self._spread(turn[:pools])), (series.shapes, self._spread(turn[pools:]))]
        )

    def of_shapes(self, shapes: Floats) -> Floats:
        """The same of the shapes alone."""
        pools = len(self._lengths)
        return _turned([(shapes, self._spread(_principal(self._moments[pools:, pools:])))])

    def _pooled(self, rows: Floats) -> Floats:
        return np.asarray(np.add.reduceat(rows, self._starts, axis=1, dtype=np.float64) / self._lengths)

    def _spread(self, turn: Floats) -> Floats:
        """Axes of means over instants as axes of the instants."""
        return np.repeat(turn / self._lengths[:, None], self._lengths, axis=0)


def _principal(moments: Floats) -> Floats:
    """The axes of the most variance, the most first."""
    return np.linalg.eigh(moments)[1][:, ::-1][:, :AXES]


def _turned(parts: list[tuple[Floats, Floats]]) -> Floats:
    """The sum of rows times turns, some rows at a time."""
    rows, width = len(parts[0][0]), parts[0][1].shape[1]
    out = np.empty((rows, width), np.float32)
    for first in range(0, rows, AT_ONCE):
        some = slice(first, first + AT_ONCE)
        out[some] = sum(part[some] @ turn for part, turn in parts)
    return out
