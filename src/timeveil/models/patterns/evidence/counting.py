"""Counting sets of items over rows, and finding all frequent ones: the judges' own, with bits.

Rows that have the first item of a set are taken alone; for each of its other items they are a line of bits,
and the rows of a set are those of the set without its last item and of that item. Sets that begin alike
are neighbours, so lines are made a block at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from timeveil.errors import InfeasibleError
from timeveil.evidence.codes import Integers
from timeveil.models.patterns.evidence.family import NONE, Family, Flags, family_of

BLOCK_BYTES = 1 << 25
BLOCK_PAIRS = 1 << 22
MOST_PATTERNS = 1_000_000
Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Baskets:
    """Rows of items: row r has `items[starts[r]:starts[r + 1]]`."""

    starts: Integers
    items: Integers

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.starts) - 1

    @property
    def owners(self) -> Integers:
        """The row of each item."""
        return np.repeat(np.arange(self.rows), np.diff(self.starts))

    def holders(self, size: int) -> tuple[Integers, Integers]:
        """Where the rows of each item below `size` begin, and these rows, one item after the other."""
        inside = (self.items >= 0) & (self.items < size)
        item, row = self.items[inside], self.owners[inside]
        begins = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=size))])
        return begins, row[np.argsort(item, kind="stable")]

    def bits(self, size: int) -> Bits:
        """For each item below `size` the rows that have it, as a line of bits; a last line for no item."""
        lines = np.zeros((size + 1, max(1, -(-self.rows // 64))), dtype=np.uint64)
        begins, holders = self.holders(size)
        for item in range(size):
            lines[item] = bit_line(holders[begins[item] : begins[item + 1]], lines.shape[1])
        return lines

    def take(self, chosen: Flags) -> Baskets:
        """The chosen rows."""
        lengths = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(lengths[chosen])])
        return Baskets(starts, self.items[np.repeat(chosen, lengths)])


def bit_line(numbers: Integers, width: int) -> Bits:
    """These numbers as bits of `width` words."""
    flags = np.zeros(64 * width, dtype=bool)
    flags[numbers] = True
    return np.packbits(flags, bitorder="little").view(np.uint64)


def baskets_of(sets: Any) -> Baskets:
    """Rows from lists of items.

    >>> baskets_of([[0, 2], [], [1]]).starts.tolist()
    [0, 2, 2, 3]
    """
    lengths = np.array([len(items) for items in sets], dtype=np.int64)
    flat = np.array([item for items in sets for item in items], dtype=np.int64)
    return Baskets(np.concatenate([[0], np.cumsum(lengths)]), flat)


def supports(family: Family, rows: Baskets) -> Integers:
    """The number of rows with each set of a family.

    >>> family = family_of([[], [0], [1], [0, 1]], [0, 0, 0, 0], size=2)
    >>> supports(family, baskets_of([[0, 1], [0], [1], []])).tolist()
    [4, 2, 2, 1]
    """
    return _Count(family, rows).run()[0]


def missed(family: Family, rows: Baskets, least: int, longest: int) -> int:
    """Number of sets just outside a family that at least `least` rows have (see `border`)."""
    _, counts = _Count(family, rows, border(family, longest)).run()
    return int((counts >= least).sum())


def border(family: Family, longest: int) -> tuple[Integers, Integers]:
    """Sets just outside a family: sets in it, and a later item for each, that together are not in it.

    All parts of them are in the family, and they have at most `longest` items. Items that are in no set of
    the family are not considered.
    """
    sets, items = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for length, level in enumerate(family.levels[:longest]):
        if length == 0:
            continue
        start = int(family.offsets[length])
        parent = family.parents[start : start + len(level)]
        # pairs of sets that differ in their last item only, a block at a time
        later = np.searchsorted(parent, parent, side="right") - np.arange(len(level)) - 1
        block = np.cumsum(later) // BLOCK_PAIRS
        for number in range(int(block[-1]) + 1 if len(block) else 0):
            members = np.flatnonzero((block == number) & (later > 0))
            left = np.repeat(members, later[members])
            shift = np.cumsum(later[members]) - later[members]
            right = np.arange(len(left)) - np.repeat(shift - members - 1, later[members])
            left, item = _outside(family, length, left, level[right, -1])
            sets.append(left + start)
            items.append(item)
    return np.concatenate(sets), np.concatenate(items)


def _outside(family: Family, length: int, sets: Integers, item: Integers) -> tuple[Integers, Integers]:
    """Sets of a length and items to add whose union is not in the family though all parts of it are."""
    start, level = int(family.offsets[length]), family.levels[length]
    apart = level[sets, -1] // family.kinds != item // family.kinds
    sets, item = sets[apart], item[apart]
    outside = family.extended(sets + start, item) == NONE
    sets, item = sets[outside], item[outside]
    # Without the new item, and without the last one before it, the union was found in the family.
    for column in range(length - 1):
        inside = family.extended(family.drops[length][sets, column], item) != NONE
        sets, item = sets[inside], item[inside]
    return sets, item


class _Count:
    """One count over all sets of a family, and over sets on its border."""

    def __init__(
        self, family: Family, rows: Baskets, outside: tuple[Integers, Integers] | None = None
    ) -> None:
        self.family, self.rows = family, rows
        self.begins, self.holders = rows.holders(family.size)
        self.sets, self.items = outside or (np.zeros(0, np.int64), np.zeros(0, np.int64))
        self.support = np.zeros(family.number, dtype=np.int64)
        self.counts = np.zeros(len(self.sets), dtype=np.int64)

    def run(self) -> tuple[Integers, Integers]:
        """The rows of every set of the family, and of every one outside it."""
        self.support[0] = self.rows.rows
        # Rows with the first item are renumbered 0, 1, ... so that lines are as short as that item is rare.
        column = np.full(self.rows.rows, NONE, dtype=np.int64)
        singles = self.family.singles
        for number, item in enumerate(singles.tolist(), start=1):
            rows = self.holders[self.begins[item] : self.begins[item + 1]]
            self.support[number] = len(rows)
            column[rows] = np.arange(len(rows))
            self._below(number, self._lines(singles[number:], column, len(rows)), len(rows))
            column[rows] = NONE
        return self.support, self.counts

    def _lines(self, items: Integers, column: Integers, rows: int) -> Bits:
        """A line of bits per item: which of the chosen rows have it."""
        lines = np.zeros((self.family.size, -(-rows // 64)), dtype=np.uint64)
        step = max(1, BLOCK_BYTES // max(rows, 1))
        for start in range(0, len(items), step):
            block = items[start : start + step]
            lengths = self.begins[block + 1] - self.begins[block]
            ends = np.cumsum(lengths)
            source = np.arange(int(ends[-1])) - np.repeat(ends - lengths - self.begins[block], lengths)
            columns = column[self.holders[source]]
            inside = columns >= 0
            flags = np.zeros((len(block), 64 * lines.shape[1]), dtype=bool)
            flags[np.repeat(np.arange(len(block)), lengths)[inside], columns[inside]] = True
            lines[block] = np.packbits(flags, axis=1, bitorder="little").view(np.uint64)
        return lines

    def _below(self, top: int, lines: Bits, rows: int) -> None:
        """All sets that begin with one item, block by block."""
        everybody = bit_line(np.arange(rows), lines.shape[1])
        pending = [(top, top + 1, everybody[None, :])]
        step = max(1, BLOCK_BYTES // max(8 * lines.shape[1], 1))
        parents = self.family.parents
        while pending:
            low, high, bits = pending.pop()
            self._count_outside(low, high, bits, lines, step)
            first, last = np.searchsorted(parents[1:], [low, high]) + 1
            for start in range(int(first), int(last), step):
                stop = min(start + step, int(last))
                common = bits[parents[start:stop] - low] & lines[self._last_items(start, stop)]
                self.support[start:stop] = np.bitwise_count(common).sum(axis=1)
                pending.append((start, stop, common))

    def _last_items(self, start: int, stop: int) -> Integers:
        """Of sets whose parents have one length; they have one length, too."""
        length = int(np.searchsorted(self.family.offsets, start, side="right")) - 1
        offset = int(self.family.offsets[length])
        return self.family.levels[length][start - offset : stop - offset, -1]

    def _count_outside(self, low: int, high: int, bits: Bits, lines: Bits, step: int) -> None:
        first, last = np.searchsorted(self.sets, [low, high])
        for start in range(int(first), int(last), step):
            block = slice(start, min(start + step, int(last)))
            common = bits[self.sets[block] - low] & lines[self.items[block]]
            self.counts[block] = np.bitwise_count(common).sum(axis=1)


def mined(rows: Baskets, size: int, kinds: int, least: int, longest: int | None = None) -> Family:
    """All sets that at least `least` rows have, of at most `longest` items: depth first, simple and slow.

    >>> mined(baskets_of([[0, 1], [0, 1], [1]]), size=2, kinds=1, least=2).support.tolist()
    [3, 2, 3, 2]
    """
    lines = rows.bits(size)
    patterns: list[tuple[tuple[int, ...], int]] = []

    def search(items: tuple[int, ...], bits: Bits, later: Integers) -> None:
        common = lines[later] & bits
        people = np.bitwise_count(common).sum(axis=1)
        enough = people >= least
        later, common, people = later[enough], common[enough], people[enough]
        for index, (item, count) in enumerate(zip(later.tolist(), people.tolist(), strict=True)):
            patterns.append(((*items, item), count))
            if len(patterns) > MOST_PATTERNS:
                raise _too_many(least)
            # Nobody has two items of one instant.
            following = later[index + 1 :][later[index + 1 :] // kinds != item // kinds]
            if len(items) + 1 < (longest or size) and len(following):
                search((*items, item), common[index], following)

    everybody = bit_line(np.arange(rows.rows), lines.shape[1])
    search((), everybody, np.arange(size))
    patterns = [((), rows.rows), *sorted(patterns, key=lambda pattern: (len(pattern[0]), pattern[0]))]
    return family_of([items for items, _ in patterns], [people for _, people in patterns], size, kinds)


def _too_many(least: int) -> InfeasibleError:
    return InfeasibleError(
        f"more than {MOST_PATTERNS:,} patterns have {least:,} people or more",
        hint="judge a release with a larger min_support, or with max_len",
        code="too-many-patterns",
        facts={"patterns": MOST_PATTERNS, "min_support": least},
    )
