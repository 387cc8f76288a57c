"""What patterns are mined from: for every row some items, at most one of each instant.

In series an item is a symbol at an instant. In baskets every item is an instant of its own, so that one
rule serves both: nobody has two items of one instant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]


Sets = tuple[Ints, Ints]
"""Bounds and members of many sets of items."""


def chosen(sets: Sets, which: Ints) -> Sets:
    """Some of many sets."""
    bounds, members = sets
    lengths = np.diff(bounds)[which]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(bounds[which] - ends[:-1], lengths) + np.arange(ends[-1])
    return ends, members[places]


def as_lists(sets: Sets, names: tuple[str, ...]) -> pa.Array:
    """Sets of items as lists of their names."""
    bounds, items = sets
    texts = pa.array(names, pa.string()).take(pa.array(items, pa.int64()))
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), texts)


@dataclass(frozen=True, slots=True)
class Transactions:
    """Rows of items. Basket b holds `items[starts[b]:starts[b + 1]]`, ascending.

    `names` has the name of each item; item `x` belongs to instant `x // kinds`. `columns`, of series only,
    has the symbol of every row, one line per instant.
    """

    names: tuple[str, ...]
    kinds: int
    starts: Ints
    items: Ints
    columns: NDArray[np.uint8] | None = None

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.starts) - 1

    @property
    def instants(self) -> int:
        """How many items a row can have at most."""
        return len(self.names) // self.kinds

    @property
    def structural(self) -> bool:
        """Whether some items exclude each other."""
        return self.kinds > 1

    @property
    def largest(self) -> int:
        """How many rows have the commonest item."""
        return int(np.bincount(self.items).max(initial=0))

    def frequent(self, least: int) -> Transactions:
        """The same rows without items that fewer than `least` have; symbols of series all stay."""
        counts = np.bincount(self.items, minlength=len(self.names))
        kept = np.flatnonzero(counts >= least)
        if self.kinds > 1 or len(kept) == len(counts) or len(kept) == 0:
            return self
        place = np.full(len(counts), -1, np.int64)
        place[kept] = np.arange(len(kept))
        items = place[self.items]
        inside = np.concatenate([[0], np.cumsum(items >= 0)])
        return Transactions(tuple(self.names[x] for x in kept), 1, inside[self.starts], items[items >= 0])

    def settled(self) -> Transactions:
        """The rows in the order of what they have, which tells nothing of how they came in."""
        lengths = np.diff(self.starts)
        most = int(lengths.max(initial=0))
        padded = np.full((self.rows, most), -1, np.int64)
        padded[np.arange(most) < lengths[:, None]] = self.items
        order = np.lexsort(padded.T[::-1]) if most else np.arange(self.rows)
        starts, items = chosen((self.starts, self.items), order)
        columns = None if self.columns is None else np.ascontiguousarray(self.columns[:, order])
        return Transactions(self.names, self.kinds, starts, items, columns)

    def holders(self) -> NDArray[np.uint64]:
        """For each item the rows that have it, as bits."""
        from timeveil.models.patterns.kernels.virtual import as_bits  # noqa: PLC0415

        row = np.repeat(np.arange(self.rows), np.diff(self.starts))
        order = np.argsort(self.items, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(self.items, minlength=len(self.names)))])
        return as_bits(bounds, row[order], max(1, -(-self.rows // 64)))  # type: ignore[no-any-return]

    def without(self, gone: NDArray[np.bool_]) -> Transactions:
        """The rows that are left."""
        lengths = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(lengths[~gone])])
        columns = None if self.columns is None else np.ascontiguousarray(self.columns[:, ~gone])
        return Transactions(self.names, self.kinds, starts, self.items[~np.repeat(gone, lengths)], columns)


def of_symbols(columns: NDArray[np.uint8], kinds: int, names: tuple[str, ...]) -> Transactions:
    """Rows with one symbol at every instant; `columns` has one line per instant."""
    instants, rows = columns.shape
    items = (columns.T + kinds * np.arange(instants)).astype(np.int64).ravel()
    starts = np.arange(rows + 1, dtype=np.int64) * instants
    return Transactions(names, kinds, starts, items, np.ascontiguousarray(columns))
