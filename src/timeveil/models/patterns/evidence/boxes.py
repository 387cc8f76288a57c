"""Boxes, their cells, and the groups that follow from them: what a reader of counts can compute.

A box has for each instant any number of its items, or none. It can be worked with if every way to take one
item of each of its instants is a counted set; then the counts give the number of people in each of its cells.
A cell says for every instant of the box which of its items a person has, or that it is none of them. The
people with none are all less those with one, so one pass per instant turns counts into cells, whatever the
number of people. Without items that exclude each other, boxes are the sets themselves.

A group of a smaller box is a sum of cells of a larger one, so only maximal boxes need a look.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TypeAlias

import numpy as np

from timeveil.domain.arrays import Ints, Words
from timeveil.errors import InfeasibleError
from timeveil.models.patterns.evidence.family import NONE, Family

MOST_BOXES = 500_000  # what is found in about a minute
BLOCK_CELLS = 4_000_000
BLOCK_WORDS = 1 << 22


@dataclass(frozen=True, slots=True)
class Channels:
    """Groups that can be computed: `size` people have all of `present` and none of `absent`.

    Items are in lines, with -1 where there is no further one. `impossible` groups would have fewer than 0
    people.
    """

    present: Ints
    absent: Ints
    size: Ints
    impossible: int = 0

    def __len__(self) -> int:
        return len(self.size)

    def take(self, which: Ints) -> Channels:
        return Channels(self.present[which], self.absent[which], self.size[which])

    def members(self, holders: Words) -> Iterator[tuple[Ints, Words]]:
        """Block by block the sizes of groups, and their members as bits.

        `holders` has a line of bits for each item, and a last one without any.
        """
        everybody = np.full(holders.shape[1], 2**64 - 1, dtype=np.uint64)
        step = max(1, BLOCK_WORDS // holders.shape[1])
        for start in range(0, len(self), step):
            block = slice(start, start + step)
            members = np.broadcast_to(everybody, (len(self.size[block]), holders.shape[1])).copy()
            for present in self.present[block].T:
                members &= np.where((present >= 0)[:, None], holders[present], everybody)
            for absent in self.absent[block].T:
                members &= ~holders[absent]  # the line of no item excludes nobody
            yield self.size[block], members

    def groups(self) -> Iterator[tuple[list[int], list[int]]]:
        for present, absent in zip(self.present, self.absent, strict=True):
            yield present[present >= 0].tolist(), absent[absent >= 0].tolist()


Axes: TypeAlias = tuple[Ints, ...]
"""Boxes of one form: for each of their instants a matrix of its items, with a line per box."""


def channels_of(family: Family, k: int) -> Channels:
    """All cells of maximal boxes with more than nobody and fewer than k people, each group once."""
    groups, impossible = [], 0
    for boxes in _maximal_boxes(family):
        # as many boxes at a time as their cells fit well in memory
        step = max(1, BLOCK_CELLS // math.prod(axis.shape[1] + 1 for axis in boxes))
        for start in range(0, len(boxes[0]), step):
            block = tuple(axis[start : start + step] for axis in boxes)
            cells = _cells(block, family)
            impossible += int(np.count_nonzero(cells < 0))
            box, *positions = np.nonzero((cells > 0) & (cells < k))
            present = np.full((len(box), len(block)), NONE, dtype=np.int64)
            absent = []
            for instant, (position, axis) in enumerate(zip(positions, block, strict=True)):
                has = position > 0
                present[has, instant] = axis[box[has], position[has] - 1]
                # an absent item at an instant with a present one is implied
                absent.append(np.where(has[:, None], NONE, axis[box]))
            groups.append((present, np.concatenate(absent, axis=1), cells[box, *positions]))
    width = max(present.shape[1] for present, _, _ in groups)
    total = width + max(absent.shape[1] for _, absent, _ in groups) + 1
    lines = []
    for present, lacking, size in groups:
        line = np.full((len(size), total), NONE, dtype=np.int64)
        # Descending, so that equal groups of different boxes become equal lines, with -1 at the end.
        line[:, : present.shape[1]] = -np.sort(-present, axis=1)
        line[:, width : width + lacking.shape[1]] = -np.sort(-lacking, axis=1)
        line[:, -1] = size
        lines.append(line)
    every = np.unique(np.concatenate(lines), axis=0)
    return Channels(every[:, :width], every[:, width:-1], every[:, -1], impossible)


def _cells(boxes: Axes, family: Family) -> Ints:
    """The people in each cell, an axis per instant: 0 for none of its items, then one per item."""
    sets = np.zeros(len(boxes[0]), dtype=np.int64)
    for axis in boxes:
        items = axis.reshape(len(axis), *[1] * (sets.ndim - 1), axis.shape[1])
        sets = np.concatenate([sets[..., None], family.extended(sets[..., None], items)], axis=-1)
    # From "has at least these" to "has exactly these", an instant at a time (Moebius inversion).
    cells = family.support[sets]
    for instant in range(1, cells.ndim):
        along = np.moveaxis(cells, instant, 0)
        along[0] -= along[1:].sum(axis=0)
    return cells


def _maximal_boxes(family: Family) -> Iterator[Axes]:
    """All maximal boxes, form by form; too many raise an error."""
    if family.kinds == 1:
        for length, level in enumerate(family.levels):
            maximal = level[family.is_maximal[family.numbers(length)]]
            if len(maximal):
                yield tuple(np.hsplit(maximal, max(length, 1)))
        return
    masks = [0]
    for parent, item in zip(family.parents[1:].tolist(), family.last[1:].tolist(), strict=True):
        masks.append(masks[parent] | 1 << item)
    width = -(-family.size // 8)
    boxes = []
    for box in _extensions(0, 0, dict.fromkeys(masks, 0), family.kinds):
        boxes.append(box.to_bytes(width, "little"))
        if len(boxes) > MOST_BOXES:
            message = "symbols of one instant can be combined in too many ways to examine all"
            hint = "judge a release with a larger min_support, fewer symbols or fewer instants"
            raise InfeasibleError(message, hint=hint, code="too-many-patterns")
    lines = np.frombuffer(b"".join(boxes), dtype=np.uint8).reshape(-1, width)
    flags = np.unpackbits(lines, axis=1, bitorder="little", count=family.instants * family.kinds)
    widths = flags.reshape(len(flags), family.instants, family.kinds).sum(axis=2)
    forms: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, line in enumerate(widths.tolist()):
        forms[tuple(filter(None, line))].append(number)
    for form, numbers in forms.items():
        items = np.nonzero(flags[numbers])[1].reshape(len(numbers), -1)
        yield tuple(np.split(items, np.cumsum(form)[:-1], axis=1))


def _extensions(start: int, box: int, following: dict[int, int], kinds: int) -> Iterator[int]:
    """All maximal boxes that begin with this one, decided at the instants before item `start`; sets are bits.

    `following` are the sets of later items that go with all of the box; with each, the items of decided
    instants that could be added to the box without losing it. What could be added without losing any of them
    could be added to every box from here on, so none of these is maximal.
    """
    if len(following) == 1:  # the empty set
        yield box
        return
    symbols = (1 << kinds) - 1 << start
    allowed = {later: 0 for later in following if not later & symbols}  # symbols that go with each later set
    for items in following:
        if items & symbols:
            allowed[items & ~symbols] |= items & symbols
    by_choice: dict[int, list[int]] = defaultdict(list)
    for later, possible in allowed.items():
        by_choice[possible].append(later)
    # A choice that is no intersection of what single sets allow can be widened without losing a set.
    choices = fresh = set(by_choice)
    while fresh:
        fresh = {left & right for left in fresh for right in by_choice} - choices
        choices = choices | fresh
    for choice in choices:
        first, *remaining = [1 << item for item in range(start, start + kinds) if choice >> item & 1] or [0]
        narrower = {
            later: following[later | first] | possible ^ choice
            for possible, sets in by_choice.items()
            if possible & choice == choice
            for later in sets
        }
        for symbol in remaining:
            # What is spare at this instant is so for every symbol, what is spare before for each.
            for later in narrower:
                narrower[later] &= following[later | symbol] | symbols
        if not reduce(and_, narrower.values(), -1):
            yield from _extensions(start + kinds, box | choice, narrower, kinds)
