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
    _, number, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return lambda people: count[number[people]]


def overlapping_pairs(low: Floats, high: Floats, known_low: Floats, known_high: Floats, mask: Mask) -> Pairs:
    """Pairs of person and box that meet, in parts; all pairs of a person come in one part, together."""
    # People of whom the same sides are known are searched for together.
    _, kind = np.unique(np.packbits(mask, axis=1), axis=0, return_inverse=True)
    order = np.argsort(kind, kind="stable")
    deviation = known_low.std(axis=0) if len(known_low) else np.ones(low.shape[1])
    scale = np.where(deviation > 0, deviation, 1.0)
    # A line per side: the search looks at one side of many boxes at a time.
    lines = [np.ascontiguousarray(side.T) for side in (low, high, known_low, known_high)]
    for people in np.split(order, np.cumsum(np.bincount(kind))[:-1]) if len(mask) else ():
        sides = np.flatnonzero(mask[people[0]])
        low, high, known_low, known_high = (line[sides] for line in lines)
        yield from _search(people, low, high, known_low, known_high, scale[sides])


def _search(
    people: Integers, low: Floats, high: Floats, known_low: Floats, known_high: Floats, scale: Floats
) -> Pairs:
    """Halve people until few pairs are left, then try each; a line of each array is a side that is known."""
    waiting = [(people, np.arange(low.shape[1]))]
    while waiting:
        people, boxes = waiting.pop()
        least, most = known_low[:, people].min(axis=1), known_high[:, people].max(axis=1)
        # The narrowest side comes first: it rules out most boxes.
        sides = np.argsort((most - least) / scale)
        for side in sides:
            boxes = boxes[(low[side][boxes] <= most[side]) & (high[side][boxes] >= least[side])]
        if len(people) > 1 and len(people) * len(boxes) > _PAIRS_AT_ONCE:
            middle = len(people) // 2
            # The widest side is the last one: halving there separates people best.
            if len(sides):
                people = people[np.argpartition(known_low[sides[-1], people], middle)]
            waiting += [(people[:middle], boxes), (people[middle:], boxes)]
            continue
        # Every pair: at the widest sides all at once, then those that are left, side by side.
        meet = np.ones((len(people), len(boxes)), dtype=bool)
        for side in sides[::-1][:_DENSE_SIDES]:
            meet &= low[side][boxes] <= known_high[side][people, None]
            meet &= high[side][boxes] >= known_low[side][people, None]
        person, box = np.nonzero(meet)
        person, box = people[person], boxes[box]
        for side in sides[::-1][_DENSE_SIDES:]:
            fit = (low[side][box] <= known_high[side][person]) & (high[side][box] >= known_low[side][person])
            person, box = person[fit], box[fit]
        if len(person):
            yield person, box
