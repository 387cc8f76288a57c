"""Which small groups can be computed from the counts of frequent patterns?

From the supports of all sets between I and J anyone computes how many rows have exactly I of J. That is a
channel, and a threat if the number is above 0 and below k. The maximal channels are the small cells of the
maximal sets (cell theorem): no channel is left exactly if the rows, projected on any maximal set, are
k-anonymous. Not searched: groups of another form than "has these items and none of those", and what takes a
system of equations to solve.

In series everybody has one symbol at every instant, and a reader knows that. If a set X is counted, and X
with each symbol of an instant but one, then X with that one is the difference. Such counts are added first,
as they may be small groups themselves, and derive further ones. The family stays downward closed: what
remains of a derived set without an item is counted, or follows in the same way. Hence the cell theorem holds.

Symbols of one instant exclude each other, so a reader also adds up counts over several of them. A box has any
number of symbols at each of its instants; it can be worked with when every way to take at most one of each is
counted. Boxes that no item can be added to are the maximal ones, and take the place of maximal sets.

Cost: one transform over the cells of each maximal box, whatever the number of rows. Every cell is a counted
set of its own, so a box has no more cells than the family has sets.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Flags, Ints
from timeveil.errors import ParameterError
from timeveil.models.patterns.method.family import Family, Nodes
from timeveil.models.patterns.method.transactions import Sets

MOST_BOXES = 500_000  # judges examine no more: a release that nobody can verify is not made
LISTED = 1000  # groups that the ledger lists
BLOCK_CELLS = 1 << 19
Continuations = dict[int, int]  # the spare items of each continuation


class Completed:
    """A family with every set whose count follows from it; more than `most` sets are refused.

    Nothing follows without items that exclude each other, nor for readers who do not know that they do.
    `origin` is the node that each was before, -1 if it follows. `turn` numbers sets of a length so that each
    comes after those that it follows from.
    """

    def __init__(self, family: Family, most: int, *, structural: bool = True) -> None:
        self.family, self.origin, self.turn = family, np.arange(len(family)), np.arange(len(family))
        if family.kinds == 1 or not structural:
            return
        nodes, origin = Nodes(int(family.support[0])), [np.zeros(1, np.int64)]
        number = np.zeros(len(family), np.int64)  # of an original node, among all of its length
        empty = np.zeros((1, 0), np.int64)
        shorter, start = _Level(empty, empty, family.support[:1]), 0
        for length in range(1, family.depth + 1):
            before = np.arange(family.levels[length], family.levels[length + 1])
            level = _Level(family.links[0][length], number[family.links[1][length]], family.support[before])
            number[before] = np.arange(len(before))
            while True:
                if nodes.total + len(level.support) > most:
                    structure = "as everybody has one symbol at every instant"
                    message = f"{structure}, the counts of more than {most:,} patterns follow"
                    hint = "raise {min_support}, take fewer instants, or set {max_len}"
                    raise ParameterError(message, hint=hint, code="too-many-patterns", facts={"cap": most})
                derived = level.derived(shorter, family.kinds, family.instants)
                if not len(derived.support):
                    break
                level = _Level(*map(np.concatenate, zip(level, derived, strict=True)))
            numbers = nodes.add(level.paths[:, -1], level.support, start + level.drops[:, -1], length)
            start = int(numbers[0]) if len(numbers) else start
            origin.append(np.concatenate([before, np.full(len(level.support) - len(before), -1)]))
            shorter = level
        self.family, self.turn = nodes.family(family.item_of, family.kinds, family.instants)
        self.origin = np.concatenate(origin)[self.turn]

    def source(self, node: int) -> int:
        """The original node or, if it follows, the rarest original one that it would not follow without."""
        family, kinds = self.family, self.family.kinds
        while self.origin[node] < 0:
            items = family.items(node)
            for item in items:
                first = item - item % kinds
                siblings = [x for x in range(first, first + kinds) if x != item]
                nodes = [family.node([*(x for x in items if x != item), other]) for other in siblings]
                # the nodes with another symbol of one instant, if the set follows from them
                if all(other >= 0 and self.turn[other] < self.turn[node] for other in nodes):
                    break
            else:
                raise AssertionError("a derived set has no sets that it follows from")
            node = min(nodes, key=lambda other: int(family.support[other]))
        return int(self.origin[node])


class _Level(NamedTuple):
    """Sets of one length: their items, the shorter set that each becomes without an item, their supports."""

    paths: Ints
    drops: Ints
    support: Ints

    def derived(self, shorter: _Level, kinds: int, instants: int) -> _Level:
        """The sets with the one symbol that is missing at an instant, each once."""
        # for every shorter set and instant: how many symbols are counted with it, which, and their sum
        instant, symbol = np.divmod(self.paths, kinds)
        slots, size = (self.drops * instants + instant).ravel(), len(shorter.support) * instants
        seen = np.bincount(slots, minlength=size)
        symbols = np.bincount(slots, symbol.ravel(), minlength=size).astype(np.int64)
        counts = np.repeat(self.support, self.paths.shape[1])
        counted = np.bincount(slots, counts, minlength=size).astype(np.int64)
        short = np.flatnonzero(seen == kinds - 1)
        if not len(short):
            return _Level(self.paths[:0], self.drops[:0], self.support[:0])
        base, at = np.divmod(short, instants)
        # all symbols add up to a fixed sum, so the sum of the counted ones names the missing one
        item = at * kinds + kinds * (kinds - 1) // 2 - symbols[short]
        support = shorter.support[base] - counted[short]
        # without another item, the base is a still shorter set, which has a superset with the new item
        items = kinds * instants
        keys = (shorter.drops * items + shorter.paths).ravel()
        order = np.argsort(keys)
        index = np.searchsorted(keys, shorter.drops[base] * items + item[:, None], sorter=order)
        supersets = order[index] // max(1, shorter.paths.shape[1])
        paths = np.column_stack([shorter.paths[base], item])
        drops = np.column_stack([supersets, base])
        ascending = np.argsort(paths, axis=1)
        paths, drops = (np.take_along_axis(columns, ascending, axis=1) for columns in (paths, drops))
        # the same set may follow in several ways; its last item and the set without it identify it
        _, once = np.unique(drops[:, -1] * items + paths[:, -1], return_index=True)
        return _Level(paths[once], drops[once], support[once])


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of one form: each has `widths[i]` symbols at its i-th instant. A line of `ranks` is a box.

    A cell is a choice of one symbol or none at each instant, and its number has a digit for each.
    """

    widths: tuple[int, ...]
    ranks: Ints

    @property
    def cells(self) -> int:
        return math.prod(width + 1 for width in self.widths)

    def units(self) -> Iterator[tuple[int, int, int]]:
        """For each instant its first column, its width, and what its digit counts in a cell's number."""
        column, unit = 0, 1
        for width in self.widths:
            yield column, width, unit
            column, unit = column + width, unit * (width + 1)

    def blocks(self, room: int = BLOCK_CELLS) -> Iterator[Boxes]:
        """Parts with about as many cells as there is room for."""
        step = max(1, room // self.cells)
        for first in range(0, len(self.ranks), step):
            yield Boxes(self.widths, self.ranks[first : first + step])

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

    def small(self, family: Family, k: int) -> tuple[Ints, Ints, Flags]:
        """Of small cells the number of the box, the size, and which columns of the box their rows have."""
        sizes = self.sizes(family)
        cell, box = np.nonzero((sizes < k) & (sizes != 0))
        present = np.zeros((len(cell), self.ranks.shape[1]), np.bool_)
        for column, width, unit in self.units():
            digit = cell // unit % (width + 1)
            present[:, column : column + width] = digit[:, None] == np.arange(1, width + 1)
        return box, sizes[cell, box], present

    def cell_of(self, has: Flags) -> Ints:
        """The cell that each row falls into, a column for each box; `has` has a flag for each rank."""
        cell = np.zeros((len(has), len(self.ranks)), np.int64)
        for column, width, unit in self.units():
            for symbol in range(width):
                cell += has[:, self.ranks[:, column + symbol]] * (unit * (symbol + 1))
        return cell


def maximal_boxes(family: Family, most: int) -> tuple[Boxes, ...]:
    """All maximal boxes by their form; more than `most` are refused.

    Instants are decided one after the other. After each there are *continuations*: sets of later items that
    are counted together with every choice from the box so far. With each goes what is *spare*: the items of
    decided instants that could be added without losing it. What is spare for all continuations could be added
    to every box from here on, so none of them is maximal, and the search turns back. At one instant only
    closed choices are tried: those with every symbol that loses no continuation. Each box is found once.
    """
    masks = [0]
    for parent, item in zip(family.parent[1:].tolist(), family.rank[1:].tolist(), strict=True):
        masks.append(masks[parent] | 1 << item)
    forms: dict[tuple[int, ...], list[list[int]]] = defaultdict(list)
    for number, box in enumerate(_extended(0, dict.fromkeys(masks, 0), family.kinds)):
        if number == most:
            combinations = f"more than {most:,} combinations of them would need examination"
            message = f"symbols of one instant exclude each other, so {combinations}"
            hint = "raise {min_support}, or take fewer symbols or instants"
            facts = {"boxes": most, "cap": most}
            raise ParameterError(message, hint=hint, code="too-many-patterns", facts=facts)
        items = [item for item in range(box.bit_length()) if box >> item & 1]
        widths = Counter(item // family.kinds for item in items)
        forms[tuple(widths.values())].append(items)
    return tuple(Boxes(widths, np.array(ranks, np.int64)) for widths, ranks in forms.items())


def _extended(box: int, continuations: Continuations, kinds: int) -> Iterator[int]:
    """All maximal boxes that begin with this one, depth first over the instants; takes over continuations."""
    by_instant: dict[int, list[int]] = defaultdict(list)
    for later in continuations:
        if later:
            # The lowest bit of a continuation is its first item, so this is its first instant.
            by_instant[((later & -later).bit_length() - 1) // kinds].append(later)
    for instant in sorted(by_instant):
        symbols: dict[int, Continuations] = defaultdict(dict)
        for later in by_instant[instant]:
            symbol = later & -later
            symbols[symbol][later ^ symbol] = continuations.pop(later)
        for chosen, following in _closed_choices(symbols):
            yield from _extended(box | chosen, following, kinds)
        # go on without this instant: its symbols are spare for what they could be followed by
        for symbol, following in symbols.items():
            for later in following:
                continuations[later] |= symbol
        # Some item could be added to every box from here on: none of them is maximal.
        if reduce(and_, continuations.values(), -1):
            return
    yield box


def _closed_choices(symbols: dict[int, Continuations]) -> Iterator[tuple[int, Continuations]]:
    """Every closed choice of an instant's symbols that a maximal box can have, and what follows it."""
    order = sorted(symbols)
    pending = [(index + 1, symbol, symbols[symbol]) for index, symbol in enumerate(order)]
    while pending:
        next_index, chosen, following = pending.pop()
        # the choice with every symbol that loses no continuation
        for index, symbol in enumerate(order):
            allowed = symbols[symbol]
            if symbol & chosen or len(allowed) < len(following) or not following.keys() <= allowed.keys():
                continue
            if index < next_index:
                break  # the search that takes this earlier symbol first finds the same choice
            chosen |= symbol
            following = {later: spare & allowed[later] for later, spare in following.items()}
        else:
            for index, symbol in enumerate(order[next_index:], next_index):
                if not symbol & chosen:
                    shared = following.keys() & symbols[symbol].keys()
                    narrower = {later: following[later] & symbols[symbol][later] for later in shared}
                    pending.append((index + 1, chosen | symbol, narrower))
            following = following.copy()
            for symbol in order:
                if not symbol & chosen:
                    for later in following.keys() & symbols[symbol].keys():
                        following[later] |= symbol
            if not reduce(and_, following.values(), -1):
                yield chosen, following


@dataclass(frozen=True)
class Groups:
    """Small groups: what they have, what they lack, and how many rows they are."""

    present: Sets
    absent: Sets
    size: Ints

    def __len__(self) -> int:
        return len(self.size)


@dataclass(frozen=True)
class Channels(Groups):
    """Maximal channels: `size` rows have all of `present` and none of `absent`, which together are a box.

    `boxes` are all maximal boxes of the family, which has what is `published` and what follows; those with a
    channel are `threatened`.
    """

    boxes: tuple[Boxes, ...]
    threatened: tuple[Boxes, ...]
    completed: Completed
    published: Family

    @property
    def family(self) -> Family:
        return self.completed.family

    @cached_property
    def groups(self) -> Groups:
        """The groups that channels are about, each once however many boxes it follows from.

        Those with the most items come first, then they are in the order of items.
        """
        kinds, instants, items = self.family.kinds, self.family.instants, len(self.family.item_of)
        lacks = self.absent
        if kinds > 1:  # where the few have a symbol, it goes without saying that they have no other
            occupied = self.present.owners * instants + self.present.items // kinds
            lacked = self.absent.owners * instants + self.absent.items // kinds
            lacks = self.absent.where(~np.isin(lacked, occupied))
        have, lack, full = (sets.keys(items) for sets in (self.present, lacks, self.absent))
        order = np.lexsort([*full[::-1], *have[::-1], -self.present.lengths])
        sides = np.stack([*have, *lack])[:, order]
        # the first of equal groups stays
        first = order[np.sort(np.unique(sides, axis=1, return_index=True)[1])]
        return Groups(self.present.take(first), lacks.take(first), self.size[first])


def maximal_channels(family: Family, k: int, most: int, *, structural: bool = True) -> Channels:
    """All maximal channels of more than none and fewer than k rows; more than `most` boxes are refused."""
    completion = Completed(family, most, structural=structural)
    complete = completion.family
    if family.kinds == 1 or not structural:
        # maximal sets are boxes with one symbol at every instant
        levels = np.split(complete.maximal, complete.levels[1:-1])
        chosen = [paths[maximal] for paths, maximal in zip(complete.links[0], levels, strict=True)]
        forms = tuple(Boxes((1,) * ranks.shape[1], ranks) for ranks in chosen if len(ranks))
    else:
        forms = maximal_boxes(complete, min(most, MOST_BOXES))
    sizes, presents, absents, threatened = [], [], [], []
    for block in (block for form in forms for block in form.blocks()):
        box, size, flags = block.small(complete, k)
        # ranks may have another order than the items that they are the ranks of
        items = complete.item_of[block.ranks[box]]
        ascending = np.argsort(items, axis=1)
        items = np.take_along_axis(items, ascending, axis=1)
        flags = np.take_along_axis(flags, ascending, axis=1)
        sizes.append(size)
        presents.append(Sets.of_lengths(flags.sum(axis=1), items[flags]))
        absents.append(Sets.of_lengths((~flags).sum(axis=1), items[~flags]))
        threatened.append(Boxes(block.widths, block.ranks[np.unique(box)]))
    present, absent = (Sets.joined(parts) for parts in (presents, absents))
    return Channels(present, absent, np.concatenate(sizes), forms, tuple(threatened), completion, family)


def listed(channels: Channels, names: tuple[str, ...]) -> pa.Table:
    """The groups for the ledger: those that follow from the fewest counts, and of fewest people, first."""
    groups = channels.groups
    order = np.lexsort([groups.present.lengths, groups.size, groups.absent.lengths])[:LISTED]
    sides = {"present": groups.present, "absent": groups.absent}
    lists = {side: sets.take(order).as_lists(names) for side, sets in sides.items()}
    return pa.table({**lists, "people": groups.size[order]})
