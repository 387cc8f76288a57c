"""The window of slots that are not final yet, as counts (Wang et al. 2010, §III and §IV).

For every slot of the window and every sensitive value it holds how many records stand published there, by
the slot they came from, and how many of those that came there are withheld. `relay` plans the relay of
one withheld record, `apply` carries it out, `undo` takes it back exactly.

Where we depart from the print
    The last slot always ends a relay, also where it holds none of the value yet.
    "The record having the largest TS" is sought after the arrival has entered; before it, timestamp order
    breaks on some states.
Cost: a relay visits each slot of the window at most once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Move = tuple[int, int | None, int]
"""Origin, the slot left (none for a record that was withheld), the slot entered."""
Published = dict[int, dict[int, int]]
"""Value to origin to records."""


@dataclass(frozen=True, slots=True)
class Relay:
    """Records of one value, each handed on from where the one before it now stands (eqs. 3 and 4).

    `gain` is what it saves (eqs. 5 and 6); a relay that starts with a published record saves nothing and
    costs its moves.
    """

    value: int
    gain: int
    moves: tuple[Move, ...]

    @property
    def is_filler(self) -> bool:
        """Whether it starts with a published record."""
        return self.moves[0][1] is not None


class Window:
    """Counts of the latest `width` slots; values are small whole numbers.

    `move[d]` is the cost of moving by d slots, `withhold(value)` that of withholding one record.

    >>> window = Window(2, move=(0, 1, 2), withhold=lambda value: 5)
    >>> window.arrive(1, published={}, withheld={0: 1})
    >>> window.arrive(2, published={0: 2, 1: 2}, withheld={})
    >>> relay = window.relay(0)
    >>> relay.gain, relay.moves
    (4, ((1, None, 2),))
    >>> window.apply(relay)
    >>> window.loss(), window.published[2]
    (1, {0: {2: 2, 1: 1}, 1: {2: 2}})
    """

    waiting: Counter[int]
    """Withheld records of the whole window, by value."""

    def __init__(self, width: int, move: Sequence[int], withhold: Callable[[int], int]) -> None:
        self.width = width
        self.move = move
        self.withhold = withhold
        self.last = 0
        self.published: dict[int, Published] = {}
        self.withheld: dict[int, dict[int, int]] = {}
        self.sizes: dict[int, int] = {}
        self.waiting = Counter()
        self._planned: dict[int, Relay | None] = {}

    def arrive(self, slot: int, published: Mapping[int, int], withheld: Mapping[int, int]) -> None:
        """The next slot, with its own records only; the oldest leaves if the window is full."""
        own = {value: {slot: count} for value, count in published.items() if count}
        self.place(slot, own, {value: count for value, count in withheld.items() if count})

    def place(self, slot: int, published: Published, withheld: dict[int, int]) -> None:
        """The next slot as it is to stand, records moved there included."""
        self.leave(slot - self.width)
        self.last = slot
        self.published[slot] = published
        self.withheld[slot] = withheld
        self.sizes[slot] = sum(sum(cell.values()) for cell in published.values())
        self.waiting.update(withheld)
        self._planned.clear()

    def leave(self, slot: int) -> None:
        """A slot goes for good, and so do the records withheld there."""
        self.published.pop(slot, None)
        self.sizes.pop(slot, None)
        for value, count in self.withheld.pop(slot, {}).items():
            self.waiting[value] -= count
            if not self.waiting[value]:
                del self.waiting[value]

    def counts(self, slot: int) -> dict[int, int]:
        """Records published in a slot, by value: P_i."""
        return {value: sum(cell.values()) for value, cell in self.published[slot].items()}

    def count(self, value: int) -> int:
        """Records of one value published in the last slot."""
        cell = self.published[self.last].get(value)
        return sum(cell.values()) if cell else 0

    def loss(self) -> int:
        """Information loss of the window (eqs. 1 and 2)."""
        moving = sum(
            count * self.move[slot - origin]
            for slot, cells in self.published.items()
            for cell in cells.values()
            for origin, count in cell.items()
        )
        return moving + sum(
            count * self.withhold(value) for cells in self.withheld.values() for value, count in cells.items()
        )

    def relay(self, value: int) -> Relay | None:
        """The relay of the latest withheld record of a value (§IV), if there is one."""
        if value not in self._planned:
            start = max((slot for slot, cells in self.withheld.items() if value in cells), default=None)
            self._planned[value] = None if start is None else self._walk(value, start, start, None)
        return self._planned[value]

    def filler(self, value: int, slot: int) -> Relay | None:
        """The relay that starts with the latest record of a value published in an earlier slot.

        None where a record would come to stand further from its origin than the window is wide.
        """
        return self._walk(value, max(self.published[slot][value]), slot, slot)

    def _walk(self, value: int, origin: int, begin: int, source: int | None) -> Relay | None:
        moves: list[Move] = []
        carried, here, cost = origin, begin, 0
        if begin == self.last:
            moves.append((carried, source, here))
        for slot in range(begin + 1, self.last + 1):
            cell = self.published[slot].get(value)
            if not cell and slot < self.last:
                continue
            if slot - carried >= self.width:
                return None
            cost += self.move[slot - carried] - self.move[here - carried]
            moves.append((carried, source, slot))
            carried, here, source = max((carried, *(cell or ()))), slot, slot
        return Relay(value, (self.withhold(value) if moves[0][1] is None else 0) - cost, tuple(moves))

    def apply(self, relay: Relay) -> None:
        """Carry a relay out."""
        for origin, left, entered in relay.moves:
            self._withdraw(relay.value, origin, left)
            self._enter(relay.value, origin, entered)
        self._planned.pop(relay.value, None)

    def undo(self, relay: Relay) -> None:
        """Take the latest relay back."""
        for origin, left, entered in reversed(relay.moves):
            self._withdraw(relay.value, origin, entered)
            self._enter(relay.value, origin, left)
        self._planned.pop(relay.value, None)

    def _withdraw(self, value: int, origin: int, slot: int | None) -> None:
        if slot is None:
            _less(self.withheld[origin], value)
            _less(self.waiting, value)
            return
        cell = self.published[slot][value]
        _less(cell, origin)
        if not cell:
            del self.published[slot][value]
        self.sizes[slot] -= 1

    def _enter(self, value: int, origin: int, slot: int | None) -> None:
        if slot is None:
            cells = self.withheld[origin]
            cells[value] = cells.get(value, 0) + 1
            self.waiting[value] += 1
            return
        cell = self.published[slot].setdefault(value, {})
        cell[origin] = cell.get(origin, 0) + 1
        self.sizes[slot] += 1


def _less(counts: dict[int, int], key: int) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
