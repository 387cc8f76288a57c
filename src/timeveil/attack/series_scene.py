"""The original and the release as boxes, and people as what is known of them.

A row is a box: an interval of values at each instant and, where patterns count, an interval of positions on
the normal curve, which is what a symbol at its level stands for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.attack.boxes import Floats, Mask, Pairs, meetings
from timeveil.attack.series_adversary import SeriesAdversary
from timeveil.intake.collection import Collection
from timeveil.query.codes import Integers
from timeveil.query.series_published import Published
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


def original_side(
    collection: Collection, adversary: SeriesAdversary, known: Mask, level: int, center: str
) -> Side:
    """Everybody's series: its values, and the symbols it has at the finest level."""
    values, reach = collection.matrix, adversary.tolerance
    if not adversary.pattern:
        return Side(values, values, values - reach, values + reach, known)
    u = positions(z_normalised(values, center))  # type: ignore[arg-type]
    symbols = symbols_at(u, level).astype(np.float64)
    return Side(
        np.hstack([values, symbols / level]),
        np.hstack([values, _below((symbols + 1) / level)]),
        np.hstack([values - reach, u]),
        np.hstack([values + reach, u]),
        np.hstack([known, np.ones_like(known)]),
    )


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
