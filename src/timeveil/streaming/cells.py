"""The records of one slot that have found no packet yet, by value.

They are put in random order once, under the secret seed; whoever is taken of a value is the last in that
order. Values stand in the order in which that shuffle brings them up, so that ties between equally common
values go by chance as well: neither a record's place in the input nor its value's code decides anything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate

from timeveil.streaming.chance import Draws


class Cells:
    """Records by value, each value's in random order.

    >>> cells = Cells([(3, 9), (1, 7), (0, 7), (2, 7)])
    >>> cells.size, cells.highest, cells.at_highest()
    (4, 3, [7])
    >>> cells.take(7), cells.size
    (2, 3)
    """

    def __init__(self, shuffled: Sequence[tuple[int, int]]) -> None:
        """Records and their values, in random order."""
        self.records: dict[int, list[int]] = {}
        self.size = len(shuffled)
        for record, value in shuffled:
            self.records.setdefault(value, []).append(record)

    @property
    def highest(self) -> int:
        """How many records the commonest value has."""
        return max(map(len, self.records.values()), default=0)

    def at_highest(self) -> list[int]:
        """The values that have so many."""
        most = self.highest
        return [value for value, cell in self.records.items() if len(cell) == most]

    def is_eligible(self, l: int, without: int = 0) -> bool:  # noqa: E741
        """Whether no value would be held by more than 1 in l records, `without` so many of other values."""
        return self.size - without >= l * self.highest

    def take(self, value: int) -> int:
        """One record of a value."""
        self.size -= 1
        return self.records[value].pop()

    def put_back(self, value: int, record: int) -> None:
        """A record that was taken and is not needed."""
        self.size += 1
        self.records[value].append(record)

    def pick(self, number: int, draws: Draws, barred: Collection[int] = ()) -> list[int] | None:
        """So many different values, none that is barred, drawn by their counts; None if there are fewer."""
        left = {v: len(cell) for v, cell in self.records.items() if cell and v not in barred}
        return _drawn(left, number, draws)

    def pick_highest(self, number: int, draws: Draws) -> list[int] | None:
        """So many different values, the commonest first, the others drawn by count."""
        top = self.at_highest()
        if len(top) > number:
            return _drawn(dict.fromkeys(top, 1), number, draws)
        others = self.pick(number - len(top), draws, barred=top)
        return None if others is None else top + others


def _drawn(weights: dict[int, int], number: int, draws: Draws) -> list[int] | None:
    if len(weights) < number:
        return None
    total, chosen = sum(weights.values()), []
    for _ in range(number):
        place = draws.below(total)
        chosen.append(_at(weights, place))
        total -= weights.pop(chosen[-1])
    return chosen


def _at(weights: dict[int, int], place: int) -> int:
    """The value that a place falls to."""
    ends = zip(weights, accumulate(weights.values()), strict=True)
    return next(value for value, end in ends if place < end)
