"""Published patterns as a tree of item sets: the judges' own, made from a table and nothing else.

An item is a number; the `kinds` items of one instant are neighbours and exclude each other. A set is a line
of ascending items. Sets are in the order of a release: by length, then by their items. So sets that begin
alike are neighbours, and one sorted list of (beginning, last item) finds any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from timeveil.evidence.codes import Integers

Masks = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
NONE = -1
MOST_SETS = 6_000_000
_MOST_CELLS = 1 << 27


class TooManySetsError(Exception):
    """More parts than can be examined."""


@dataclass(frozen=True)
class Family:
    """Sets by length, `levels[n]` a matrix of those of n items, and the number of people with each.

    `size` is above every item. The empty set is number 0 and the only one of its length; the others are
    numbered in order.
    """

    levels: tuple[Integers, ...]
    support: Integers
    size: int
    kinds: int

    @cached_property
    def offsets(self) -> Integers:
        """The number of the first set of each length, then the number of all sets."""
        return np.concatenate([[0], np.cumsum([len(level) for level in self.levels])])

    @property
    def number(self) -> int:
        """Number of sets, the empty one included."""
        return int(self.offsets[-1])

    @property
    def instants(self) -> int:
        """Number of instants."""
        return -(-self.size // self.kinds)

    @property
    def singles(self) -> Integers:
        """The items that are sets on their own."""
        return self.levels[1][:, 0] if len(self.levels) > 1 else np.zeros(0, dtype=np.int64)

    def supports(self, length: int) -> Integers:
        """The supports of the sets of one length."""
        return self.support[self.offsets[length] : self.offsets[length + 1]]

    @property
    def parents(self) -> Integers:
        """For every set the one without its last item; -1 where that is missing."""
        return self._tree[0]

    @cached_property
    def _tree(self) -> tuple[Integers, Integers]:
        parents = np.full(self.number, NONE, dtype=np.int64)
        keys = np.zeros(0, dtype=np.int64)
        for length, level in enumerate(self.levels[1:], start=1):
            above: Integers = np.zeros(len(level), dtype=np.int64)
            for column in range(length - 1):
                above = _lookup(keys, above, level[:, column], self.size)
            parents[self.offsets[length] : self.offsets[length + 1]] = above
            # Keys rise with the number of the set, so one sorted list serves every length.
            keys = np.concatenate([keys, above * self.size + level[:, -1]])
        return parents, keys

    @property
    def is_rooted(self) -> bool:
        """Whether every set without its last item is in the family; `drops` needs that."""
        return bool((self.parents[1:] >= 0).all())

    def extended(self, sets: Integers, items: Integers) -> Integers:
        """The sets with one item more, which comes after all of theirs; -1 where there is none.

        >>> family = family_of([[], [0], [1], [0, 1]], [9, 5, 4, 3], size=2)
        >>> family.extended(np.array([0, 1, 2]), np.array([1, 1, 1])).tolist()
        [2, 3, -1]
        """
        return _lookup(self._tree[1], sets, items, self.size)

    def numbers(self, lines: Integers) -> Integers:
        """The numbers of sets of one length, a line each; -1 for those that are not in the family."""
        numbers = np.zeros(len(lines), dtype=np.int64)
        for items in lines.T:
            inside = items < self.size
            numbers = np.where(inside, self.extended(numbers, np.minimum(items, self.size - 1)), NONE)
        return numbers

    def find(self, items: Sequence[int]) -> int | None:
        """The number of a set of items, None if it is not in the family."""
        number = int(self.numbers(np.array([sorted(items)], dtype=np.int64).reshape(1, -1))[0])
        return None if number < 0 else number

    def items_of(self, number: int) -> Integers:
        """The items of one set."""
        length = int(np.searchsorted(self.offsets, number, side="right")) - 1
        items: Integers = self.levels[length][number - self.offsets[length]]
        return items

    @cached_property
    def drops(self) -> tuple[Integers, ...]:
        """By length, for every set and each of its items the set without it; -1 where that is missing."""
        out: list[Integers] = [np.zeros((1, 0), dtype=np.int64)]
        for length, level in enumerate(self.levels[1:], start=1):
            start = self.offsets[length]
            above = self.parents[start : start + len(level)]
            drop = np.empty((len(level), length), dtype=np.int64)
            drop[:, -1] = above
            for column in range(length - 1):
                shorter = out[-1][above - self.offsets[length - 1], column]
                drop[:, column] = self.extended(shorter, level[:, -1])
            out.append(drop)
        return tuple(out)

    @cached_property
    def is_maximal(self) -> Flags:
        """Sets that are part of no other."""
        maximal = np.ones(self.number, dtype=bool)
        for drop in self.drops[1:]:
            maximal[drop.ravel()] = False
        return maximal

    @cached_property
    def additions(self) -> Masks:
        """For every set and instant, as bits, the items of the instant that can be added to it."""
        out = np.zeros((self.number, self.instants), dtype=np.uint64)
        for level, drop in zip(self.levels[1:], self.drops[1:], strict=True):
            bits = np.uint64(1) << (level % self.kinds).astype(np.uint64)
            np.bitwise_or.at(out, (drop.ravel(), (level // self.kinds).ravel()), bits.ravel())
        return out

    def with_support(self, support: Integers) -> Family:
        """These sets with other counts."""
        return Family(self.levels, support, self.size, self.kinds)

    def only(self, chosen: Flags) -> Family:
        """The chosen sets, among them every part of each."""
        levels = [
            level[chosen[self.offsets[length] : self.offsets[length + 1]]]
            for length, level in enumerate(self.levels)
        ]
        while len(levels) > 1 and not len(levels[-1]):
            levels.pop()
        return Family(tuple(levels), self.support[chosen], self.size, self.kinds)


def family_of(sets: Sequence[Sequence[int]], support: Any, size: int, kinds: int = 1) -> Family:
    """A family of sets that are in order."""
    lengths = np.array([len(items) for items in sets])
    flat = np.array([item for items in sets for item in items], dtype=np.int64)
    return Family(levels_of(flat, lengths), np.asarray(support, dtype=np.int64), size, kinds)


def levels_of(items: Integers, lengths: Integers) -> tuple[Integers, ...]:
    """Sets in order of length, one after the other, as a matrix for each length."""
    starts = np.cumsum(lengths) - lengths
    return tuple(
        items[starts[lengths == length][:, None] + np.arange(length)]
        for length in range(int(lengths.max(initial=0)) + 1)
    )


def _lookup(keys: Integers, sets: Integers, items: Integers, size: int) -> Integers:
    wanted = sets * size + items
    if not len(keys):
        return np.full(wanted.shape, NONE, dtype=np.int64)
    index = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((keys[index] == wanted) & (sets >= 0), index + 1, NONE)


def disorder(levels: Sequence[Integers]) -> tuple[int, int]:
    """Number of lines that equal the one before, and of lines that belong before it.

    >>> disorder([np.zeros((1, 0), int), np.array([[0], [2], [2], [1]])])
    (1, 1)
    """
    repeated = misplaced = 0
    for level in levels:
        before, after = level[:-1], level[1:]
        differs = before != after
        column = differs.argmax(axis=1) if level.shape[1] else np.zeros(len(before), dtype=np.int64)
        line = np.flatnonzero(differs.any(axis=1))
        repeated += len(before) - len(line)
        misplaced += int((before[line, column[line]] > after[line, column[line]]).sum())
    return repeated, misplaced


def all_parts(family: Family) -> tuple[Family, Integers]:
    """A family with all parts of its sets, and the numbers in it of the original sets.

    A part that is no set of the family has as many people as the most common set that contains it.

    >>> complete, numbers = all_parts(family_of([[], [0, 1]], [5, 3], size=2))
    >>> complete.support.tolist(), numbers.tolist()
    ([5, 3, 3, 3], [0, 3])
    """
    if 2.0 ** (len(family.levels) - 1) > MOST_SETS:  # the parts of the longest alone
        raise TooManySetsError
    longer, people = family.levels[-1][:0, :0], np.zeros(0, dtype=np.int64)
    levels: list[Integers] = []
    supports: list[Integers] = []
    numbers: list[Integers] = []
    # From the longest sets down: each passes its count on to the sets with one item less.
    for length in range(len(family.levels) - 1, -1, -1):
        if len(longer) * longer.shape[1] ** 2 > _MOST_CELLS:
            raise TooManySetsError
        level = family.levels[length]
        shorter = [np.delete(longer, column, axis=1) for column in range(longer.shape[1])]
        counts = [family.supports(length), *[people] * len(shorter)]
        longer, people, line = _merged(np.concatenate([level, *shorter]), np.concatenate(counts), family.size)
        levels.insert(0, longer)
        supports.insert(0, people)
        numbers.insert(0, line[: len(level)])
        if sum(map(len, levels)) > MOST_SETS:
            raise TooManySetsError
    complete = Family(tuple(levels), np.concatenate(supports), family.size, family.kinds)
    offsets = complete.offsets[:-1]
    return complete, np.concatenate([line + start for line, start in zip(numbers, offsets, strict=True)])


def _merged(lines: Integers, counts: Integers, size: int) -> tuple[Integers, Integers, Integers]:
    """Each line once, in order, with the largest of its counts; and where every line went."""
    key = np.zeros(len(lines), dtype=np.int64)
    for items in lines.T:
        # Renumbered after each column, so that keys stay small; the order of lines is kept.
        key = np.unique(key * size + items, return_inverse=True)[1].ravel()
    _, first, line = np.unique(key, return_index=True, return_inverse=True)
    people = np.full(len(first), -1, dtype=np.int64)
    np.maximum.at(people, line.ravel(), counts)
    return lines[first], people, line.ravel()
