"""The rows that fit what is known of a person, exactly and without trying every pair.

A row is a box: an interval of values at each instant and, where patterns count, an interval of positions on
the normal curve, which is what a symbol at its level allows. What is known of a person is an interval at some
of these sides. The two fit where they meet at every known side. People are halved along the side in which
they differ most, and each half goes on with only those boxes that meet any of its people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from timeveil.evidence.codes import Integers
from timeveil.models.series.evidence import Floats, Mask, Symbols

Pairs = Iterator[tuple[Integers, Integers]]
Counts = Callable[[Integers], Integers]
"""How many rows fit each of some people."""
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

    @classmethod
    def of_values(cls, low: Floats, high: Floats, values: Floats, mask: Mask, tolerance: float) -> Boxes:
        """Envelopes, of which the values of each person are known to within a tolerance."""
        return cls(low, high, values - tolerance, values + tolerance, mask)

    def with_symbols(self, symbols: Symbols, levels: Symbols | int, position: Floats) -> Boxes:
        """The same with the symbols, of which the position of each person is known."""
        # The highest position below a border: a value on it belongs to the next symbol.
        ends = symbols / levels, np.nextafter((symbols + 1) / levels, 0.0)
        added = (*ends, position, position, np.ones(position.shape, dtype=bool))
        sides = (self.low, self.high, self.known_low, self.known_high, self.mask)
        return Boxes(*(np.hstack(pair) for pair in zip(sides, added, strict=True)))

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


def exact_matches(rows: Floats) -> Counts:
    """How many rows equal that of each person: where all is known exactly, nothing has to be searched."""
    number: Integers = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        codes = np.unique(column, return_inverse=True)[1]
        # Renumbered after each column, so that numbers never grow beyond the number of rows.
        number = np.unique(number * (codes.max() + 1) + codes, return_inverse=True)[1]
    return lambda people: np.bincount(number)[number[people]]


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
