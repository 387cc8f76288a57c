"""Which small groups can be computed from the counts of frequent patterns?

From the supports of all sets between I and J anyone computes how many rows have exactly I of J. That is a
channel, and a threat if the number is above 0 and below k. The maximal channels are the small cells of the
maximal sets (cell theorem): no channel is left exactly if the rows, projected on any maximal set, are
k-anonymous. In series everybody has one symbol at every instant, and a reader knows that. So counts that
follow from it are added first (`completing`), and boxes take the place of sets (`boxes`), because a reader
adds up what cannot overlap.

Not searched: groups of another form than "has these items and none of those", such as all or none of three
items; and what takes a system of equations to solve, such as two rings of unknown counts that one unknown
count connects.

Cost: one transform over the cells of each maximal box, whatever the number of rows; where a box has far more
cells than there are rows, the rows are counted instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from timeveil.models.patterns.method.boxes import maximal_boxes
from timeveil.models.patterns.method.completing import completed
from timeveil.models.patterns.method.family import Family
from timeveil.models.patterns.method.transactions import Flags, Ints, Sets, Transactions

CELLS_AT_MOST = 1 << 22
BLOCK_CELLS = 1 << 19


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of one form: each has `widths[i]` symbols at its i-th instant. A line of `ranks` is a box.

    A cell is a choice of one symbol or none at each instant, and its number has a digit for each.
    """

    widths: tuple[int, ...]
    ranks: Ints

    @property
    def cells(self) -> int:
        """Number of cells of each box."""
        cells = 1
        for width in self.widths:
            cells *= width + 1
        return cells

    def units(self) -> Iterator[tuple[int, int, int]]:
        """For each instant its first column, its width, and what its digit counts in a cell's number."""
        column, unit = 0, 1
        for width in self.widths:
            yield column, width, unit
            column, unit = column + width, unit * (width + 1)

    def blocks(self, room: int = BLOCK_CELLS) -> Iterator[tuple[int, Boxes]]:
        """Parts with about as many cells as there is room for, and the first box of each."""
        step = max(1, room // self.cells)
        for first in range(0, len(self.ranks), step):
            yield first, Boxes(self.widths, self.ranks[first : first + step])

    def sizes(self, family: Family) -> Ints:
        """The rows in each cell, a column for each box: supports less what rows with other symbols add."""
        # the node of every cell's present items, then the Moebius transform in place
        nodes = np.zeros((1, len(self.ranks)), np.int64)
        for column, width, _ in self.units():
            chosen = [family.child(nodes, self.ranks[:, column + symbol]) for symbol in range(width)]
            nodes = np.concatenate([nodes, *chosen])
        sizes = family.support[nodes]
        for _, width, unit in self.units():
            digits = sizes.reshape(-1, width + 1, unit * len(self.ranks))
            digits[:, 0] -= digits[:, 1:].sum(axis=1)
        return sizes

    def present(self, cell: Ints) -> Flags:
        """Which columns of their box rows of a cell have."""
        flags = np.zeros((len(cell), self.ranks.shape[1]), np.bool_)
        for column, width, unit in self.units():
            digit = cell // unit % (width + 1)
            flags[:, column : column + width] = digit[:, None] == np.arange(1, width + 1)
        return flags

    def cell_of(self, has: Flags) -> Ints:
        """The cell that each row falls into, a column for each box; `has` has a flag for each rank."""
        cell = np.zeros((len(has), len(self.ranks)), np.int64)
        for column, width, unit in self.units():
            for symbol in range(width):
                cell += has[:, self.ranks[:, column + symbol]] * (unit * (symbol + 1))
        return cell


@dataclass(frozen=True)
class Channels:
    """Maximal channels: `size` rows have all of `present` and none of `absent`, which together are box `box`.

    `forms` are all maximal boxes of `family`, numbered through; it has what is `published` and what follows.
    """

    present: Sets
    absent: Sets
    size: Ints
    box: Ints
    forms: tuple[Boxes, ...]
    family: Family
    published: Family

    def __len__(self) -> int:
        return len(self.size)

    @property
    def boxes(self) -> Sets:
        """The items of all maximal boxes."""
        lengths = [np.full(len(form.ranks), form.ranks.shape[1]) for form in self.forms]
        items = [np.sort(self.family.item_of[form.ranks], axis=1).ravel() for form in self.forms]
        return Sets.of_lengths(np.concatenate(lengths), np.concatenate(items))

    def one_box(self, number: int) -> Boxes:
        """The box with this number, alone."""
        for form in self.forms:
            if number < len(form.ranks):
                return Boxes(form.widths, form.ranks[number : number + 1])
            number -= len(form.ranks)
        raise IndexError("there is no box with this number")

    @cached_property
    def groups(self) -> Groups:
        """The groups that channels are about, each once however many boxes it follows from.

        Those with the most items come first, then they are in the order of items.
        """
        lacks, items = self._open(), len(self.family.item_of)
        have, lack, full = (sets.keys(items) for sets in (self.present, lacks, self.absent))
        # equal groups become neighbours; the first of each stays
        order = np.lexsort([*full[::-1], *lack[::-1], *have[::-1]])
        fresh = np.zeros(len(order), np.bool_)
        fresh[:1] = True
        for key in (*have, *lack):
            fresh[1:] |= key[order[1:]] != key[order[:-1]]
        first = order[fresh]
        by_items = [key[first] for key in (*full[::-1], *have[::-1])]
        first = first[np.lexsort([*by_items, -self.present.lengths[first]])]
        return Groups(self.present.take(first), lacks.take(first), self.size[first])

    def _open(self) -> Sets:
        """What the few lack at instants of which they have nothing; they have one symbol at the others."""
        kinds, instants = self.family.kinds, self.family.instants
        occupied = self.present.owners * instants + self.present.items // kinds
        lacked = self.absent.owners * instants + self.absent.items // kinds
        return self.absent if kinds == 1 else self.absent.where(~np.isin(lacked, occupied))


@dataclass(frozen=True, slots=True)
class Groups:
    """Small groups: what they have, what they lack, and how many rows they are."""

    present: Sets
    absent: Sets
    size: Ints

    def __len__(self) -> int:
        return len(self.size)


def maximal_channels(
    family: Family, rows: Transactions, k: int, most: int, *, structural: bool = True
) -> Channels:
    """All maximal channels of more than none and fewer than k rows; more than `most` boxes are refused."""
    complete = completed(family, most).family if structural else family
    if family.kinds == 1 or not structural:
        forms = _maximal_sets(complete)
    else:
        forms = _by_widths(maximal_boxes(complete, most), family.kinds)
    widest = cells_to_sum(rows)
    cells: list[_Cells] = []
    number = 0
    for form in forms:
        for first, block in form.blocks():
            small = _small(complete, block, k) if form.cells <= widest else _counted(rows, complete, block, k)
            cells.append(small.numbered(number + first))
        number += len(form.ranks)
    box, size = (np.concatenate(parts) for parts in zip(*((c.box, c.size) for c in cells), strict=True))
    present, absent = (_joined(sets) for sets in zip(*((c.present, c.absent) for c in cells), strict=True))
    return Channels(present, absent, size, box, forms, complete, family)


def cells_to_sum(rows: Transactions) -> int:
    """Of a box with more cells than this the rows are counted instead."""
    return min(CELLS_AT_MOST, 16 * max(rows.rows, 1 << 10))


def _maximal_sets(family: Family) -> tuple[Boxes, ...]:
    """Maximal sets as boxes with one symbol at every instant, by length."""
    forms = []
    for length, paths in enumerate(family.links[0]):
        maximal = family.maximal[family.levels[length] : family.levels[length + 1]]
        if maximal.any():
            forms.append(Boxes((1,) * length, paths[maximal]))
    return tuple(forms)


def _by_widths(masks: list[int], kinds: int) -> tuple[Boxes, ...]:
    """Boxes as bits, by their form."""
    forms: dict[tuple[int, ...], list[list[int]]] = defaultdict(list)
    for mask in masks:
        items = [item for item in range(mask.bit_length()) if mask >> item & 1]
        widths: dict[int, int] = defaultdict(int)
        for item in items:
            widths[item // kinds] += 1
        forms[tuple(widths.values())].append(items)
    return tuple(
        Boxes(widths, np.array(ranks, np.int64).reshape(len(ranks), -1)) for widths, ranks in forms.items()
    )


@dataclass(frozen=True, slots=True)
class _Cells:
    """Small cells of boxes: the number of the box, the size, and what their rows have and lack of it."""

    box: Ints
    size: Ints
    present: Sets
    absent: Sets

    @classmethod
    def of(cls, box: Ints, size: Ints, items: Ints, flags: Flags) -> _Cells:
        """From the items of each cell's box, in any order, and which of them its rows have."""
        ascending = np.argsort(items, axis=1)
        items = np.take_along_axis(items, ascending, axis=1)
        flags = np.take_along_axis(flags, ascending, axis=1)
        sets = [Sets.of_lengths(which.sum(axis=1), items[which]) for which in (flags, ~flags)]
        return cls(box, size, *sets)

    def numbered(self, first: int) -> _Cells:
        """These cells with their boxes numbered from this one on."""
        return _Cells(self.box + first, self.size, self.present, self.absent)


def _small(family: Family, boxes: Boxes, k: int) -> _Cells:
    """Small cells by their sizes, which follow from the supports."""
    sizes = boxes.sizes(family)
    cell, box = np.nonzero((sizes < k) & (sizes != 0))
    return _Cells.of(box, sizes[cell, box], family.item_of[boxes.ranks[box]], boxes.present(cell))


def _counted(rows: Transactions, family: Family, boxes: Boxes, k: int) -> _Cells:
    """Small cells of boxes with too many cells for that, by counting rows."""
    item_of = family.item_of
    box, size, flags = [], [], []
    for number, ranks in enumerate(boxes.ranks):
        cells, counts = np.unique(projected(rows, item_of[ranks]), axis=0, return_counts=True)
        small = counts < k
        box.append(np.full(int(small.sum()), number))
        size.append(counts[small])
        flags.append(np.unpackbits(cells[small], axis=1, count=len(ranks)).astype(np.bool_))
    boxes_of, sizes, has = (np.concatenate(parts) for parts in (box, size, flags))
    return _Cells.of(boxes_of, sizes, item_of[boxes.ranks[boxes_of]], has)


def projected(rows: Transactions, items: Ints) -> NDArray[np.uint8]:
    """Which of these items every row has, as packed bits."""
    column = np.full(len(rows.names), -1, np.int64)
    column[items] = np.arange(len(items))
    inside = column[rows.sets.items] >= 0
    has = np.zeros((rows.rows, len(items)), np.bool_)
    has[rows.sets.owners[inside], column[rows.sets.items[inside]]] = True
    return np.packbits(has, axis=1)


def _joined(parts: tuple[Sets, ...]) -> Sets:
    lengths = np.concatenate([part.lengths for part in parts])
    return Sets.of_lengths(lengths, np.concatenate([part.items for part in parts]))
