"""The window of slots that are not final yet, as counts (Wang et al. 2010, §III and §IV).

For every slot of the window and every sensitive value the window counts the records published in that slot,
by the slot they came from, and the records of that slot that are withheld. `relay` plans the relay of one
withheld record, `apply` carries it out, `undo` takes it back exactly.

Where we depart from the print
    The last slot always ends a relay, even where it holds no record of the value yet.
    "The record having the largest TS" is chosen after the arriving record has entered; chosen before,
    timestamp order breaks on some states.
Cost: a relay visits each slot of the window at most once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Move = tuple[int, int | None, int]
"""Origin, the slot left (None for a record that was withheld), the slot entered."""
Published = dict[int, dict[int, int]]
"""Value to origin to number of records."""


class Relay(NamedTuple):
    """Records of one value, each entering the slot that the next one leaves (eqs. 3 and 4).

    `gain` is what the relay saves (eqs. 5 and 6). A relay that starts with a published record saves nothing
    and costs its moves.
    """

    value: int
    gain: int
    moves: tuple[Move, ...]


@dataclass(slots=True)
class Slot:
    """One slot of the window: P_i by value and origin, S_i by value.

    `counts` sums `published` by value, `size` in all.
    """

    number: int
    published: Published
    withheld: dict[int, int]
    counts: dict[int, int]
    size: int


class Window:
    """Counts of the latest `width` slots; values are small whole numbers.

    `move[d]` is the cost of moving by d slots, `withhold(value)` the cost of withholding one record.
    `waiting` sums the withheld records of all slots by value.

    >>> window = Window(2, move=(0, 1, 2), withhold=lambda value: 5)
    >>> window.arrive(1, published={}, withheld={0: 1})
    >>> window.arrive(2, published={0: 2, 1: 2}, withheld={})
    >>> relay = window.relay(0)
    >>> relay.gain, relay.moves
    (4, ((1, None, 2),))
    >>> window.apply(relay)
    >>> window.loss(), window.slots[2].published
    (1, {0: {2: 2, 1: 1}, 1: {2: 2}})
    """

    def __init__(self, width: int, move: Sequence[int], withhold: Callable[[int], int]) -> None:
        self.width = width
        self.move = move
        self.withhold = withhold
        self.slots: dict[int, Slot] = {}
        self.waiting: dict[int, int] = {}
        self.last = 0
        self._planned: dict[int, Relay | None] = {}

    def arrive(self, number: int, published: Mapping[int, int], withheld: dict[int, int]) -> None:
        """Add the next slot with its own records only; the oldest leaves if the window is full."""
        natives = {value: {number: count} for value, count in published.items() if count}
        self.place(number, natives, {value: count for value, count in withheld.items() if count})

    def place(self, number: int, published: Published, withheld: dict[int, int]) -> None:
        """Add the next slot as planned, records moved into it included."""
        # At most `width` slots, so no withheld record can end further than width - 1 slots from its origin.
        self.leave(number - self.width)
        counts = {value: sum(cell.values()) for value, cell in published.items()}
        self.slots[number] = Slot(number, published, withheld, counts, sum(counts.values()))
        self.last = number
        for value, count in withheld.items():
            _add(self.waiting, value, count)
        # Every plan ended in the slot that was the last until now.
        self._planned.clear()

    def leave(self, number: int) -> None:
        """Drop a slot for good, with the records withheld in it."""
        slot = self.slots.pop(number, None)
        if slot is not None:
            for value, count in slot.withheld.items():
                _add(self.waiting, value, -count)

    def loss(self) -> int:
        """Information loss of the window (eqs. 1 and 2)."""
        moving = sum(
            count * self.move[slot.number - origin]
            for slot in self.slots.values()
            for cell in slot.published.values()
            for origin, count in cell.items()
        )
        return moving + sum(count * self.withhold(value) for value, count in self.waiting.items())

    def relay(self, value: int) -> Relay | None:
        """The relay of the latest withheld record of a value (§IV), if there is one."""
        if value not in self._planned:
            origins = [number for number, slot in self.slots.items() if value in slot.withheld]
            self._planned[value] = self._walk(value, max(origins), max(origins), None) if origins else None
        return self._planned[value]

    def filler(self, value: int, number: int) -> Relay | None:
        """The relay that starts with the latest record of a value published in an earlier slot.

        None where a record would end further from its origin than the window is wide.
        """
        return self._walk(value, max(self.slots[number].published[value]), number, number)

    def _walk(self, value: int, origin: int, begin: int, source: int | None) -> Relay | None:
        """Carry the record of `origin` from slot `begin` to the last slot, handing over at every stop."""
        move, last, width = self.move, self.last, self.width
        moves: list[Move] = [(origin, source, begin)] if begin == last else []
        carried, at, cost = origin, begin, 0
        for number in range(begin + 1, last + 1):
            cell = self.slots[number].published.get(value)
            # Where the value has no record, nobody can hand over: the carried record passes through.
            if cell is None and number < last:
                continue
            # Only fillers can come this far; a withheld record starts inside the window.
            if number - carried >= width:
                return None
            cost += move[number - carried] - move[at - carried]
            moves.append((carried, source, number))
            at = source = number
            if cell is not None:
                carried = max(carried, *cell)
        saved = self.withhold(value) if moves[0][1] is None else 0
        return Relay(value, saved - cost, tuple(moves))

    def apply(self, relay: Relay) -> None:
        """Carry a relay out."""
        for origin, left, entered in relay.moves:
            self._change(relay.value, origin, left, -1)
            self._change(relay.value, origin, entered, 1)
        # A relay changes counts of one value only: the plans of all others stay valid.
        self._planned.pop(relay.value, None)

    def undo(self, relay: Relay) -> None:
        """Take the latest relay back."""
        for origin, left, entered in reversed(relay.moves):
            self._change(relay.value, origin, entered, -1)
            self._change(relay.value, origin, left, 1)
        self._planned.pop(relay.value, None)

    def _change(self, value: int, origin: int, number: int | None, by: int) -> None:
        """Count one record more or less: published in slot `number`, or withheld where that is None."""
        if number is None:
            _add(self.slots[origin].withheld, value, by)
            _add(self.waiting, value, by)
            return
        slot = self.slots[number]
        cell = slot.published.setdefault(value, {})
        _add(cell, origin, by)
        if not cell:
            del slot.published[value]
        _add(slot.counts, value, by)
        slot.size += by


def _add(counts: dict[int, int], key: int, by: int) -> None:
    """Change a count; a count of zero is no entry."""
    count = counts.get(key, 0) + by
    if count:
        counts[key] = count
    else:
        del counts[key]
