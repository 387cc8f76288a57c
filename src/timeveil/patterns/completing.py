"""What follows from everybody having one symbol at every instant, before any group is computed.

If a set X is counted, and X with each symbol of an instant but one, then X with that one is what is left:
its count is that of X less the others. What follows can be used again, until nothing more does. A count that
follows is as good as published, and can be any number from 0 on; it may be a small group by itself.

The family stays downward closed. Say that X with s follows, because X and X with every other symbol of the
instant are there. A part of X with s is either a part of X, which is there; or a part of X together with s,
and this part is there, and with every other symbol, too, so that with s it is there or follows, too.
Hence the cell theorem holds for the larger family as for the published one.

Cost: a look at every set and each of its items, once and again for every round that its length takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.errors import ParameterError
from timeveil.patterns.family import Family
from timeveil.patterns.settings import CAP
from timeveil.patterns.transactions import Ints


@dataclass(frozen=True, slots=True)
class Completed:
    """A family with all that follows: the node that each was before, and the round in which it followed.

    What was there before has round 0. Of the others `origin` is -1; they follow from what has an earlier
    round, among sets of their length.
    """

    family: Family
    origin: Ints
    since: Ints

    @staticmethod
    def only(family: Family) -> Completed:
        """A family of which nothing is known to follow."""
        nodes = len(family.item)
        return Completed(family, np.arange(nodes), np.zeros(nodes, np.int64))

    def source(self, node: int) -> int:
        """The node itself as it was before or, if it follows, the rarest that it would not follow without.

        >>> ints = lambda *numbers: np.array(numbers, np.int64)
        >>> one = Family(ints(-1, 0, 1), ints(10, 5, 4), ints(1, 3, 3), ints(2, 0, 0), 3, 1)
        >>> whole = completed(one)
        >>> whole.family.support.tolist(), whole.source(3)
        ([10, 5, 4, 1], 2)
        """
        while self.origin[node] < 0:
            node = min(self._others(node), key=lambda other: int(self.family.support[other]))
        return int(self.origin[node])

    def _others(self, node: int) -> list[int]:
        """The nodes with another symbol of one instant, all of which were there before it followed."""
        bounds, members = self.family.sets
        items, kinds = members[bounds[node] : bounds[node + 1]].tolist(), self.family.kinds
        for place, item in enumerate(items):
            first = item - item % kinds
            nodes = [
                self.family.node([*items[:place], other, *items[place + 1 :]])
                for other in range(first, first + kinds)
                if other != item
            ]
            if all(other >= 0 and self.since[other] < self.since[node] for other in nodes):
                return nodes
        raise AssertionError("what follows, follows from something")


def completed(family: Family, most: int = CAP) -> Completed:
    """The family with all sets whose counts follow from everybody having one symbol at every instant.

    A set follows from sets of its own length and one that is shorter: lengths are done one after the other.
    More than `most` sets are refused.
    """
    if family.kinds == 1:
        return Completed.only(family)
    begins, paths, drops, _ = family.links
    depth, rank = np.diff(begins), np.zeros(len(family.item), np.int64)
    root = np.zeros(1, np.int64)
    done = [_Level(np.zeros((1, 0), np.int64), np.zeros((1, 0), np.int64), family.support[:1], root, root)]
    keys, longest = [root], int(depth.max(initial=0))
    if family.kinds == 2 and 3**longest > most:  # of two symbols all follow, over any of the same instants
        raise _too_many(most)
    for length in range(1, longest + 1):
        here = np.flatnonzero(depth == length)
        at = begins[here][:, None] + np.arange(length)
        found = _Level(paths[at], rank[drops[at]], family.support[here], here, np.zeros(len(here), np.int64))
        found = _followed(found, done, keys, family, most)
        key = found.less[:, -1] * (family.kinds * family.instants) + found.lines[:, -1]
        order = np.argsort(key, kind="stable")
        rank[here] = np.argsort(order)[: len(here)]
        done.append(found.part(order))
        keys.append(key[order])
    return _built(done, family)


@dataclass(frozen=True, slots=True)
class _Level:
    """Sets of one length: their items, places of the sets without each, supports, origins and rounds."""

    lines: Ints
    less: Ints
    support: Ints
    origin: Ints
    since: Ints

    def part(self, which: Ints) -> _Level:
        return _Level(*(getattr(self, name)[which] for name in self.__slots__))

    def with_more(self, lines: Ints, less: Ints, support: Ints, turn: int) -> _Level:
        more = lines, less, support, np.full(len(lines), -1), np.full(len(lines), turn)
        mine = (getattr(self, name) for name in self.__slots__)
        return _Level(*(np.concatenate(pair) for pair in zip(mine, more, strict=True)))


def _followed(level: _Level, done: list[_Level], keys: list[Ints], family: Family, most: int) -> _Level:
    """The sets of a length, and all that follow from them and the shorter ones, `done`."""
    from timeveil.kernels.boxes import additions  # noqa: PLC0415

    kinds, instants = family.kinds, family.instants
    length, turn, above = level.lines.shape[1], 0, done[-1]
    shorter = sum(len(one.lines) for one in done)
    counts = additions(level.lines.ravel(), level.less.ravel(), len(above.lines), kinds, instants).ravel()
    while len(short := np.flatnonzero(counts == kinds - 1)):
        turn += 1
        # a set is met once for each of its items at most
        if shorter + len(level.lines) + len(short) // length > most:
            raise _too_many(most)
        place = (level.less * instants + level.lines // kinds).ravel()
        hit = np.flatnonzero(counts[place] == kinds - 1)
        slot = np.searchsorted(short, place[hit])
        others = np.bincount(slot, level.support[hit // length], len(short)).astype(np.int64)
        symbols = np.bincount(slot, level.lines.ravel()[hit] % kinds, len(short)).astype(np.int64)
        item = short % instants * kinds + kinds * (kinds - 1) // 2 - symbols
        held = above.lines[short // instants]
        lines, first = np.unique(
            np.sort(np.concatenate([held, item[:, None]], axis=1), axis=1), axis=0, return_index=True
        )
        support = (above.support[short // instants] - others)[first]
        less = np.stack(
            [_places(np.delete(lines, gone, axis=1), keys, kinds * instants) for gone in range(length)],
            axis=1,
        )
        level = level.with_more(lines, less, support, turn)
        np.add.at(counts, (less * instants + lines // kinds).ravel(), np.uint8(1))
    return level


def _too_many(most: int) -> ParameterError:
    return ParameterError(
        f"everybody has one symbol at every instant, and the counts of more than {most:,} patterns follow",
        hint="raise min_support, take fewer instants, or set max_len",
        code="too-many-patterns",
        facts={"cap": most},
    )


def _places(lines: Ints, keys: list[Ints], size: int) -> Ints:
    """Where sets stand among those of their length, all of which are there."""
    here = np.zeros(len(lines), np.int64)
    for column in range(lines.shape[1]):
        here = np.searchsorted(keys[column + 1], here * size + lines[:, column])
    return here


def _built(done: list[_Level], before: Family) -> Completed:
    """A tree of the sets of all lengths, which stand in order."""
    offsets = np.cumsum([0, *(len(level.lines) for level in done)])
    above = [offset + level.less[:, -1] for offset, level in zip(offsets, done[1:], strict=False)]
    kids = np.bincount(np.concatenate([*above, np.zeros(0, np.int64)]), minlength=offsets[-1])
    item = np.concatenate([np.full(1, -1), *(level.lines[:, -1] for level in done[1:])])
    support, origin, since = (
        np.concatenate([getattr(level, name) for level in done]) for name in ("support", "origin", "since")
    )
    family = Family(item, support, 1 + np.cumsum(kids) - kids, kids, before.kinds, before.instants)
    return Completed(family, origin, since)
