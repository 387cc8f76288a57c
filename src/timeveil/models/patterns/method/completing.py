"""Counts that follow from everybody having one symbol at every instant, before any group is computed.

If a set X is counted, and X with each symbol of an instant but one, then X with that one is the difference:
the count of X less the others. Derived counts derive further ones, until nothing more follows. A derived
count is as good as published; it can be any number from 0 on, so it may itself be a small group.

The family stays downward closed. Suppose X with s follows, because X and X with every other symbol of the
instant are counted. A part of X with s is either a part of X, which is counted; or a part of X together with
s, and this part is counted, alone and with every other symbol, so with s it is counted or follows as well.
Hence the cell theorem holds for the larger family as for the published one.

Cost: lengths are done one after the other, because a set follows from sets of its own length and one shorter
set; each takes a few passes over the sets of its length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.errors import ParameterError
from timeveil.models.patterns.method.family import Family, Nodes
from timeveil.models.patterns.method.transactions import Ints


@dataclass(frozen=True)
class Completed:
    """A family with all that follows from it.

    `origin` is the node that each was before, -1 if it follows; `since` is the round in which it followed
    from sets of its length with an earlier round, 0 for what was there before.
    """

    family: Family
    origin: Ints
    since: Ints

    @classmethod
    def unchanged(cls, family: Family) -> Completed:
        """A family from which nothing follows."""
        return cls(family, np.arange(len(family)), np.zeros(len(family), np.int64))

    def source(self, node: int) -> int:
        """The original node or, if it follows, the rarest original one that it would not follow without."""
        while self.origin[node] < 0:
            node = min(self._alternatives(node), key=lambda other: int(self.family.support[other]))
        return int(self.origin[node])

    def _alternatives(self, node: int) -> list[int]:
        """The nodes with another symbol of one instant, all of which were there before it followed."""
        items, kinds = self.family.items(node), self.family.kinds
        for item in items:
            symbols = set(range(item - item % kinds, item - item % kinds + kinds)) - {item}
            nodes = [self.family.node([*(set(items) - {item}), symbol]) for symbol in sorted(symbols)]
            if all(other >= 0 and self.since[other] < self.since[node] for other in nodes):
                return nodes
        raise AssertionError("a derived set has no sets that it follows from")


def completed(family: Family, most: int) -> Completed:
    """The family with every set whose count follows; more than `most` sets are refused."""
    if family.kinds == 1:
        return Completed.unchanged(family)
    nodes = Nodes.rooted(int(family.support[0]))
    origin, since = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    number = np.zeros(len(family), np.int64)  # of an original node, among all of its length
    shorter = _Level.empty(int(family.support[0]))
    start = 0
    for length in range(1, family.depth + 1):
        before = np.arange(family.levels[length], family.levels[length + 1])
        level = _Level(family.links[0][length], number[family.links[1][length]], family.support[before])
        number[before] = np.arange(len(before))
        rounds = [np.zeros(len(before), np.int64)]
        tally = _Tally(shorter, family.kinds, family.instants)
        derived = level
        while len(derived.support):
            tally.add(derived)
            derived = tally.derived(shorter)
            level = level.joined(derived)
            rounds.append(np.full(len(derived.support), len(rounds)))
            if nodes.total + len(level.support) > most:
                raise _too_many(most)
        numbers = nodes.add(level.paths[:, -1], level.support, start + level.drops[:, -1], length)
        start = int(numbers[0]) if len(numbers) else start
        origin.append(np.concatenate([before, np.full(len(level.support) - len(before), -1)]))
        since.append(np.concatenate(rounds))
        shorter = level
    complete, order = nodes.family(family.item_of, family.kinds, family.instants)
    return Completed(complete, np.concatenate(origin)[order], np.concatenate(since)[order])


@dataclass(frozen=True, slots=True)
class _Level:
    """Sets of one length: their items, the shorter set that each becomes without an item, their supports."""

    paths: Ints
    drops: Ints
    support: Ints

    @classmethod
    def empty(cls, support: int) -> _Level:
        return cls(np.zeros((1, 0), np.int64), np.zeros((1, 0), np.int64), np.array([support]))

    def joined(self, other: _Level) -> _Level:
        return _Level(
            np.concatenate([self.paths, other.paths]),
            np.concatenate([self.drops, other.drops]),
            np.concatenate([self.support, other.support]),
        )


class _Tally:
    """For every shorter set and instant: how many symbols are counted with it, which, and their sum."""

    def __init__(self, shorter: _Level, kinds: int, instants: int) -> None:
        self.kinds, self.instants = kinds, instants
        self.seen, self.symbols, self.counted = np.zeros((3, len(shorter.support) * instants), np.int64)
        # the set that a shorter one becomes with an item, by both
        items = kinds * instants
        keys = (shorter.drops * items + shorter.paths).ravel()
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def add(self, level: _Level) -> None:
        """Count the symbols of these sets."""
        instant, symbol = np.divmod(level.paths, self.kinds)
        slots = (level.drops * self.instants + instant).ravel()
        size = len(self.seen)
        self.seen += np.bincount(slots, minlength=size)
        self.symbols += np.bincount(slots, symbol.ravel(), minlength=size).astype(np.int64)
        counts = np.repeat(level.support, level.paths.shape[1])
        self.counted += np.bincount(slots, counts, minlength=size).astype(np.int64)

    def derived(self, shorter: _Level) -> _Level:
        """The sets with the one symbol that is missing at an instant, each once."""
        slots = np.flatnonzero(self.seen == self.kinds - 1)
        base, instant = np.divmod(slots, self.instants)
        missing = self.kinds * (self.kinds - 1) // 2 - self.symbols[slots]
        item = instant * self.kinds + missing
        support = shorter.support[base] - self.counted[slots]
        # without another item, the base is a still shorter set, which has a superset with the new item
        width = shorter.paths.shape[1]
        keys = shorter.drops[base] * (self.kinds * self.instants) + item[:, None]
        supersets = self._order[np.searchsorted(self._keys, keys)] // max(1, width)
        paths = np.column_stack([shorter.paths[base], item])
        drops = np.column_stack([supersets, base])
        ascending = np.argsort(paths, axis=1)
        paths, drops = (np.take_along_axis(columns, ascending, axis=1) for columns in (paths, drops))
        # the same set may follow in several ways; its last item and the set without it identify it
        _, once = np.unique(drops[:, -1] * (self.kinds * self.instants) + paths[:, -1], return_index=True)
        return _Level(paths[once], drops[once], support[once])


def _too_many(most: int) -> ParameterError:
    return ParameterError(
        f"as everybody has one symbol at every instant, the counts of more than {most:,} patterns follow",
        hint="raise {min_support}, take fewer instants, or set {max_len}",
        code="too-many-patterns",
        facts={"cap": most},
    )
