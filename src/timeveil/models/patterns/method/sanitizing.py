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

from timeveil.models.patterns.method.channels import Channels
from timeveil.models.patterns.method.family import Family
from timeveil.models.patterns.method.transactions import Ints, Sets, Transactions, chosen

Words = NDArray[np.uint64]


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
    from timeveil.models.patterns.kernels.virtual import rows_of_cells  # noqa: PLC0415

    rows = rows.settled()
    cells = (*channels.present, *channels.absent)
    _, first = rows_of_cells(rows.holders(), rows.rows, *cells)
    return _needed(chosen((rows.starts, rows.items), np.unique(first)), channels, rows, k)


def raised(family: Family, virtual: Virtual, items: int) -> Family:
    """Every count with the virtual rows in it."""
    from timeveil.models.patterns.kernels.virtual import added_support  # noqa: PLC0415

    if len(virtual.copies) == 0:
        return family
    more = added_support(family.item, family.first, family.kids, *virtual.sets, items, virtual.copies)
    more += family.support
    return family.with_support(more)


def mergers(channels: Channels, rows: Transactions) -> Sets:
    """A row for each merger, in it: greedy first fit, the most items first, then in the order of items.

    Items are bits, the first one highest: of sets of one size the first in order is the largest number.
    """
    from timeveil.models.patterns.kernels.merging import as_lines, first_fit, instants_in, largest_first  # noqa: PLC0415

    used = instants_in(channels.present[1], channels.absent[1], rows.kinds, rows.instants)
    places = _places(used, rows)
    width = -(-len(used) // (64 // rows.kinds))
    lines = largest_first(as_lines(*channels.present, *channels.absent, *places, width))
    have, lack = first_fit(lines, rows.kinds)
    if rows.structural:
        return _series(have, lack, places, channels.published)
    flags = np.unpackbits(have.astype(">u8").view(np.uint8), axis=1, count=len(used)).astype(np.bool_)
    bounds = np.concatenate([[0], np.cumsum(flags.sum(1))])
    return bounds, np.broadcast_to(used, flags.shape)[flags]


def _places(used: Ints, rows: Transactions) -> tuple[Ints, Words]:
    """The word of each item, and its bit in it, none at an instant that is not used."""
    at, symbol = np.arange(len(used))[:, None], np.arange(rows.kinds)
    items, per_word = used[:, None] * rows.kinds + symbol, 64 // rows.kinds
    word_of, bit_of = np.zeros(len(rows.names), np.int64), np.zeros(len(rows.names), np.uint64)
    word_of[items] = at // per_word
    bit_of[items] = np.uint64(1) << (63 - at % per_word * rows.kinds - symbol).astype(np.uint64)
    return word_of, bit_of


def _series(have: Words, lack: Words, places: tuple[Ints, Words], family: Family) -> Sets:
    """A series for each merger: what it has and, at every other instant, what costs published counts least.

    A symbol costs what all patterns with it and something of the row do, nothing if none is published.
    """
    from timeveil.models.patterns.kernels.virtual import cheapest, together  # noqa: PLC0415

    known = family.item[family.first[0] :][: family.kids[0]]  # every item of a set is one by itself
    place = np.full(len(places[0]), len(known))  # what no pattern has costs nothing, as the last of all costs
    place[known] = np.arange(len(known))
    costs = together(*family.tree, place, len(known), family.instants)
    found = cheapest(have, lack, *places, costs, place, family.kinds)
    return np.arange(len(found) + 1) * found.shape[1], found.ravel()


def _needed(sets: Sets, channels: Channels, rows: Transactions, k: int) -> Virtual:
    """m(V) = the largest of k less the rows that share V's cell, over all boxes; none if not above 0."""
    from timeveil.models.patterns.kernels.boxes import shortfall  # noqa: PLC0415
    from timeveil.models.patterns.method.channels import cell_numbers  # noqa: PLC0415

    family, boxes = channels.family, channels.boxes
    room = int(cell_numbers(boxes, family.kinds).max(initial=1))
    copies = shortfall(family.tree, family.kinds, *boxes, *sets, k, room, len(rows.names))
    used = np.flatnonzero(copies > 0)
    return Virtual(chosen(sets, used), copies[used])
