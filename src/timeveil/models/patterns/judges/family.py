"""Published patterns as a tree of item sets: the judges' own, made from a table and nothing else.

An item is a number; items of one instant stand together, `kinds` of them, and exclude each other. A set is a
line of ascending items. Sets stand in the order of a release: by length, then by their items. Then the sets
that begin alike stand together, and one sorted list of (begin, item) finds any of them.
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
NONE = -1


@dataclass(frozen=True)
class Family:
    """Sets by length, `levels[n]` a matrix of those of n items, and how many people have each.

    `size` is above every item. The empty set is number 0 and the only one of its length; the others are
    numbered as they follow.
    """

    levels: tuple[Integers, ...]
    support: Integers
    size: int
    kinds: int

    @cached_property
    def offsets(self) -> Integers:
        """The number of the first set of each length, then how many sets there are."""
        return np.concatenate([[0], np.cumsum([len(level) for level in self.levels])])

    @property
    def number(self) -> int:
        """How many sets there are, the empty one included."""
        return int(self.offsets[-1])

    @cached_property
    def parents(self) -> Integers:
        """For every set the one without its last item; -1 where that is not there."""
        return self._tree[0]

    @cached_property
    def _tree(self) -> tuple[Integers, Integers]:
        parents = np.full(self.number, NONE, dtype=np.int64)
        keys = np.zeros(0, dtype=np.int64)
        for length, level in enumerate(self.levels[1:], start=1):
            above: Integers = np.zeros(len(level), dtype=np.int64)
            for place in range(length - 1):
                above = _found(keys, above, level[:, place], self.size)
            parents[self.offsets[length] : self.offsets[length + 1]] = above
            keys = np.concatenate([keys, above * self.size + level[:, -1]])
        return parents, keys

    @property
    def is_rooted(self) -> bool:
        """Whether the set without its last item is there for every set; nothing below works without."""
        return bool((self.parents[1:] >= 0).all())

    def extended(self, sets: Integers, items: Integers) -> Integers:
        """The sets that have one item more, which comes after all of theirs; -1 where there is none.

        >>> family = family_of([[], [0], [1], [0, 1]], [9, 5, 4, 3], size=2)
        >>> family.extended(np.array([0, 1, 2]), np.array([1, 1, 1])).tolist()
        [2, 3, -1]
        """
        return _found(self._tree[1], sets, items, self.size)

    @cached_property
    def drops(self) -> tuple[Integers, ...]:
        """By length, for every set and each of its items the set without it; -1 where that is not there."""
        out: list[Integers] = [np.zeros((1, 0), dtype=np.int64)]
        for length, level in enumerate(self.levels[1:], start=1):
            start = self.offsets[length]
            above = self.parents[start : start + len(level)]
            drop = np.empty((len(level), length), dtype=np.int64)
            drop[:, -1] = above
            for place in range(length - 1):
                shorter = out[-1][above - self.offsets[length - 1], place]
                drop[:, place] = self.extended(shorter, level[:, -1])
            out.append(drop)
        return tuple(out)

    @cached_property
    def is_maximal(self) -> npt.NDArray[np.bool_]:
        """Sets that are part of no other."""
        top = np.ones(self.number, dtype=bool)
        for drop in self.drops[1:]:
            top[drop.ravel()] = False
        return top

    @property
    def instants(self) -> int:
        """How many instants there are."""
        return -(-self.size // self.kinds)

    @cached_property
    def additions(self) -> Masks:
        """For every set and instant, as bits, the items of the instant that can be added to it."""
        out = np.zeros((self.number, self.instants), dtype=np.uint64)
        for level, drop in zip(self.levels[1:], self.drops[1:], strict=True):
            bits = np.uint64(1) << (level % self.kinds).astype(np.uint64)
            np.bitwise_or.at(out, (drop.ravel(), (level // self.kinds).ravel()), bits.ravel())
        return out

    def items_of(self, number: int) -> Integers:
        """The items of one set."""
        length = int(np.searchsorted(self.offsets, number, side="right")) - 1
        items: Integers = self.levels[length][number - self.offsets[length]]
        return items

    def find(self, items: Sequence[int]) -> int | None:
        """The number of a set of items, if it is there."""
        here = np.zeros(1, dtype=np.int64)
        for item in sorted(items):
            here = self.extended(here, np.array([item]))
        return int(here[0]) if here[0] >= 0 else None

    def with_support(self, support: Integers) -> Family:
        """The same sets with other counts."""
        return Family(self.levels, support, self.size, self.kinds)


def family_of(sets: Sequence[Sequence[int]], support: Any, size: int, kinds: int = 1) -> Family:
    """A family of sets that stand in order."""
    longest = max(map(len, sets))
    lengths = np.array([len(one) for one in sets])
    levels = [
        np.array([one for one in sets if len(one) == n], dtype=np.int64).reshape(int((lengths == n).sum()), n)
        for n in range(longest + 1)
    ]
    return Family(tuple(levels), np.asarray(support, dtype=np.int64), size, kinds)


def _found(keys: Integers, sets: Integers, items: Integers, size: int) -> Integers:
    wanted = sets * size + items
    if not len(keys):
        return np.full(wanted.shape, NONE, dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((keys[place] == wanted) & (sets >= 0), place + 1, NONE)
