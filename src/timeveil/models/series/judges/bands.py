"""Ranges of random questions: drawn around series of the original, and counted there.

Values are compared by their ranks among the originals, which are small integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from timeveil.domain.arrays import Flags, Floats, Ints

LEAST, MOST = 0.01, 0.2  # shares of the series that a question is to select


@dataclass(frozen=True, slots=True)
class Bands:
    """Ranges of several columns at once: per question up to a few columns, a range each.

    Where a question asks about fewer columns, a range is as wide as can be.
    """

    column: Ints
    low: Floats
    high: Floats

    def __getitem__(self, part: slice) -> Bands:
        return Bands(self.column[part], self.low[part], self.high[part])

    def __iter__(self) -> Iterator[tuple[Ints, Floats, Floats]]:
        return zip(self.column.T, self.low.T, self.high.T, strict=True)


class Columns:
    """Columns of the original, one row each, ready to count in."""

    def __init__(self, rows: Floats) -> None:
        self.ordered = np.sort(rows, axis=1)
        kind = np.uint16 if rows.shape[1] < 2**16 else np.uint32
        self.rank = np.empty(rows.shape, dtype=kind)
        for rank, ordered, row in zip(self.rank, self.ordered, rows, strict=True):
            rank[:] = np.searchsorted(ordered, row, side="left")
        self.rows = rows

    def draw(self, series: Ints, most: int, rng: np.random.Generator) -> Bands:
        """A band around each of these series, on 1 to `most` columns."""
        number, count = len(series), self.rows.shape[1]
        most = min(most, len(self.rows))
        column = rng.random((number, len(self.rows))).argsort(axis=1)[:, :most]
        used = rng.integers(1, most + 1, number)
        # The share of the question, on a log scale, is split evenly among its columns.
        share = np.exp(rng.uniform(np.log(LEAST), np.log(MOST), number)) ** (1.0 / used)
        half = np.maximum((share * count / 2).astype(np.int64), 1)[:, None]
        middle = self.rank[column, series[:, None]].astype(np.int64)
        first, last = np.maximum(middle - half, 0), np.minimum(middle + half, count - 1)
        in_use = np.arange(most) < used[:, None]
        low = np.where(in_use, self.ordered[column, first], -np.inf)
        return Bands(column, low, np.where(in_use, self.ordered[column, last], np.inf))

    def within(self, bands: Bands) -> Flags:
        """Per question and series whether it is in every range."""
        inside = np.ones((len(bands.column), self.rows.shape[1]), dtype=bool)
        for column, low, high in bands:
            first, last = np.empty((2, len(column)), dtype=np.int64)
            for number in np.unique(column):
                asking = column == number
                first[asking] = np.searchsorted(self.ordered[number], low[asking], side="left")
                last[asking] = np.searchsorted(self.ordered[number], high[asking], side="right")
            # Ranks are unsigned: those below the first wrap around to beyond the width.
            width = np.maximum(last - first, 0).astype(self.rank.dtype)
            inside &= self.rank[column] - first.astype(self.rank.dtype)[:, None] < width[:, None]
        return inside
