"""The words about a series release: its facts, from which templates make all texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.evidence.codes import Integers
from timeveil.evidence.published import columns_of
from timeveil.models.series.evidence import Evidence, Floats, Records
from timeveil.models.series.judges.measure import measure
from timeveil.models.series.parameters import SeriesParameters
from timeveil.page.facts import ReleaseFacts

_LOSSES = ("value_loss", "value_loss_unrounded", "value_span", "pattern_loss", "level_mean")


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    table = SeriesParameters

    def __init__(self, evidence: Evidence, hierarchies: Sequence[str] = ()) -> None:
        super().__init__(evidence, hierarchies)
        self.title = f"{self.source} -> {self.k} share every envelope, {self.p} every pattern"
        self.series: Mapping[str, Any] = self.manifest["series"]
        self.columns_kept = columns_of(evidence.release, "keep")

    @cached_property
    def measured(self) -> dict[str, Any] | None:
        """The release held against its original, with the ledger.

        `alone` is the share of series whose values nobody else has, `constant` that of series that never
        change. Sizes are the smallest and the largest. `commonest` gives per sensitive column the share of
        its most common value in the worst cell, which is a pattern within a group; `different` the number of
        different values per row. `attained` is the share of published bounds that are a member's exact value.
        """
        if self.ledger is None:
            return None
        table, records = self.evidence.release.table, self.evidence.records
        published, matrix = records.published, records.matrix
        loss = measure(self.evidence, queries=0, seed=0)
        cell = np.repeat(np.arange(len(published.rows)), published.rows)
        sensitive = {column: table[column] for column in columns_of(self.evidence.release, "sensitive")}
        return {
            **{name: getattr(loss, name) for name in _LOSSES},
            "alone": _alone(matrix),
            "constant": float((matrix == matrix[:, :1]).all(axis=1).mean()),
            "group_sizes": _extremes(np.bincount(published.group, weights=published.rows)),
            "cell_sizes": _extremes(published.rows),
            "commonest": {name: _commonest(column, cell) for name, column in sensitive.items()},
            "different": {
                name: float(pc.count_distinct(column, "all").as_py() / max(len(column), 1))
                for name, column in sensitive.items()
            },
            "attained": _attained(records),
        }

    @property
    def exposure(self) -> dict[str, Any] | None:
        return self.measured

    def figures(self) -> list[tuple[str, Any]]:
        counts = self.counts
        return [
            ("series published", counts["rows"]),
            ("series withheld", counts["suppressed"]),
            ("instants", len(self.series["instants"])),
            ("groups of one envelope", counts["groups"]),
            ("patterns in them", counts["cells"]),
        ]

    def as_dict(self, *entries: str) -> dict[str, Any]:
        measured = self.measured or {}
        return {**super().as_dict("series", "parameters", *entries), "run": dict(self.run), **measured}


def _alone(matrix: Floats) -> float:
    """Share of rows that no other row equals."""
    packed = np.ascontiguousarray(matrix + 0.0).view(np.dtype((np.void, matrix.shape[1] * 8))).ravel()
    _, counts = np.unique(packed, return_counts=True)
    return float((counts == 1).sum() / len(matrix))


def _extremes(sizes: Any) -> tuple[int, int]:
    positive = sizes[sizes > 0]
    return int(positive.min()), int(positive.max())


def _attained(records: Records) -> float:
    """Share of bounds that a member has exactly."""
    published, released = records.published, records.released
    group = published.group[records.run[released]]
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    first = records.run[released][starts]
    attained = total = 0
    for index, instant in enumerate(published.values):
        values = records.matrix[released, instant]
        attained += int((np.minimum.reduceat(values, starts) == published.low[first, index]).sum())
        attained += int((np.maximum.reduceat(values, starts) == published.high[first, index]).sum())
        total += 2 * len(starts)
    return attained / total if total else 0.0


def _commonest(column: pa.ChunkedArray, cell: Integers) -> float:
    """The largest share of a cell that has one value."""
    coded = column.combine_chunks()
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode()
    values = len(coded.dictionary) + 1
    code = pc.fill_null(coded.indices.cast(pa.int64()), values - 1).to_numpy(zero_copy_only=False)
    pair, counts = np.unique(cell * values + code, return_counts=True)
    return float((counts / np.bincount(cell)[pair // values]).max())
