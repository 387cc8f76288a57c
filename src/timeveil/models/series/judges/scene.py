"""The original and the release as boxes, and people as what is known of them.

A row is a box: an interval of values at each instant and, where patterns count, an interval of positions on
the normal curve, which is what a symbol at its level stands for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.evidence.codes import Integers
from timeveil.models.series.judges.adversary import SeriesAdversary
from timeveil.models.series.judges.boxes import Floats, Mask, Pairs, meetings
from timeveil.models.series.judges.published import Published
from timeveil.reading.collection import Collection
from timeveil.symbols.sax import positions, symbols_at, z_normalised


@dataclass(frozen=True, slots=True)
class Side:
    """Boxes, and of each person an interval for each side of a box, with which of them are known."""

    low: Floats
    high: Floats
    known_low: Floats
    known_high: Floats
    known: Mask

    def fits(self, people: Integers) -> Pairs:
        """Which boxes fit which of these people, by their places in the list."""
        return meetings(
            self.low, self.high, self.known_low[people], self.known_high[people], self.known[people]
        )

    def numbers(self, people: Integers) -> Integers:
        """How many boxes fit each of these people."""
        found: Integers = np.zeros(len(people), dtype=np.int64)
        for person, _ in self.fits(people):
            found += np.bincount(person, minlength=len(people))
        return found


@dataclass(frozen=True, slots=True)
class Twins:
    """People of whom the same is known exactly: whoever has it all has the same number in `of`."""

    of: Integers

    def numbers(self, people: Integers) -> Integers:
        """How many people fit each of these."""
        return np.asarray(np.bincount(self.of)[self.of[people]])


def original_side(
    collection: Collection, adversary: SeriesAdversary, known: Mask, level: int, center: str
) -> Side | Twins:
    """Everybody's series: its values, and the symbols it has at the finest level."""
    values, reach = collection.matrix, adversary.tolerance
    alike = reach == 0 and len(values) > 0 and bool((known == known[:1]).all())
    if not adversary.pattern:
        if alike:
            return _twins(values[:, known[0]])
        return Side(values, values, values - reach, values + reach, known)
    u = positions(z_normalised(values, center))  # type: ignore[arg-type]
    symbols = symbols_at(u, level).astype(np.float64)
    if alike:
        return _twins(np.hstack([values[:, known[0]], symbols]))
    return Side(
        np.hstack([values, symbols / level]),
        np.hstack([values, _below((symbols + 1) / level)]),
        np.hstack([values - reach, u]),
        np.hstack([values + reach, u]),
        np.hstack([known, np.ones_like(known)]),
    )


def _twins(rows: Floats) -> Twins:
    of: Integers = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        codes = np.unique(column, return_inverse=True)[1].ravel()
        of = np.unique(of * (codes.max() + 1) + codes, return_inverse=True)[1].ravel()
    return Twins(of)


def release_side(
    published: Published, collection: Collection, adversary: SeriesAdversary, known: Mask
) -> Side:
    """Published rows: the envelopes, and the symbols if the pattern is known and published as one's own."""
    values, reach = collection.matrix[:, published.values], adversary.tolerance
    seen = known[:, published.values]
    if not (adversary.pattern and published.own):
        return Side(published.low, published.high, values - reach, values + reach, seen)
    z = z_normalised(collection.matrix, published.center)  # type: ignore[arg-type]
    u = positions(z[:, published.pattern])
    symbols, levels = published.symbols.astype(np.float64), published.levels.astype(np.float64)
    return Side(
        np.hstack([published.low, symbols / levels]),
        np.hstack([published.high, _below((symbols + 1) / levels)]),
        np.hstack([values - reach, u]),
        np.hstack([values + reach, u]),
        np.hstack([seen, np.ones(u.shape, dtype=bool)]),
    )


def _below(border: Floats) -> Floats:
    """The highest position below a border; a value on it belongs to the next symbol."""
    return np.nextafter(border, 0.0)
