"""Counting sets of items over rows: the judges' own, with bits.

Rows that have the first item of a set are taken alone; for each of its other items they are a line of bits,
and the rows of a set are those of the set without its last item and of that item. Sets that begin alike
follow each other, so that lines are made a block at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from timeveil.evidence.codes import Integers
from timeveil.models.patterns.judges.family import NONE, Family

AT_ONCE = 1 << 25
"""Bytes of a block of lines."""
PAIRS = 1 << 22
Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Baskets:
    """Rows of items: row r has `items[starts[r]:starts[r + 1]]`."""

    starts: Integers
    items: Integers

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.starts) - 1

    def holders(self, size: int) -> tuple[Integers, Integers]:
        """Per item the rows that have it, one after the other, and where those of each begin."""
        row = np.repeat(np.arange(self.rows), np.diff(self.starts))
        known = (self.items >= 0) & (self.items < size)
        item, row = self.items[known], row[known]
        order = np.argsort(item, kind="stable")
        begins = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=size))])
        return begins, row[order]

    def chosen(self, keep: npt.NDArray[np.bool_]) -> Baskets:
        """Some of the rows."""
        lengths = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(lengths[keep])])
        return Baskets(starts, self.items[np.repeat(keep, lengths)])


def baskets_of(sets: Any) -> Baskets:
    """Rows from lists of items.

    >>> baskets_of([[0, 2], [], [1]]).starts.tolist()
    [0, 2, 2, 3]
    """
    lengths = np.array([len(one) for one in sets], dtype=np.int64)
    flat = [item for one in sets for item in one]
    return Baskets(np.concatenate([[0], np.cumsum(lengths)]), np.array(flat, dtype=np.int64))


def supports(family: Family, rows: Baskets) -> Integers:
    """How many rows have each set of a family.

    >>> from timeveil.models.patterns.judges.family import family_of
    >>> family = family_of([[], [0], [1], [0, 1]], [0, 0, 0, 0], size=2)
    >>> supports(family, baskets_of([[0, 1], [0], [1], []])).tolist()
    [4, 2, 2, 1]
    """
    return _Count(family, rows).run()[0]


def missed(family: Family, rows: Baskets, least: int, longest: int) -> int:
    """How many sets that could be next in a family, and are not, have at least `least` rows.

    A set is next if all that is left without one of its items is in the family, and it has at most `longest`
    items. Items that are in no set of the family are not looked at.
    """
    waiting = nexts(family, longest)
    _, counts = _Count(family, rows, waiting).run()
    return int((counts >= least).sum())


def nexts(family: Family, longest: int) -> tuple[Integers, Integers]:
    """Sets and items after theirs that give no set of the family, though all parts of them are there."""
    sets, items = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for length, level in enumerate(family.levels):
        if length == 0 or length >= longest:
            continue
        start = int(family.offsets[length])
        parent = family.parents[start : start + len(level)]
        ends = np.searchsorted(parent, parent, side="right")
        later = ends - np.arange(len(level)) - 1
        block = np.cumsum(later) // PAIRS
        for piece in range(int(block[-1]) + 1 if len(block) else 0):
            mine = np.flatnonzero((block == piece) & (later > 0))
            one = np.repeat(mine, later[mine])
            shift = np.cumsum(later[mine]) - later[mine]
            other = np.arange(len(one)) - np.repeat(shift - mine - 1, later[mine])
            found = _unknown(family, length, level, one, level[other, -1])
            sets.append(found[0] + start)
            items.append(found[1])
    return np.concatenate(sets), np.concatenate(items)


def _unknown(
    family: Family, length: int, level: Integers, one: Integers, item: Integers
) -> tuple[Integers, Integers]:
    """Of sets and items to add, those whose sum is not in the family and all parts of it are."""
    start = int(family.offsets[length])
    apart = level[one, -1] // family.kinds != item // family.kinds
    one, item = one[apart], item[apart]
    fresh = family.extended(one + start, item) == NONE
    one, item = one[fresh], item[fresh]
    for place in range(length - 1):
        there = family.extended(family.drops[length][one, place], item) != NONE
        one, item = one[there], item[there]
    return one, item


class _Count:
    """One count over all sets, and over sets that are one item away."""

    def __init__(
        self, family: Family, rows: Baskets, waiting: tuple[Integers, Integers] | None = None
    ) -> None:
        self.family, self.rows = family, rows
        self.begins, self.holder = rows.holders(family.size)
        self.sets, self.items = waiting or (np.zeros(0, np.int64), np.zeros(0, np.int64))
        self.support = np.zeros(family.number, dtype=np.int64)
        self.counts = np.zeros(len(self.sets), dtype=np.int64)

    def run(self) -> tuple[Integers, Integers]:
        """The rows of every set of the family, and of every one that waits."""
        self.support[0] = self.rows.rows
        place = np.full(self.rows.rows, NONE, dtype=np.int64)
        singles = self.family.levels[1][:, 0] if len(self.family.levels) > 1 else np.zeros(0, np.int64)
        for number, item in enumerate(singles.tolist()):
            mine = self.holder[self.begins[item] : self.begins[item + 1]]
            self.support[number + 1] = len(mine)
            place[mine] = np.arange(len(mine))
            self._below(number + 1, self._lines(singles[number + 1 :], place, len(mine)), len(mine))
            place[mine] = NONE
        return self.support, self.counts

    def _lines(self, items: Integers, place: Integers, rows: int) -> Bits:
        """A line of bits per item of the family: which of the chosen rows have it."""
        lines = np.zeros((self.family.size, -(-rows // 64)), dtype=np.uint64)
        step = max(1, AT_ONCE // max(rows, 1))
        for start in range(0, len(items), step):
            some = items[start : start + step]
            lengths = self.begins[some + 1] - self.begins[some]
            ends = np.cumsum(lengths)
            source = np.arange(int(ends[-1])) - np.repeat(ends - lengths - self.begins[some], lengths)
            at = place[self.holder[source]]
            there = at >= 0
            has = np.zeros((len(some), 64 * lines.shape[1]), dtype=bool)
            has[np.repeat(np.arange(len(some)), lengths)[there], at[there]] = True
            lines[some] = np.packbits(has, axis=1, bitorder="little").view(np.uint64)
        return lines

    def _below(self, top: int, lines: Bits, rows: int) -> None:
        """All sets that begin with one item, block by block."""
        whole = np.packbits(np.arange(64 * lines.shape[1]) < rows, bitorder="little").view(np.uint64)
        pending = [(top, top + 1, whole[None, :])]
        step = max(1, AT_ONCE // max(8 * lines.shape[1], 1))
        parents = self.family.parents
        while pending:
            low, high, held = pending.pop()
            self._wait(low, high, held, lines, step)
            first, last = np.searchsorted(parents[1:], [low, high]) + 1
            for start in range(int(first), int(last), step):
                stop = min(start + step, int(last))
                further = held[parents[start:stop] - low] & lines[self._last_items(start, stop)]
                self.support[start:stop] = np.bitwise_count(further).sum(axis=1)
                pending.append((start, stop, further))

    def _last_items(self, start: int, stop: int) -> Integers:
        """Sets with parents of one length have one length."""
        length = int(np.searchsorted(self.family.offsets, start, side="right")) - 1
        offset = int(self.family.offsets[length])
        return self.family.levels[length][start - offset : stop - offset, -1]

    def _wait(self, low: int, high: int, held: Bits, lines: Bits, step: int) -> None:
        first, last = np.searchsorted(self.sets, [low, high])
        for start in range(int(first), int(last), step):
            some = slice(start, min(start + step, int(last)))
            both = held[self.sets[some] - low] & lines[self.items[some]]
            self.counts[some] = np.bitwise_count(both).sum(axis=1)
