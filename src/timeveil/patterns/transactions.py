"""What patterns are mined from: for every row some items, at most one of each instant.

In series an item is a symbol at an instant. In baskets every item is an instant of its own, so that one
rule serves both: nobody has two items of one instant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


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

    def holders(self) -> NDArray[np.uint64]:
        """For each item the rows that have it, as bits."""
        from timeveil.kernels.virtual import as_bits  # noqa: PLC0415

        row = np.repeat(np.arange(self.rows), np.diff(self.starts))
        order = np.argsort(self.items, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(self.items, minlength=len(self.names)))])
        return as_bits(bounds, row[order], max(1, -(-self.rows // 64)))

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
