"""Packets, the core of a slot they are taken from, and mixtures of packets published together."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate

from timeveil.models.stream.method.chance import Draws

LOOK_AHEAD = 32
"""How many packets are compared for the one that a bucket grows by."""


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


class Tally:
    """How many records have which value; the commonest values are at hand as records come and go.

    >>> tally = Tally([5, 6, 6])
    >>> tally.size, tally.highest, tally.at_highest(), tally.lack(l=3)
    (3, 2, {6}, 3)
    >>> tally.remove([6])
    >>> tally.highest, sorted(tally.at_highest())
    (1, [5, 6])
    """

    def __init__(self, values: Iterable[int] = ()) -> None:
        self.size = 0
        self.highest = 0
        self.counts: dict[int, int] = {}
        # _having[n] is the set of values that n records have; so the commonest are found without a search.
        self._having: list[set[int]] = [set()]
        self.add(values)

    def add(self, values: Iterable[int]) -> None:
        """Count one more record of each of these values."""
        for value in values:
            count = self.counts.get(value, 0) + 1
            if count == len(self._having):
                self._having.append(set())
            self._having[count - 1].discard(value)
            self._having[count].add(value)
            self.counts[value] = count
            self.highest = max(self.highest, count)
            self.size += 1

    def remove(self, values: Iterable[int]) -> None:
        """Count one record fewer of each of these values."""
        for value in values:
            count = self.counts[value] - 1
            self._having[count + 1].discard(value)
            self._having[count].add(value)
            self.counts[value] = count
            self.size -= 1
            while self.highest and not self._having[self.highest]:
                self.highest -= 1

    def at_highest(self) -> Set[int]:
        """The commonest values, until the next record comes or goes."""
        return self._having[self.highest]

    def lack(self, l: int) -> int:
        """How many records are missing for l-eligibility."""
        return l * self.highest - self.size

    def lack_with(self, values: Sequence[int], l: int) -> int:
        """How many records are missing for l-eligibility once a packet of these values is added."""
        most = max(self.highest, *(self.counts.get(value, 0) + 1 for value in values))
        return l * most - self.size - len(values)


class Core:
    """The records of a slot that are in no packet yet, by value, each value's in random order.

    A record taken of a value is the last in that order. Values are ordered by their first record in the
    shuffle, so neither a record's position in the input nor a value's code decides anything.

    >>> core = Core([(3, 9), (1, 7), (0, 7), (2, 7)])
    >>> core.tally.size, core.tally.highest, core.at_highest()
    (4, 3, [7])
    >>> core.take(7), core.tally.size, core.tally.highest
    (2, 3, 2)
    """

    def __init__(self, shuffled: Iterable[tuple[int, int]]) -> None:
        """Records and their values, in random order."""
        self.records: dict[int, list[int]] = {}
        for record, value in shuffled:
            self.records.setdefault(value, []).append(record)
        self.tally = Tally(value for value, cell in self.records.items() for _ in cell)

    def at_highest(self) -> list[int]:
        """The commonest values, in the order of the shuffle."""
        highest, counts = self.tally.highest, self.tally.counts
        return [value for value in self.records if counts[value] == highest]

    def is_eligible(self, l: int, without: int = 0) -> bool:
        """Whether no value would be held by more than 1 in l records, after `without` other ones leave."""
        return self.tally.lack(l) + without <= 0

    def take(self, value: int) -> int:
        """One record of a value."""
        self.tally.remove((value,))
        return self.records[value].pop()

    def put_back(self, value: int, record: int) -> None:
        """Return a record that was taken and is not needed."""
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
        top = self.at_highest()
        if len(top) > number:
            draws.shuffle(top)
            return top[:number]
        companions = self.pick(number - len(top), draws, barred=self.tally.at_highest())
        return None if companions is None else top + companions


class Mixture:
    """Guests from earlier slots, oldest first, and packets of the slot itself that help them.

    >>> mixture = Mixture()
    >>> mixture.welcome(Packet(0, 1, [5, 6], [0, 1]))
    >>> mixture.is_eligible(l=3)
    False
    >>> mixture.help(Packet(1, 2, [7, 8], [2, 3]))
    >>> mixture.is_eligible(l=3), sorted(mixture.tally.at_highest())
    (True, [5, 6, 7, 8])
    """

    def __init__(self) -> None:
        self.guests: list[Packet] = []
        self.natives: list[Packet] = []
        self.tally = Tally()

    def welcome(self, packet: Packet) -> None:
        """Add a guest."""
        # Numbers rise with origin, so the first guest is the one whose window ends first.
        insort(self.guests, packet, key=lambda guest: guest.number)
        self.tally.add(packet.values)

    def help(self, packet: Packet) -> None:
        """Add a packet of the slot itself."""
        self.natives.append(packet)
        self.tally.add(packet.values)

    def send_off(self) -> Packet:
        """Remove the youngest guest that holds one of the commonest values, or the youngest if none does."""
        top, last = self.tally.at_highest(), len(self.guests) - 1
        holding = (at for at in range(last, -1, -1) if not top.isdisjoint(self.guests[at].values))
        packet = self.guests.pop(next(holding, last))
        self.tally.remove(packet.values)
        return packet

    def is_eligible(self, l: int) -> bool:
        """Whether no value is held by more than 1 in l records."""
        return self.tally.lack(l) <= 0

    def split(self, l: int) -> list[list[Packet]]:
        """Divide into l-eligible buckets of whole packets, as small as a greedy choice makes them."""
        packets, buckets = [*self.guests, *self.natives], []
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
                outside.remove(bucket[-1].values)
            buckets.append(bucket)
        return buckets
