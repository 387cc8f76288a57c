"""Published patterns as a tree of item sets, and what follows from them: the judges' own.

An item is a number; the `kinds` items of one instant are neighbours and exclude each other. A set is a line
of ascending items. Sets are in the order of a release: by length, then by their items. So sets that begin
alike are neighbours, and one sorted list of (beginning, last item) finds any of them.

Everybody has one symbol at every instant. Where all symbols of an instant but one are counted together with a
set, the people left have the missing one. Where all of them are counted, they must add up, or no data have
these counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from timeveil.domain.arrays import Flags, Ints
from timeveil.evidence.codes import fold

NONE = -1
MOST_SETS = 6_000_000
_MOST_CELLS = 1 << 27


class SizeError(Exception):
    """More parts than can be examined."""


@dataclass(frozen=True)
class Family:
    """Sets by length, `levels[n]` a matrix of those of n items, and the number of people with each.

    `size` is above every item. The empty set is number 0 and the only one of its length; the others are
    numbered in order.
    """

    levels: tuple[Ints, ...]
    support: Ints
    size: int
    kinds: int

    @cached_property
    def offsets(self) -> Ints:
        """The number of the first set of each length, then the number of all sets."""
        return np.concatenate([[0], np.cumsum([len(level) for level in self.levels])])

    @property
    def number(self) -> int:
        """Number of sets, the empty one included."""
        return int(self.offsets[-1])

    @property
    def instants(self) -> int:
        return -(-self.size // self.kinds)

    @property
    def unlinked(self) -> Family:
        """The family as seen by readers who do not know that items of one instant exclude each other."""
        return replace(self, kinds=1)

    @property
    def singles(self) -> Ints:
        """The items that are sets on their own."""
        return self.levels[1][:, 0] if len(self.levels) > 1 else np.zeros(0, dtype=np.int64)

    def numbers(self, length: int) -> slice:
        return slice(int(self.offsets[length]), int(self.offsets[length + 1]))

    def supports(self, length: int) -> Ints:
        return self.support[self.numbers(length)]

    @cached_property
    def last(self) -> Ints:
        """The last item of every set, -1 for the empty one."""
        return np.concatenate([[NONE], *(level[:, -1] for level in self.levels[1:])])

    @cached_property
    def parents(self) -> Ints:
        """For every set the one without its last item; -1 where that is missing."""
        parents = np.full(self.number, NONE, dtype=np.int64)
        for length, level in enumerate(self.levels[1:], start=1):
            # Keys rise with the number of the set, so those of shorter sets are one sorted list.
            shorter = slice(1, self.offsets[length])
            keys = parents[shorter] * self.size + self.last[shorter]
            parents[self.numbers(length)] = _find(keys, level[:, :-1], self.size)
        return parents

    @cached_property
    def _keys(self) -> Ints:
        return self.parents[1:] * self.size + self.last[1:]

    def extended(self, sets: Ints, items: Ints) -> Ints:
        """The sets with one item more, which comes after all of theirs; -1 where there is none."""
        return _extended(self._keys, sets, items, self.size)

    def find(self, lines: Ints) -> Ints:
        """The numbers of sets of one length, a line each; -1 for those that are not in the family."""
        return _find(self._keys, lines, self.size)

    def find_set(self, items: Sequence[int]) -> int | None:
        number = int(self.find(np.array([sorted(items)], dtype=np.int64))[0])
        return None if number < 0 else number

    def items_of(self, number: int) -> list[int]:
        length = int(np.searchsorted(self.offsets, number, side="right")) - 1
        items: list[int] = self.levels[length][number - self.offsets[length]].tolist()
        return items

    @cached_property
    def drops(self) -> tuple[Ints, ...]:
        """By length, for every set and each of its items the set without it; -1 where that is missing.

        No set without its last item may be missing.
        """
        drops: list[Ints] = [np.zeros((1, 0), dtype=np.int64)]
        for length, level in enumerate(self.levels[1:], start=1):
            parent = self.parents[self.numbers(length)]
            shorter = drops[-1][parent - self.offsets[length - 1]]
            drops.append(np.column_stack([self.extended(shorter, level[:, -1:]), parent]))
        return tuple(drops)

    @cached_property
    def is_maximal(self) -> Flags:
        maximal = np.ones(self.number, dtype=bool)
        for drop in self.drops:
            maximal[drop] = False
        return maximal

    def only(self, chosen: Flags) -> Family:
        """The chosen sets, among them every part of each."""
        levels = [level[chosen[self.numbers(length)]] for length, level in enumerate(self.levels)]
        while len(levels) > 1 and not len(levels[-1]):
            levels.pop()
        return replace(self, levels=tuple(levels), support=self.support[chosen])


def _extended(keys: Ints, sets: Ints, items: Ints, size: int) -> Ints:
    targets = sets * size + items
    if not len(keys):
        return np.full(targets.shape, NONE, dtype=np.int64)
    index = np.minimum(np.searchsorted(keys, targets), len(keys) - 1)
    return np.where((keys[index] == targets) & (sets >= 0) & (items < size), index + 1, NONE)


def _find(keys: Ints, lines: Ints, size: int) -> Ints:
    """Item by item from the empty set on."""
    numbers = np.zeros(len(lines), dtype=np.int64)
    for items in lines.T:
        numbers = _extended(keys, numbers, items, size)
    return numbers


def all_parts(family: Family) -> tuple[Family, Ints]:
    """A family with all parts of its sets, and the numbers in it of the original sets.

    A part that is no set of the family has as many people as the most common set that contains it.
    """
    if 2.0 ** (len(family.levels) - 1) > MOST_SETS:  # the parts of the longest alone
        raise SizeError
    longer, people = family.levels[-1][:0, :0], np.zeros(0, dtype=np.int64)
    levels: list[Ints] = []
    supports: list[Ints] = []
    numbers: list[Ints] = []
    # From the longest sets down: each passes its count on to the sets with one item less.
    for length in range(len(family.levels) - 1, -1, -1):
        if len(longer) * longer.shape[1] ** 2 > _MOST_CELLS:
            raise SizeError
        level = family.levels[length]
        shorter = [np.delete(longer, column, axis=1) for column in range(longer.shape[1])]
        lines = np.concatenate([level, *shorter])
        counts = np.concatenate([family.supports(length), *[people] * len(shorter)])
        # Codes are in the order of lines: each line once, with the largest of its counts.
        code, distinct = fold([(items, family.size) for items in lines.T], len(lines))
        longer, people = np.empty((distinct, length), dtype=np.int64), np.full(distinct, -1)
        longer[code] = lines
        np.maximum.at(people, code, counts)
        levels.insert(0, longer)
        supports.insert(0, people)
        numbers.insert(0, code[: len(level)])
        if sum(map(len, levels)) > MOST_SETS:
            raise SizeError
    complete = replace(family, levels=tuple(levels), support=np.concatenate(supports))
    offsets = complete.offsets[:-1]
    return complete, np.concatenate([line + start for line, start in zip(numbers, offsets, strict=True)])


class Knowledge:
    """All that a reader knows: a family, and for each set its number among the published ones, -1 if derived.

    Where no items exclude each other, these are the published sets and nothing else. `contradictions` is how
    often counts contradict that everybody has one symbol at every instant.
    """

    def __init__(self, family: Family) -> None:
        self.family, self.published, self.contradictions = family, np.arange(family.number), 0
        if family.kinds == 1:
            return
        size = family.instants * family.kinds
        complete = Family(family.levels[:1], family.support[:1], size, family.kinds)
        published = [np.zeros(1, dtype=np.int64)]
        # Sets follow from sets of as many items and of one less: lengths are done one after the other.
        for length in range(1, len(family.levels)):
            lines, support = family.levels[length], family.supports(length)
            numbers = np.arange(*family.offsets[[length, length + 1]])
            # A derived set can complete another instant, so each length is repeated until nothing follows.
            while True:
                derived, people, wrong = _derived(complete, lines, support)
                if not len(derived):
                    break
                lines, support = np.concatenate([lines, derived]), np.concatenate([support, people])
                numbers = np.concatenate([numbers, np.full(len(derived), NONE)])
            self.contradictions += wrong
            order = np.lexsort(lines.T[::-1])
            support = np.concatenate([complete.support, support[order]])
            complete = replace(complete, levels=(*complete.levels, lines[order]), support=support)
            published.append(numbers[order])
        self.family, self.published = complete, np.concatenate(published)
        self.contradictions += int((complete.support < 0).sum())


def _derived(complete: Family, lines: Ints, support: Ints) -> tuple[Ints, Ints, int]:
    """The sets of a length that follow from these, their supports, and how often symbols do not add up.

    `complete` has all shorter sets.
    """
    length, kinds = lines.shape[1], complete.kinds
    shorter = [complete.find(np.delete(lines, column, axis=1)) for column in range(length)]
    # sets that differ in the symbol at one instant only are one run of equal slots
    slot = (np.stack(shorter, axis=1) * complete.instants + lines // kinds).ravel()
    order = np.argsort(slot, kind="stable")
    first = np.flatnonzero(np.diff(slot[order], prepend=-1))
    counted = np.diff(first, append=len(order))
    people = np.add.reduceat(np.repeat(support, length)[order], first)
    symbols = np.add.reduceat((lines % kinds).ravel()[order], first)
    base, instant = np.divmod(slot[order][first], complete.instants)
    left = complete.support[base] - people
    short = np.flatnonzero(counted == kinds - 1)
    # All symbols add up to a fixed sum, so the sum of the counted ones names the one that is missing.
    missing = kinds * (kinds - 1) // 2 - symbols[short]
    example, column = np.divmod(order[first[short]], length)  # a set with another symbol, and where
    derived = lines[example]
    derived[np.arange(len(example)), column] = instant[short] * kinds + missing
    derived, once = np.unique(derived, axis=0, return_index=True)
    return derived, left[short][once], int(np.count_nonzero(left[counted == kinds]))
