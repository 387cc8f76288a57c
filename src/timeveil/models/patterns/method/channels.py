"""Which small groups can be computed from the counts of frequent patterns?

From the supports of all sets between I and J anyone computes how many rows have of J exactly I. That is a
channel, and a threat if it is more than none and fewer than k. The maximal channels are the small cells of
the maximal sets (cell theorem): no channel is left exactly if the rows, seen on any maximal set alone, are
k-anonymous. In series everybody has one symbol at every instant, and a reader knows that. So what follows
from it is added first (`completing`), and boxes take the place of sets, because a reader adds up what cannot
overlap.

What is not looked for: groups of other forms than to have these items and none of those, as all or none of
three items; and what takes a system of equations to solve, such as two rings of unknown counts that one
unknown count alone connects.

Cost: one transform per maximal box over its cells, whatever the number of rows; where a box has far more
cells than there are rows, the rows are counted instead. One thread searches for boxes, another looks into
those that were found.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from timeveil.errors import ParameterError
from timeveil.models.patterns.method.completing import completed
from timeveil.models.patterns.method.family import Family
from timeveil.models.patterns.method.transactions import Ints, Sets, Transactions, chosen

CELLS_AT_MOST = 1 << 22


@dataclass(frozen=True, slots=True)
class Channels:
    """Maximal channels: `size` rows have all of `present` and none of `absent`, which together are box `box`.

    `boxes` are all maximal boxes of `family`, with a channel or without; it has what is `published` and what
    follows from that.
    """

    present: Sets
    absent: Sets
    size: Ints
    box: Ints
    boxes: Sets
    family: Family
    published: Family

    def __len__(self) -> int:
        return len(self.size)


def maximal_channels(
    family: Family, rows: Transactions, k: int, most: int, *, structural: bool = True
) -> Channels:
    """All maximal channels of more than none and fewer than k rows; more than `most` boxes are refused.

    Boxes are those of F*: every way to take one item of each of a box's instants is counted, or its count
    follows. Without items that exclude each other, or if that is not to be counted with, they are the maximal
    itemsets.
    """
    from timeveil.models.patterns.kernels.box_cells import lacking  # noqa: PLC0415

    published = family
    if structural:
        family = completed(published, most).family
    widest = min(CELLS_AT_MOST, 16 * max(rows.rows, 1 << 10))
    if family.kinds == 1 or not structural:
        boxes, found, wide = _of_sets(family, k, widest)
    else:
        boxes, found, wide = _of_boxes(family, k, most, widest)
    box, sizes, *have = _together([*found, *(_counted(rows, boxes, int(box), k) for box in wide)])
    lack = lacking(*boxes, box, *have)
    return Channels((have[0], have[1]), lack, sizes, box, boxes, family, published)


Cells = tuple[Ints, Ints, Ints, Ints]
"""Of small cells the box, the size, and bounds and items of what their rows have."""


def _together(parts: list[Cells]) -> Cells:
    """All cells of some lists."""
    if len(parts) == 1:
        return parts[0]
    box, sizes, items = (np.concatenate([part[place] for part in parts]) for place in (0, 1, 3))
    lengths = np.concatenate([np.diff(part[2]) for part in parts])
    return box, sizes, np.concatenate([[0], np.cumsum(lengths)]), items


def _of_sets(family: Family, k: int, widest: int) -> tuple[Sets, list[Cells], Ints]:
    """Maximal itemsets, their small cells, and those with too many cells to sum up."""
    from timeveil.models.patterns.kernels.boxes import small_cells  # noqa: PLC0415

    boxes = chosen(family.sets, np.flatnonzero(family.maximal))
    cells = cell_numbers(boxes, family.kinds)
    narrow = np.flatnonzero(cells <= widest)
    room = int(cells[narrow].max(initial=1))
    which, *rest = small_cells(family.tree, family.kinds, *chosen(boxes, narrow), k, room)
    return boxes, [(narrow[which], *rest)], np.flatnonzero(cells > widest)


def _of_boxes(family: Family, k: int, most: int, widest: int) -> tuple[Sets, list[Cells], Ints]:
    """The same of boxes that are wider than a set: while some are searched for, others are looked into."""
    from timeveil.models.patterns.kernels.box_cells import small_box_cells  # noqa: PLC0415
    from timeveil.models.patterns.kernels.box_search import TooManyBoxes, search  # noqa: PLC0415
    from timeveil.models.patterns.kernels.itemset_lookup import as_sets, by_items, kid_table  # noqa: PLC0415

    kinds, instants = family.kinds, family.instants
    table = kid_table(family.item, family.first, family.kids, kinds, -(-instants // (64 // kinds)))
    first_items, rests = by_items(family.item, family.first, family.kids, table, kinds)
    support = family.support.astype(np.int32)
    look = partial(small_box_cells, table, support, kinds, instants, least=k, widest=widest)
    boxes, looks = [], []
    beside = ThreadPoolExecutor(1)
    try:
        for some in search(first_items, rests, kinds, instants, most):
            boxes.append(some)
            looks.append(beside.submit(look, some))
        # what is not begun yet is shared, from the end on
        looked = [
            look(some) if later.cancel() else later.result()
            for some, later in zip(reversed(boxes), reversed(looks), strict=True)
        ][::-1]
    except TooManyBoxes:
        found = sum(map(len, boxes))
        raise ParameterError(
            f"symbols of one instant exclude each other, and so {found:,} combinations and more would "
            f"have to be looked at; {most:,} is the most",
            hint="raise min_support, or take fewer symbols or instants",
            code="too-many-patterns",
            facts={"boxes": found, "cap": most},
        ) from None
    finally:
        beside.shutdown(cancel_futures=True)
    starts = np.cumsum([0, *map(len, boxes)])
    cells = [(start + which, *rest) for start, (which, *rest, _) in zip(starts, looked, strict=False)]
    wide = [start + wide for start, (*_, wide) in zip(starts, looked, strict=False)]
    return as_sets(np.concatenate(boxes), kinds), cells, np.concatenate(wide)


def cell_numbers(boxes: Sets, kinds: int) -> Ints:
    """How many cells each box has, as a number that does not overflow."""
    bounds, items = boxes
    box = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    instants = int(items.max(initial=0)) // kinds + 1
    pairs, symbols = np.unique(box * instants + items // kinds, return_counts=True)
    logs = np.bincount(pairs // instants, np.log2(symbols + 1), minlength=len(bounds) - 1)
    return np.round(np.exp2(np.minimum(logs, 62))).astype(np.int64)


def _counted(rows: Transactions, boxes: Sets, box: int, k: int) -> Cells:
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
