"""Which records stand in a final slot: they are chosen last.

The window says how many records of each value and origin a slot is to hold. Which ones is drawn when the
slot is final: the records of a cell (origin, value) are put in a random order under the secret seed, never
by quasi-identifier, and taken in that order, passing over anybody who stands in the slot already. Where
some of a cell are to go to a later slot, those who have a record there are taken before, so that they need
not. What cannot be had without placing somebody twice is withheld, and so is whatever then stands too high.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from timeveil.models.stream.method.chance import CELLS, Draws
from timeveil.models.stream.method.reposition import largest_level
from timeveil.models.stream.method.window import Published


@dataclass(slots=True)
class Snapshot:
    """The records that came in one slot, and which of them still wait for their place.

    `came_from` is each record's true slot, which differs for late and delayed records. `cells` holds, by
    value, the records that have not been taken, in random order once `drawn`; `published` those that were
    taken and stayed.
    """

    slot: int
    rows: pa.Table
    values: list[int]
    came_from: list[int]
    people: Sequence[Any] | None
    seed: int = field(repr=False)
    cells: dict[int, list[int]] = field(default_factory=dict)
    drawn: set[int] = field(default_factory=set)
    published: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for record, value in enumerate(self.values):
            self.cells.setdefault(value, []).append(record)

    def draw(self, value: int) -> list[int]:
        """A cell in its random order."""
        cell = self.cells[value]
        if value not in self.drawn:
            Draws(self.seed, self.slot, CELLS + value).shuffle(cell)
            self.drawn.add(value)
        return cell

    def without(self, taken: Sequence[int]) -> None:
        """Leave out records that were taken before."""
        gone = set(taken)
        for value in {self.values[record] for record in taken}:
            self.cells[value] = [record for record in self.draw(value) if record not in gone]

    @property
    def unpublished(self) -> list[int]:
        """Records that were not published, so far."""
        return [record for record in range(len(self.values)) if record not in self.published]

    @property
    def taken(self) -> list[int]:
        """Records that were taken from their cells."""
        left = {record for cell in self.cells.values() for record in cell}
        return [record for record in range(len(self.values)) if record not in left]


@dataclass(frozen=True, slots=True)
class Placed:
    """A record in its slot: the snapshot it came in, its number there, its value."""

    arrived: int
    record: int
    value: int


def place(
    slot: int,
    plans: Mapping[int, Published],
    snapshots: Mapping[int, Snapshot],
    l: int,
) -> list[Placed]:
    """The records of a final slot, in the order in which they came; `plans` are those of the whole window."""
    planned = plans[slot]
    placed: list[Placed] = []
    present: set[Any] = set()
    for arrived in sorted({origin for cell in planned.values() for origin in cell}, reverse=True):
        for value in sorted(planned):
            count = planned[value].get(arrived, 0)
            if count:
                awaited = _awaited(slot, value, arrived, plans, snapshots)
                placed += _take(snapshots[arrived], value, count, present, awaited)
    wanted = sum(count for cell in planned.values() for count in cell.values())
    if len(placed) < wanted:
        placed = _eligible(placed, l)
    for one in placed:
        snapshots[one.arrived].published.add(one.record)
    return sorted(placed, key=lambda one: (one.arrived, one.record))


def _awaited(
    slot: int, value: int, arrived: int, plans: Mapping[int, Published], snapshots: Mapping[int, Snapshot]
) -> set[Any]:
    """People with a record in a later slot to which records of this cell are to go."""
    if snapshots[arrived].people is None:
        return set()
    later = [s for s in plans if s > slot and arrived in plans[s].get(value, ()) and s in snapshots]
    return {person for s in later for person in snapshots[s].people or ()}


def _take(snapshot: Snapshot, value: int, count: int, present: set[Any], awaited: set[Any]) -> list[Placed]:
    """The first records of a cell whose people are not in the slot yet, awaited people before others."""
    people = snapshot.people
    if people is None:
        whole = len(snapshot.cells[value]) == count  # then their order does not matter
        cell = snapshot.cells[value] if whole else snapshot.draw(value)
        taken, snapshot.cells[value] = cell[:count], cell[count:]
    else:
        taken = []
        for record in sorted(snapshot.draw(value), key=lambda one: people[one] not in awaited):
            if len(taken) < count and people[record] not in present:
                present.add(people[record])
                taken.append(record)
        gone = set(taken)
        snapshot.cells[value] = [record for record in snapshot.cells[value] if record not in gone]
    return [Placed(snapshot.slot, record, value) for record in taken]


def _eligible(placed: Sequence[Placed], l: int) -> list[Placed]:
    """Without the records, those that came furthest first, by which a value stands too high."""
    counts = Counter(one.value for one in placed)
    most = largest_level(counts.values(), l)
    kept: list[Placed] = []
    for one in reversed(placed):
        if counts[one.value] > most:
            counts[one.value] -= 1
        else:
            kept.append(one)
    return kept
