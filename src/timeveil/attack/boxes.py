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
_LEAF = 48
_AT_ONCE = 4_000_000


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
    scale = known_low.std(axis=0) if len(known_low) else np.ones(low.shape[1])
    scale = np.where(scale > 0, scale, 1.0)
    everything = np.arange(len(low))
    for line, first, last in zip(patterns, np.concatenate([[0], ends[:-1]]), ends, strict=True):
        walk = _Walk(low, high, known_low, known_high, np.flatnonzero(line), scale)
        yield from walk.down(order[first:last], everything)


class _Walk:
    """The descent for people of whom the same instants are known."""

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
        self._instants, self._scale = instants, scale

    def down(self, people: Integers, boxes: Integers) -> Pairs:
        """Halve until few are left, then try every pair."""
        waiting = [(people, boxes)]
        while waiting:
            people, boxes = waiting.pop()
            boxes = self._near(people, boxes)
            if not len(boxes):
                continue
            halves = None
            if len(people) > 1 and (len(people) > _LEAF or len(people) * len(boxes) > _AT_ONCE):
                halves = self._halves(people)
            if halves is None:
                pairs = self._tried(people, boxes)
                if len(pairs[0]):
                    yield pairs
            else:
                waiting += [(halves[1], boxes), (halves[0], boxes)]

    def _near(self, people: Integers, boxes: Integers) -> Integers:
        """Boxes that meet the box around all these people."""
        for instant in self._instants:
            least, most = self._from[people, instant].min(), self._to[people, instant].max()
            boxes = boxes[(self._low[boxes, instant] <= most) & (self._high[boxes, instant] >= least)]
        return boxes

    def _halves(self, people: Integers) -> tuple[Integers, Integers]:
        middle = len(people) // 2
        if len(self._instants):
            part = self._from[np.ix_(people, self._instants)]
            widest = int(((part.max(axis=0) - part.min(axis=0)) / self._scale[self._instants]).argmax())
            people = people[np.argpartition(part[:, widest], middle)]
        return people[:middle], people[middle:]

    def _tried(self, people: Integers, boxes: Integers) -> tuple[Integers, Integers]:
        if not len(self._instants):
            return np.repeat(people, len(boxes)), np.tile(boxes, len(people))
        first, *others = self._instants
        meet = self._low[boxes, first] <= self._to[people, first][:, None]
        meet &= self._high[boxes, first] >= self._from[people, first][:, None]
        person, box = np.nonzero(meet)
        person, box = people[person], boxes[box]
        for instant in others:
            meet = self._low[box, instant] <= self._to[person, instant]
            meet &= self._high[box, instant] >= self._from[person, instant]
            person, box = person[meet], box[meet]
        return person, box
