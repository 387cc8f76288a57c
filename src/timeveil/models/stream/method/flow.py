"""A stream on its way: what has arrived, what is in the window, what has been published.

Slots arrive in order. `arrive` takes some in and returns the slots that became final; `end` returns the
remaining ones. Records are numbers: `publisher` knows their rows.
"""

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from timeveil.domain.arrays import Ints
from timeveil.domain.lines import refuse_loss
from timeveil.domain.wording import Progress, silent
from timeveil.models.stream.method.packets import Packet, Waiting
from timeveil.models.stream.method.placing import Arrivals, Chance, Final, Placement, Values, deal
from timeveil.models.stream.method.recurring import Recurrence, Returning
from timeveil.models.stream.method.reposition import Window, least_suppression, reposition, solve_window
from timeveil.models.stream.method.settings import Settings

JITTER, TIES = b"jitter", b"ties"  # what words are drawn for
RECENT = 30  # final slots whose losses are counted apart
WAITING, TAKEN, PUBLISHED, DELAYED, HELD_BACK, RETURNING = range(6)
"""What a state says of a record; nothing writes `TAKEN` and `PUBLISHED` any more."""


class Stream(ABC):
    """The one mutable object of a run.

    `first` and `last` are the first slot and the latest that arrived, `emitted` the latest that is final.
    `delayed` holds records by the slot they arrive in, `true_slots` those of records that did not arrive in
    theirs, `people` the person of each record that may still be published. `totals` has how many records had
    been published and withheld after each of the latest final slots, and before the first of these.
    `recurrence` follows people over the slots, and is None where they are not.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.first: int | None = None
        self.last: int | None = None
        self.emitted: int | None = None
        self.values = Values()
        self.chance = Chance(settings.seed)
        self.delayed: dict[int, list[tuple[Ints, Ints]]] = {}
        self.true_slots: dict[int, int] = {}
        self.people: dict[int, Hashable] = {}
        self.tally: Counter[str] = Counter()
        self.totals: deque[tuple[int, int]] = deque([(0, 0)], RECENT + 1)
        follows = settings.options.recurring != "ignore"
        self.recurrence = Recurrence(settings.options, self.chance) if follows else None

    def arrive(self, arrivals: Arrivals, progress: Progress = silent) -> list[Final]:
        """Take the next slots in, each with its records; slots left out are empty."""
        slots, finals = arrivals.slots, list[Final]()
        begins = np.flatnonzero(np.diff(slots, prepend=slots[:1] - 1)).tolist()
        for begin, end in pairwise([*begins, len(slots)]):
            slot = int(slots[begin])
            progress("repositioning", begin / len(slots))
            if self.first is None or self.last is None:
                self.first, self.last, self.emitted = slot, slot - 1, slot - 1
            # Empty slots take every step too: withheld records may fill them, and each makes a slot final.
            while self.last + 1 < slot:
                finals += self._step(self.last + 1)
            self._expect(slot, arrivals.only(slice(begin, end)))
            finals += self._step(slot)
        return finals

    def _expect(self, slot: int, arrivals: Arrivals) -> None:
        """Note records for the slot they arrive in; with jitter each waits a random number of slots."""
        _, records, codes, true_slots, people = arrivals
        if people:
            self.people.update(zip(records.tolist(), people, strict=True))
            self.tally["repeated"] += len(people) - len(set(people))
        if true_slots:
            pairs = zip(records.tolist(), true_slots, strict=True)
            self.true_slots.update((record, origin) for record, origin in pairs if origin != slot)
        if not self.settings.options.jitter:
            self.delayed.setdefault(slot, []).append((records, codes))
            return
        waits = self.chance.below(slot, JITTER, len(records), self.settings.options.jitter + 1)
        for wait in np.unique(waits).tolist():
            chosen = waits == wait
            self.delayed.setdefault(slot + wait, []).append((records[chosen], codes[chosen]))
            for record in records[chosen].tolist() if wait else ():
                self.true_slots.setdefault(record, slot)

    def _arrived(self, slot: int) -> tuple[Ints, Ints]:
        nobody = np.zeros(0, np.int64)
        parts = self.delayed.pop(slot, [(nobody, nobody)])
        records, codes = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        if self.recurrence is None or not len(records):
            return records, codes
        first, repeats = self.recurrence.firsts(slot, records, codes, self.people)
        self._withhold_returning(repeats)
        return records[first], codes[first]

    @abstractmethod
    def _step(self, slot: int) -> list[Final]:
        """The arrival of one slot, and the slot that it makes final."""

    @abstractmethod
    def end(self) -> list[Final]:
        """No slot arrives any more: the slots that are left become final."""

    @abstractmethod
    def unpublished(self) -> Iterator[tuple[int, list[int], int]]:
        """Records that a state must hold: slot, numbers, and whether they have arrived."""

    @property
    def followed(self) -> dict[str, int]:
        if self.recurrence is None:
            return {}
        counted = {name: self.tally[name] for name in ("returned", "repeats", "counterfeits")}
        return {**counted, "people_followed": len(self.recurrence.known)}

    def count(self, **more: int) -> None:
        for name, number in more.items():  # `Counter.update` takes several times as long
            self.tally[name] += number

    def _moved(self, distance: int, count: int) -> None:
        if distance:
            loss = self.settings.costs.of_distance(distance) * count
            self.count(moved=count, distance=distance * count, loss=loss)

    def refuse_loss(self, largest_l: int) -> None:
        """Refuse a stream that withholds too much, with what most of it is due to.

        Above the `largest_l` some value is too common for any window.
        """
        tally, hint = self.tally, "widen {window}, or lower {l}"
        if largest_l < self.settings.l:
            hint = f"use {{l={largest_l}}}" if largest_l > 1 else "name another {sensitive} column"
            hint = f"no window helps, because a value is too common: {hint}"
        if 2 * tally["incomplete"] > tally["withheld"]:
            hint = "fill in missing times, people and values"
        elif 2 * tally["repeats"] > tally["withheld"]:
            hint = "publish fewer records of each person, or use longer slots"
            if self.settings.options.recurring == "withhold" and self.settings.options.buckets == "anatomy":
                hint = 'use {recurring="invariant"}'
        elif 2 * tally["duplicates"] > tally["withheld"]:
            hint = "make one record of a person's records in a slot: a slot has each person once"
        refuse_loss(self.settings.options, tally["withheld"], tally["read"], "records", hint)

    def _withheld(self, code: int, records: Collection[int]) -> None:
        self.count(withheld=len(records), loss=self._beta(code) * len(records))
        self._forget(records)

    def _withhold_returning(self, returning: Sequence[Returning]) -> None:
        self.count(repeats=len(returning))
        for record, code, _ in returning:
            self._withheld(code, (record,))

    def _forget(self, records: Iterable[int]) -> None:
        if self.people or self.true_slots:
            for record in records:
                self.people.pop(record, None)
                self.true_slots.pop(record, None)

    def _beta(self, code: int) -> int:
        return self.settings.costs.of_value(self.values.names[code])


class WindowStream(Stream):
    """A stream by the method of the paper: a slot is final when no later one can change it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.placement = Placement(settings.l, self.chance)
        self.solved = settings.options.grows
        self.window = Window(settings.options.window, settings.costs.move, self._beta)

    def end(self) -> list[Final]:
        if self.last is None or self.emitted is None:
            return []
        # What jitter held back arrives.
        finals = [final for _ in range(self.settings.options.jitter) for final in self._step(self.last + 1)]
        if not self.solved:
            self._solve()
        finals += [self._emit(slot) for slot in range(self.emitted + 1, self.last + 1)]
        for slot in list(self.placement.unplaced):
            self._give_up(slot)
        if self.recurrence is not None:
            for _, returning in sorted(self.recurrence.waiting.items()):
                self._withhold_returning(returning)
            self.recurrence.waiting.clear()
        return finals

    def _step(self, slot: int) -> list[Final]:
        """The arrival of one slot (§III), and the slot that it makes final."""
        l, options, counts = self.settings.l, self.settings.options, dict[int, int]()
        records, codes = self._arrived(slot)
        if len(records):
            self.placement.snapshots[slot] = snapshot = self.placement.snapshot(slot, records, codes)
            counts = snapshot.counts
        self.last = slot
        published = least_suppression(counts, l)
        withheld = {value: n - published[value] for value, n in counts.items() if n > published[value]}
        self.window.arrive(slot, published, withheld)
        final = slot - options.window + 1
        if not self.solved:
            # The first window is complete; until then slots only gather.
            if final == self.first:
                self._solve()
        elif self.window.waiting and (counts or options.fill_empty):
            reposition(self.window, l, options.filler, self._ties(slot))
        return [self._emit(final)] if final in self.window.slots else []

    def _ties(self, slot: int) -> Callable[[int], int]:
        """A random word per value: codes show in which order values first came, so they must not decide."""
        drawn = cache(lambda: self.chance.words(slot, TIES, len(self.values.names)).tolist())
        return lambda value: drawn()[value]  # few steps have ties, and draw any

    def _solve(self) -> None:
        span, snapshots, settings = list(self.window.slots), self.placement.snapshots, self.settings
        counts = [snapshots[slot].counts if slot in snapshots else {} for slot in span]
        costs, ties = (settings.costs.move, self._beta), self._ties(span[-1])
        published, withheld = solve_window(span[0], counts, settings.l, *costs, ties)
        self.window = Window(settings.options.window, *costs)
        for slot in span:
            self.window.place(slot, published[slot], withheld[slot])
        self.solved = True

    def _emit(self, number: int) -> Final:
        options, slot = self.settings.options, self.window.slots[number]
        # All slots that its withheld records could enter have arrived, so none of them waits any longer.
        self.window.leave(number)
        # Where people are followed, the window holds each of them once.
        placed = self.placement.place(slot, self.window, {} if self.recurrence else self.people)
        self.emitted = number
        self.count(duplicates=slot.size - len(placed.records))
        if len(placed.records) < (options.k or 0):  # too few for a group
            for value, records in placed.cells().items():
                self._withheld(value, records)
            self.count(few=len(placed.records))
            placed.records, placed.counts, placed.guests = placed.records[:0], {}, {}
        self.count(published=len(placed.records), slots=1)
        for origin, guests in placed.guests.items():
            self._moved(number - origin, len(guests))
        if self.true_slots:
            # Late and delayed records have come further than from the slot they arrived in.
            arrived = {record: origin for origin, guests in placed.guests.items() for record in guests}
            for record in self.true_slots.keys() & placed.records.tolist():
                self._moved(number - arrived.get(record, number), -1)
                self._moved(number - self.true_slots.pop(record), 1)
        sizes = np.fromiter(placed.counts.values(), np.int64)
        codes = np.fromiter(placed.counts, np.int64).repeat(sizes)
        bucketed = options.buckets == "anatomy" and not options.generalized
        buckets = deal(number, sizes, options.l, self.chance) if bucketed else None
        final = Final(number, placed.records, codes, buckets)
        if self.recurrence is not None:
            final = self._with_returning(final, self.recurrence)
        self._forget(final.records.tolist() if self.people else ())
        # Records move by at most window - 1 slots: this was the last slot for that origin.
        self._give_up(number - options.window + 1)
        self.totals.append((self.tally["published"], self.tally["withheld"]))
        return final

    def _with_returning(self, final: Final, recurrence: Recurrence) -> Final:
        slot, records, codes, buckets = final[:4]
        present = [self.people[record] for record in records.tolist()]
        recurrence.publish(slot, present, codes, buckets)
        if buckets is None:
            return final
        begin = int(buckets.max(initial=-1)) + 1
        published, numbers, counterfeits, withheld = recurrence.returned(slot, present, self.people, begin)
        self._withhold_returning(withheld)
        for record, _, arrived in published:
            self._moved(slot - self.true_slots.get(record, arrived), 1)
        self.count(published=len(published), returned=len(published), counterfeits=counterfeits.shape[1])
        added = np.array([(record, code) for record, code, _ in published], np.int64).reshape(-1, 2).T
        records, codes = np.concatenate([records, added[0]]), np.concatenate([codes, added[1]])
        return Final(slot, records, codes, np.concatenate([buckets, numbers]), counterfeits=counterfeits)

    def _give_up(self, slot: int) -> None:
        """Withhold what is left of a slot: its records have had their last chance."""
        for value, records in self.placement.unplaced.pop(slot, {}).items():
            if len(records):
                if self.recurrence is not None:  # the next record of such a person is their first
                    self.recurrence.under_way.difference_update(self.people[r] for r in records.tolist())
                self._withheld(value, records.tolist())

    def unpublished(self) -> Iterator[tuple[int, list[int], int]]:
        """Records of a final slot are in the order of their cells, all others in that of arrival."""
        for slot, cells in sorted(self.placement.unplaced.items()):
            yield slot, [record for value in sorted(cells) for record in cells[value].tolist()], WAITING
        for slot, snapshot in sorted(self.placement.snapshots.items()):
            yield slot, sorted(snapshot.records.tolist()), WAITING
        for slot, parts in sorted(self.delayed.items()):
            yield slot, [record for records, _ in parts for record in records.tolist()], DELAYED
        for slot, returning in sorted(self.recurrence.waiting.items()) if self.recurrence else ():
            yield slot, [record for record, _, _ in returning], RETURNING


class PacketStream(Stream):
    """A stream by the packet method: every slot is published as soon as it has arrived."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.waiting = Waiting(settings.options, self.chance)

    def end(self) -> list[Final]:
        self._give_up(self.waiting.packets)
        self.waiting.packets = []
        return []

    def _step(self, slot: int) -> list[Final]:
        records, codes = (part.tolist() for part in self._arrived(slot))
        step = self.waiting.step(slot, records, codes, self.people)
        self.last = self.emitted = slot
        rows = []
        for packet, bucket in step.published:
            self.count(published=len(packet.records))
            self._moved(slot - packet.origin, len(packet.records))
            self._forget(packet.records)
            pairs = zip(packet.records, packet.values, strict=True)
            rows += [(record, value, bucket, packet.number) for record, value in pairs]
        self.count(slots=1, duplicates=step.conflicts)
        # The shape is written out, because an empty slot has no rows to infer it from.
        numbers, values, buckets, packets = np.array(rows, np.int64).reshape(-1, 4).T
        withheld = self._give_up(step.withheld)
        self.totals.append((self.tally["published"], self.tally["withheld"]))
        return [Final(slot, numbers, values, buckets, packets, withheld)]

    def _give_up(self, packets: Sequence[Packet]) -> tuple[tuple[int, int], ...]:
        for packet in packets:
            for record, value in zip(packet.records, packet.values, strict=True):
                self._withheld(value, (record,))
        return tuple((record, packet.number) for packet in packets for record in packet.records)

    def unpublished(self) -> Iterator[tuple[int, list[int], int]]:
        for packet in self.waiting.packets:
            yield packet.origin, packet.records, WAITING


def stream_of(settings: Settings) -> Stream:
    """A new stream, by the method that the settings choose."""
    return WindowStream(settings) if settings.options.protect_slot is None else PacketStream(settings)
