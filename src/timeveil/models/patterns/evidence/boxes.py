"""Boxes, their cells, and the groups that follow from them: what a reader of counts can compute.

A box has for each instant any number of its items, or none. It can be worked with if every way to take one
item of each of its instants is a counted set; then the counts give the number of people in each of its cells.
A cell says for every instant of the box which of its items a person has, or that it is none of them. The
people with none are all less those with one, so one pass per instant turns counts into cells, whatever the
number of people. Without items that exclude each other, boxes are the sets themselves.

All maximal boxes are found instant by instant. What is carried along is the family of sets that can still be
added to all of the box so far. Only choices that cannot be widened without losing a set of that need a look,
and these are the intersections of the choices that single sets allow. Some boxes that come out are part of
another box: too much is examined, never too little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from timeveil.evidence.codes import Integers, fold
from timeveil.models.patterns.evidence.family import NONE, Family, Flags, Masks

MOST_BOXES = 5_000_000
BLOCK_SETS = 400_000
BLOCK_CELLS = 4_000_000


class TooManyBoxesError(Exception):
    """More boxes than can be examined."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of one form: for each of their instants a matrix of its items, with a line per box."""

    axes: tuple[Integers, ...]

    def __len__(self) -> int:
        return len(self.axes[0]) if self.axes else 1

    def take(self, which: slice | Integers) -> Boxes:
        """Boxes with these numbers."""
        return Boxes(tuple(axis[which] for axis in self.axes))

    def blocks(self) -> Iterator[Boxes]:
        """As many boxes at a time as their cells fit well in memory."""
        cells = int(np.prod([axis.shape[1] + 1 for axis in self.axes], dtype=np.float64))
        step = max(1, BLOCK_CELLS // cells)
        for start in range(0, len(self), step):
            yield self.take(slice(start, start + step))

    def cells(self, family: Family) -> Integers:
        """The people in each cell, an axis per instant: 0 for none of its items, then one per item."""
        sets = np.zeros(len(self), dtype=np.int64)
        for axis in self.axes:
            items = axis.reshape(len(axis), *[1] * (sets.ndim - 1), axis.shape[1])
            sets = np.concatenate([sets[..., None], family.extended(sets[..., None], items)], axis=-1)
        # From "has at least these" to "has exactly these", an instant at a time (Moebius inversion).
        cells = family.support[sets]
        for instant in range(1, cells.ndim):
            along = np.moveaxis(cells, instant, 0)
            along[0] -= along[1:].sum(axis=0)
        return cells


def boxes_of(family: Family, *, structural: bool) -> Iterator[Boxes]:
    """All maximal boxes, form by form, and perhaps others; too many raise an error."""
    if family.number == 1:
        yield Boxes(())
    elif not structural or family.kinds == 1:
        yield from _maximal_sets(family)
    else:
        total, waiting = 0, 0
        masks: list[Masks] = []
        for block in _walk(family):
            total, waiting = total + len(block), waiting + len(block)
            if total > MOST_BOXES:
                raise TooManyBoxesError
            masks.append(block)
            if waiting > BLOCK_SETS:
                yield from _by_form(np.concatenate(masks), family.kinds)
                masks, waiting = [], 0
        if masks:
            yield from _by_form(np.concatenate(masks), family.kinds)


@dataclass(frozen=True, slots=True)
class Channels:
    """Groups that can be computed: `size` people have all of `present` and none of `absent`.

    Items are in lines, with -1 where there is no further one.
    """

    present: Integers
    absent: Integers
    size: Integers

    def __len__(self) -> int:
        return len(self.size)

    def groups(self) -> Iterator[tuple[list[int], list[int], int]]:
        """The present items, absent items and size of one group after the other."""
        for present, absent, size in zip(self.present, self.absent, self.size.tolist(), strict=True):
            yield present[present >= 0].tolist(), absent[absent >= 0].tolist(), size


def channels_of(family: Family, k: int, *, structural: bool) -> Channels:
    """All cells of maximal boxes with more than nobody and fewer than k people."""
    small = []
    for boxes in boxes_of(family, structural=structural):
        for block in boxes.blocks():
            maximal = _maximal_only(family, block) if structural else block
            if len(maximal):
                cells = maximal.cells(family)
                small.append(_groups(maximal, cells, (cells > 0) & (cells < k)))
    return _joined(small)


def _groups(boxes: Boxes, cells: Integers, chosen: Flags) -> Channels:
    """The chosen cells of boxes as groups; an absent item at an instant with a present one is implied."""
    box, *positions = np.nonzero(chosen)
    present = np.full((len(box), len(boxes.axes)), NONE, dtype=np.int64)
    absent = [np.zeros((len(box), 0), dtype=np.int64)]
    for instant, (position, axis) in enumerate(zip(positions, boxes.axes, strict=True)):
        has = position > 0
        present[has, instant] = axis[box[has], position[has] - 1]
        absent.append(np.where(has[:, None], NONE, axis[box]))
    return Channels(present, np.concatenate(absent, axis=1), cells[chosen])


def _joined(parts: list[Channels]) -> Channels:
    """All groups, each once, with the same number of columns."""
    width = max((part.present.shape[1] for part in parts), default=0)
    total = width + max((part.absent.shape[1] for part in parts), default=0) + 1
    lines = [np.zeros((0, total), dtype=np.int64)]
    for part in parts:
        line = np.full((len(part), total), NONE, dtype=np.int64)
        # Descending, so that equal groups of different boxes become equal lines, with -1 at the end.
        line[:, : part.present.shape[1]] = -np.sort(-part.present, axis=1)
        line[:, width : width + part.absent.shape[1]] = -np.sort(-part.absent, axis=1)
        line[:, -1] = part.size
        lines.append(line)
    every = np.unique(np.concatenate(lines), axis=0)
    return Channels(every[:, :width], every[:, width:-1], every[:, -1])


def _maximal_only(family: Family, boxes: Boxes) -> Boxes:
    """The boxes to which no item can be added."""
    if family.kinds == 1 or not boxes.axes:
        return boxes
    additions, maximal = family.additions, np.ones(len(boxes), dtype=bool)
    outside = np.full((len(boxes), family.instants), 2**64 - 1, dtype=np.uint64)
    for column, axis in enumerate(boxes.axes):
        # another symbol at one of its instants must go with every choice at the others
        choices = _choices(family, boxes.axes[:column] + boxes.axes[column + 1 :], len(boxes))
        symbols = np.bitwise_or.reduce(np.uint64(1) << (axis % family.kinds).astype(np.uint64), axis=1)
        instant = axis[:, 0] // family.kinds
        addable = np.bitwise_and.reduce(additions[choices, instant[:, None]], axis=1)
        maximal &= (addable & ~symbols) == 0
        outside[np.arange(len(boxes)), instant] = 0
    choices = _choices(family, boxes.axes, len(boxes))
    for number in range(family.instants):
        addable = np.bitwise_and.reduce(additions[choices, number], axis=1)
        maximal &= (addable & outside[:, number]) == 0
    return boxes.take(np.flatnonzero(maximal))


def _choices(family: Family, axes: tuple[Integers, ...], number: int) -> Integers:
    """For every box the sets that take one item of each of these instants."""
    sets = np.zeros((number, 1), dtype=np.int64)
    for axis in axes:
        sets = family.extended(sets[:, :, None], axis[:, None, :]).reshape(number, -1)
    return sets


def _maximal_sets(family: Family) -> Iterator[Boxes]:
    for length, level in enumerate(family.levels):
        maximal = level[family.is_maximal[family.offsets[length] : family.offsets[length + 1]]]
        if len(maximal) and length:
            yield Boxes(tuple(maximal[:, column : column + 1] for column in range(length)))


def _by_form(masks: Masks, kinds: int) -> Iterator[Boxes]:
    """Boxes with the same numbers of items from one of their instants to the next, together."""
    # the form of a box is its numbers of items, instants without any left out
    sizes = np.bitwise_count(masks).astype(np.int64)
    leading = np.take_along_axis(sizes, np.argsort(sizes == 0, axis=1, kind="stable"), axis=1)
    form, forms = fold([(column, kinds + 1) for column in leading.T], len(leading))
    items = _items(masks, kinds)
    total = sizes.sum(axis=1)
    starts = np.cumsum(total) - total
    order = np.argsort(form, kind="stable")
    ends = np.cumsum(np.bincount(form, minlength=forms))
    for first, last in zip([0, *ends[:-1]], ends, strict=True):
        members = order[first:last]
        counts = leading[members[0]]
        lines = items[starts[members][:, None] + np.arange(int(total[members[0]]))]
        stops = np.cumsum(counts[counts > 0])
        if len(stops):
            yield Boxes(tuple(np.split(lines, stops[:-1], axis=1)))


def _items(masks: Masks, kinds: int) -> Integers:
    """The items of all boxes, one box after the other."""
    shifts, parts = np.arange(kinds, dtype=np.uint64), [np.zeros(0, dtype=np.int64)]
    step = max(1, (1 << 24) // (masks.shape[1] * kinds))
    for start in range(0, len(masks), step):
        flags = ((masks[start : start + step, :, None] >> shifts) & np.uint64(1)).astype(bool)
        parts.append(np.nonzero(flags.reshape(len(flags), -1))[1])
    return np.concatenate(parts)


def _walk(family: Family) -> Iterator[Masks]:
    """All boxes as bits, a line per box and a word per instant."""
    first = np.full(family.number, family.instants, dtype=np.int64)
    symbol = np.zeros(family.number, dtype=np.uint64)
    remainder = np.zeros(family.number, dtype=np.int64)
    for length, (level, drop) in enumerate(zip(family.levels, family.drops, strict=True)):
        if length:
            numbers = slice(int(family.offsets[length]), int(family.offsets[length + 1]))
            first[numbers] = level[:, 0] // family.kinds
            symbol[numbers] = (level[:, 0] % family.kinds).astype(np.uint64)
            remainder[numbers] = drop[:, 0]
    walker = _Walker(first, symbol, remainder, family.kinds)
    start = np.zeros((1, family.instants), dtype=np.uint64)
    pending = [(0, start, np.zeros(family.number, dtype=np.int64), np.arange(family.number))]
    # A state and the symbols of an instant must fit in one word (`_closed`).
    limit = 1 << min(62 - family.kinds, 40)
    while pending:
        instant, masks, state, sets = pending.pop()
        if instant == family.instants:
            yield masks
        elif len(masks) > 1 and (len(sets) > BLOCK_SETS or len(masks) > limit):
            # too much for one step: halve the boxes, and with them their sets
            middle = len(masks) // 2
            cut = int(np.searchsorted(state, middle))
            pending.append((instant, masks[middle:], state[cut:] - middle, sets[cut:]))
            pending.append((instant, masks[:middle], state[:cut], sets[:cut]))
        else:
            pending.append((instant + 1, *walker.step(instant, masks, state, sets)))


@dataclass(frozen=True, slots=True)
class _Walker:
    """Per set its first instant, the symbol there, and the set without that item."""

    first: Integers
    symbol: Masks
    remainder: Integers
    kinds: int

    def step(
        self, instant: int, masks: Masks, state: Integers, sets: Integers
    ) -> tuple[Masks, Integers, Integers]:
        """All choices at one instant worth a look.

        `masks` are the boxes so far, and `sets` what can be added to the box `state`, ordered by both.
        """
        begins = self.first[sets] == instant
        later_state, later = state[~begins], sets[~begins]
        # Later sets are sorted by state and number, so a binary search finds what each beginning set leaves.
        keys = later_state * len(self.first) + later
        index = np.searchsorted(keys, state[begins] * len(self.first) + self.remainder[sets[begins]])
        symbol = self.symbol[sets[begins]]
        allowed = np.zeros(len(later), dtype=np.uint64)  # symbols that go with each later set
        for number in range(self.kinds):  # within one symbol no set occurs twice
            allowed[index[symbol == number]] |= np.uint64(1 << number)
        owner, choice = self._closed(later_state, allowed)
        # every choice takes along the later sets that allow all of it
        starts = np.searchsorted(later_state, np.arange(len(masks) + 1))
        lengths = np.diff(starts)[owner]
        new_state = np.repeat(np.arange(len(owner)), lengths)
        source = np.arange(len(new_state)) - np.repeat(np.cumsum(lengths) - lengths - starts[owner], lengths)
        fits = (allowed[source] & choice[new_state]) == choice[new_state]
        wider = masks[owner]
        wider[:, instant] = choice
        return wider, new_state[fits], later[source[fits]]

    def _closed(self, state: Integers, allowed: Masks) -> tuple[Integers, Masks]:
        """Per state the choices that single sets allow, and all their intersections."""
        shift = np.uint64(self.kinds)
        single = _distinct((state.astype(np.uint64) << shift) | allowed)
        bits = (np.uint64(1) << shift) - np.uint64(1)
        closed, fresh = single, single
        owner = (single >> shift).astype(np.int64)
        # Intersections with single choices until nothing new appears: these are all closed choices.
        while len(fresh):
            fresh_owner = fresh >> shift
            low = np.searchsorted(owner, fresh_owner.astype(np.int64))
            count = np.searchsorted(owner, fresh_owner.astype(np.int64), side="right") - low
            ends = np.cumsum(count)
            partner = np.arange(int(ends[-1])) - np.repeat(ends - count - low, count)
            common = np.repeat(fresh & bits, count) & single[partner]
            met = _distinct((np.repeat(fresh_owner, count) << shift) | (common & bits))
            fresh = np.setdiff1d(met, closed, assume_unique=True)
            closed = np.union1d(closed, fresh)
        return (closed >> shift).astype(np.int64), closed & bits


def _distinct(keys: Masks) -> Masks:
    """Each once, in order; by sorting, as they nearly are."""
    ordered = np.sort(keys, kind="stable")
    fresh = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return ordered[fresh]
