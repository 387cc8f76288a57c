"""Boxes: what a reader of counts can put side by side.

A box gives each instant some of its items, or none. It is whole if every way to take one item of each of its
instants is a published set; then the counts of the box tell how many people have which of its items, and
how many have none of an instant's. Without items that exclude each other the boxes are the sets themselves.

All maximal boxes are found instant by instant. What is carried along is the family of what can still be added
to all of the box so far. Only choices that cannot be widened without losing some of that need a look, and
these are the intersections of the choices that single members of the family allow. Some of what comes
out is part of another box: too much is looked at, nothing too little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from timeveil.evidence.codes import Integers, fold
from timeveil.models.patterns.judges.family import Family, Masks

AT_ONCE = 400_000
MOST = 5_000_000


class TooManyBoxesError(Exception):
    """More boxes than can be looked at."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of one form: for every instant that they have items of, a matrix with a line per box."""

    axes: tuple[Integers, ...]

    def __len__(self) -> int:
        return len(self.axes[0]) if self.axes else 1

    @property
    def cells(self) -> int:
        """How many cells one of them has."""
        return int(np.prod([axis.shape[1] + 1 for axis in self.axes], dtype=np.float64))

    def part(self, which: slice | Integers) -> Boxes:
        """Some of them."""
        return Boxes(tuple(axis[which] for axis in self.axes))


def boxes_of(family: Family, *, structural: bool, most: int = MOST) -> Iterator[Boxes]:
    """All maximal boxes, form by form, and maybe some that are not maximal."""
    if family.number == 1:
        yield Boxes(())
        return
    if not structural or family.kinds == 1:
        yield from _sets(family)
        return
    found, waiting = 0, 0
    masks: list[Masks] = []
    for some in _walk(family):
        found, waiting = found + len(some), waiting + len(some)
        if found > most:
            raise TooManyBoxesError
        masks.append(some)
        if waiting > AT_ONCE:
            yield from _by_form(np.concatenate(masks), family.kinds)
            masks, waiting = [], 0
    if masks:
        yield from _by_form(np.concatenate(masks), family.kinds)


def maximal_only(family: Family, boxes: Boxes) -> Boxes:
    """Those of some boxes to which no item can be added."""
    if family.kinds == 1 or not boxes.axes:
        return boxes
    added, keep = family.additions, np.ones(len(boxes), dtype=bool)
    every = np.uint64(2**64 - 1)
    outside = np.broadcast_to(every, (len(boxes), family.instants)).copy()
    for place, axis in enumerate(boxes.axes):
        others = _ways(family, boxes.axes[:place] + boxes.axes[place + 1 :], len(boxes))
        mine = np.bitwise_or.reduce(np.uint64(1) << (axis % family.kinds).astype(np.uint64), axis=1)
        where = axis[:, 0] // family.kinds
        can = np.bitwise_and.reduce(added[others, where[:, None]], axis=1)
        keep &= (can & ~mine) == 0
        outside[np.arange(len(boxes)), where] = 0
    whole = _ways(family, boxes.axes, len(boxes))
    for instant in range(family.instants):
        can = np.bitwise_and.reduce(added[whole, instant], axis=1)
        keep &= (can & outside[:, instant]) == 0
    return boxes.part(np.flatnonzero(keep))


def _ways(family: Family, axes: tuple[Integers, ...], number: int) -> Integers:
    """For every box the sets that take one item of each of these instants."""
    here = np.zeros((number, 1), dtype=np.int64)
    for axis in axes:
        further = family.extended(here[:, :, None], axis[:, None, :])
        here = further.reshape(number, -1)
    return here


def _sets(family: Family) -> Iterator[Boxes]:
    for length, level in enumerate(family.levels):
        start = family.offsets[length]
        top = level[family.is_maximal[start : start + len(level)]]
        if len(top) and length:
            yield Boxes(tuple(top[:, place : place + 1] for place in range(length)))


def _by_form(masks: Masks, kinds: int) -> Iterator[Boxes]:
    """Boxes of the same numbers of items from one of their instants to the next, together."""
    sizes = np.bitwise_count(masks).astype(np.int64)
    packed = np.take_along_axis(sizes, np.argsort(sizes == 0, axis=1, kind="stable"), axis=1)
    form, forms = fold([(column, kinds + 1) for column in packed.T], len(packed))
    items = _items(masks, kinds)
    total = sizes.sum(axis=1)
    starts = np.cumsum(total) - total
    order = np.argsort(form, kind="stable")
    ends = np.cumsum(np.bincount(form, minlength=forms))
    for number in range(forms):
        mine = order[ends[number - 1] if number else 0 : ends[number]]
        counts = packed[mine[0]]
        lines = items[starts[mine][:, None] + np.arange(int(total[mine[0]]))]
        stops = np.cumsum(counts[counts > 0])
        if len(stops):
            yield Boxes(tuple(np.split(lines, stops[:-1], axis=1)))


def _items(masks: Masks, kinds: int) -> Integers:
    """The items of all boxes, one after the other."""
    width, found = np.arange(kinds, dtype=np.uint64), [np.zeros(0, dtype=np.int64)]
    step = max(1, (1 << 24) // (masks.shape[1] * kinds))
    for start in range(0, len(masks), step):
        there = ((masks[start : start + step, :, None] >> width) & np.uint64(1)).astype(bool)
        found.append(np.nonzero(there.reshape(len(there), -1))[1])
    return np.concatenate(found)


def _walk(family: Family) -> Iterator[Masks]:
    """All boxes as bits, a line per box and a number per instant."""
    first = np.full(family.number, family.instants, dtype=np.int64)
    symbol = np.zeros(family.number, dtype=np.uint64)
    rest = np.zeros(family.number, dtype=np.int64)
    for length, (level, drop) in enumerate(zip(family.levels, family.drops, strict=True)):
        if length:
            here = slice(int(family.offsets[length]), int(family.offsets[length]) + len(level))
            first[here] = level[:, 0] // family.kinds
            symbol[here] = (level[:, 0] % family.kinds).astype(np.uint64)
            rest[here] = drop[:, 0]
    start = np.zeros((1, family.instants), dtype=np.uint64)
    walker = _Walker(first, symbol, rest, family.kinds, family.instants)
    pending = [(0, start, np.zeros(family.number, dtype=np.int64), np.arange(family.number))]
    limit = 1 << min(62 - family.kinds, 40)
    while pending:
        instant, masks, state, node = pending.pop()
        if instant == family.instants:
            yield masks
            continue
        if len(masks) > 1 and (len(node) > AT_ONCE or len(masks) > limit):
            middle = len(masks) // 2
            cut = int(np.searchsorted(state, middle))
            pending.append((instant, masks[middle:], state[cut:] - middle, node[cut:]))
            pending.append((instant, masks[:middle], state[:cut], node[:cut]))
            continue
        pending.append((instant + 1, *walker.step(instant, masks, state, node)))


@dataclass(frozen=True, slots=True)
class _Walker:
    """Per set its first instant, the symbol there, and the set without that item."""

    first: Integers
    symbol: Masks
    rest: Integers
    kinds: int
    instants: int

    def step(
        self, instant: int, masks: Masks, state: Integers, node: Integers
    ) -> tuple[Masks, Integers, Integers]:
        """All choices at one instant worth a look; states and their sets stand in order."""
        here = self.first[node] == instant
        number = len(self.first)
        left_state, left = state[~here], node[~here]
        keys = left_state * number + left
        allows = np.zeros(len(left), dtype=np.uint64)
        place = np.searchsorted(keys, state[here] * number + self.rest[node[here]])
        symbol = self.symbol[node[here]]
        for one in range(self.kinds):  # within one symbol no set comes twice
            allows[place[symbol == one]] |= np.uint64(1 << one)
        owner, choice = self._closed(left_state, allows)
        begins = np.searchsorted(left_state, np.arange(len(masks) + 1))
        lengths = np.diff(begins)[owner]
        fresh = np.repeat(np.arange(len(owner)), lengths)
        ends = np.cumsum(lengths)
        source = np.arange(len(fresh)) - np.repeat(ends - lengths - begins[owner], lengths)
        keep = (allows[source] & choice[fresh]) == choice[fresh]
        out = masks[owner]
        out[:, instant] = choice
        return out, fresh[keep], left[source[keep]]

    def _closed(self, state: Integers, allows: Masks) -> tuple[Integers, Masks]:
        """Per state the choices that single sets allow, and all their intersections."""
        shift = np.uint64(self.kinds)
        given = _distinct((state.astype(np.uint64) << shift) | allows)
        bits = (np.uint64(1) << shift) - np.uint64(1)
        known, fresh = given, given
        owner = (given >> shift).astype(np.int64)
        while len(fresh):
            mine = fresh >> shift
            low = np.searchsorted(owner, mine.astype(np.int64))
            count = np.searchsorted(owner, mine.astype(np.int64), side="right") - low
            ends = np.cumsum(count)
            other = np.arange(int(ends[-1])) - np.repeat(ends - count - low, count)
            both = np.repeat(fresh & bits, count) & given[other]
            met = _distinct((np.repeat(mine, count) << shift) | (both & bits))
            fresh = np.setdiff1d(met, known, assume_unique=True)
            known = np.union1d(known, fresh)
        return (known >> shift).astype(np.int64), known & bits


def _distinct(keys: Masks) -> Masks:
    """Each once, in order; by sorting, as they nearly are."""
    ordered = np.sort(keys, kind="stable")
    fresh = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return ordered[fresh]
