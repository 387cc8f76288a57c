"""Packets, and mixtures of packets that are to be published together in one slot."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Set
from dataclasses import dataclass

LOOK = 32
"""How many packets are looked at for the one that a bucket grows by."""


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
    """How many records have which value; the commonest are kept at hand as records come and go.

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
        self._counts: dict[int, int] = {}
        self._having: list[set[int]] = [set()]
        self.add(values)

    def add(self, values: Iterable[int]) -> None:
        """Records of these values come in."""
        for value in values:
            count = self._counts.get(value, 0) + 1
            if count == len(self._having):
                self._having.append(set())
            self._having[count - 1].discard(value)
            self._having[count].add(value)
            self._counts[value] = count
            self.highest = max(self.highest, count)
            self.size += 1

    def remove(self, values: Iterable[int]) -> None:
        """Records of these values go."""
        for value in values:
            count = self._counts[value] - 1
            self._having[count + 1].discard(value)
            self._having[count].add(value)
            self._counts[value] = count
            self.size -= 1
            while self.highest and not self._having[self.highest]:
                self.highest -= 1

    def at_highest(self) -> Set[int]:
        """The values that most records hold, until the next record comes or goes."""
        return self._having[self.highest]

    def lack(self, l: int) -> int:
        """How many records are missing for it to be l-eligible."""
        return l * self.highest - self.size

    def lack_with(self, values: list[int], l: int) -> int:
        """The same after a packet of these values came in."""
        most = max(self.highest, *(self._counts.get(value, 0) + 1 for value in values))
        return l * most - self.size - len(values)


class Mixture:
    """Guests from earlier slots, oldest first, and the slot's own packets that help them.

    >>> mixture = Mixture()
    >>> mixture.welcome(Packet(0, 1, [5, 6], [0, 1]))
    >>> mixture.is_eligible(l=3)
    False
    >>> mixture.help(Packet(1, 2, [7, 8], [2, 3]))
    >>> mixture.is_eligible(l=3), sorted(mixture.at_highest())
    (True, [5, 6, 7, 8])
    """

    def __init__(self) -> None:
        self.guests: list[Packet] = []
        self.own: list[Packet] = []
        self.tally = Tally()

    def welcome(self, packet: Packet) -> None:
        """A guest comes in."""
        insort(self.guests, packet, key=lambda one: one.number)
        self.tally.add(packet.values)

    def help(self, packet: Packet) -> None:
        """A packet of the slot's own comes in."""
        self.own.append(packet)
        self.tally.add(packet.values)

    def at_highest(self) -> Set[int]:
        """The values that most records hold, until the next packet comes or goes."""
        return self.tally.at_highest()

    def send_off(self) -> Packet:
        """The youngest guest that holds such a value goes, or the youngest if none does."""
        top, last = self.at_highest(), len(self.guests) - 1
        holding = (at for at in range(last, -1, -1) if not top.isdisjoint(self.guests[at].values))
        packet = self.guests.pop(next(holding, last))
        self.tally.remove(packet.values)
        return packet

    def is_eligible(self, l: int) -> bool:
        """Whether no value is held by more than 1 in l records."""
        return self.tally.lack(l) <= 0

    def split(self, l: int) -> list[list[Packet]]:
        """L-eligible buckets of whole packets, as small as comes easily."""
        left, buckets = [*self.guests, *self.own], []
        rest = Tally(value for packet in left for value in packet.values)
        while left:
            bucket = [left.pop(0)]
            inside = Tally(bucket[0].values)
            rest.remove(bucket[0].values)
            while left and (inside.lack(l) > 0 or rest.lack(l) > 0):
                place = min(range(min(len(left), LOOK)), key=lambda i: inside.lack_with(left[i].values, l))
                packet = left.pop(place)
                bucket.append(packet)
                inside.add(packet.values)
                rest.remove(packet.values)
            buckets.append(bucket)
        return buckets
