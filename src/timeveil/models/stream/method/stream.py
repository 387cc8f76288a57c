"""A stream on its way: what has arrived, what is in the window, what has been published.

Slots arrive one at a time and in order. `arrive` takes one in and returns the slots that became final; `end`
returns the remaining ones. Records are numbers: what a record is, which table it is in and what its value is
called is known to `publisher` and `whole`, which both run their slots through this step.

`Stream` is the method of the paper, `PacketStream` the method of closed packets; they have the same face.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from timeveil.models.stream.method.chance import JITTER, TIES, Chance, Ints
from timeveil.models.stream.method.exact import solve_window
from timeveil.models.stream.method.mixture import Packet
from timeveil.models.stream.method.packets import Outcome, Rules, Waiting
from timeveil.models.stream.method.placing import Placed, Placement, deal, snapshot_of
from timeveil.models.stream.method.reposition import least_suppression, reposition
from timeveil.models.stream.method.settings import Settings
from timeveil.models.stream.method.window import Window

WAITING, TAKEN, PUBLISHED, DELAYED, HELD_BACK = range(5)
"""What a state says of a record; nothing writes `TAKEN` and `PUBLISHED` any more."""


class Arrival(NamedTuple):
    """Records that arrive together: numbers, codes of values, and true slots and people where known.

    `true_slots` is None where every record arrives in its own slot.
    """

    records: Ints
    codes: Ints
    true_slots: Sequence[int] | None = None
    people: Sequence[Hashable] | None = None


class Final(NamedTuple):
    """A slot that cannot change any more: its records, their values and buckets.

    `packets` has each record's packet and `withheld` pairs of record and packet that were given up, both in
    the packet method only.
    """

    slot: int
    records: Ints
    codes: Ints
    buckets: Ints | None
    packets: Ints | None = None
    withheld: tuple[tuple[int, int], ...] = ()


class Values:
    """The sensitive values of a stream, numbered as they first come."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.names: list[Any] = list(values)
        self._codes = {value: code for code, value in enumerate(self.names)}

    def codes(self, dictionary: Sequence[Any]) -> Ints:
        """Codes of values; new ones get the next numbers."""
        for value in dictionary:
            if value not in self._codes:
                self._codes[value] = len(self.names)
                self.names.append(value)
        return np.array([self._codes[value] for value in dictionary], np.int64)


class Stream:
    """The one mutable object of a run.

    `first` and `last` are the first slot and the latest that arrived, `emitted` the latest that is final.
    `delayed` holds records that jitter holds back, `true_slots` those of records that did not arrive in
    theirs, `people` the person of each record that may still be published.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.first: int | None = None
        self.last: int | None = None
        self.emitted: int | None = None
        self.values = Values()
        self.chance = Chance(settings.seed)
        self.placement = Placement(settings.l, self.chance)
        self.delayed: dict[int, list[tuple[Ints, Ints]]] = {}
        self.true_slots: dict[int, int] = {}
        self.people: dict[int, Hashable] = {}
        self.solved = settings.options.first_window == "grow"
        self.tally: Counter[str] = Counter()
        self.window = self._empty_window()

    def _empty_window(self) -> Window:
        return Window(self.settings.window, self.settings.costs.move, self.withhold_cost)

    def withhold_cost(self, code: int) -> int:
        """beta of a value by its code."""
        return self.settings.costs.of_value(self.values.names[code])

    def arrive(self, slot: int, arrival: Arrival) -> list[Final]:
        """Take the next slot in; slots left out before it are empty."""
        finals: list[Final] = []
        if self.first is None or self.last is None:
            self.first, self.last, self.emitted = slot, slot - 1, slot - 1
        # Empty slots take every step too: withheld records may fill them, and each makes a slot final.
        while self.last + 1 < slot:
            finals += self._step(self.last + 1)
        self.expect(slot, arrival)
        return finals + self._step(slot)

    def end(self) -> list[Final]:
        """No slot arrives any more: what jitter held back arrives, and every slot is final."""
        if self.last is None or self.emitted is None:
            return []
        finals = [final for _ in range(self.settings.options.jitter) for final in self._step(self.last + 1)]
        if not self.solved:
            self._solve()
        finals += [self._emit(slot) for slot in range(self.emitted + 1, self.last + 1)]
        for slot in list(self.placement.unplaced):
            self._give_up(slot)
        return finals

    def expect(self, slot: int, arrival: Arrival) -> None:
        """Note records for the slot they arrive in; with jitter each waits a random number of slots."""
        records, codes, true_slots, people = arrival
        jitter, numbers = self.settings.options.jitter, records.tolist() if true_slots or people else []
        if people:
            self.people.update(zip(numbers, people, strict=True))
        if true_slots:
            pairs = zip(numbers, true_slots, strict=True)
            self.true_slots.update((record, origin) for record, origin in pairs if origin != slot)
        if not jitter:
            self.delayed.setdefault(slot, []).append((records, codes))
            return
        waits = self.chance.below(slot, JITTER, len(records), jitter + 1)
        for wait in np.unique(waits).tolist():
            chosen = waits == wait
            self.delayed.setdefault(slot + wait, []).append((records[chosen], codes[chosen]))
            if wait:
                for record in records[chosen].tolist():
                    self.true_slots.setdefault(record, slot)

    def _step(self, slot: int) -> list[Final]:
        """The arrival of one slot (§III), and the slot that it makes final."""
        settings, counts = self.settings, self._arrived(slot)
        self.last = slot
        published = least_suppression(counts, settings.l)
        withheld = {value: count - published[value] for value, count in counts.items()}
        self.window.arrive(slot, published, withheld)
        final = slot - settings.window + 1
        if not self.solved:
            # The first window is complete; until then slots only gather.
            if final == self.first:
                self._solve()
        elif self.window.waiting and (counts or settings.options.fill_empty):
            # One random word per value: codes show in which order values first came, so they must not decide.
            ties = self.chance.words(slot, TIES, len(self.values.names)).tolist()
            reposition(self.window, settings.l, settings.options.filler, ties)
        return [self._emit(final)] if self.first is not None and final >= self.first else []

    def _arrived(self, slot: int) -> dict[int, int]:
        """Put the records that arrive in a slot in their secret order; how many there are of each value."""
        parts = self.delayed.pop(slot, [])
        if not parts:
            return {}
        records, codes = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        snapshot = self.placement.snapshots[slot] = snapshot_of(slot, records, codes, self.chance)
        return snapshot.counts

    def _solve(self) -> None:
        """The first window as one integer program."""
        if self.first is None or self.last is None:
            return
        span, snapshots = range(self.first, self.last + 1), self.placement.snapshots
        counts = [snapshots[slot].counts if slot in snapshots else {} for slot in span]
        settings, self.window = self.settings, self._empty_window()
        published, withheld = solve_window(
            self.first, counts, settings.l, settings.costs.move, self.withhold_cost
        )
        for slot in span:
            self.window.place(slot, published[slot], withheld[slot])
        self.solved = True

    def _emit(self, number: int) -> Final:
        """Choose the records of a final slot and their buckets."""
        settings, slot = self.settings, self.window.slots[number]
        # All slots that its withheld records could enter have arrived, so none of them waits any longer.
        self.window.leave(number)
        placed = self.placement.place(slot, self.window, self.people)
        self.emitted = number
        self._count(slot.size, number, placed)
        # Records move by at most window - 1 slots: this was the last slot for that origin.
        self._give_up(number - settings.window + 1)
        codes = np.repeat(np.fromiter(placed.counts, np.int64), list(placed.counts.values()))
        buckets = None
        if settings.options.buckets == "anatomy":
            buckets = deal(number, list(placed.counts.values()), settings.l, self.chance)
        return Final(number, placed.records, codes, buckets)

    def _count(self, planned: int, number: int, placed: Placed) -> None:
        """Add a slot to the tally: how many records are in it and how far they have come."""
        total = len(placed.records)
        self.tally["published"] += total
        self.tally["slots"] += 1
        self.tally["duplicates"] += planned - total
        for origin, guests in placed.guests.items():
            self._moved(number - origin, len(guests))
        if self.true_slots:
            # Late and delayed records have come further than from the slot they arrived in.
            arrived = {record: origin for origin, guests in placed.guests.items() for record in guests}
            for record in placed.records.tolist():
                if record in self.true_slots:
                    self._moved(number - arrived.get(record, number), -1)
                    self._moved(number - self.true_slots.pop(record), 1)
        if self.people:
            for record in placed.records.tolist():
                del self.people[record]

    def _moved(self, distance: int, count: int) -> None:
        if distance:
            loss = self.settings.costs.of_distance(distance) * count
            self.tally.update(moved=count, distance=distance * count, loss=loss)

    def _give_up(self, slot: int) -> None:
        """Withhold what is left of a slot: its records have had their last chance."""
        for value, records in self.placement.leave(slot).items():
            self.tally["withheld"] += len(records)
            self.tally["loss"] += self.withhold_cost(value) * len(records)
            for record in records:
                self.true_slots.pop(record, None)
                self.people.pop(record, None)

    def unpublished(self) -> Iterator[tuple[int, list[int], int]]:
        """Records that a state must hold: slot, numbers, and whether they have arrived.

        Records of a slot that is final are in the order of their cells, all others in that of arrival.
        """
        for slot, cells in sorted(self.placement.unplaced.items()):
            yield slot, [record for value in sorted(cells) for record in cells[value]], WAITING
        for slot, snapshot in sorted(self.placement.snapshots.items()):
            yield slot, sorted(snapshot.records.tolist()), WAITING
        for slot, parts in sorted(self.delayed.items()):
            yield slot, [record for records, _ in parts for record in records.tolist()], DELAYED


class PacketStream:
    """A stream by the packet method: every slot is published as soon as it has arrived."""

    def __init__(self, settings: Settings, rules: Rules) -> None:
        self.settings = settings
        self.first: int | None = None
        self.last: int | None = None
        self.values = Values()
        self.tally: Counter[str] = Counter()
        self.chance = Chance(settings.seed)
        self.waiting = Waiting(rules, self.chance)
        self.people: dict[int, Hashable] = {}

    @property
    def emitted(self) -> int | None:
        """The latest slot that is final: the latest that has arrived."""
        return self.last

    def arrive(self, slot: int, arrival: Arrival) -> list[Final]:
        """Take the next slot in; slots left out before it are empty."""
        if self.first is None or self.last is None:
            self.first, self.last = slot, slot - 1
        finals = [self._step(empty, [], []) for empty in range(self.last + 1, slot)]
        records = arrival.records.tolist()
        if arrival.people:
            self.people.update(zip(records, arrival.people, strict=True))
        return [*finals, self._step(slot, records, arrival.codes.tolist())]

    def end(self) -> list[Final]:
        """No slot arrives any more: the packets that wait are withheld."""
        self._withhold(self.waiting.end())
        return []

    def _step(self, slot: int, records: Sequence[int], codes: Sequence[int]) -> Final:
        outcome = self.waiting.step(slot, records, codes, self.people)
        self.last = slot
        self._count(slot, outcome)
        rows = [
            (record, value, bucket, packet.number)
            for packet, bucket in outcome.published
            for record, value in zip(packet.records, packet.values, strict=True)
        ]
        # The shape is written out, because an empty slot has no rows to infer it from.
        numbers, values, buckets, packets = np.array(rows, np.int64).reshape(-1, 4).T
        return Final(slot, numbers, values, buckets, packets, self._withhold(outcome.withheld))

    def _count(self, slot: int, outcome: Outcome) -> None:
        for packet, _ in outcome.published:
            count, distance = len(packet.records), slot - packet.origin
            self.tally["published"] += count
            if distance:
                loss = self.settings.costs.of_distance(distance) * count
                self.tally.update(moved=count, distance=distance * count, loss=loss)
            self._forget(packet)
        self.tally.update(slots=1, duplicates=outcome.conflicts)

    def _withhold(self, packets: Sequence[Packet]) -> tuple[tuple[int, int], ...]:
        costs, names = self.settings.costs, self.values.names
        for packet in packets:
            loss = sum(costs.of_value(names[value]) for value in packet.values)
            self.tally.update(withheld=len(packet.records), loss=loss)
            self._forget(packet)
        return tuple((record, packet.number) for packet in packets for record in packet.records)

    def _forget(self, packet: Packet) -> None:
        if self.people:
            for record in packet.records:
                del self.people[record]

    def unpublished(self) -> Iterator[tuple[int, list[int], int]]:
        """Records that a state must hold: slot, numbers, and that they wait."""
        for packet in self.waiting.packets:
            yield packet.origin, packet.records, WAITING


def stream_of(settings: Settings) -> Stream | PacketStream:
    """A new stream, by the method that the settings choose."""
    return Stream(settings) if settings.rules is None else PacketStream(settings, settings.rules)
