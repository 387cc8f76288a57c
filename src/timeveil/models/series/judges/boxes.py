"""Which boxes meet what is known of whom? Exactly, without trying every pair.

What is known of a person is an interval at some instants; what a row says is an interval at each. Both
fit where they meet at every known instant. People are halved along the instant they differ most in, and with
them go only those boxes that meet any of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from timeveil.evidence.codes import Integers

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Pairs = Iterator[tuple[Integers, Integers]]
_AT_ONCE = 100_000
_ALL_PAIRS = 4  # instants


def meetings(low: Floats, high: Floats, known_low: Floats, known_high: Floats, known: Mask) -> Pairs:
    """Pairs of person and box that meet, in parts; all pairs of a person come in one part, together.

    >>> low, high = np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]])
    >>> point = np.array([[0.5], [2.0], [9.0]])
    >>> [(p.tolist(), b.tolist()) for p, b in meetings(low, high, point, point, np.ones((3, 1), bool))]
    [([0, 1], [0, 1])]
    """
    which = _alike(known)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which))
    begins = np.concatenate([[0], ends[:-1]])
    spread = known_low.std(axis=0) if len(known_low) else np.ones(low.shape[1])
    low, high, known_low, known_high = map(_by_instant, (low, high, known_low, known_high))
    everything, scale = np.arange(low.shape[1]), np.where(spread > 0, spread, 1.0)
    for first, last in zip(begins, ends, strict=True) if len(known) else ():
        walk = _Walk(low, high, known_low, known_high, np.flatnonzero(known[order[first]]), scale)
        yield from walk.down(order[first:last], everything)


def _alike(known: Mask) -> Integers:
    """A number for each person; it is the same for those of whom the same instants are known."""
    which: Integers = np.zeros(len(known), dtype=np.int64)
    for eight in np.packbits(known, axis=1).T:
        if (eight != eight[:1]).any():
            which = np.unique(which * 256 + eight, return_inverse=True)[1].ravel()
    return which


def _by_instant(side: Floats) -> Floats:
    return np.ascontiguousarray(side.T)


class _Walk:
    """The descent for people of whom the same instants are known; a line of each side is an instant."""

    def __init__(
        self,
        low: Floats,
        high: Floats,
        known_low: Floats,
        known_high: Floats,
        instants: Integers,
        scale: Floats,
    ) -> None:
        self._low, self._high, self._from, self._to = low, high, known_low, known_high
        self._instants, self._scale = instants, scale[instants]

    def down(self, people: Integers, boxes: Integers) -> Pairs:
        """Halve until few pairs are left, then try each."""
        waiting = [(_Some(people, self._of(self._from, people), self._of(self._to, people)), boxes)]
        while waiting:
            some, boxes = waiting.pop()
            least, most = some.low.min(axis=1), some.high.max(axis=1)
            narrow = np.argsort((most - least) / self._scale)
            boxes = self._near(least, most, narrow, boxes)
            if len(some.people) > 1 and len(some.people) * len(boxes) > _AT_ONCE:
                waiting += [(half, boxes) for half in some.halves(narrow)]
            elif len(boxes):
                pairs = self._tried(some, boxes, narrow[::-1])
                if len(pairs[0]):
                    yield pairs

    def _of(self, side: Floats, places: Integers) -> Floats:
        """The known instants of some people or boxes, side by side in memory."""
        return np.array([side[instant][places] for instant in self._instants]).reshape(-1, len(places))

    def _near(self, least: Floats, most: Floats, narrow: Integers, boxes: Integers) -> Integers:
        """Boxes that meet the box around some people, tried first where that is narrow."""
        for place in narrow:
            low, high = self._low[self._instants[place]], self._high[self._instants[place]]
            boxes = boxes[(low[boxes] <= most[place]) & (high[boxes] >= least[place])]
        return boxes

    def _tried(self, some: _Some, boxes: Integers, wide: Integers) -> tuple[Integers, Integers]:
        """Every pair: at the instants that part people most all at once, then those that are left."""
        low, high = self._of(self._low, boxes), self._of(self._high, boxes)
        meet = np.ones((len(some.people), len(boxes)), dtype=bool)
        for place in wide[:_ALL_PAIRS]:
            meet &= low[place] <= some.high[place][:, None]
            meet &= high[place] >= some.low[place][:, None]
        person, box = np.nonzero(meet)
        for place in wide[_ALL_PAIRS:]:
            fit = (low[place][box] <= some.high[place][person]) & (
                high[place][box] >= some.low[place][person]
            )
            person, box = person[fit], box[fit]
        return some.people[person], boxes[box]


@dataclass(frozen=True, slots=True)
class _Some:
    """Some people and what is known of them, a line for each instant."""

    people: Integers
    low: Floats
    high: Floats

    def halves(self, narrow: Integers) -> tuple[_Some, _Some]:
        """Parted at the instant in which they differ most."""
        middle = len(self.people) // 2
        order = np.argpartition(self.low[narrow[-1]], middle) if len(narrow) else np.arange(len(self.people))
        return self._take(order[:middle]), self._take(order[middle:])

    def _take(self, places: Integers) -> _Some:
        return _Some(self.people[places], self.low[:, places], self.high[:, places])
