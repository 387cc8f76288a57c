"""Distinct people per group, for any calendar, from one ordering of the rows.

A *cell* is a pair (quasi code, position in time); cells are numbered in the order of that pair. Go
through the rows cell by cell and remember for each person the cell they were last seen in. A row is
the first of its person in a group that begins at cell `g` exactly when the remembered cell lies before
`g`. So a distinct count is a sum, and the same remembered cells serve every granularity.

Cost: one sort of the rows, then O(rows) per granularity; eight bytes a row for the sort, four after.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def extent_of(ticks, scale, widths):  # type: ignore[no-untyped-def]
    """Smallest and largest instant, and for each width whether it divides all of them.

    An instant is `ticks // scale`; a remainder counts as not divided.
    """
    low = ticks[0]
    high = ticks[0]
    divides = np.ones(widths.size, np.bool_)
    left = widths.size
    for i in range(ticks.size):
        low = min(low, ticks[i])
        high = max(high, ticks[i])
        if left > 0:
            for w in range(widths.size):
                if divides[w] and ticks[i] % (widths[w] * scale) != 0:
                    divides[w] = False
                    left -= 1
    return low // scale, high // scale, divides


@njit(cache=True, nogil=True)
def mark_granules(ticks, scale, phase, width, low, seen):  # type: ignore[no-untyped-def]
    """Flag the base granules that occur; `seen` is dense from granule `low` on."""
    for i in range(ticks.size):
        seen[(ticks[i] + phase * scale) // (width * scale) - low] = True


@njit(cache=True, nogil=True)
def positions_of(ticks, scale, phase, width, low, table):  # type: ignore[no-untyped-def]
    """Position of each base granule, looked up in `table`, dense from granule `low` on."""
    out = np.empty(ticks.size, np.int32)
    for i in range(ticks.size):
        out[i] = table[(ticks[i] + phase * scale) // (width * scale) - low]
    return out


@njit(cache=True, nogil=True)
def pack_keys(quasi, position, person, positions, person_bits):  # type: ignore[no-untyped-def]
    """One sortable number per row: cell, then person."""
    out = np.empty(quasi.size, np.int64)
    for i in range(quasi.size):
        cell = np.int64(quasi[i]) * positions + position[i]
        out[i] = (cell << person_bits) | person[i]
    return out


@njit(cache=True, nogil=True)
def cells_of(key, person_bits, positions, people):  # type: ignore[no-untyped-def]
    """Cells of sorted keys.

    Returns per cell its quasi code, position and number of rows; where its entries begin in `before`;
    `before`, one entry per (cell, person): the cell that person was in last, -1 if none; and how many
    people there are.
    """
    count = 0
    previous = np.int64(-1)
    for i in range(key.size):
        cell_key = key[i] >> person_bits
        count += cell_key != previous
        previous = cell_key
    quasi = np.empty(count, np.int32)
    position = np.empty(count, np.int32)
    rows = np.zeros(count, np.int32)
    begin = np.empty(count + 1, np.int64)
    before = np.empty(key.size, np.int32)
    last = np.full(people, -1, np.int32)
    mask = (np.int64(1) << person_bits) - 1
    cell = -1
    kept = 0
    distinct = 0
    previous = np.int64(-1)
    for i in range(key.size):
        cell_key = key[i] >> person_bits
        if cell_key != previous:
            cell += 1
            quasi[cell] = cell_key // positions
            position[cell] = cell_key % positions
            begin[cell] = kept
            previous = cell_key
        rows[cell] += 1
        if i == 0 or key[i] != key[i - 1]:
            person = key[i] & mask
            before[kept] = last[person]
            distinct += last[person] < 0
            last[person] = cell
            kept += 1
    begin[count] = kept
    return quasi, position, rows, begin, before[:kept].copy(), distinct


@njit(cache=True, nogil=True)
def group_sizes(quasi, position, rows, begin, before, firsts):  # type: ignore[no-untyped-def]
    """People and rows of every group of one granularity, groups in cell order, and each cell's group.

    `firsts[p]` names the granule of position p by the first position in it.
    """
    cells = quasi.size
    group_of = np.empty(cells, np.int32)
    group = -1
    for cell in range(cells):
        if (
            cell == 0
            or quasi[cell] != quasi[cell - 1]
            or firsts[position[cell]] != firsts[position[cell - 1]]
        ):
            group += 1
        group_of[cell] = group
    people = np.zeros(group + 1, np.int64)
    group_rows = np.zeros(group + 1, np.int64)
    group_begin = 0
    for cell in range(cells):
        group = group_of[cell]
        if cell > 0 and group != group_of[cell - 1]:
            group_begin = cell
        count = 0
        for i in range(begin[cell], begin[cell + 1]):
            count += before[i] < group_begin
        people[group] += count
        group_rows[group] += rows[cell]
    return people, group_rows, group_of


@njit(cache=True, nogil=True)
def coarsen(quasi, position, rows, begin, before, group_of):  # type: ignore[no-untyped-def]
    """The groups of one granularity as cells, for every granularity that is coarser still."""
    count = group_of[-1] + 1 if group_of.size else 0
    new_quasi = np.empty(count, np.int32)
    new_position = np.empty(count, np.int32)
    new_rows = np.zeros(count, np.int32)
    new_begin = np.empty(count + 1, np.int64)
    new_before = np.empty(before.size, np.int32)
    kept = 0
    group_begin = 0
    for cell in range(quasi.size):
        group = group_of[cell]
        if cell == 0 or group != group_of[cell - 1]:
            group_begin = cell
            new_quasi[group] = quasi[cell]
            new_position[group] = position[cell]
            new_begin[group] = kept
        new_rows[group] += rows[cell]
        for i in range(begin[cell], begin[cell + 1]):
            if before[i] < group_begin:
                new_before[kept] = group_of[before[i]] if before[i] >= 0 else -1
                kept += 1
    new_begin[count] = kept
    return new_quasi, new_position, new_rows, new_begin, new_before[:kept].copy()


@njit(cache=True, nogil=True)
def look_up(quasi, position, code, granules, place):  # type: ignore[no-untyped-def]
    """Each row's entry of `place`, dense over (quasi code, granule); -1 for a row in no granule."""
    out = np.empty(quasi.size, np.int32)
    for i in range(quasi.size):
        granule = code[position[i]]
        out[i] = place[np.int64(quasi[i]) * granules + granule] if granule >= 0 else -1
    return out
