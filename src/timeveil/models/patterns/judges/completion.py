"""What follows from published counts because everybody has one symbol at every instant: the judges' own.

Where all symbols of an instant but one are counted beside a set, whoever is left has the one that is missing.
Sets of n items follow from sets of n items and of one less, so that lengths are done one after the other, and
each until nothing more follows. Where all symbols of an instant are there, they must add up, or no data have
these counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.evidence.codes import Integers
from timeveil.models.patterns.judges.family import NONE, Family


@dataclass(frozen=True, slots=True)
class Known:
    """All that is known: a family, for each set its number among the published ones, -1 if it follows.

    `off` is how many times counts contradict that everybody has one symbol at every instant.
    """

    family: Family
    own: Integers
    off: int = 0


def known_from(family: Family, *, structural: bool) -> Known:
    """What a reader knows; without `structural`, the published counts and nothing else.

    >>> from timeveil.models.patterns.judges.family import family_of
    >>> known = known_from(family_of([[], [0], [1]], [10, 5, 4], size=3, kinds=3), structural=True)
    >>> known.family.support.tolist(), known.own.tolist()
    ([10, 5, 4, 1], [0, 1, 2, -1])
    """
    if not structural or family.kinds == 1:
        return Known(family, np.arange(family.number))
    size = family.instants * family.kinds
    done = [_Level(np.zeros((1, 0), dtype=np.int64), family.support[:1], np.zeros(1, dtype=np.int64))]
    tables = _Tables(size, family.kinds)
    off = 0
    for length, lines in enumerate(family.levels[1:], start=1):
        numbers = np.arange(family.offsets[length], family.offsets[length + 1])
        level = _Level(lines, family.support[numbers], numbers)
        while len(level.lines):
            fresh, wrong = tables.following(level, done[-1].support)
            if fresh is None:
                off += wrong
                break
            level = level.joined(fresh)
        done.append(tables.ordered(level))
    whole = Family(
        tuple(level.lines for level in done),
        np.concatenate([level.support for level in done]),
        size,
        family.kinds,
    )
    return Known(whole, np.concatenate([level.own for level in done]), off + int((whole.support < 0).sum()))


@dataclass(frozen=True, slots=True)
class _Level:
    """Sets of one length, how many people have them, and their numbers among the published ones."""

    lines: Integers
    support: Integers
    own: Integers

    def joined(self, other: _Level) -> _Level:
        return _Level(
            np.concatenate([self.lines, other.lines]),
            np.concatenate([self.support, other.support]),
            np.concatenate([self.own, other.own]),
        )

    def part(self, which: Integers) -> _Level:
        return _Level(self.lines[which], self.support[which], self.own[which])


class _Tables:
    """Where sets stand: by length, in order, the place of each without its last item, and that item."""

    def __init__(self, size: int, kinds: int) -> None:
        self.size, self.kinds = size, kinds
        self.keys: list[Integers] = [np.zeros(1, dtype=np.int64)]

    def places(self, lines: Integers) -> Integers:
        """Where sets stand among those of their length, all of which are there."""
        here: Integers = np.zeros(len(lines), dtype=np.int64)
        for place in range(lines.shape[1]):
            keys = self.keys[place + 1]
            here = np.minimum(np.searchsorted(keys, here * self.size + lines[:, place]), len(keys) - 1)
        return here

    def ordered(self, level: _Level) -> _Level:
        """The sets of a length in order; from now on they are found."""
        key = self.places(level.lines[:, :-1]) * self.size + level.lines[:, -1]
        order = np.argsort(key, kind="stable")
        self.keys.append(key[order])
        return level.part(order)

    def following(self, level: _Level, above: Integers) -> tuple[_Level | None, int]:
        """The sets of a length that follow from the others; if none does, how often symbols do not add up.

        `above` has the people of the sets of one item less.
        """
        length = level.lines.shape[1]
        instants = -(-self.size // self.kinds)
        less = np.stack([self.places(np.delete(level.lines, p, axis=1)) for p in range(length)], axis=1)
        at, symbol = level.lines // self.kinds, level.lines % self.kinds
        pair = (less * instants + at).ravel()
        order = np.argsort(pair, kind="stable")
        first = np.flatnonzero(np.diff(pair[order], prepend=-1))
        there = np.diff(first, append=len(order))
        people = np.add.reduceat(np.repeat(level.support, length)[order], first)
        symbols = np.add.reduceat(symbol.ravel()[order], first)
        head = pair[order][first]
        short = np.flatnonzero(there == self.kinds - 1)
        if not len(short):
            whole = there == self.kinds
            return None, int((people[whole] != above[head[whole] // instants]).sum())
        missing = self.kinds * (self.kinds - 1) // 2 - symbols[short]
        item = head[short] % instants * self.kinds + missing
        one = order[first[short]]  # a set with another symbol there, and which of its items that is
        lines = level.lines[one // length].copy()
        lines[np.arange(len(one)), one % length] = item
        left = above[head[short] // instants] - people[short]
        lines, kept = np.unique(lines, axis=0, return_index=True)
        return _Level(lines, left[kept], np.full(len(lines), NONE)), 0
