"""START of `adaptive` and `representative`: groups near in value, and in them subgroups near in shape.

Nearness is that of features: the values, and the shapes with a share `lean`, brought to their principal axes.
Nearest rows are gathered into groups, and each group is cut into subgroups by shape alone. Which lean serves
the weight of the shape best is tried, and so is a plain k-d cut of the values, which wins where instants have
nothing to do with each other. Cost: O(n log n), times the instants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.domain.arrays import Ints
from timeveil.domain.wording import Progress
from timeveil.models.series.method.partition import Floats, balanced_cut, gather_nearest, total_width
from timeveil.symbols import Center, Representation, positions_of, power_of_two, unit_shapes

LEANS = (0.0, 0.05, 0.2, 1.0)
AXES = 12
TRY_ALL_ROWS = 200_000
"""Up to this many rows every start is tried on all of them, and groups are gathered in long segments."""
SAMPLE_CELLS, CELL = 12, 4096
"""Of more rows, the starts are tried on this many cells, each as dense as the whole."""
SEGMENT, SHORT_SEGMENT = 512, 96
AXES_ROWS, AXES_INSTANTS = 8192, 64
"""Principal axes come from this many rows at most, and from means over runs of more instants."""
ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Series:
    """The matrix ready for work: values of deviation 1, unit centred shapes, and which series have none.

    A shape is the sequence of the features that patterns show, usually the values; `positions` are theirs on
    the normal curve. The values of the matrix are these times `scale`, apart from where 0 is.
    """

    values: Floats
    shapes: Floats
    flat: Floats
    positions: Floats
    scale: float

    @classmethod
    def of(cls, matrix: Floats, center: Center, representation: Representation) -> Series:
        """Scale values so that no square overflows, and work out the shapes."""
        power = float(power_of_two(matrix.min(), matrix.max()))
        middle = float((matrix / power).mean())
        deviation = float((matrix / power).std()) or 1.0
        values, parts = np.empty(matrix.shape, np.float32), list[Floats]()
        for first in range(0, len(matrix), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            values[rows] = (matrix[rows] / power - middle) / deviation
            features = representation.features(unit_shapes(matrix[rows]))
            parts.append(unit_shapes(features).astype(np.float32))
        shapes = np.concatenate(parts)
        flat: Floats = np.asarray(~shapes.any(axis=1), np.float32)
        return cls(values, shapes, flat, positions_of(matrix, center, representation), power * deviation)

    def take(self, rows: Ints) -> Series:
        return Series(self.values[rows], self.shapes[rows], self.flat[rows], self.positions[rows], self.scale)


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows in `order`, subgroup by subgroup and group by group.

    `groups` and `subgroups` are bounds in that order, `parent` is the group of each subgroup, and `features`
    are those of all rows by which groups were formed.
    """

    order: Ints
    groups: Ints
    subgroups: Ints
    parent: Ints
    features: Floats

    @property
    def subgroup(self) -> Ints:
        """The subgroup of each row, in the order of the layout."""
        return np.repeat(np.arange(len(self.parent)), np.diff(self.subgroups))


def start(series: Series, k: int, p: int, weight: float, progress: Progress) -> tuple[Layout, float]:
    """The layout of least width / unit + weight / 3 * loss of shape, and the unit: the width at lean 0."""
    axes = Axes(series)
    sample, sample_axes = series, axes
    if len(series.values) > TRY_ALL_ROWS:
        progress("sampling", 0.0)
        # Cells of near rows, spread over the whole.
        order, cells, _ = balanced_cut(axes.features(series, 0.0), np.array([0, len(series.values)]), CELL)
        chosen = np.linspace(0, len(cells) - 2, SAMPLE_CELLS).astype(np.int64)
        sample = series.take(np.concatenate([order[cells[cell] : cells[cell + 1]] for cell in chosen]))
        sample_axes = Axes(sample)
    unit, tried = 0.0, list[tuple[float, float | None, Layout]]()
    for number, lean in enumerate((*LEANS, None)):
        progress("forming groups", 0.1 + 0.8 * number / (len(LEANS) + 1))
        layout = _arranged(sample, sample_axes, lean, k, p)
        width, loss = _losses(sample, layout)
        # The first lean is 0: its width is the unit in which all others are measured.
        unit = unit or width or 1.0
        tried.append((width / unit + weight / 3 * loss, lean, layout))
    _, lean, layout = min(tried, key=lambda candidate: candidate[0])
    # A layout of a sample only chose the lean; all rows are arranged by it now.
    return (layout if sample is series else _arranged(series, axes, lean, k, p)), unit


def _arranged(series: Series, axes: Axes, lean: float | None, k: int, p: int) -> Layout:
    """Groups by value and shape, subgroups in them by shape; without a lean groups are cut by value."""
    everything = np.array([0, len(series.values)])
    if lean is None:
        features = axes.features(series, LEANS[1])
        order, groups, _ = balanced_cut(series.values, everything, k)
    else:
        features = axes.features(series, lean)
        segment = SEGMENT if len(features) <= TRY_ALL_ROWS else SHORT_SEGMENT
        order, segments, _ = balanced_cut(features, everything, max(segment, 4 * k))
        nearest, groups = gather_nearest(features[order], segments, k)
        order = order[nearest]
    within, subgroups, parent = balanced_cut(axes.of_shapes(series.shapes[order]), groups, p)
    return Layout(order[within], groups, subgroups, parent, features)


def _losses(series: Series, layout: Layout) -> tuple[float, float]:
    """Mean width of the groups, and the least mean loss of shape that the subgroups can have."""
    rows = series.take(layout.order)
    sums = np.add.reduceat(rows.shapes, layout.subgroups[:-1])
    flats = np.add.reduceat(rows.flat, layout.subgroups[:-1])
    preserved = np.maximum(np.sqrt(np.einsum("ij,ij->i", sums, sums)), flats)
    count = len(rows.values)
    return total_width(rows.values, layout.groups) / count, 1 - float(preserved.sum()) / count


class Axes:
    """Principal axes of values and shapes together, for any share of the shapes."""

    def __init__(self, series: Series) -> None:
        count, pooled = len(series.values), list[Floats]()
        rows = np.unique(np.linspace(0, count - 1, min(count, AXES_ROWS)).astype(np.int64))
        self._lengths = list[Ints]()  # those of the runs of values, and those of the runs of shapes
        for part in (series.values, series.shapes):
            width = part.shape[1]
            pools = min(width, AXES_INSTANTS)
            starts = np.arange(pools) * width // pools
            self._lengths.append(np.diff(starts, append=width))
            sums = np.add.reduceat(part[rows], starts, axis=1, dtype=np.float64)
            pooled.append(sums / self._lengths[-1])
        joint = np.concatenate(pooled, axis=1)
        joint -= joint.mean(axis=0)
        # Second moments of values and shapes together: any lean only rescales them, so rows are read once.
        self._moments = joint.T @ joint

    def features(self, series: Series, lean: float) -> Floats:
        """Each row on the axes of the most variance."""
        pools, instants = len(self._lengths[0]), series.values.shape[1]
        share = np.repeat([1.0, lean * np.sqrt(instants)], [pools, len(self._lengths[1])])
        turn = share[:, None] * _principal(self._moments * np.outer(share, share))
        features: Floats = series.values @ _spread(turn[:pools], self._lengths[0])
        features += series.shapes @ _spread(turn[pools:], self._lengths[1])
        return features

    def of_shapes(self, shapes: Floats) -> Floats:
        """Each row on the axes of the most variance of the shapes alone."""
        pools = len(self._lengths[0])
        return shapes @ _spread(_principal(self._moments[pools:, pools:]), self._lengths[1])


def _spread(turn: Floats, lengths: Ints) -> Floats:
    """Axes of means over runs of instants as axes of the instants."""
    return np.repeat(turn / lengths[:, None], lengths, axis=0).astype(np.float32)


def _principal(moments: Floats) -> Floats:
    return np.linalg.eigh(moments)[1][:, ::-1][:, :AXES]
