"""Which records a final slot holds, and which of them share a bucket: both are chosen last.

The window says how many records of each value and origin a slot is to hold. Which ones is decided when the
slot is final. The records of a cell (origin, value) are in random order under the secret seed from the
start, never ordered by quasi-identifier, and are taken in that order, passing over people who are in the
slot already. Where other records of the cell are to go to a later slot, people who have a record there are
taken first, so that they need not go. What cannot be taken without placing a person twice waits on or is
withheld, and so is what then makes a value too common.

Buckets follow Anatomy (Xiao and Tao 2006) by a shorter rule. An l-eligible slot of n records has no value
more than n // l times, so dealing out its records value by value, in turn, to n // l buckets gives every
bucket at least l records, all of different values. Values are in random order and so are the records of a
value: who has which value of a bucket is uniform, and nothing depends on the order of the input.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from timeveil.models.stream.method.chance import BUCKETS, CELLS, MIXING, Chance, Ints
from timeveil.models.stream.method.reposition import largest_level
from timeveil.models.stream.method.window import Slot, Window

Cells = dict[int, list[int]]
"""Value to the records that have it, in random order."""
People = Mapping[int, Hashable]
"""Record to person; empty where that is unknown."""


@dataclass(slots=True)
class Snapshot:
    """The records that arrived in one slot: sorted by value and, for one value, in random order.

    `counts` numbers them by value, in the same order.
    """

    records: Ints
    counts: dict[int, int]

    def cells(self) -> Cells:
        """The records by value."""
        cells, begin, records = {}, 0, self.records.tolist()
        for value, count in self.counts.items():
            cells[value] = records[begin : begin + count]
            begin += count
        return cells


def snapshot_of(slot: int, records: Ints, values: Ints, chance: Chance) -> Snapshot:
    """Put the records of a slot in their secret order."""
    order = chance.order(slot, CELLS, values)
    distinct, sizes = _runs(values[order])
    return Snapshot(records[order], dict(zip(distinct, sizes, strict=True)))


def _runs(values: Ints) -> tuple[list[int], list[int]]:
    """The values of a sorted array and how often each occurs."""
    heads = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), len(values)]
    return values[heads[:-1]].tolist(), [end - begin for begin, end in pairwise(heads)]


@dataclass(frozen=True, slots=True)
class Placed:
    """The records of a final slot, grouped by value; `guests` are those of other origins, by origin."""

    records: Ints
    counts: dict[int, int]
    guests: dict[int, list[int]]


class Placement:
    """Takes the records of final slots from their cells.

    `snapshots` are those of slots that are not final; `unplaced` the cells of slots that are, without the
    records that were taken.
    """

    def __init__(self, l: int, chance: Chance) -> None:
        self.l = l
        self.chance = chance
        self.snapshots: dict[int, Snapshot] = {}
        self.unplaced: dict[int, Cells] = {}

    def place(self, slot: Slot, window: Window, people: People) -> Placed:
        """The records of a final slot; `window` holds the plans of later ones."""
        number, snapshot = slot.number, self.snapshots.pop(slot.number, None)
        origins = {origin for cell in slot.published.values() for origin in cell}
        if snapshot is not None:
            if origins == {number} and slot.counts == snapshot.counts and _distinct(snapshot, people):
                return Placed(snapshot.records, snapshot.counts, {})  # the usual case: everybody stays
            self.unplaced[number] = snapshot.cells()
        chosen: Cells = {}
        guests: dict[int, list[int]] = {}
        present: set[Hashable] = set()
        # The slot's own records first, then guests from ever further: `_trim` takes records off the end.
        for origin in sorted(origins, reverse=True):
            for value in sorted(slot.published):
                count = slot.published[value].get(origin, 0)
                if count:
                    records = self._take(origin, value, count, people, present, window)
                    chosen.setdefault(value, []).extend(records)
                    if origin != number:
                        guests.setdefault(origin, []).extend(records)
        if sum(map(len, chosen.values())) < slot.size:
            self._trim(number, chosen, guests)
        return self._mixed(number, chosen, guests)

    def _take(
        self, origin: int, value: int, count: int, people: People, present: set[Hashable], window: Window
    ) -> list[int]:
        """The first records of a cell whose people are not in the slot yet, awaited people before others."""
        cell = self.unplaced[origin][value]
        if not people:
            first = cell[:count]
            del cell[:count]
            return first
        # Sorting is stable, so within awaited people and within others the secret order of the cell decides.
        awaited = self._awaited(origin, value, people, window)
        first = []
        for record in sorted(cell, key=lambda record: people[record] not in awaited):
            if len(first) < count and people[record] not in present:
                present.add(people[record])
                first.append(record)
        gone = set(first)
        self.unplaced[origin][value] = [record for record in cell if record not in gone]
        return first

    def _awaited(self, origin: int, value: int, people: People, window: Window) -> set[Hashable]:
        """People with a record in a later slot to which records of this cell are to go."""
        later = [
            self.snapshots[number]
            for number, slot in window.slots.items()
            if number in self.snapshots and origin in slot.published.get(value, ())
        ]
        return {people[record] for snapshot in later for record in snapshot.records.tolist()}

    def _trim(self, number: int, chosen: Cells, guests: dict[int, list[int]]) -> None:
        """Put back the records by which a value is too common, those that came furthest first."""
        most = largest_level([len(records) for records in chosen.values()], self.l)
        for value, records in chosen.items():
            while len(records) > most:
                record = records.pop()
                origin = next((origin for origin in guests if record in guests[origin]), number)
                if origin != number:
                    guests[origin].remove(record)
                # Back at the head of its cell: it is the first to be taken for a later slot.
                self.unplaced[origin][value].insert(0, record)

    def _mixed(self, number: int, chosen: Cells, guests: dict[int, list[int]]) -> Placed:
        """Chosen records as one array; guests are mixed with the slot's own records of their value."""
        counts = {value: len(chosen[value]) for value in sorted(chosen) if chosen[value]}
        records = np.array([record for value in counts for record in chosen[value]], np.int64)
        if any(guests.values()):
            # Else guests would come last of their value, and dealing would tie them to some buckets.
            group = np.repeat(np.arange(len(counts)), list(counts.values()))
            records = records[self.chance.order(number, MIXING, group)]
        return Placed(records, counts, guests)

    def leave(self, number: int) -> Cells:
        """What is left of a slot whose records have had their last chance."""
        return {value: cell for value, cell in self.unplaced.pop(number, {}).items() if cell}


def _distinct(snapshot: Snapshot, people: People) -> bool:
    """Whether no person has two records in the snapshot."""
    records = snapshot.records.tolist()
    return not people or len({people[record] for record in records}) == len(records)


def deal(slot: int, counts: list[int], l: int, chance: Chance) -> Ints:
    """The bucket of each record of an l-eligible slot, records grouped by value: `counts` of each in turn.

    >>> np.bincount(deal(0, [2, 2, 1], 2, Chance(1))).tolist()
    [3, 2]
    """
    sizes = np.array(counts, np.int64)
    total = int(sizes.sum())
    if not total:
        return np.zeros(0, np.int64)
    # Value by value in random order, the i-th record dealt goes to bucket i mod (n // l).
    order = chance.words(slot, BUCKETS, len(sizes)).argsort()
    dealt_before = np.empty_like(sizes)
    dealt_before[order] = np.cumsum(sizes[order]) - sizes[order]
    first = np.cumsum(sizes) - sizes
    buckets: Ints = (np.arange(total) + np.repeat(dealt_before - first, sizes)) % (total // l)
    return buckets
