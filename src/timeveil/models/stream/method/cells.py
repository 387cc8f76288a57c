"""The records of one slot that have found no packet yet, by value.

They are put in random order once, under the secret seed; whoever is taken of a value is the last in that
order. Values stand in the order in which that shuffle brings them up, so that ties between equally common
values go by chance as well: neither a record's place in the input nor its value's code decides anything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from timeveil.models.stream.method.chance import Draws


class Cells:
    """Records by value, each value's in random order.

    `size` and `highest`, how many records there are and how many the commonest value has, are kept as
    records come and go: a slot may have thousands of values and of packets.

    >>> cells = Cells([(3, 9), (1, 7), (0, 7), (2, 7)])
    >>> cells.size, cells.highest, cells.at_highest()
    (4, 3, [7])
    >>> cells.take(7), cells.size, cells.highest
    (2, 3, 2)
    """

    def __init__(self, shuffled: Sequence[tuple[int, int]]) -> None:
        """Records and their values, in random order."""
        self.records: dict[int, list[int]] = {}
        self.size = len(shuffled)
        for record, value in shuffled:
            self.records.setdefault(value, []).append(record)
        self._values = list(self.records)
        self._place = {value: place for place, value in enumerate(self._values)}
        self._counts = np.array([len(cell) for cell in self.records.values()], np.int64)
        self._often = np.bincount(self._counts, minlength=1).tolist()
        self.highest = len(self._often) - 1

    def at_highest(self) -> list[int]:
        """The values that have so many."""
        return [self._values[place] for place in np.flatnonzero(self._counts == self.highest).tolist()]

    def is_eligible(self, l: int, without: int = 0) -> bool:
        """Whether no value would be held by more than 1 in l records, `without` so many of other values."""
        return self.size - without >= l * self.highest

    def take(self, value: int) -> int:
        """One record of a value."""
        self._change(value, -1)
        return self.records[value].pop()

    def put_back(self, value: int, record: int) -> None:
        """A record that was taken and is not needed."""
        self._change(value, 1)
        self.records[value].append(record)

    def pick(self, number: int, draws: Draws, barred: Collection[int] = ()) -> list[int] | None:
        """So many different values, none that is barred, drawn by their counts; None if there are fewer."""
        weights = self._counts.copy()
        weights[[self._place[value] for value in barred if value in self._place]] = 0
        return self._drawn(weights, number, draws)

    def pick_highest(self, number: int, draws: Draws) -> list[int] | None:
        """So many different values, the commonest first, the others drawn by count."""
        most = self._counts == self.highest
        if np.count_nonzero(most) > number:
            return self._drawn(most.astype(np.int64), number, draws)
        top = self.at_highest()
        others = self._drawn(np.where(most, 0, self._counts), number - len(top), draws)
        return None if others is None else top + others

    def _drawn(self, weights: Any, number: int, draws: Draws) -> list[int] | None:
        """So many values, each place drawn in proportion to its weight."""
        if np.count_nonzero(weights) < number:
            return None
        chosen = []
        for _ in range(number):
            ends = weights.cumsum()
            place = int(ends.searchsorted(draws.below(int(ends[-1])), side="right"))
            chosen.append(self._values[place])
            weights[place] = 0
        return chosen

    def _change(self, value: int, by: int) -> None:
        place = self._place[value]
        count = int(self._counts[place])
        self._counts[place] = count + by
        self.size += by
        self._often[count] -= 1
        self._often[count + by] += 1
        self.highest = max(self.highest, count + by)
        while self.highest and not self._often[self.highest]:
            self.highest -= 1
