"""Closed packets: a method that holds against someone who knows the true slot.

A packet consists of records of one slot, all of different values, and has one fate: all of them stay, or
move by the same number of slots, or are withheld, and they share one bucket. Someone who sees that a
person's record has moved or is missing learns that its value is one of the packet's, and no more: exchange
the values of two records of a packet, and every count that a choice depends on is the same.

Choices depend on counts of values and on chance only. Which record of a value is taken depends on chance
only. People matter in one way: nobody is in a published slot twice, and a packet that would bring that about
waits, or is withheld, whole.

    1 HOLD     take packets off the slot until what is left, its core, is l-eligible; they move on
    2 FILL     let some more packets wait, for later slots that lack records
    3 MIX      packets that are due with packets of the slot itself, until together they are l-eligible
    4 PUBLISH  the core in buckets of its own, the mixture in others

Cost: per slot its records, and per packet the different values of its slot.
"""

from bisect import insort
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from timeveil.models.stream.method.placing import CELLS, Chance, Core, Draws, People, Tally, deal
from timeveil.models.stream.parameters import StreamParameters

PACKETS = b"packets"  # what single draws are for
LOOK_AHEAD = 32  # how many packets are compared for the one that a bucket grows by


@dataclass(slots=True, eq=False)
class Packet:
    """Records of one slot, all of different values, with one fate.

    `due` is the slot that it is to be published in next, `filler` whether it waits for the sake of others.
    """

    number: int
    origin: int
    values: list[int]
    records: list[int]
    due: int = 0
    filler: bool = False


class Waiting:
    """The packets that wait, oldest first, and the number of the next packet."""

    def __init__(self, options: StreamParameters, chance: Chance) -> None:
        self.options, self.chance = options, chance
        self.packets: list[Packet] = []
        self.number = 0

    def step(
        self, slot: int, records: Sequence[int], values: Sequence[int], people: People | None = None
    ) -> "SlotStep":
        # A secret shuffle, so that positions in the input decide nothing from here on.
        order = self.chance.words(slot, CELLS, len(records)).argsort().tolist()
        return self.take(slot, ((records[at], values[at]) for at in order), people)

    def take(
        self, slot: int, shuffled: Iterable[tuple[int, int]], people: People | None = None
    ) -> "SlotStep":
        """Take the next slot with records, and their values, that are in random order already."""
        step = SlotStep(self, slot, Core(shuffled), people or {})
        step.hold()
        step.fill()
        step.mix()
        step.publish()
        self.packets = [packet for packet in self.packets if packet.number not in step.gone]
        return step


class SlotStep:
    """One slot on its way through the four steps.

    `least` is how many different values a packet of the slot must have: the promised size, or as many as the
    slot allows. The mixture is `guests` from earlier slots, oldest first, and `natives`, packets of the slot
    itself that help them; `mixture` counts its values. `present` are the people of the slot's records and
    guests, `mixed` those of its own packets that are to be published. In the end, packets are
    `published`, each with its bucket, or `withheld` for good; `conflicts` counts records with a person twice.
    """

    def __init__(self, waiting: Waiting, slot: int, core: Core, people: People) -> None:
        self.waiting, self.options, self.slot, self.core = waiting, waiting.options, slot, core
        self.l, self.size, self.people = self.options.l, self.options.protect_slot or 0, people
        self.draws, self.mixture = Draws(waiting.chance, slot, PACKETS), Tally()
        self.published, self.withheld, self.conflicts = list[tuple[Packet, int]](), list[Packet](), 0
        self.guests, self.natives, self.gone = list[Packet](), list[Packet](), set[int]()
        self.fillers = [packet for packet in waiting.packets if packet.filler]
        # h records of the commonest value need h packets, so not all can have more than n // h values.
        self.least = min(self.size, core.tally.size // core.tally.highest) if core.records else 0
        self.skewed = core.tally.lack(self.l) > 0
        self.present = {people[record] for cell in core.records.values() for record in cell if people}
        self.mixed: set[Hashable] = set()

    def hold(self) -> None:
        """HOLD: take packets with the commonest values off the slot until the core is l-eligible."""
        packets: list[Packet] = []
        while self.core.tally.lack(self.l) > 0:
            values = self.core.pick_highest(self.least, self.draws)
            if values is None:
                self._join(packets)
                break
            packets.append(self._packet(values))
        for packet in packets:
            self._wait(packet)

    def _join(self, packets: list[Packet]) -> None:
        """Residue: each record left without enough others joins a packet that lacks its value."""
        for value in [value for value, cell in self.core.records.items() for _ in cell]:
            lacking = [packet for packet in packets if value not in packet.values]
            packet = lacking[self.draws.below(len(lacking))]
            packet.values.append(value)
            packet.records.append(self.core.take(value))

    def fill(self) -> None:
        """FILL: let packets without the commonest values wait, where the slot can spare them."""
        waiting = len(self.fillers)
        # A slot that had to hold packets has none to spare for others.
        while not self.skewed and waiting < self.options.fillers and self._can_spare():
            values = self.core.pick(self.size, self.draws, barred=self.core.tally.at_highest())
            if values is None:
                return
            self._wait(self._packet(values), filler=True)
            waiting += 1

    def mix(self) -> None:
        """MIX: bring the packets that are due together with others, until l-eligible or put off."""
        # An empty slot that must stay empty takes no guests: they wait on.
        closed = not self.core.records and not self.options.fill_empty
        for packet in [packet for packet in self.waiting.packets if packet.due <= self.slot]:
            if closed or self._meets(packet):
                self._put_off(packet, conflict=not closed)
            else:
                self._welcome(packet)
        while self.guests and self.mixture.lack(self.l) > 0:
            if not (self._help() or self._call_filler() or self._help_at_any_cost()):
                self._send_off()
        while len(self.natives) < len(self.guests) and self._help():
            pass  # more than needed, so that buckets can be smaller
        if not self.guests:
            while self.natives:
                packet = self.natives.pop()
                self.mixed.difference_update(self._people(packet))
                # Back to the core, or to wait if the core has no room for it.
                if self.core.tally.lack_with(packet.values, self.l) > 0:
                    self._wait(packet, filler=True)
                else:
                    self._dissolve(packet)

    def _help(self) -> bool:
        """(a) A packet of the slot itself joins, without the commonest values of the mixture."""
        if not self._can_spare():
            return False
        values = self.core.pick(self.size, self.draws, barred=self.mixture.at_highest())
        if values is not None:
            self._join_mixture(self._packet(values))
        return values is not None

    def _call_filler(self) -> bool:
        """(b) A filler joins before it is due, the oldest that lacks the commonest values."""
        top = self.mixture.at_highest()
        for packet in list(self.fillers):
            if self.slot < packet.due and top.isdisjoint(packet.values):
                # Called once, whether or not it may come.
                self.fillers.remove(packet)
                if not self._meets(packet):
                    self._welcome(packet)
                    return True
        return False

    def _help_at_any_cost(self) -> bool:
        """(c) For a guest in its last slot: a packet of the slot joins, and others are held instead."""
        if self.guests[0].origin > self.slot - self.options.window + 1:
            return False
        values = self.core.pick(self.size, self.draws, barred=self.mixture.at_highest())
        if values is None:
            return False
        packet, tally = self._packet(values), self.core.tally
        if tally.size < self.least * tally.highest:  # packets as large as they must be could not be made
            self._dissolve(packet)
            return False
        self._join_mixture(packet)
        # The core may be l-eligible no longer: its commonest values are held once more.
        self.hold()
        return True

    def _send_off(self) -> None:
        """(d) The youngest guest with one of the commonest values is put off, or the youngest of all."""
        top, last = self.mixture.at_highest(), len(self.guests) - 1
        holding = (at for at in range(last, -1, -1) if not top.isdisjoint(self.guests[at].values))
        packet = self.guests.pop(next(holding, last))
        self.mixture.add(packet.values, -1)
        self.present.difference_update(self._people(packet))
        self._put_off(packet)

    def publish(self) -> None:
        """PUBLISH: the core in buckets of its own, each a packet; the mixture in buckets of whole packets."""
        # The core is dealt out to as many packets as it has room for; every one has at least l values.
        cells = self.core.records
        buckets = deal(self.slot, [len(cell) for cell in cells.values()], self.l, self.waiting.chance)
        packets = [self._packet([]) for _ in range(int(buckets.max(initial=-1)) + 1)]
        records = ((value, record) for value, cell in cells.items() for record in cell)
        for bucket, (value, record) in zip(buckets.tolist(), records, strict=True):
            packets[bucket].values.append(value)
            packets[bucket].records.append(record)
        groups = [[packet] for packet in packets if self._enters(packet)]
        groups += split([*self.guests, *self.natives], self.l)
        self.gone.update(packet.number for packet in [*self.guests, *self.natives])
        # Buckets are numbered by chance, so that a number does not reveal whether it is one of the core.
        numbers = list(range(len(groups)))
        self.draws.shuffle(numbers)
        for number, group in zip(numbers, groups, strict=True):
            self.published += [(packet, number) for packet in group]

    def _can_spare(self) -> bool:
        return self.core.tally.lack(self.l) + self.size <= 0

    def _packet(self, values: list[int]) -> Packet:
        number, self.waiting.number = self.waiting.number, self.waiting.number + 1
        return Packet(number, self.slot, values, [self.core.take(value) for value in values])

    def _dissolve(self, packet: Packet) -> None:
        for value, record in zip(packet.values, packet.records, strict=True):
            self.core.put_back(value, record)

    def _wait(self, packet: Packet, *, filler: bool = False) -> None:
        """Hold a packet of this slot; one that has a person twice can never be published."""
        packet.due, packet.filler = self.slot + 1 + self.draws.below(self.options.spread), filler
        if self._is_double(packet):
            self._withhold(packet, conflict=True)
        else:
            self.waiting.packets.append(packet)

    def _put_off(self, packet: Packet, *, conflict: bool = False) -> None:
        """A guest waits for the next slot, or is withheld if this one was its last."""
        if self.slot - packet.origin >= self.options.window - 1:
            self._withhold(packet, conflict=conflict)
        else:
            packet.due = max(packet.due, self.slot + 1)

    def _withhold(self, packet: Packet, *, conflict: bool = False) -> None:
        self.withheld.append(packet)
        self.conflicts += len(packet.records) * conflict
        self.gone.add(packet.number)

    def _welcome(self, packet: Packet) -> None:
        # Numbers rise with origin, so the first guest is the one whose window ends first.
        insort(self.guests, packet, key=lambda guest: guest.number)
        self.mixture.add(packet.values)
        self.present.update(self._people(packet))

    def _join_mixture(self, packet: Packet) -> None:
        if self._enters(packet):
            self.natives.append(packet)
            self.mixture.add(packet.values)

    def _people(self, packet: Packet) -> list[Hashable]:
        return [self.people[record] for record in packet.records] if self.people else []

    def _is_double(self, packet: Packet) -> bool:
        people = self._people(packet)
        return len(set(people)) < len(people)

    def _meets(self, packet: Packet) -> bool:
        """Whether one of a guest's people has a record in this slot."""
        return not self.present.isdisjoint(self._people(packet))

    def _enters(self, packet: Packet) -> bool:
        """Note the people of a packet of the slot; it is withheld if one is to be published already."""
        people = self._people(packet)
        if self._is_double(packet) or not self.mixed.isdisjoint(people):
            self._withhold(packet, conflict=True)
            return False
        self.mixed.update(people)
        return True


def split(packets: list[Packet], l: int) -> list[list[Packet]]:
    """Divide packets into l-eligible buckets of whole packets, as small as a greedy choice makes them."""
    buckets = []
    outside = Tally(value for packet in packets for value in packet.values)
    while packets:
        bucket: list[Packet] = []
        inside, at = Tally(), 0
        # A bucket is closed only when the packets outside it are l-eligible too.
        while packets and (not bucket or inside.lack(l) > 0 or outside.lack(l) > 0):
            if bucket:
                ahead = range(min(len(packets), LOOK_AHEAD))
                at = min(ahead, key=lambda i: inside.lack_with(packets[i].values, l))
            bucket.append(packets.pop(at))
            inside.add(bucket[-1].values)
            outside.add(bucket[-1].values, -1)
        buckets.append(bucket)
    return buckets
