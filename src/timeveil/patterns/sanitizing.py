"""Raise counts until no small group can be computed (Algorithm 4, corrected).

Every channel says that a few rows have some items (present) and not others (absent). Channels that
agree are merged, and for each merger V virtual rows are added that have its present items. Every
pattern below V rises by as much, the empty one too: the result is what the original rows and the virtual
ones give together, so no count contradicts another, and no pattern is lost.

Where we depart from the print: two channels merge if and only if neither has what the other lacks; k rows are
added for each merger; all frequent sets rise, closed or not, and the empty set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.patterns.channels import Channels
from timeveil.patterns.family import Family
from timeveil.patterns.transactions import Ints, Sets, Transactions, chosen


@dataclass(frozen=True, slots=True)
class Virtual:
    """Rows that are added: what each has, and how many times."""

    sets: Sets
    copies: Ints

    @property
    def total(self) -> int:
        """How many rows that makes."""
        return int(self.copies.sum())


def no_rows() -> Virtual:
    """Nothing is added."""
    return Virtual((np.zeros(1, np.int64), np.zeros(0, np.int64)), np.zeros(0, np.int64))


def additive(channels: Channels, rows: Transactions, k: int) -> Virtual:
    """k copies of what each merger has."""
    sets = mergers(channels, rows)
    return Virtual(sets, np.full(len(sets[0]) - 1, k))


def tight(channels: Channels, rows: Transactions, family: Family, k: int) -> Virtual:
    """As many copies of what each merger has as make every cell that they fall into k or more."""
    return _needed(mergers(channels, rows), family, channels.boxes, rows, k)


def clone(channels: Channels, rows: Transactions, family: Family, k: int) -> Virtual:
    """Copies of a row of each small cell, so that a virtual row is always one that can be."""
    from timeveil.kernels.virtual import rows_of_cells  # noqa: PLC0415

    rows = rows.settled()
    cells = (*channels.present, *channels.absent)
    _, first = rows_of_cells(rows.holders(), rows.rows, *cells)
    return _needed(chosen((rows.starts, rows.items), np.unique(first)), family, channels.boxes, rows, k)


def raised(family: Family, virtual: Virtual, items: int) -> Family:
    """Every count with the virtual rows in it."""
    from timeveil.kernels.virtual import added_support, as_bits  # noqa: PLC0415

    bounds, members = virtual.sets
    if len(bounds) == 1:
        return family
    row = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    order = np.argsort(members, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=items))])
    holders = as_bits(ends, row[order], -(-(len(bounds) - 1) // 64))
    more = added_support(family.item, family.first, family.kids, holders, virtual.copies)
    return family.with_support(family.support + more)


def mergers(channels: Channels, rows: Transactions) -> Sets:
    """What each merger has: greedy first fit, the most items first, then in the order of items."""
    from timeveil.kernels.virtual import first_fit  # noqa: PLC0415

    used, places = np.unique(np.concatenate([channels.present[1], channels.absent[1]]), return_inverse=True)
    present = channels.present[0], places[: len(channels.present[1])]
    absent = channels.absent[0], places[len(channels.present[1]) :]
    order = _largest_first(present, absent, len(used))
    instant_of = used // rows.kinds
    having, made = first_fit(
        *chosen(present, order), *chosen(absent, order), len(used), rows.structural, instant_of
    )
    flags = np.unpackbits(having.view(np.uint8), axis=1, bitorder="little", count=made).astype(np.bool_).T
    bounds = np.concatenate([[0], np.cumsum(flags.sum(1))])
    return bounds, np.broadcast_to(used, flags.shape)[flags]


def _largest_first(present: Sets, absent: Sets, items: int) -> Ints:
    """Places of channels: more present items first, then in the order of items, of absent ones last.

    Items as bits, the first one highest: of sets of one size the first in order is the largest number.
    """
    from timeveil.kernels.virtual import as_bits  # noqa: PLC0415

    width = max(1, -(-items // 64))
    highest = [as_bits(bounds, 64 * width - 1 - members, width) for bounds, members in (absent, present)]
    keys = [~words[:, place] for words in highest for place in range(width)]
    return np.lexsort([*keys, -np.diff(present[0])])


def _needed(sets: Sets, family: Family, boxes: Sets, rows: Transactions, k: int) -> Virtual:
    """m(V) = the largest of k less the rows that share V's cell, over all boxes; none if not above 0."""
    from timeveil.kernels.boxes import shortfall  # noqa: PLC0415
    from timeveil.patterns.channels import cell_numbers  # noqa: PLC0415

    room = int(cell_numbers(boxes, family.kinds).max(initial=1))
    copies = shortfall(family.tree, family.kinds, *boxes, *sets, k, room, len(rows.names))
    used = np.flatnonzero(copies > 0)
    return Virtual(chosen(sets, used), copies[used])
