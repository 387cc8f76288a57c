"""Numbers about a series release that are cheap to know at the end of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.codes import Integers
from timeveil.evidence.published import columns_of
from timeveil.models.series.evidence import Evidence, Records
from timeveil.models.series.judges.measure import SeriesLoss, measure
from timeveil.models.series.original import Floats


@dataclass(frozen=True, slots=True)
class SeriesNumbers:
    """What a release is like beside the original.

    `alone` is the share of series whose values nobody else has, `constant` that of those which never change.
    Sizes are the smallest and the largest. `commonest` gives per sensitive column the share of its most
    common value in the worst cell, which is a group and a pattern in it; `different` how many different
    values there are to a row. `attained` is the share of published bounds that are a member's exact value.
    """

    loss: SeriesLoss
    alone: float
    constant: float
    group_sizes: tuple[int, int]
    cell_sizes: tuple[int, int]
    commonest: Mapping[str, float]
    different: Mapping[str, float]
    attained: float

    def as_dict(self) -> dict[str, Any]:
        """The same as data, losses among the rest."""
        own = asdict(self)
        names = ("value_loss", "value_loss_unrounded", "value_span", "pattern_loss", "level_mean")
        return {
            **{name: own["loss"][name] for name in names},
            **{k: v for k, v in own.items() if k != "loss"},
        }


def series_numbers(release: Release, ledger: Ledger) -> SeriesNumbers:
    """Hold a release against its original."""
    evidence = Evidence(release, ledger)
    records = evidence.records
    known, matrix = records.published, records.matrix
    cell = np.repeat(np.arange(len(known.rows)), known.rows)
    names = columns_of(release, "sensitive")
    return SeriesNumbers(
        loss=measure(evidence, queries=0, seed=0),
        alone=_alone(matrix),
        constant=float((matrix == matrix[:, :1]).all(axis=1).mean()),
        group_sizes=_least_and_most(np.bincount(known.group, weights=known.rows)),
        cell_sizes=_least_and_most(known.rows),
        commonest={name: _commonest(release.table[name], cell) for name in names},
        different={name: _different(release.table[name]) for name in names},
        attained=_attained(records),
    )


def _alone(matrix: Floats) -> float:
    """Share of rows that no other row equals."""
    packed = np.ascontiguousarray(matrix + 0.0).view(np.dtype((np.void, matrix.shape[1] * 8))).ravel()
    _, counts = np.unique(packed, return_counts=True)
    return float((counts == 1).sum() / len(matrix))


def _least_and_most(sizes: Any) -> tuple[int, int]:
    some = sizes[sizes > 0]
    return int(some.min()), int(some.max())


def _attained(records: Records) -> float:
    """Share of bounds that some member has exactly."""
    known, kept = records.published, records.released
    group = known.group[records.run[kept]]
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    first = records.run[kept][starts]
    hit = total = 0
    for place, instant in enumerate(known.values):
        values = records.matrix[kept, instant]
        hit += int((np.minimum.reduceat(values, starts) == known.low[first, place]).sum())
        hit += int((np.maximum.reduceat(values, starts) == known.high[first, place]).sum())
        total += 2 * len(starts)
    return hit / total if total else 0.0


def _different(column: pa.ChunkedArray) -> float:
    """How many different values there are to a row."""
    return float(pc.count_distinct(column, "all").as_py() / max(len(column), 1))


def _commonest(column: pa.ChunkedArray, cell: Integers) -> float:
    """The largest share of a cell that has one value."""
    coded = column.combine_chunks()
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode()
    values = len(coded.dictionary) + 1
    code = pc.fill_null(coded.indices.cast(pa.int64()), values - 1).to_numpy(zero_copy_only=False)
    pair, counts = np.unique(cell * values + code, return_counts=True)
    return float((counts / np.bincount(cell)[pair // values]).max())
