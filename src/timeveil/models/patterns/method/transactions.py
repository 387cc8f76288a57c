"""What patterns are mined from: every row has items, at most one of each instant.

In series an item is a symbol at an instant. In baskets every item is an instant of its own, so one rule
serves both: nobody has two items of one instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]


class Sets(NamedTuple):
    """Many sets of items: set `s` holds `items[bounds[s]:bounds[s + 1]]`, ascending."""

    bounds: Ints
    items: Ints

    @classmethod
    def of_lengths(cls, lengths: Ints, items: Ints) -> Sets:
        return cls(np.concatenate([[0], np.cumsum(lengths)]), items)

    @classmethod
    def joined(cls, parts: Sequence[Sets]) -> Sets:
        lengths = np.concatenate([part.lengths for part in parts])
        return cls.of_lengths(lengths, np.concatenate([part.items for part in parts]))

    @property
    def lengths(self) -> Ints:
        return np.diff(self.bounds)

    @property
    def owners(self) -> Ints:
        """The set that each item belongs to."""
        return np.repeat(np.arange(len(self.bounds) - 1), self.lengths)

    def take(self, which: Ints) -> Sets:
        lengths = self.lengths[which]
        return Sets.of_lengths(lengths, self.items[ranges(self.bounds[:-1][which], lengths)])

    def where(self, flags: Flags) -> Sets:
        """All sets, each with its flagged items only."""
        return Sets(np.concatenate([[0], np.cumsum(flags)])[self.bounds], self.items[flags])

    def each(self) -> Iterator[list[int]]:
        items = self.items.tolist()
        return (items[start:stop] for start, stop in pairwise(self.bounds.tolist()))

    def flags(self, kinds: int) -> Flags:
        """A row for each set, with a flag for each of `kinds` items."""
        flags = np.zeros((len(self.bounds) - 1, kinds), np.bool_)
        flags[self.owners, self.items] = True
        return flags

    def keys(self, kinds: int) -> list[Words]:
        """Columns to sort sets by their items, the first column first; a set comes before its own beginning.

        As many items as fit share a word, each counted down from `kinds`, none as 0; complements ascend.
        """
        bits = int(kinds).bit_length()
        per_word = 64 // bits
        position = np.arange(len(self.items)) - np.repeat(self.bounds[:-1], self.lengths)
        width = max(1, -(-int(self.lengths.max(initial=0)) // per_word))
        words = np.zeros((width, len(self.bounds) - 1), np.uint64)
        shift = (per_word - 1 - position % per_word) * bits
        digits = (kinds - self.items).astype(np.uint64) << shift.astype(np.uint64)
        np.add.at(words, (position // per_word, self.owners), digits)
        return [~word for word in words]

    def as_lists(self, names: tuple[str, ...]) -> pa.Array:
        texts = pa.array(names, pa.string()).take(pa.array(self.items, pa.int64()))
        return pa.ListArray.from_arrays(pa.array(self.bounds, pa.int32()), texts)


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Consecutive numbers from each start on, one range after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)


def packed(flags: Flags) -> Words:
    """Rows of flags as rows of 64-bit words."""
    padded = np.zeros((len(flags), max(1, -(-flags.shape[1] // 64)) * 64), np.bool_)
    padded[:, : flags.shape[1]] = flags
    return np.packbits(padded, axis=1).view(np.uint64)


@dataclass(frozen=True, slots=True)
class Transactions:
    """One row of items per person. Item `x` is called `names[x]` and belongs to instant `x // kinds`."""

    names: tuple[str, ...]
    kinds: int
    sets: Sets

    @property
    def rows(self) -> int:
        return len(self.sets.bounds) - 1

    @property
    def instants(self) -> int:
        """The most items that a row can have."""
        return len(self.names) // self.kinds

    def frequent(self, least: int) -> Transactions:
        """The rows without items that fewer than `least` have; series keep all symbols."""
        counts = np.bincount(self.sets.items, minlength=len(self.names))
        common = np.flatnonzero(counts >= least)
        if self.kinds > 1 or len(common) in (0, len(counts)):
            return self
        # Items are numbered anew, without holes and in the same order.
        number = np.full(len(counts), -1, np.int64)
        number[common] = np.arange(len(common))
        bounds, items = self.sets.where(number[self.sets.items] >= 0)
        return Transactions(tuple(self.names[x] for x in common), 1, Sets(bounds, number[items]))

    def sorted(self) -> Transactions:
        """The rows in an order that depends on their items only, not on how they came in."""
        return self.take(np.lexsort(self.sets.keys(len(self.names))[::-1]))

    def take(self, which: Ints) -> Transactions:
        return Transactions(self.names, self.kinds, self.sets.take(which))

    def holders(self) -> Words:
        """For each item the rows that have it, as bits."""
        words = np.zeros((len(self.names), max(1, -(-self.rows // 64)) * 8), np.uint8)
        owners = self.sets.owners
        # the same bit order as `packed`: the first row is the highest bit of the first byte
        np.bitwise_or.at(words, (self.sets.items, owners // 8), (128 >> owners % 8).astype(np.uint8))
        return words.view(np.uint64)


def of_symbols(columns: NDArray[np.uint8], kinds: int, names: tuple[str, ...]) -> Transactions:
    """Rows with one symbol at every instant; `columns` has one line per instant."""
    instants, rows = columns.shape
    items = (columns.T + kinds * np.arange(instants)).astype(np.int64).ravel()
    return Transactions(names, kinds, Sets(np.arange(rows + 1, dtype=np.int64) * instants, items))
