"""The risk of series before anything is done to them: how few others have the values that an outsider knows.

The outsider knows neighbouring instants of a series, each rounded to some digits, at up to 20 places.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from timeveil.domain.judgement import as_dict
from timeveil.domain.relation import Relation
from timeveil.models.series.evidence import Floats, Integers, series_of
from timeveil.models.series.parameters import SeriesParameters

READ: Mapping[str, Any] = {"needs": (), "nulls": "withhold", "slot_numbers": True}
DIGITS = (None, 3, 2, 1)
PLACES = 20


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Shares of series that are alone, or in a group of fewer than k, with what is known of them.

    `digits` are those that known values are rounded to, None if they are exact.
    """

    instants: int
    digits: int | None
    alone: float
    below_k: float


@dataclass(frozen=True, slots=True)
class SeriesProfile:
    """How many series are alone with the values at some instants, by number of instants and precision.

    `left_out` series have gaps.
    """

    ALSO: ClassVar = ("already_anonymous",)

    k: int
    series: int
    left_out: int
    instants: int
    known: tuple[Knowledge, ...]

    @property
    def already_anonymous(self) -> bool:
        """Whether k series share every value, however exactly and at how many instants it is known."""
        return all(each.below_k == 0 for each in self.known)

    safe = already_anonymous
    as_dict = as_dict


def profile(relation: Relation, values: Mapping[str, Any]) -> SeriesProfile:
    """Compare the series at one, two, three and all instants."""
    k = SeriesParameters.table()["k"].check(values.get("k", SeriesParameters.table()["k"].example))
    series = series_of(relation, "drop")
    matrix = series.matrix
    size, width = matrix.shape
    knowledge = []
    for digits in DIGITS:
        codes = np.zeros(matrix.shape, np.int64)
        for number, column in enumerate(matrix.T if size else ()):
            codes[:, number] = _codes(column, digits)
        for instants in dict.fromkeys(min(number, width) for number in (1, 2, 3, width)):
            alone, below = _shares(codes, instants, k)
            knowledge.append(Knowledge(instants, digits, alone, below))
    everyone = int(series.of_row.max(initial=-1)) + 1
    people = relation.rows
    if not relation.roles.series:
        column = relation.table[relation.respondent].combine_chunks().dictionary_encode()
        people = len(np.unique(np.asarray(column.indices)))
    return SeriesProfile(k, size, max(people - everyone, 0), width, tuple(knowledge))


def _codes(column: Floats, digits: int | None) -> Integers:
    """Numbers for equal values, after rounding to significant digits."""
    if digits is not None:
        with np.errstate(divide="ignore"):
            power = np.where(column == 0, 0.0, np.floor(np.log10(np.abs(column))) - digits + 1)
        # The rounded digits and where they are, as one number.
        column = np.round(column / 10.0**power) * 1_000 + power
    return np.unique(column, return_inverse=True)[1].ravel()


def _shares(codes: Integers, instants: int, k: int) -> tuple[float, float]:
    size, width = codes.shape
    starts = np.unique(np.linspace(0, width - instants, PLACES).astype(int)) if size else ()
    shares = []
    for start in starts:
        group = np.zeros(size, dtype=np.int64)
        for column in codes[:, start : start + instants].T:
            group = np.unique(group * (int(column.max()) + 1) + column, return_inverse=True)[1].ravel()
        people = np.bincount(group)[group]
        shares.append(((people == 1).mean(), (people < k).mean()))
    alone, below = np.mean(shares, axis=0) if shares else (0.0, 0.0)
    return float(alone), float(below)
