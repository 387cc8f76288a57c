"""Distinct people per group under any granularity, from one sort of the rows (Procedure 2 of the paper).

A *cell* is a pair (quasi code, position in time) that occurs. A *visit* is a person in a cell. Visits are
sorted by quasi code, person and position, and each remembers the position of the visit before it. A visit
is the first of its person in a granule exactly when the one before is ahead of the granule's first
position. So a distinct count is a sum, and one sort serves every granularity.

Cost: one sort of the rows, then two look-ups per visit and granularity; eight bytes a visit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

KEY_BITS = 62
NEVER = np.int32(-1)
"""The position before a person's first visit."""


class Groups(NamedTuple):
    """People and rows of every group in the order of (quasi code, granule), and the group of each cell."""

    people: Int64s
    rows: Int64s
    of_cell: Codes


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells in order, and how many rows each holds."""

    quasi: Codes
    position: Codes
    rows: Int64s

    @classmethod
    def of(cls, quasi: Codes, position: Codes, positions: int) -> tuple[Cells, Codes]:
        """The cells of some rows, and the cell of each row."""
        key = quasi * np.int64(positions) + position
        room = int(key.max(initial=-1)) + 1
        if room <= 4 * key.size + 1_000_000:  # a table of all pairs beats a sort
            counts = np.bincount(key, minlength=room)
            pairs = np.flatnonzero(counts)
            number = (np.cumsum(counts > 0) - 1).astype(np.int32)
            rows, cell_of_row = counts[pairs], number[key]
        else:
            pairs, inverse, rows = np.unique(key, return_inverse=True, return_counts=True)
            cell_of_row = inverse.astype(np.int32)
        position_of = (pairs % positions).astype(np.int32)
        return cls((pairs // positions).astype(np.int32), position_of, rows), cell_of_row


@dataclass(frozen=True, slots=True)
class Visits:
    """Per visit its cell, and the position of the same person's visit before, with the same quasi code.

    >>> quasi, position, person = (np.array(c, np.int32) for c in ([0] * 4, [0, 2, 1, 2], [0, 0, 1, 1]))
    >>> cells, cell_of_row = Cells.of(quasi, position, positions=3)
    >>> visits = Visits.of(cells, cell_of_row, person, people=2)
    >>> visits.groups(np.array([0, 0, 2], np.int32)).people.tolist()
    [2, 2]
    """

    cells: Cells
    cell: Codes
    before: Codes

    @classmethod
    def of(cls, cells: Cells, cell_of_row: Codes, person: Codes, people: int) -> Visits:
        """The visits of rows whose cell and person are known; `people` is above every person."""
        owner = cells.quasi[cell_of_row] * np.int64(people) + person
        cell_bits = max(len(cells.quasi) - 1, 1).bit_length()
        if int(owner.max(initial=0)).bit_length() + cell_bits > KEY_BITS:
            owner = np.unique(owner, return_inverse=True)[1].astype(np.int64)
        # Owner and cell in one word: a plain sort of numbers instead of a sort by two keys.
        key = np.sort(owner << cell_bits | cell_of_row)
        fresh = np.ones(key.size, np.bool_)
        np.not_equal(key[1:], key[:-1], out=fresh[1:])
        if not fresh.all():
            key = key[fresh]  # several rows of one person in one cell are one visit
        cell = (key & ((1 << cell_bits) - 1)).astype(np.int32)
        return cls(cells, cell, _previous(cells.position[cell], key >> cell_bits))

    def groups(self, firsts: Codes) -> Groups:
        """The groups under one granularity; `firsts` has the first position in the same granule."""
        first = firsts[self.cells.position]
        # Cells are in the order of (quasi code, position), so a group is a run of them.
        begins = np.ones(first.size, np.bool_)
        begins[1:] = (first[1:] != first[:-1]) | (self.cells.quasi[1:] != self.cells.quasi[:-1])
        group_of_cell = np.cumsum(begins, dtype=np.int32) - np.int32(1)
        heads = np.flatnonzero(begins)
        rows = np.add.reduceat(self.cells.rows, heads) if heads.size else self.cells.rows
        # Procedure 2: a person counts where no earlier visit is in the same granule.
        opening = self.cell[self.before < first[self.cell]]
        people = np.bincount(group_of_cell[opening], minlength=heads.size)
        return Groups(people, rows, group_of_cell)

    def opening(self, firsts: Codes) -> Visits:
        """Only the first visits to each granule: enough to count every granularity that is coarser."""
        fresh = self.before < firsts[self.cells.position[self.cell]]
        return replace(self, cell=self.cell[fresh], before=self.before[fresh])

    def within(self, inside: npt.NDArray[np.bool_]) -> Visits:
        """Only visits at positions that are `inside`, as if nobody had come at another time."""
        left = inside[self.cells.position]
        number = (np.cumsum(left) - 1).astype(np.int32)
        cells = Cells(self.cells.quasi[left], self.cells.position[left], self.cells.rows[left])
        # A person's visits under one quasi code are a run that starts where nothing came before.
        owner = np.cumsum(self.before == NEVER)
        stays = left[self.cell]
        cell = number[self.cell[stays]]
        return Visits(cells, cell, _previous(cells.position[cell], owner[stays]))


def _previous(position: Codes, owner: Int64s) -> Codes:
    """The position one visit earlier, `NEVER` at the first visit of an owner."""
    before = np.full(position.size, NEVER, np.int32)
    before[1:] = np.where(owner[1:] == owner[:-1], position[:-1], NEVER)
    return before
