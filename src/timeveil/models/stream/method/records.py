"""Records on their way through a stream: as they arrive, and as they leave in a final slot."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from timeveil.models.stream.method.placing import Ints


class Arrivals(NamedTuple):
    """Records sorted by the slot they arrive in: numbers, codes of values, true slots and people.

    `true_slots` is None where every record arrives in its own slot, `people` where they are unknown.
    """

    slots: Ints
    records: Ints
    codes: Ints
    true_slots: Sequence[int] | None = None
    people: Sequence[Hashable] | None = None

    def only(self, part: slice) -> Arrivals:
        origins, people = self.true_slots and self.true_slots[part], self.people and self.people[part]
        return Arrivals(self.slots[part], self.records[part], self.codes[part], origins, people)


class Label(NamedTuple):
    """What a generalised group is published with in one column."""

    level: str
    text: str | None


class Final(NamedTuple):
    """A slot that cannot change any more: its records, their values and buckets, or groups.

    `labels` has what each group is published with. `packets` has each record's packet and `withheld` pairs of
    record and packet that were given up, both in the packet method only. `counterfeits` are buckets and codes
    of values that no record has.
    """

    slot: int
    records: Ints
    codes: Ints
    buckets: Ints | None
    packets: Ints | None = None
    withheld: tuple[tuple[int, int], ...] = ()
    counterfeits: Ints = np.zeros((2, 0), np.int64)
    labels: tuple[tuple[Label, ...], ...] = ()


class Values:
    """The sensitive values of a stream, numbered as they first come."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.names: list[Any] = list(values)
        self._codes = {value: code for code, value in enumerate(self.names)}

    def codes(self, dictionary: Sequence[Any]) -> Ints:
        """Codes of values; new ones get the next numbers."""
        for value in dictionary:
            if value not in self._codes:
                self._codes[value] = len(self.names)
                self.names.append(value)
        return np.array([self._codes[value] for value in dictionary], np.int64)
