"""What follows from published counts because everybody has one symbol at every instant: the judges' own.

Where all symbols of an instant but one are counted together with a set, the people left have the missing one.
Sets of n items follow from sets of n items and of one less, so lengths are done one after the other, and each
until nothing more follows. Where all symbols of an instant are counted, they must add up, or no data have
these counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.evidence.codes import Integers
from timeveil.models.patterns.evidence.family import NONE, Family


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All that a reader knows: a family, and for each set its number among the published ones, -1 if derived.

    `contradictions` is how often counts contradict that everybody has one symbol at every instant.
    """

    family: Family
    published: Integers
    contradictions: int = 0


def knowledge_of(family: Family, *, structural: bool) -> Knowledge:
    """What a reader knows; without `structural`, the published counts and nothing else.

    >>> from timeveil.models.patterns.evidence.family import family_of
    >>> knowledge = knowledge_of(family_of([[], [0], [1]], [10, 5, 4], size=3, kinds=3), structural=True)
    >>> knowledge.family.support.tolist(), knowledge.published.tolist()
    ([10, 5, 4, 1], [0, 1, 2, -1])
    """
    if not structural or family.kinds == 1:
        return Knowledge(family, np.arange(family.number))
    size = family.instants * family.kinds
    finished = [_Level(np.zeros((1, 0), dtype=np.int64), family.support[:1], np.zeros(1, dtype=np.int64))]
    index = _Index(size, family.kinds)
    contradictions = 0
    for length, lines in enumerate(family.levels[1:], start=1):
        numbers = np.arange(family.offsets[length], family.offsets[length + 1])
        level = _Level(lines, family.support[numbers], numbers)
        # A derived set can complete another instant, so each length is repeated until nothing follows.
        while len(level.lines):
            derived, wrong = index.derived(level, finished[-1].support)
            if derived is None:
                contradictions += wrong
                break
            level = level.joined(derived)
        finished.append(index.sorted(level))
    completed = Family(
        tuple(level.lines for level in finished),
        np.concatenate([level.support for level in finished]),
        size,
        family.kinds,
    )
    contradictions += int((completed.support < 0).sum())
    return Knowledge(completed, np.concatenate([level.published for level in finished]), contradictions)


@dataclass(frozen=True, slots=True)
class _Level:
    """Sets of one length, their supports, and their numbers among the published ones."""

    lines: Integers
    support: Integers
    published: Integers

    def joined(self, other: _Level) -> _Level:
        return _Level(
            np.concatenate([self.lines, other.lines]),
            np.concatenate([self.support, other.support]),
            np.concatenate([self.published, other.published]),
        )

    def take(self, which: Integers) -> _Level:
        return _Level(self.lines[which], self.support[which], self.published[which])


class _Index:
    """Finds sets of finished lengths: by length, in order, the set without its last item, and that item."""

    def __init__(self, size: int, kinds: int) -> None:
        self.size, self.kinds = size, kinds
        self.keys: list[Integers] = [np.zeros(1, dtype=np.int64)]

    def positions(self, lines: Integers) -> Integers:
        """Where sets are among those of their length, which has all of them."""
        position: Integers = np.zeros(len(lines), dtype=np.int64)
        for column, items in enumerate(lines.T):
            keys = self.keys[column + 1]
            position = np.minimum(np.searchsorted(keys, position * self.size + items), len(keys) - 1)
        return position

    def sorted(self, level: _Level) -> _Level:
        """The sets of a length in order; from here on they are found."""
        key = self.positions(level.lines[:, :-1]) * self.size + level.lines[:, -1]
        order = np.argsort(key, kind="stable")
        self.keys.append(key[order])
        return level.take(order)

    def derived(self, level: _Level, shorter: Integers) -> tuple[_Level | None, int]:
        """The sets of a length that follow from the others; if none does, how often symbols do not add up.

        `shorter` has the supports of the sets of one item less.
        """
        length = level.lines.shape[1]
        instants = -(-self.size // self.kinds)
        bases = [self.positions(np.delete(level.lines, column, axis=1)) for column in range(length)]
        # sets that differ in the symbol at one instant only are one run of equal slots
        slot = (np.stack(bases, axis=1) * instants + level.lines // self.kinds).ravel()
        order = np.argsort(slot, kind="stable")
        first = np.flatnonzero(np.diff(slot[order], prepend=-1))
        counted = np.diff(first, append=len(order))
        people = np.add.reduceat(np.repeat(level.support, length)[order], first)
        symbols = np.add.reduceat((level.lines % self.kinds).ravel()[order], first)
        base, instant = np.divmod(slot[order][first], instants)
        short = np.flatnonzero(counted == self.kinds - 1)
        if not len(short):
            full = counted == self.kinds
            return None, int((people[full] != shorter[base[full]]).sum())
        # All symbols add up to a fixed sum, so the sum of the counted ones names the one that is missing.
        missing = self.kinds * (self.kinds - 1) // 2 - symbols[short]
        example, column = np.divmod(order[first[short]], length)  # a set with another symbol, and where
        lines = level.lines[example].copy()
        lines[np.arange(len(example)), column] = instant[short] * self.kinds + missing
        remaining = shorter[base[short]] - people[short]
        lines, once = np.unique(lines, axis=0, return_index=True)
        return _Level(lines, remaining[once], np.full(len(lines), NONE)), 0
