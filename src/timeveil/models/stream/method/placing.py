"""Records on their way, and what secret chance decides: which a final slot holds, and who shares a bucket.

Every draw is a function of (seed, slot, purpose), computed with SHAKE-128. So the draws of a slot are the
same however its records were handed over, and a publisher that resumes needs to remember its seed only.

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

`Core` is a slot from which packets are taken instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from hashlib import shake_128
from itertools import accumulate, count
from typing import Any, NamedTuple

import numpy as np

from timeveil.domain.arrays import Ints, Words
from timeveil.models.stream.method.reposition import Slot, Window, largest_level
from timeveil.recoding.groups import Label

Cells = dict[int, Ints]  # value to the records that have it, in random order
People = Mapping[int, Hashable]  # record to person; empty where that is unknown

CELLS, MIXING, BUCKETS, TURNS = b"cells", b"mixing", b"buckets", b"turns"
"""What words are drawn for."""
BLOCK = 64  # how many words are drawn at a time by `Draws`


class Chance:
    """Random words by slot and purpose."""

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(16, "big")

    def words(self, slot: int, purpose: bytes, count: int) -> Words:
        message = self._key + slot.to_bytes(8, "big", signed=True) + purpose
        return np.frombuffer(shake_128(message).digest(8 * count), np.uint64)

    def below(self, slot: int, purpose: bytes, count: int, bound: int) -> Ints:
        """Whole numbers from 0 to less than `bound`, at most 2**32."""
        # Multiply and shift instead of a modulo: 32 random bits times a bound of at most 2**32 fit in a word.
        scaled = (self.words(slot, purpose, count) >> np.uint64(32)) * np.uint64(bound)
        return (scaled >> np.uint64(32)).astype(np.int64)

    def order(self, slot: int, purpose: bytes, group: Ints) -> Ints:
        """Positions sorted by group number and, inside a group, at random."""
        # One sort: the group in the upper bits of a word, random bits in all others.
        bits = max(int(group.max(initial=0)).bit_length(), 1)
        keys = self.words(slot, purpose, len(group)) >> np.uint64(bits)
        keys |= group.view(np.uint64) << np.uint64(64 - bits)
        return keys.argsort()


class Draws:
    """Whole numbers drawn one after another for one purpose in one slot."""

    def __init__(self, chance: Chance, slot: int, purpose: bytes) -> None:
        # Numbered blocks, so that single draws depend on nothing but how many came before them.
        blocks = (chance.words(slot, purpose + block.to_bytes(8, "big"), BLOCK) for block in count())
        self._words: Iterator[int] = (word for block in blocks for word in reversed(block.tolist()))

    def below(self, bound: int) -> int:
        """A whole number from 0 to less than `bound`."""
        # Python's whole numbers do not overflow: all 64 bits decide.
        return next(self._words) * bound >> 64

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Put items in random order (Fisher and Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


class Arrivals(NamedTuple):
    """Records sorted by the slot they arrive in: numbers, codes of values, true slots and people.

    `true_slots` is None where every record arrives in its own slot, `people` where they are unknown.
    """

    slots: Ints
    records: Ints
    codes: Ints
    true_slots: Sequence[int] | None = None
    people: Sequence[Hashable] | None = None

    def only(self, part: slice) -> Arrivals:
        return Arrivals._make(None if column is None else column[part] for column in self)


class Final(NamedTuple):
    """A slot that cannot change any more: its records, their values and buckets, or groups.

    `labels` has what each group is published with. `packets` has each record's packet and `withheld` pairs of
    record and packet that were given up, both in the packet method only. `counterfeits` are buckets and codes
    of values that no record has.
    """

    slot: int
    records: Ints
    codes: Ints
    buckets: Ints | None
    packets: Ints | None = None
    withheld: tuple[tuple[int, int], ...] = ()
    counterfeits: Ints = np.zeros((2, 0), np.int64)
    labels: tuple[tuple[Label, ...], ...] = ()


class Values:
    """The sensitive values of a stream, numbered as they first come."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.names: list[Any] = list(values)
        self._codes = {value: code for code, value in enumerate(self.names)}

    def codes(self, dictionary: Sequence[Any]) -> Ints:
        for value in dictionary:
            if value not in self._codes:
                self._codes[value] = len(self.names)
                self.names.append(value)
        return np.array([self._codes[value] for value in dictionary], np.int64)


@dataclass(slots=True)
class Snapshot:
    """The records that arrived in one slot: sorted by value and, for one value, in random order.

    `counts` numbers them by value, in the same order. Of a final slot, `guests` are the records of other
    origins, by origin.
    """

    records: Ints
    counts: dict[int, int]
    guests: dict[int, list[int]] = field(default_factory=dict)

    def cells(self) -> Cells:
        cells = zip(self.counts.items(), accumulate(self.counts.values()), strict=True)
        return {value: self.records[end - size : end] for (value, size), end in cells}


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

    def snapshot(self, slot: int, records: Ints, values: Ints) -> Snapshot:
        """The records of a slot in their secret order."""
        order = self.chance.order(slot, CELLS, values)
        return Snapshot(records[order], dict(Counter(values[order].tolist())))

    def place(self, slot: Slot, window: Window, people: People) -> Snapshot:
        """The records of a final slot; `window` holds the plans of later ones."""
        number, snapshot = slot.number, self.snapshots.pop(slot.number, None)
        origins = set[int]().union(*slot.published.values())
        if snapshot is not None:
            persons = [people[record] for record in snapshot.records.tolist()] if people else []
            all_stay = origins == {number} and slot.counts == snapshot.counts
            if all_stay and len(set(persons)) == len(persons):
                return snapshot
            self.unplaced[number] = snapshot.cells()
        chosen, guests, present = dict[int, list[Ints]](), dict[int, list[int]](), set[Hashable]()
        # Values in random order: of a person's records the first is taken, and codes must not decide which.
        values = sorted(slot.published)
        if people:
            turns = self.chance.words(number, TURNS, len(values)).argsort().tolist()
            values = [values[turn] for turn in turns]
        parts = [(origin, value, size) for value in values for origin, size in slot.published[value].items()]
        # The slot's own records first, then guests from ever further: `_trim` takes records off the end.
        for origin, value, size in sorted(parts, key=lambda part: -part[0]):
            records = self._take(origin, value, size, people, present, window)
            chosen.setdefault(value, []).append(records)
            if origin != number:
                guests.setdefault(origin, []).extend(records.tolist())
        counts = {value: slot.counts[value] for value in sorted(chosen)}
        if people and sum(len(part) for parts in chosen.values() for part in parts) < slot.size:
            counts = self._trim(number, chosen, guests)
        empty = np.zeros(0, np.int64)
        placed = np.concatenate([empty, *(part for value in counts for part in chosen[value])])
        if any(guests.values()):
            # Else guests would come last of their value, and dealing would tie them to some buckets.
            group = np.repeat(np.arange(len(counts)), list(counts.values()))
            placed = placed[self.chance.order(number, MIXING, group)]
        return Snapshot(placed, counts, guests)

    def _take(
        self, origin: int, value: int, count: int, people: People, present: set[Hashable], window: Window
    ) -> Ints:
        """The first records of a cell whose people are not in the slot yet, awaited people before others."""
        cells = self.unplaced[origin]
        if not people:
            first, cells[value] = cells[value][:count], cells[value][count:]
            return first
        # Awaited people have a record in a later slot to which records of this cell are to go.
        later = [number for number, slot in window.slots.items() if origin in slot.published.get(value, ())]
        snapshots = [self.snapshots[number].records.tolist() for number in later if number in self.snapshots]
        awaited = {people[record] for records in snapshots for record in records}
        chosen = list[int]()
        # Sorting is stable, so within awaited people and within others the secret order of the cell decides.
        for record in sorted(cells[value].tolist(), key=lambda record: people[record] not in awaited):
            if len(chosen) < count and people[record] not in present:
                present.add(people[record])
                chosen.append(record)
        cells[value] = cells[value][~np.isin(cells[value], chosen)]
        return np.array(chosen, np.int64)

    def _trim(
        self, number: int, chosen: dict[int, list[Ints]], guests: dict[int, list[int]]
    ) -> dict[int, int]:
        """Put back the records by which a value is too common, those that came furthest first."""
        records_of = {value: np.concatenate(chosen[value]) for value in sorted(chosen)}
        most = largest_level([len(records) for records in records_of.values()], self.l)
        for value, records in records_of.items():
            chosen[value] = [records[:most]]
            for record in records[most:][::-1].tolist():
                origin = next((origin for origin in guests if record in guests[origin]), number)
                if origin != number:
                    guests[origin].remove(record)
                # Back at the head of its cell: it is the first to be taken for a later slot.
                self.unplaced[origin][value] = np.append(record, self.unplaced[origin][value])
        counts = {value: min(len(records), most) for value, records in records_of.items()}
        return {value: count for value, count in counts.items() if count}


def deal(slot: int, counts: Sequence[int] | Ints, l: int, chance: Chance) -> Ints:
    """The bucket of each record of an l-eligible slot, records grouped by value: `counts` of each in turn."""
    sizes = np.asarray(counts, np.int64)
    if not len(sizes):
        return sizes
    ends = sizes.cumsum()
    # Value by value in random order, the i-th record dealt goes to bucket i mod (n // l).
    order = chance.words(slot, BUCKETS, len(sizes)).argsort()
    dealt_until = np.empty_like(sizes)
    dealt_until[order] = sizes[order].cumsum()
    buckets: Ints = (np.arange(ends[-1]) + (dealt_until - ends).repeat(sizes)) % (ends[-1] // l)
    return buckets


class Tally:
    """How many records have which value, `size` in all, and `highest` of one value."""

    def __init__(self, values: Iterable[int] = ()) -> None:
        self.size = 0
        self.counts: dict[int, int] = {}
        self.add(values)

    def add(self, values: Iterable[int], step: int = 1) -> None:
        """Count one record of each value more, or with a step of -1 one less."""
        for value in values:
            self.counts[value] = self.counts.get(value, 0) + step
            self.size += step

    @property
    def highest(self) -> int:
        return max(self.counts.values(), default=0)

    def at_highest(self) -> set[int]:
        highest = self.highest
        return {value for value, count in self.counts.items() if count == highest}

    def lack(self, l: int) -> int:
        return l * self.highest - self.size

    def lack_with(self, values: Sequence[int], l: int) -> int:
        """How many records are missing for l-eligibility once a packet of these values is added."""
        most = max(self.highest, *(self.counts.get(value, 0) + 1 for value in values))
        return l * most - self.size - len(values)


class Core:
    """The records of a slot that are in no packet yet, by value, each value's in random order.

    A record taken of a value is the last in that order. Values are ordered by their first record in the
    shuffle, so neither a record's position in the input nor a value's code decides anything.
    """

    def __init__(self, shuffled: Iterable[tuple[int, int]]) -> None:
        self.records: dict[int, list[int]] = {}
        for record, value in shuffled:
            self.records.setdefault(value, []).append(record)
        self.tally = Tally(value for value, cell in self.records.items() for _ in cell)

    def take(self, value: int) -> int:
        self.tally.add((value,), -1)
        return self.records[value].pop()

    def put_back(self, value: int, record: int) -> None:
        self.tally.add((value,))
        self.records[value].append(record)

    def pick(self, number: int, draws: Draws, barred: Collection[int] = ()) -> list[int] | None:
        """Different values, none of them barred, drawn by their counts; None if there are fewer."""
        counts = self.tally.counts
        # In the order of the shuffle: codes of values must not decide which value a ticket hits.
        weights = {value: counts[value] for value in self.records if counts[value] and value not in barred}
        if len(weights) < number:
            return None
        total, picked = sum(weights.values()), []
        for _ in range(number):
            ticket = draws.below(total)
            ends = zip(weights, accumulate(weights.values()), strict=True)
            chosen = next(value for value, end in ends if ticket < end)
            picked.append(chosen)
            # Without replacement: the values of a packet are different.
            total -= weights.pop(chosen)
        return picked

    def pick_highest(self, number: int, draws: Draws) -> list[int] | None:
        """Different values, the commonest first, the others drawn by count."""
        highest = self.tally.at_highest()
        top = [value for value in self.records if value in highest]  # in the order of the shuffle
        if len(top) > number:
            draws.shuffle(top)
            return top[:number]
        companions = self.pick(number - len(top), draws, barred=highest)
        return None if companions is None else top + companions
