"""Numbers and names about a series release, from which all of its texts are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.evidence.codes import Integers
from timeveil.evidence.published import columns_of
from timeveil.models.series.evidence import Evidence, Records
from timeveil.models.series.judges.measure import SeriesLoss, measure
from timeveil.models.series.original import Floats
from timeveil.page.facts import ReleaseFacts
from timeveil.page.wording import counted, name, quoted, share

SMALL_K, SMALL_P = 5, 3
"""Below these, a run warns that k or p is small."""
MUCH = 0.1
"""Share of constant series, or of widening by rounding, from which on a run warns."""
OFTEN = 0.5
"""Share of bounds that are a person's exact value from which on a run warns that rounding does too little."""
NEARLY_UNIQUE = 0.9
"""Different values per row from which on a column is like a name."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A release held against its original.

    `alone` is the share of series whose values nobody else has, `constant` that of series that never change.
    Sizes are the smallest and the largest. `commonest` gives per sensitive column the share of its most
    common value in the worst cell, which is a pattern within a group; `different` the number of different
    values per row. `attained` is the share of published bounds that are a member's exact value.
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
        """The numbers as data, losses among the others."""
        losses = ("value_loss", "value_loss_unrounded", "value_span", "pattern_loss", "level_mean")
        numbers = ("alone", "constant", "group_sizes", "cell_sizes", "commonest", "different", "attained")
        return {
            **{name: getattr(self.loss, name) for name in losses},
            **{name: getattr(self, name) for name in numbers},
        }


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence.release, evidence.ledger)
        self.evidence = evidence
        self.series: Mapping[str, Any] = self.manifest["series"]
        promise = self.release.guarantee.as_dict()
        self.k: int = promise["k"]
        self.p: int = promise["p"]
        self.l: int | None = promise["l"]

    @property
    def title(self) -> str:
        """What the run made of its source."""
        return f"{self.source} -> {self.k} share every envelope, {self.p} every pattern"

    @cached_property
    def measured(self) -> Measured | None:
        """The release held against its original, with the ledger."""
        return None if self.ledger is None else _measured(self.evidence)

    @property
    def exposure(self) -> Measured | None:
        """What stays visible inside groups, with the ledger."""
        return self.measured

    @property
    def partly(self) -> bool:
        """Whether values or patterns of some instants are not published."""
        total = len(self.series["instants"])
        return len(self.series["values"]) < total or len(self.series["pattern"]) < total

    @property
    def warnings(self) -> list[str]:
        """What a custodian should consider before publishing."""
        measured = self.measured
        if measured is None:
            return []
        warnings = []
        if self.parameters["method"] == "representative":
            warnings.append(
                "patterns of the method representative are means: anyone who knows all but one of a subgroup "
                "can nearly compute the shape of the last one. Prefer adaptive unless you need the last bit "
                "of shape."
            )
        warnings += self._rounding_warnings(measured)
        for column, part in measured.different.items():
            if part >= NEARLY_UNIQUE:
                warnings.append(
                    f"nearly every row has its own value of {name(column)}: anyone who knows it finds the "
                    "row, as by a name. Drop the column if it identifies people, or make it coarser."
                )
        if self.k < SMALL_K or self.p < SMALL_P:
            small = f"k is {self.k}" if self.k < SMALL_K else f"p is {self.p}"
            warnings.append(
                f"{small}, so a few members of a group who work together can identify the others. A k of 5 "
                "to 20 is usual, and a p of half of it."
            )
        kept = columns_of(self.release, "keep")
        if kept:
            verb, them = ("is", "it") if len(kept) == 1 else ("are", "them")
            warnings.append(
                f"{quoted(kept)} {verb} published unchanged with every series: the promise does not cover "
                f"what an outsider knows about {them}."
            )
        if measured.constant >= MUCH:
            warnings.append(
                f"{share(measured.constant)} of the series are constant: they have no shape, and the "
                "envelope of a group of them is as narrow as their values are close."
            )
        return warnings

    def _rounding_warnings(self, measured: Measured) -> list[str]:
        digits = self.parameters["round_outward"]
        if digits is None:
            return [
                "envelopes are not rounded, so every bound is a person's exact value, and members of the "
                "group learn it. Round outward unless that is harmless."
            ]
        warnings = []
        exact, wide = measured.loss.value_loss_unrounded, measured.loss.value_loss
        if exact and wide and wide / exact > 1 + MUCH:
            warnings.append(
                f"rounding outward to {counted(digits, 'significant digit')} made envelopes "
                f"{share(wide / exact - 1)} wider, because values are close together. One more digit costs "
                "less."
            )
        if measured.attained > OFTEN:
            fewer = f"Round to {digits - 1}" if digits > 1 else "Make values coarser before publishing"
            warnings.append(
                f"{share(measured.attained)} of the bounds are a person's exact value in spite of rounding, "
                f"because values have hardly more than {counted(digits, 'significant digit')}; members of "
                f"the group learn it. {fewer} unless that is harmless."
            )
        return warnings

    def as_dict(self) -> dict[str, Any]:
        """The facts of a run as data."""
        ledger = self.ledger
        return {
            "source": None if ledger is None else ledger.original.source,
            **{name: self.manifest[name] for name in ("guarantee", "series", "parameters", "counts")},
            "run": dict(self.run),
            **({} if self.measured is None else self.measured.as_dict()),
            "dropped": [] if ledger is None else list(ledger.original.dropped),
        }


def _measured(evidence: Evidence) -> Measured:
    """Hold a release against its original."""
    release = evidence.release
    records = evidence.records
    published, matrix = records.published, records.matrix
    cell = np.repeat(np.arange(len(published.rows)), published.rows)
    sensitive = columns_of(release, "sensitive")
    return Measured(
        loss=measure(evidence, queries=0, seed=0),
        alone=_alone(matrix),
        constant=float((matrix == matrix[:, :1]).all(axis=1).mean()),
        group_sizes=_extremes(np.bincount(published.group, weights=published.rows)),
        cell_sizes=_extremes(published.rows),
        commonest={column: _commonest(release.table[column], cell) for column in sensitive},
        different={column: _different(release.table[column]) for column in sensitive},
        attained=_attained(records),
    )


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
    published, kept = records.published, records.released
    group = published.group[records.run[kept]]
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    first = records.run[kept][starts]
    attained = total = 0
    for index, instant in enumerate(published.values):
        values = records.matrix[kept, instant]
        attained += int((np.minimum.reduceat(values, starts) == published.low[first, index]).sum())
        attained += int((np.maximum.reduceat(values, starts) == published.high[first, index]).sum())
        total += 2 * len(starts)
    return attained / total if total else 0.0


def _different(column: pa.ChunkedArray) -> float:
    """Different values per row."""
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
