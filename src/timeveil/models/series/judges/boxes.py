"""The rows that fit what is known of a person, exactly and without trying every pair.

A row is a box: an interval of values at each instant and, where patterns count, an interval of positions on
the normal curve, which is what a symbol at its level allows. What is known of a person is an interval at some
of these sides. The two fit where they meet at every known side. People are halved along the side in which
they differ most, and each half goes on with only those boxes that meet any of its people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from timeveil.evidence.codes import Integers
from timeveil.models.series.evidence import Mask, Published
from timeveil.models.series.original import Floats
from timeveil.symbols import positions, symbols_at, z_normalised

Pairs = Iterator[tuple[Integers, Integers]]
_PAIRS_AT_ONCE = 100_000
_DENSE_SIDES = 4


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes, and of each person an interval per side of a box, with a mask of the sides that are known."""

    low: Floats
    high: Floats
    known_low: Floats
    known_high: Floats
    mask: Mask

    def fits(self, people: Integers) -> Pairs:
        """Which boxes fit which of these people, by their index in the list."""
        return overlapping_pairs(
            self.low, self.high, self.known_low[people], self.known_high[people], self.mask[people]
        )

    def counts(self, people: Integers) -> Integers:
        """How many boxes fit each of these people."""
        counts: Integers = np.zeros(len(people), dtype=np.int64)
        for person, _ in self.fits(people):
            counts += np.bincount(person, minlength=len(people))
        return counts


@dataclass(frozen=True, slots=True)
class ExactMatches:
    """People of whom the same sides are known exactly; those who agree in all of them share a `number`."""

    number: Integers

    def counts(self, people: Integers) -> Integers:
        """How many people fit each of these."""
        return np.asarray(np.bincount(self.number)[self.number[people]])


def original_boxes(
    matrix: Floats, mask: Mask, tolerance: float, level: int | None, center: str
) -> Boxes | ExactMatches:
    """The series of everyone: the values, and the symbols at a level if patterns count."""
    exact = tolerance == 0 and len(matrix) > 0 and bool((mask == mask[:1]).all())
    if level is None:
        if exact:
            return _exact_matches(matrix[:, mask[0]])
        return Boxes(matrix, matrix, matrix - tolerance, matrix + tolerance, mask)
    position = positions(z_normalised(matrix, "median" if center == "median" else "mean"))
    symbols = symbols_at(position, level).astype(np.float64)
    if exact:
        return _exact_matches(np.hstack([matrix[:, mask[0]], symbols]))
    return Boxes(
        np.hstack([matrix, symbols / level]),
        np.hstack([matrix, _below((symbols + 1) / level)]),
        np.hstack([matrix - tolerance, position]),
        np.hstack([matrix + tolerance, position]),
        np.hstack([mask, np.ones_like(mask)]),
    )


def _exact_matches(rows: Floats) -> ExactMatches:
    number: Integers = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        codes = np.unique(column, return_inverse=True)[1].ravel()
        # Renumbered after each column, so that numbers never grow beyond the number of rows.
        number = np.unique(number * (codes.max() + 1) + codes, return_inverse=True)[1].ravel()
    return ExactMatches(number)


def release_boxes(
    published: Published, matrix: Floats, mask: Mask, tolerance: float, *, pattern: bool
) -> Boxes:
    """Published rows: the envelopes, and the symbols if patterns count and are those of each series."""
    values, mask = matrix[:, published.values], mask[:, published.values]
    if not (pattern and published.own_patterns):
        return Boxes(published.low, published.high, values - tolerance, values + tolerance, mask)
    z = z_normalised(matrix, "median" if published.center == "median" else "mean")
    position = positions(z[:, published.pattern])
    symbols, levels = published.symbols.astype(np.float64), published.levels.astype(np.float64)
    return Boxes(
        np.hstack([published.low, symbols / levels]),
        np.hstack([published.high, _below((symbols + 1) / levels)]),
        np.hstack([values - tolerance, position]),
        np.hstack([values + tolerance, position]),
        np.hstack([mask, np.ones(position.shape, dtype=bool)]),
    )


def _below(border: Floats) -> Floats:
    """The highest position below a border; a value on it belongs to the next symbol."""
    return np.nextafter(border, 0.0)


def overlapping_pairs(low: Floats, high: Floats, known_low: Floats, known_high: Floats, mask: Mask) -> Pairs:
    """Pairs of person and box that meet, in parts; all pairs of a person come in one part, together.

    >>> low, high = np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]])
    >>> point = np.array([[0.5], [2.0], [9.0]])
    >>> pairs = overlapping_pairs(low, high, point, point, np.ones((3, 1), bool))
    >>> [(person.tolist(), box.tolist()) for person, box in pairs]
    [([0, 1], [0, 1])]
    """
    kind = _kinds(mask)
    order = np.argsort(kind, kind="stable")
    ends = np.cumsum(np.bincount(kind))
    begins = np.concatenate([[0], ends[:-1]])
    deviation = known_low.std(axis=0) if len(known_low) else np.ones(low.shape[1])
    scale = np.where(deviation > 0, deviation, 1.0)
    # A line per side: the search looks at one side of many boxes at a time.
    lines = [np.ascontiguousarray(side.T) for side in (low, high, known_low, known_high)]
    for first, last in zip(begins, ends, strict=True) if len(mask) else ():
        sides, people = np.flatnonzero(mask[order[first]]), order[first:last]
        low, high, known_low, known_high = (line[sides] for line in lines)
        yield from _Search(low, high, known_low, known_high, scale[sides]).pairs(people)


def _kinds(mask: Mask) -> Integers:
    """A number for each person, the same for those of whom the same sides are known."""
    kind: Integers = np.zeros(len(mask), dtype=np.int64)
    for byte in np.packbits(mask, axis=1).T:
        # Eight sides at a time; a byte that is the same for all distinguishes nobody.
        if (byte != byte[:1]).any():
            kind = np.unique(kind * 256 + byte, return_inverse=True)[1].ravel()
    return kind


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for people of whom the same sides are known; a line of each array is such a side."""

    low: Floats
    high: Floats
    known_low: Floats
    known_high: Floats
    scale: Floats

    def pairs(self, people: Integers) -> Pairs:
        """Halve people until few pairs are left, then try each."""
        waiting = [(people, np.arange(self.low.shape[1]))]
        while waiting:
            people, boxes = waiting.pop()
            known_low, known_high = self.known_low[:, people], self.known_high[:, people]
            least, most = known_low.min(axis=1), known_high.max(axis=1)
            # The narrowest side comes first: it rules out most boxes.
            sides = np.argsort((most - least) / self.scale)
            for side in sides:
                meets = (self.low[side][boxes] <= most[side]) & (self.high[side][boxes] >= least[side])
                boxes = boxes[meets]
            if len(people) > 1 and len(people) * len(boxes) > _PAIRS_AT_ONCE:
                middle = len(people) // 2
                # The widest side is the last one: halving there separates people best.
                if len(sides):
                    people = people[np.argpartition(known_low[sides[-1]], middle)]
                waiting += [(people[:middle], boxes), (people[middle:], boxes)]
            elif len(boxes):
                person, box = self._tried(known_low, known_high, boxes, sides[::-1])
                if len(person):
                    yield people[person], boxes[box]

    def _tried(
        self, known_low: Floats, known_high: Floats, boxes: Integers, sides: Integers
    ) -> tuple[Integers, Integers]:
        """Every pair: at the widest sides all at once, then those that are left, side by side."""
        low, high = self.low[:, boxes], self.high[:, boxes]
        meet = np.ones((known_low.shape[1], len(boxes)), dtype=bool)
        for side in sides[:_DENSE_SIDES]:
            meet &= low[side] <= known_high[side][:, None]
            meet &= high[side] >= known_low[side][:, None]
        person, box = np.nonzero(meet)
        for side in sides[_DENSE_SIDES:]:
            fit = (low[side][box] <= known_high[side][person]) & (high[side][box] >= known_low[side][person])
            person, box = person[fit], box[fit]
        return person, box
