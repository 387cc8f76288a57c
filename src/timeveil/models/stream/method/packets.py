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

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from timeveil.models.stream.method.chance import CELLS, PACKETS, Chance
from timeveil.models.stream.method.mixture import Core, Mixture, Packet
from timeveil.models.stream.method.placing import deal

People = Mapping[int, Hashable]
"""Record to person, waiting records included; empty where that is unknown."""


@dataclass(frozen=True, slots=True)
class Rules:
    """No value above 1 in l, packets of `size` values, no record more than window - 1 slots late.

    Held packets are due 1 to `spread` slots later; up to `fillers` packets wait for the sake of others.
    """

    l: int
    size: int
    window: int
    spread: int = 1
    fillers: int = 0
    fill_empty: bool = True


@dataclass(slots=True)
class Outcome:
    """What became of packets in one slot: published, each with its bucket, or withheld for good.

    `conflicts` is how many records are withheld because a person would be in the slot twice.
    """

    published: list[tuple[Packet, int]] = field(default_factory=list)
    withheld: list[Packet] = field(default_factory=list)
    buckets: int = 0
    conflicts: int = 0


class Waiting:
    """The packets that wait, oldest first, and the number of the next packet.

    >>> waiting = Waiting(Rules(l=3, size=2, window=3), Chance(1))
    >>> outcome = waiting.step(1, records=[0, 1, 2, 3], values=[0, 0, 1, 2])
    >>> outcome.published, [packet.values[0] for packet in waiting.packets]
    ([], [0, 0])
    >>> outcome = waiting.step(2, records=[4, 5, 6, 7, 8, 9, 10], values=[1, 2, 3, 4, 5, 6, 7])
    >>> sorted((packet.origin, len(packet.values)) for packet, _ in outcome.published)
    [(1, 2), (1, 2), (2, 2), (2, 2), (2, 3)]
    """

    def __init__(self, rules: Rules, chance: Chance) -> None:
        self.rules = rules
        self.chance = chance
        self.packets: list[Packet] = []
        self.number = 0

    def step(
        self, slot: int, records: Sequence[int], values: Sequence[int], people: People | None = None
    ) -> Outcome:
        """Take the next slot with all its records."""
        # A secret shuffle, so that positions in the input decide nothing from here on.
        order = self.chance.words(slot, CELLS, len(records)).argsort().tolist()
        return self.take(slot, ((records[at], values[at]) for at in order), people)

    def take(self, slot: int, shuffled: Iterable[tuple[int, int]], people: People | None = None) -> Outcome:
        """Take the next slot with records, and their values, that are in random order already."""
        step = SlotStep(self, slot, Core(shuffled), people or {})
        step.hold()
        step.fill()
        step.mix()
        step.publish()
        self.packets = [packet for packet in self.packets if packet.number not in step.gone]
        return step.outcome

    def end(self) -> list[Packet]:
        """No slot arrives any more: the packets that wait are withheld."""
        packets, self.packets = self.packets, []
        return packets


class SlotStep:
    """One slot on its way through the four steps.

    `least` is how many different values a packet of the slot must have: the rules' size, or as many as the
    slot allows. `present` are the people of its records and guests, `mixed` those of its own packets that
    are to be published.
    """

    def __init__(self, waiting: Waiting, slot: int, core: Core, people: People) -> None:
        self.waiting, self.rules, self.slot, self.core = waiting, waiting.rules, slot, core
        self.people = people
        self.draws = waiting.chance.draws(slot, PACKETS)
        self.mixture = Mixture()
        self.outcome = Outcome()
        self.gone: set[int] = set()
        self.called: set[int] = set()
        self.fillers: list[Packet] = []
        self.skewed = not core.is_eligible(self.rules.l)
        # h records of the commonest value need h packets, so not all can have more than n // h values.
        self.least = min(self.rules.size, core.tally.size // core.tally.highest) if core.records else 0
        self.present: set[Hashable] = set()
        if people:
            self.present = {people[record] for cell in core.records.values() for record in cell}
        self.mixed: set[Hashable] = set()

    def hold(self) -> None:
        """HOLD: take packets with the commonest values off the slot until the core is l-eligible."""
        packets: list[Packet] = []
        while not self.core.is_eligible(self.rules.l):
            values = self.core.pick_highest(self.least, self.draws)
            if values is None:
                self._join(packets)
                break
            packets.append(self._packet(values))
        for packet in packets:
            self._wait(packet)

    def _join(self, packets: list[Packet]) -> None:
        """Residue: each record left without enough others joins a packet that lacks its value."""
        for value, cell in self.core.records.items():
            for _ in range(len(cell)):
                lacking = [packet for packet in packets if value not in packet.values]
                packet = lacking[self.draws.below(len(lacking))]
                packet.values.append(value)
                packet.records.append(self.core.take(value))

    def fill(self) -> None:
        """FILL: let packets without the commonest values wait, where the slot can spare them."""
        waiting = sum(packet.filler for packet in self.waiting.packets)
        # A slot that had to hold packets has none to spare for others.
        while not self.skewed and waiting < self.rules.fillers and self._can_spare():
            values = self.core.pick(self.rules.size, self.draws, barred=self.core.tally.at_highest())
            if values is None:
                return
            self._wait(self._packet(values), filler=True)
            waiting += 1

    def mix(self) -> None:
        """MIX: bring the packets that are due together with others, until l-eligible or put off."""
        mixture, rules = self.mixture, self.rules
        # An empty slot that must stay empty takes no guests: they wait on.
        closed = not self.core.records and not rules.fill_empty
        waiting = self.waiting.packets
        self.fillers = [packet for packet in waiting if packet.filler and packet.origin < self.slot]
        for packet in [packet for packet in waiting if packet.due <= self.slot]:
            if closed or self._meets(packet):
                self._put_off(packet, conflict=not closed)
            else:
                self._welcome(packet)
        while mixture.guests and not mixture.is_eligible(rules.l):
            if not (self._help() or self._call_filler() or self._help_at_any_cost()):
                packet = mixture.send_off()
                self.present.difference_update(self._people(packet))
                self._put_off(packet)
        while len(mixture.natives) < len(mixture.guests) and self._help():
            pass  # more than needed, so that buckets can be smaller
        if not mixture.guests:
            while mixture.natives:
                self._return(mixture.natives.pop())

    def _help(self) -> bool:
        """(a) A packet of the slot itself joins, without the commonest values of the mixture."""
        if not self._can_spare():
            return False
        values = self.core.pick(self.rules.size, self.draws, barred=self.mixture.tally.at_highest())
        if values is not None:
            self._join_mixture(self._packet(values))
        return values is not None

    def _call_filler(self) -> bool:
        """(b) A filler joins before it is due, the oldest that lacks the commonest values."""
        top = self.mixture.tally.at_highest()
        for packet in self.fillers:
            if self.slot < packet.due and packet.number not in self.called and top.isdisjoint(packet.values):
                self.called.add(packet.number)
                if not self._meets(packet):
                    self._welcome(packet)
                    return True
        return False

    def _help_at_any_cost(self) -> bool:
        """(c) For a guest in its last slot: a packet of the slot joins, and others are held instead."""
        if self.mixture.guests[0].origin > self.slot - self.rules.window + 1:
            return False
        values = self.core.pick(self.rules.size, self.draws, barred=self.mixture.tally.at_highest())
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

    def publish(self) -> None:
        """PUBLISH: the core in buckets of its own, each a packet; the mixture in buckets of whole packets.

        Buckets are numbered by chance, so that a number does not reveal which of the two it is.
        """
        groups: list[list[Packet]] = []
        for packet in self._core_packets():
            if self._is_mixed(packet):
                self._withhold(packet, conflict=True)
            else:
                groups.append([packet])
        for group in self.mixture.split(self.rules.l):
            groups.append(group)
            self.gone.update(packet.number for packet in group)
        # Buckets of the core come first in the list; shuffled numbers hide that.
        numbers = list(range(len(groups)))
        self.draws.shuffle(numbers)
        for number, group in zip(numbers, groups, strict=True):
            self.outcome.published += [(packet, number) for packet in group]
        self.outcome.buckets = len(groups)

    def _core_packets(self) -> list[Packet]:
        """The core dealt out to as many packets as it has room for; every one has at least l values."""
        cells = self.core.records
        buckets = deal(self.slot, [len(cell) for cell in cells.values()], self.rules.l, self.waiting.chance)
        packets = [self._packet([]) for _ in range(int(buckets.max(initial=-1)) + 1)]
        dealt = iter(buckets.tolist())
        for value, cell in cells.items():
            for record in cell:
                packet = packets[next(dealt)]
                packet.values.append(value)
                packet.records.append(record)
        return packets

    def _can_spare(self) -> bool:
        """Whether the core stays l-eligible without a packet, whatever its values."""
        return self.core.is_eligible(self.rules.l, without=self.rules.size)

    def _packet(self, values: list[int]) -> Packet:
        number, self.waiting.number = self.waiting.number, self.waiting.number + 1
        return Packet(number, self.slot, values, [self.core.take(value) for value in values])

    def _dissolve(self, packet: Packet) -> None:
        for value, record in zip(packet.values, packet.records, strict=True):
            self.core.put_back(value, record)

    def _wait(self, packet: Packet, *, filler: bool = False) -> None:
        """Hold a packet of this slot; one that has a person twice can never be published."""
        packet.due, packet.filler = self.slot + 1 + self.draws.below(self.rules.spread), filler
        if self._is_double(packet):
            self._withhold(packet, conflict=True)
        else:
            self.waiting.packets.append(packet)

    def _put_off(self, packet: Packet, *, conflict: bool = False) -> None:
        """(d) A guest waits for the next slot, or is withheld if this one was its last."""
        if self.slot - packet.origin >= self.rules.window - 1:
            self._withhold(packet, conflict=conflict)
        else:
            packet.due = max(packet.due, self.slot + 1)

    def _withhold(self, packet: Packet, *, conflict: bool = False) -> None:
        self.outcome.withheld.append(packet)
        self.outcome.conflicts += len(packet.records) * conflict
        self.gone.add(packet.number)

    def _welcome(self, packet: Packet) -> None:
        self.mixture.welcome(packet)
        self.present.update(self._people(packet))

    def _join_mixture(self, packet: Packet) -> None:
        """Add a packet of the slot itself; it is withheld if one of its people is in the mixture already."""
        if self._is_mixed(packet):
            self._withhold(packet, conflict=True)
        else:
            self.mixture.help(packet)

    def _return(self, packet: Packet) -> None:
        """Send a packet of the slot back to the core, or let it wait if the core has no room for it."""
        self.mixed.difference_update(self._people(packet))
        self._dissolve(packet)
        if not self.core.is_eligible(self.rules.l):
            # The last record of each value is the one just put back, so this takes the packet off as it was.
            for value in reversed(packet.values):
                self.core.take(value)
            self._wait(packet, filler=True)

    def _people(self, packet: Packet) -> list[Hashable]:
        return [self.people[record] for record in packet.records] if self.people else []

    def _is_double(self, packet: Packet) -> bool:
        people = self._people(packet)
        return len(set(people)) < len(people)

    def _meets(self, packet: Packet) -> bool:
        """Whether one of a guest's people has a record in this slot."""
        return bool(self.people) and not self.present.isdisjoint(self._people(packet))

    def _is_mixed(self, packet: Packet) -> bool:
        """Whether one of a packet's people is to be published already, in it or another; else note them."""
        people = self._people(packet)
        if self._is_double(packet) or not self.mixed.isdisjoint(people):
            return True
        self.mixed.update(people)
        return False
