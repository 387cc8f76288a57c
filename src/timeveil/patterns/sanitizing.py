"""Raise counts until no small group can be computed (Algorithm 4, corrected).

Every channel says that a few rows have some items (present) and not others (absent). Channels that
agree are merged, and for each merger V virtual rows are added that have its present items. Every
pattern below V rises by as much, the empty one too: the result is what the original rows and the virtual
ones give together, so no count contradicts another, and no pattern is lost.

A virtual row of series has one symbol at every instant, as everybody has: where a merger leaves an instant
open, one that it does not lack and that raises counts by little. So rows and virtual rows are all series, and
that everybody has one symbol at every instant tells nothing about which are virtual.

Why no small group is left. A group is a question that every row answers with yes or no. V has what its merger
has and lacks what it lacks, so it is in the small cell of every channel that was merged, and k copies make
each of them k at least. In any other group V counts k times or not at all, so what was 0 is 0 or k at least,
and what was k is no less. With fewer copies, as many as V's smallest cell needs, every cell that V is in
becomes k at least, and all other cells stay as they were.

Where we depart from the print: two channels merge if and only if neither has what the other lacks and, in
series, a symbol is left at every instant; k rows are added for each merger; all frequent sets rise, closed or
not, and the empty set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timeveil.patterns.channels import Channels
from timeveil.patterns.family import Family
from timeveil.patterns.transactions import Ints, Sets, Transactions, chosen

WHOLE = 1 << 32


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
    """k copies of a row that has what each merger has."""
    sets = mergers(channels, rows)
    return Virtual(sets, np.full(len(sets[0]) - 1, k))


def tight(channels: Channels, rows: Transactions, k: int) -> Virtual:
    """As many copies of what each merger has as make every cell that they fall into k or more."""
    return _needed(mergers(channels, rows), channels, rows, k)


def clone(channels: Channels, rows: Transactions, k: int) -> Virtual:
    """Copies of a row of each small cell, so that a virtual row is always one that somebody has."""
    from timeveil.kernels.virtual import rows_of_cells  # noqa: PLC0415

    rows = rows.settled()
    cells = (*channels.present, *channels.absent)
    _, first = rows_of_cells(rows.holders(), rows.rows, *cells)
    return _needed(chosen((rows.starts, rows.items), np.unique(first)), channels, rows, k)


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
    """A row for each merger, in it: greedy first fit, the most items first, then in the order of items."""
    from timeveil.kernels.virtual import first_fit  # noqa: PLC0415

    place = np.zeros(len(rows.names), np.int64)
    place[channels.present[1]] = place[channels.absent[1]] = 1
    used, place = np.flatnonzero(place), np.cumsum(place) - 1
    present = channels.present[0], place[channels.present[1]]
    absent = channels.absent[0], place[channels.absent[1]]
    order = _largest_first(present, absent, len(used))
    having, lacking, made = first_fit(
        *chosen(present, order), *chosen(absent, order), len(used), rows.kinds, used // rows.kinds
    )
    have, lack = (_flags(lines, made) for lines in (having, lacking))
    if rows.structural:
        return _series(used, have, lack, channels.published, len(rows.names))
    bounds = np.concatenate([[0], np.cumsum(have.sum(1))])
    return bounds, np.broadcast_to(used, have.shape)[have]


def _flags(lines: NDArray[np.uint64], made: int) -> NDArray[np.bool_]:
    """A line of items for each merger."""
    return np.unpackbits(lines.view(np.uint8), axis=1, bitorder="little", count=made).astype(np.bool_).T


def _series(used: Ints, have: NDArray[np.bool_], lack: NDArray[np.bool_], family: Family, items: int) -> Sets:
    """A series for each merger: what it has and, at every other instant, what costs published counts least.

    One more in a count of n is 1/n of it, told in whole numbers. A symbol costs what all patterns
    with it and something of the row do, nothing if none is published; among equals the first is taken.
    """
    from timeveil.kernels.virtual import cheapest, together  # noqa: PLC0415

    weight = WHOLE // np.maximum(family.support, 1)
    known = np.unique(family.item[1:])
    place = np.full(items, len(known))  # what no pattern has costs nothing, as the last of all costs
    place[known] = np.arange(len(known))
    costs = together(place[family.item], family.first, family.kids, weight, len(known) + 1)
    asked = np.zeros((len(have), items), np.int8)
    asked[:, used] = have.astype(np.int8) - lack
    found = cheapest(asked, costs, place, family.kinds)
    return np.arange(len(found) + 1) * found.shape[1], found.ravel()


def _largest_first(present: Sets, absent: Sets, items: int) -> Ints:
    """Places of channels: more present items first, then in the order of items, of absent ones last.

    Items as bits, the first one highest: of sets of one size the first in order is the largest number.
    """
    from timeveil.kernels.virtual import as_bits  # noqa: PLC0415

    width = max(1, -(-items // 64))
    highest = [as_bits(bounds, 64 * width - 1 - members, width) for bounds, members in (absent, present)]
    keys = [~words[:, place] for words in highest for place in range(width)]
    return np.lexsort([*keys, -np.diff(present[0])])


def _needed(sets: Sets, channels: Channels, rows: Transactions, k: int) -> Virtual:
    """m(V) = the largest of k less the rows that share V's cell, over all boxes; none if not above 0."""
    from timeveil.kernels.boxes import shortfall  # noqa: PLC0415
    from timeveil.patterns.channels import cell_numbers  # noqa: PLC0415

    family, boxes = channels.family, channels.boxes
    room = int(cell_numbers(boxes, family.kinds).max(initial=1))
    copies = shortfall(family.tree, family.kinds, *boxes, *sets, k, room, len(rows.names))
    used = np.flatnonzero(copies > 0)
    return Virtual(chosen(sets, used), copies[used])
