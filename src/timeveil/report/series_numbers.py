"""Numbers about a series release that are cheap to know at the end of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeveil.intake.collection import Collection, collect
from timeveil.model.ledger import Ledger
from timeveil.model.release import Release
from timeveil.query.published import columns_of
from timeveil.query.series_published import Published, published_series
from timeveil.symbols.shape import pattern_distance

Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SeriesNumbers:
    """What a release is like beside the original; losses are means per published series.

    `alone` is the share of series whose values nobody else has, `width_share` the mean width of an envelope
    by what all series span at that instant. `levels` is how many symbols an instant has on average.
    `commonest` gives per sensitive column the share of its most common value in the worst cell.
    """

    value_loss: float
    pattern_loss: float
    alone: float
    width_share: float
    levels: float
    constant: float
    group_sizes: tuple[int, int]
    cell_sizes: tuple[int, int]
    commonest: Mapping[str, float]

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return asdict(self)


def series_numbers(release: Release, ledger: Ledger) -> SeriesNumbers:
    """Hold a release against its original."""
    collection = collect(ledger.original, fill=release.manifest["parameters"]["fill"])
    known = published_series(release)
    cell_of_run = _cells(known)
    run = np.repeat(np.arange(len(known.rows)), known.rows)
    cell = cell_of_run[run]
    matrix = collection.matrix
    width = (known.high - known.low)[run]
    span = np.ptp(matrix, axis=0)[known.values]
    return SeriesNumbers(
        value_loss=float(np.sqrt(np.square(width).mean(axis=1)).mean()),
        pattern_loss=_pattern_loss(collection, ledger, known, cell_of_run),
        alone=_alone(matrix),
        width_share=float((width.mean(axis=0) / np.where(span > 0, span, 1.0)).mean()),
        levels=float(known.levels[run].mean()),
        constant=float((matrix == matrix[:, :1]).all(axis=1).mean()),
        group_sizes=_least_and_most(known.group[run]),
        cell_sizes=_least_and_most(cell),
        commonest={name: _commonest(release.table[name], cell) for name in columns_of(release, "sensitive")},
    )


def _cells(known: Published) -> Labels:
    """The cell of each run: runs that say the same and follow each other were cut by a batch."""
    changed = known.group[1:] != known.group[:-1]
    for part in (known.symbols, known.levels):
        changed |= (part[1:] != part[:-1]).any(axis=1)
    return np.concatenate([np.zeros(min(len(known.group), 1), np.int64), np.cumsum(changed)])


def _pattern_loss(collection: Collection, ledger: Ledger, known: Published, cell_of_run: Labels) -> float:
    """How far the pattern of each published series is from its own shape, on average (eq. 3)."""
    _, run_of_cell = np.unique(cell_of_run, return_index=True)
    _, first = np.unique(collection.series_of_row, return_index=True)
    first = first[collection.series_of_row[first] >= 0]
    subgroup = pc.fill_null(ledger.table["subgroup"], 0).to_numpy()[first]
    there = np.flatnonzero(subgroup > 0)
    shapes = known.shapes()[run_of_cell[subgroup[there] - 1]][:, known.pattern]
    own = collection.matrix[there][:, known.pattern]
    return float(pattern_distance(own, shapes).mean())


def _alone(matrix: NDArray[np.float64]) -> float:
    """Share of rows that no other row equals."""
    packed = np.ascontiguousarray(matrix + 0.0).view(np.dtype((np.void, matrix.shape[1] * 8))).ravel()
    _, counts = np.unique(packed, return_counts=True)
    return float((counts == 1).sum() / len(matrix))


def _least_and_most(labels: Labels) -> tuple[int, int]:
    _, sizes = np.unique(labels, return_counts=True)
    return int(sizes.min()), int(sizes.max())


def _commonest(column: pa.ChunkedArray, cell: Labels) -> float:
    """The largest share of a cell that has one value."""
    coded = column.combine_chunks()
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode()
    values = len(coded.dictionary) + 1
    code = pc.fill_null(coded.indices.cast(pa.int64()), values - 1).to_numpy(zero_copy_only=False)
    pair, counts = np.unique(cell * values + code, return_counts=True)
    return float((counts / np.bincount(cell)[pair // values]).max())
