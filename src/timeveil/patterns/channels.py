"""Which small groups can be computed from the counts of frequent patterns?

From the supports of all sets between I and J anyone computes how many rows have of J exactly I. That is a
channel, and a threat if it is more than none and fewer than k. The maximal channels are the small cells of
the maximal sets (cell theorem): no channel is left exactly if the rows, seen on any maximal set alone, are
k-anonymous. Where items exclude each other, boxes take the place of sets, because a reader adds up what
cannot overlap.

Cost: one transform per maximal box over its cells, whatever the number of rows; where a box has far more
cells than there are rows, the rows are counted instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.patterns.family import Family
from timeveil.patterns.transactions import Ints, Sets, Transactions, chosen

CELLS_AT_MOST = 1 << 22


@dataclass(frozen=True, slots=True)
class Channels:
    """Maximal channels: `size` rows have all of `present` and none of `absent`; `box` numbers their boxes."""

    present: Sets
    absent: Sets
    size: Ints
    box: Ints

    def __len__(self) -> int:
        return len(self.size)


def maximal_channels(family: Family, boxes: Sets, rows: Transactions, k: int) -> Channels:
    """All maximal channels of more than none and fewer than k rows."""
    from timeveil.kernels.boxes import small_cells  # noqa: PLC0415

    cells = cell_numbers(boxes, family.kinds)
    by_rows = cells > np.minimum(CELLS_AT_MOST, 16 * np.maximum(rows.rows, 1 << 10))
    by_sums = np.flatnonzero(~by_rows)
    part = chosen(boxes, by_sums)
    room = int(cells[by_sums].max(initial=1))
    which, size, ends, present = small_cells(family.tree, family.kinds, *part, k, room)
    found = [(by_sums[which], size, ends, present)]
    found += [_counted(rows, boxes, int(b), k) for b in np.flatnonzero(by_rows)]
    box = np.concatenate([one[0] for one in found])
    sizes = np.concatenate([one[1] for one in found])
    lengths = np.concatenate([np.diff(one[2]) for one in found])
    items = np.concatenate([one[3] for one in found])
    have = np.concatenate([[0], np.cumsum(lengths)]), items
    return Channels(have, _less(boxes, box, have), sizes, box)


def cell_numbers(boxes: Sets, kinds: int) -> Ints:
    """How many cells each box has, as a number that does not overflow."""
    bounds, items = boxes
    box = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    instants = int(items.max(initial=0)) // kinds + 1
    pairs, symbols = np.unique(box * instants + items // kinds, return_counts=True)
    logs = np.bincount(pairs // instants, np.log2(symbols + 1), minlength=len(bounds) - 1)
    return np.round(np.exp2(np.minimum(logs, 62))).astype(np.int64)


def _counted(rows: Transactions, boxes: Sets, box: int, k: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The small cells of one box, by looking at every row."""
    mine = boxes[1][boxes[0][box] : boxes[0][box + 1]]
    place = np.full(len(rows.names), -1, np.int64)
    place[mine] = np.arange(len(mine))
    inside = place[rows.items] >= 0
    row = np.repeat(np.arange(rows.rows), np.diff(rows.starts))[inside]
    has = np.zeros((rows.rows, len(mine)), np.uint8)
    has[row, place[rows.items[inside]]] = 1
    cells, counts = np.unique(np.packbits(has, axis=1), axis=0, return_counts=True)
    small = counts < k
    there = np.unpackbits(cells[small], axis=1, count=len(mine)).astype(np.bool_)
    ends = np.concatenate([[0], np.cumsum(there.sum(1))])
    return np.full(int(small.sum()), box), counts[small], ends, np.tile(mine, (len(there), 1))[there]


def _less(boxes: Sets, box: Ints, have: Sets) -> Sets:
    """What each cell lacks of its box."""
    bounds, items = chosen(boxes, box)
    cell = np.repeat(np.arange(len(box)), np.diff(bounds))
    most = int(items.max(initial=0)) + 1
    held = np.repeat(np.arange(len(box)), np.diff(have[0])) * most + have[1]
    lacks = ~np.isin(cell * most + items, held, assume_unique=True)
    lengths = np.bincount(cell[lacks], minlength=len(box))
    return np.concatenate([[0], np.cumsum(lengths)]), items[lacks]
