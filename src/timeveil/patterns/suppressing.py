"""The other way to close channels: leave rows or patterns out. Kept to compare with; both lose patterns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timeveil.patterns.channels import maximal_channels
from timeveil.patterns.family import Family, mine_family
from timeveil.patterns.transactions import Transactions


@dataclass(frozen=True, slots=True)
class Suppressed:
    """What is left: patterns, the rows that they count, and how many rounds it took."""

    family: Family
    gone: NDArray[np.bool_]
    rounds: int


def suppress_rows(
    rows: Transactions, family: Family, least: int, k: int, *, longest: int, most: int
) -> Suppressed:
    """Delete the rows of small cells, count again, drop what is no longer frequent, until no channel is left."""
    from timeveil.kernels.virtual import rows_of_cells  # noqa: PLC0415

    gone, left, rounds = np.zeros(rows.rows, np.bool_), rows, 0
    while True:
        channels = maximal_channels(family, family.boxes(most), left, k)
        if len(channels) == 0:
            return Suppressed(family, gone, rounds)
        cells = (*channels.present, *channels.absent)
        hit, _ = rows_of_cells(left.holders(), left.rows, *cells)
        gone[np.flatnonzero(~gone)[hit]] = True
        left, rounds = left.without(hit), rounds + 1
        family = mine_family(left, least, longest, most)
