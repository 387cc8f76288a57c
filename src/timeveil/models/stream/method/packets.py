"""Closed packets: a method that holds against someone who knows the true slot.

A packet is made of records of one slot, all of different values, and shares one fate: all of them stay, or
move by the same number of slots, or are withheld, and they stand in one bucket. So whoever sees that
somebody's record has moved or is missing learns that its value is one of the packet's, and no more: exchange
the values of two records of a packet, and every count that a choice goes by is the same.

What is chosen goes by counts of values and by chance alone. Which record of a value is taken goes by chance
alone. People matter in one way: nobody stands twice in a published slot, and a packet that would bring that
about waits, or is withheld, whole.

    1 HOLD     take packets off the slot until what is left, its core, is l-eligible; they move on
    2 FILL     let some more packets wait, for later slots that lack records
    3 MIX      the packets that are due with packets of the slot's own, until together they are l-eligible
    4 PUBLISH  the core in buckets of its own, the mixture in others

Cost: per slot its records, and per packet the different values of its slot.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from timeveil.models.stream.method.buckets import bucket_cells
from timeveil.models.stream.method.cells import Cells
from timeveil.models.stream.method.chance import BUCKETS, PACKETS, Draws
from timeveil.models.stream.method.mixture import Mixture, Packet

People = Mapping[int, Hashable] | None
"""Whose each record is, those that wait included; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Rules:
    """No value above 1 in l, packets of `size` values, nobody more than window - 1 slots late.

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

    `buckets` is how many there are, `conflicts` how many records are withheld because of people.
    """

    published: list[tuple[Packet, int]] = field(default_factory=list)
    withheld: list[Packet] = field(default_factory=list)
    buckets: int = 0
    conflicts: int = 0


class Waiting:
    """The packets that wait, oldest first, and the number that the next packet gets.

    >>> waiting = Waiting(Rules(l=3, size=2, window=3), seed=1)
    >>> outcome = waiting.step(1, records=[0, 1, 2, 3], values=[0, 0, 1, 2])
    >>> outcome.published, [sorted(packet.values) for packet in waiting.packets]
    ([], [[0, 2], [0, 1]])
    >>> outcome = waiting.step(2, records=[4, 5, 6, 7, 8, 9, 10], values=[1, 2, 3, 4, 5, 6, 7])
    >>> sorted((packet.origin, len(packet.values)) for packet, _ in outcome.published)
    [(1, 2), (1, 2), (2, 2), (2, 2), (2, 3)]
    """

    def __init__(self, rules: Rules, seed: int) -> None:
        self.rules = rules
        self.seed = seed
        self.packets: list[Packet] = []
        self.number = 0

    def step(
        self, slot: int, records: Sequence[int], values: Sequence[int], people: People = None
    ) -> Outcome:
        """The next slot, all of whose records have come."""
        shuffling, order = Draws(self.seed, slot, BUCKETS), list(range(len(records)))
        shuffling.shuffle(order)
        cells = Cells([(records[place], values[place]) for place in order])
        return self.arranged(slot, cells, shuffling, people)

    def arranged(self, slot: int, cells: Cells, shuffling: Draws, people: People = None) -> Outcome:
        """The same with records that are in random order."""
        today = Today(self, slot, cells, people)
        today.hold()
        today.fill()
        today.mix()
        today.publish(shuffling)
        self.packets = [one for one in self.packets if one.number not in today.gone]
        return today.outcome

    def end(self) -> list[Packet]:
        """No slot comes any more: what waits is withheld."""
        left, self.packets = self.packets, []
        return left


class Today:
    """One slot on its way through the four steps.

    `least` is how many different values a packet of it must have: the rules' size, or as many as the slot
    allows. `present` are the people of its records and of its guests, `shown` those of its own packets that
    were mixed.
    """

    def __init__(self, waiting: Waiting, slot: int, cells: Cells, people: People) -> None:
        self.waiting, self.rules, self.slot, self.cells = waiting, waiting.rules, slot, cells
        self.people = people
        self.draws = Draws(waiting.seed, slot, PACKETS)
        self.mixture = Mixture()
        self.outcome = Outcome()
        self.gone: set[int] = set()
        self.called: set[int] = set()
        self.fillers: list[Packet] = []
        self.skewed = not cells.is_eligible(self.rules.l)
        self.least = min(self.rules.size, cells.size // cells.highest) if cells.size else 0
        own = [record for cell in cells.records.values() for record in cell]
        self.present = {people[record] for record in own} if people else set()
        self.shown: set[Hashable] = set()

    def hold(self) -> None:
        """Take packets off the slot, those with its commonest values, until what is left is l-eligible."""
        held: list[Packet] = []
        while not self.cells.is_eligible(self.rules.l):
            values = self.cells.pick_highest(self.least, self.draws)
            if values is None:
                self._join(held)
                break
            held.append(self._packet(values))
        for packet in held:
            self._wait(packet)

    def _join(self, held: list[Packet]) -> None:
        """Records that are left without enough others join packets that lack their value."""
        for value, cell in self.cells.records.items():
            for _ in range(len(cell)):
                lacking = [packet for packet in held if value not in packet.values]
                packet = lacking[self.draws.below(len(lacking))]
                packet.values.append(value)
                packet.records.append(self.cells.take(value))

    def fill(self) -> None:
        """Let packets without the commonest values wait, where the slot can spare them."""
        waiting = sum(packet.filler for packet in self.waiting.packets)
        while not self.skewed and waiting < self.rules.fillers and self._can_spare():
            values = self.cells.pick(self.rules.size, self.draws, barred=self.cells.at_highest())
            if values is None:
                return
            self._wait(self._packet(values), filler=True)
            waiting += 1

    def mix(self) -> None:
        """Bring the packets that are due together with others, until they are l-eligible or put off."""
        mixture, rules = self.mixture, self.rules
        closed = not self.cells.records and not rules.fill_empty
        self.fillers = [one for one in self.waiting.packets if one.filler and one.origin < self.slot]
        for packet in [packet for packet in self.waiting.packets if packet.due <= self.slot]:
            if closed or self._meets(packet):
                self._put_off(packet, conflict=not closed)
            else:
                self._welcome(packet)
        while mixture.guests and not mixture.is_eligible(rules.l):
            if not (self._help() or self._call_filler() or self._help_at_any_cost()):
                packet = mixture.send_off()
                self.present.difference_update(self._people(packet))
                self._put_off(packet)
        while len(mixture.own) < len(mixture.guests) and self._help():
            pass  # more than needed, so that buckets can be smaller
        if not mixture.guests:
            while mixture.own:
                self._return(mixture.own.pop())

    def _help(self) -> bool:
        """A packet of the slot's own joins, without the commonest values of the mixture."""
        if not self._can_spare():
            return False
        values = self.cells.pick(self.rules.size, self.draws, barred=self.mixture.at_highest())
        if values is not None:
            self._join_mixture(self._packet(values))
        return values is not None

    def _call_filler(self) -> bool:
        """A filler joins before it is due, the oldest that lacks the commonest values."""
        top = self.mixture.at_highest()
        for packet in self.fillers:
            if self.slot < packet.due and packet.number not in self.called and top.isdisjoint(packet.values):
                self.called.add(packet.number)
                if not self._meets(packet):
                    self._welcome(packet)
                    return True
        return False

    def _help_at_any_cost(self) -> bool:
        """For a guest in its last slot: a packet of the slot's own joins, and others are held instead."""
        last = self.slot - self.rules.window + 1
        if self.mixture.guests[0].origin > last:
            return False
        values = self.cells.pick(self.rules.size, self.draws, barred=self.mixture.at_highest())
        if values is None:
            return False
        packet, cells = self._packet(values), self.cells
        if cells.size < self.least * cells.highest:  # packets as large as they must be could not be made
            self._dissolve(packet)
            return False
        self._join_mixture(packet)
        self.hold()
        return True

    def publish(self, shuffling: Draws) -> None:
        """The core in buckets of its own, each a packet; the mixture in buckets of whole packets.

        Buckets are numbered by chance, so that a number does not tell which of the two it is.
        """
        groups: list[list[Packet]] = []
        for bucket in bucket_cells(self.cells.records, self.rules.l, shuffling):
            packet = Packet(self._next(), self.slot, list(bucket), list(bucket.values()))
            if self._is_shown(packet):
                self._withhold(packet, conflict=True)
            else:
                groups.append([packet])
        for group in self.mixture.split(self.rules.l):
            groups.append(group)
            self.gone.update(packet.number for packet in group)
        numbers = list(range(len(groups)))
        shuffling.shuffle(numbers)
        for number, group in zip(numbers, groups, strict=True):
            self.outcome.published += [(packet, number) for packet in group]
        self.outcome.buckets = len(groups)

    def _can_spare(self) -> bool:
        """Whether the core stays l-eligible without a packet, whatever its values."""
        return self.cells.is_eligible(self.rules.l, without=self.rules.size)

    def _next(self) -> int:
        self.waiting.number += 1
        return self.waiting.number - 1

    def _packet(self, values: list[int]) -> Packet:
        return Packet(self._next(), self.slot, values, [self.cells.take(value) for value in values])

    def _dissolve(self, packet: Packet) -> None:
        for value, record in zip(packet.values, packet.records, strict=True):
            self.cells.put_back(value, record)

    def _wait(self, packet: Packet, *, filler: bool = False) -> None:
        """Hold a packet of today; one in which somebody stands twice can never be published."""
        packet.due, packet.filler = self.slot + 1 + self.draws.below(self.rules.spread), filler
        if self._is_double(packet):
            self._withhold(packet, conflict=True)
        else:
            self.waiting.packets.append(packet)

    def _put_off(self, packet: Packet, *, conflict: bool = False) -> None:
        """A guest waits for the next slot, or is withheld if this one was its last."""
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
        """One of the slot's own comes in; it is withheld if somebody in it stands there already."""
        if self._is_shown(packet):
            self._withhold(packet, conflict=True)
        else:
            self.mixture.help(packet)

    def _return(self, packet: Packet) -> None:
        """One of the slot's own goes back to the core, or waits if the core has no room for it."""
        self.shown.difference_update(self._people(packet))
        self._dissolve(packet)
        if not self.cells.is_eligible(self.rules.l):
            for value in reversed(packet.values):
                self.cells.take(value)
            self._wait(packet, filler=True)

    def _people(self, packet: Packet) -> list[Hashable]:
        return [] if self.people is None else [self.people[record] for record in packet.records]

    def _is_double(self, packet: Packet) -> bool:
        people = self._people(packet)
        return len(set(people)) < len(people)

    def _meets(self, packet: Packet) -> bool:
        """Whether somebody of a guest has a record in this slot."""
        return self.people is not None and not self.present.isdisjoint(self._people(packet))

    def _is_shown(self, packet: Packet) -> bool:
        """Whether somebody of a packet of today is shown already, by it or another; else it is noted."""
        people = self._people(packet)
        if self._is_double(packet) or not self.shown.isdisjoint(people):
            return True
        self.shown.update(people)
        return False
