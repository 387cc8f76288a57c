"""Which boxes meet what is known of whom? Exactly, without trying every pair.

What is known of a person is an interval at some instants; what a row says is an interval at each. Both
fit where they meet at every known instant. People are halved along the instant they differ most in, and with
them go only those boxes that meet any of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from timeveil.query.codes import Integers

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Pairs = Iterator[tuple[Integers, Integers]]
_AT_ONCE = 200000


def meetings(low: Floats, high: Floats, known_low: Floats, known_high: Floats, known: Mask) -> Pairs:
    """Pairs of person and box that meet, in parts; all pairs of a person come in one part, together.

    >>> low, high = np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]])
    >>> point = np.array([[0.5], [2.0], [9.0]])
    >>> [(p.tolist(), b.tolist()) for p, b in meetings(low, high, point, point, np.ones((3, 1), bool))]
    [([0, 1], [0, 1])]
    """
    patterns, which = np.unique(known, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(patterns)))
    spread = known_low.std(axis=0) if len(known_low) else np.ones(low.shape[1])
    low, high, known_low, known_high = map(_by_instant, (low, high, known_low, known_high))
    everything, scale = np.arange(low.shape[1]), np.where(spread > 0, spread, 1.0)
    for line, first, last in zip(patterns, np.concatenate([[0], ends[:-1]]), ends, strict=True):
        walk = _Walk(low, high, known_low, known_high, np.flatnonzero(line), scale)
        yield from walk.down(order[first:last], everything)


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
        waiting = [(people, boxes)]
        while waiting:
            people, boxes = waiting.pop()
            least = self._from[np.ix_(self._instants, people)].min(axis=1)
            most = self._to[np.ix_(self._instants, people)].max(axis=1)
            narrow = np.argsort((most - least) / self._scale)
            boxes = self._near(least, most, narrow, boxes)
            if len(people) > 1 and len(people) * len(boxes) > _AT_ONCE:
                halves = self._halves(people, narrow)
                waiting += [(halves[1], boxes), (halves[0], boxes)]
            elif len(boxes):
                pairs = self._tried(people, boxes)
                if len(pairs[0]):
                    yield pairs

    def _near(self, least: Floats, most: Floats, narrow: Integers, boxes: Integers) -> Integers:
        """Boxes that meet the box around some people, tried first where that is narrow."""
        for place in narrow:
            low, high = self._low[self._instants[place]], self._high[self._instants[place]]
            boxes = boxes[(low[boxes] <= most[place]) & (high[boxes] >= least[place])]
        return boxes

    def _halves(self, people: Integers, narrow: Integers) -> tuple[Integers, Integers]:
        middle = len(people) // 2
        if len(narrow):
            widest = self._from[self._instants[narrow[-1]]]
            people = people[np.argpartition(widest[people], middle)]
        return people[:middle], people[middle:]

    def _tried(self, people: Integers, boxes: Integers) -> tuple[Integers, Integers]:
        if not len(self._instants):
            return np.repeat(people, len(boxes)), np.tile(boxes, len(people))
        first, *others = self._instants
        meet = self._low[first][boxes] <= self._to[first][people][:, None]
        meet &= self._high[first][boxes] >= self._from[first][people][:, None]
        person, box = np.nonzero(meet)
        person, box = people[person], boxes[box]
        for instant in others:
            meet = self._low[instant][box] <= self._to[instant][person]
            meet &= self._high[instant][box] >= self._from[instant][person]
            person, box = person[meet], box[meet]
        return person, box
