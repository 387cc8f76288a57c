"""Packets, and mixtures of packets that are to be published together in one slot."""

from __future__ import annotations

from bisect import insort
from collections import Counter
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
        self.counts: Counter[int] = Counter()

    def welcome(self, packet: Packet) -> None:
        """A guest comes in."""
        insort(self.guests, packet, key=lambda one: one.number)
        self.counts.update(packet.values)

    def help(self, packet: Packet) -> None:
        """A packet of the slot's own comes in."""
        self.own.append(packet)
        self.counts.update(packet.values)

    def at_highest(self) -> set[int]:
        """The values that most records hold."""
        most = max(self.counts.values(), default=0)
        return {value for value, count in self.counts.items() if count == most}

    def send_off(self) -> Packet:
        """The youngest guest that holds such a value goes, or the youngest if none does."""
        top, last = self.at_highest(), len(self.guests) - 1
        holding = (at for at in range(last, -1, -1) if not top.isdisjoint(self.guests[at].values))
        packet = self.guests.pop(next(holding, last))
        self.counts.subtract(packet.values)
        return packet

    def is_eligible(self, l: int) -> bool:  # noqa: E741
        """Whether no value is held by more than 1 in l records."""
        return lack(self.counts, l) <= 0

    def split(self, l: int) -> list[list[Packet]]:  # noqa: E741
        """L-eligible buckets of whole packets, as small as comes easily."""
        left, rest, buckets = [*self.guests, *self.own], +self.counts, []
        while left:
            bucket, inside = [left.pop(0)], Counter[int]()
            inside.update(bucket[0].values)
            rest.subtract(bucket[0].values)
            while left and (lack(inside, l) > 0 or lack(rest, l) > 0):
                place = min(range(min(len(left), LOOK)), key=lambda i: _lack_with(inside, left[i], l))
                packet = left.pop(place)
                bucket.append(packet)
                inside.update(packet.values)
                rest.subtract(packet.values)
            buckets.append(bucket)
        return buckets


def lack(counts: Counter[int], l: int) -> int:  # noqa: E741
    """How many records are missing for it to be l-eligible."""
    return l * max(counts.values(), default=0) - counts.total()


def _lack_with(counts: Counter[int], packet: Packet, l: int) -> int:  # noqa: E741
    """The same after a packet came in."""
    most = max(*counts.values(), *(counts[value] + 1 for value in packet.values))
    return l * most - counts.total() - len(packet.values)
