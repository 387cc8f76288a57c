"""Many slots of a stream in one call: arrivals, steps, and the records of each slot that becomes final.

Rows come sorted by arriving slot, values and people as codes. What comes out is, per row, by how many
slots it was published late (-1 or -2: withheld) and its bucket. Records stay where they are unless a cell
(origin, value) is disturbed; only then its rows are put in random order. The readable twins are
`timeveil.models.stream.method.streaming` and `timeveil.models.stream.method.placing`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from timeveil.models.stream.kernels.anatomy import make_buckets
from timeveil.models.stream.kernels.chance import begin_draws, shuffle
from timeveil.models.stream.kernels.relays import forget_idle, reposition
from timeveil.models.stream.kernels.ring import clear_slot, largest_level, list_value, queue_value, take_in

LEFT, TRIMMED = -1, -2
BUCKETS, CELLS = np.int64(0), np.int64(1)
ROWS, SLOTS, MADE, DUPLICATES, SEARCHES = 0, 1, 2, 3, 4


class Rows(NamedTuple):
    """The records: value and person codes (no people: an empty array), and what becomes of each row."""

    code: np.ndarray
    person: np.ndarray
    late: np.ndarray
    bucket: np.ndarray


class Cells(NamedTuple):
    """Where rows of a (slot, value) stand in random order, for two windows of slots.

    order: row numbers, used round and round from `cursor` on; it has room for more than any two windows
    bring. next[q, s], end[q, s]: the part of it for a value. begin[q], stop[q]: the rows of a
    slot. taken: rows placed in the slot at hand. seen: per person, the latest slot they were placed in;
    awaited: the latest search in which they were found to have a record in a later slot. actual: scratch.
    """

    order: np.ndarray
    cursor: np.ndarray
    next: np.ndarray
    end: np.ndarray
    begin: np.ndarray
    stop: np.ndarray
    taken: np.ndarray
    seen: np.ndarray
    awaited: np.ndarray
    actual: np.ndarray


class Rules(NamedTuple):
    """The parameters: l, the absolute number of slot 0, and the switches."""

    l: int
    first: int
    span: int
    fill_empty: bool
    filler: int
    bucketed: bool
    solved: int


def cells_of(width: int, values: int, most: int, people: int) -> Cells:
    """Empty cells where at most `most` rows arrive within two windows."""
    ring = 2 * width
    return Cells(
        np.empty(3 * most, np.int64),
        np.zeros(1, np.int64),
        np.zeros((ring, values), np.int64),
        np.zeros((ring, values), np.int64),
        np.zeros(ring, np.int64),
        np.zeros(ring, np.int64),
        np.empty(most, np.int64),
        np.full(people, -1, np.int64),
        np.zeros(people, np.int64),
        np.zeros(values, np.int64),
    )


@njit(cache=True, nogil=True)
def most_at_once(slots, begin, width):  # type: ignore[no-untyped-def]
    """The most rows that arrive within `width` slots."""
    most = 0
    low = 0
    for k in range(slots.size):
        while slots[low] <= slots[k] - width:
            low += 1
        most = max(most, begin[k + 1] - begin[low])
    return most


@njit(cache=True, nogil=True)
def publish_rows(rows, slots, begin, ring, cells, bench, rules, move, withhold, start, chance, tally):  # type: ignore[no-untyped-def]
    """Run a whole stream; `slots` are the arriving ones, from 0 on, and row begin[k] is the first of each."""
    w = ring.standing.shape[0]
    plain = rows.person.size == 0 and not rules.bucketed
    k = 0
    for last in range(rules.span):
        clear_slot(ring, last % w)
        low = begin[k]
        if k < slots.size and slots[k] == last:
            k += 1
        high = begin[k]
        cells.begin[last % (2 * w)] = low
        cells.stop[last % (2 * w)] = high
        level = take_in(ring, last, rows.code, low, high, rules.l)
        if last < rules.solved:
            if last == rules.solved - 1:
                _load(ring, rules.solved, start)
        elif (high > low or rules.fill_empty) and forget_idle(ring) > 0:
            reposition(ring, last, level, rules.l, move, withhold, rules.filler)
        if last >= w - 1:
            final = last - w + 1
            r, q = final % w, final % (2 * w)
            if plain and ring.size[r] == ring.native[r] == cells.stop[q] - cells.begin[q]:
                tally[ROWS] += ring.size[r]  # all came in this slot and stay
                tally[SLOTS] += ring.size[r] > 0
            else:
                _emit(rows, final, ring, cells, bench, rules, chance, tally)
    for slot in range(max(rules.span - w + 1, 0), rules.span):
        _emit(rows, slot, ring, cells, bench, rules, chance, tally)


@njit(cache=True, nogil=True)
def _load(ring, solved, start):  # type: ignore[no-untyped-def]
    """Put a first window that was solved elsewhere in place of what has arrived.

    A row of `start` is slot, value, origin (-1: withheld), records.
    """
    w = ring.standing.shape[0]
    for r in range(solved):
        for p in range(ring.held[r]):
            s = ring.present[r, p]
            ring.waiting[s] -= ring.withheld[r, s]
            ring.withheld[r, s] = 0
            ring.standing[r, s] = 0
            ring.origin[r, 0, s] = 0
        ring.size[r] = 0
        ring.native[r] = 0
    for n in range(start.shape[0]):
        slot, s, origin, number = start[n]
        r = slot % w
        list_value(ring, r, s)
        if origin < 0:
            ring.withheld[r, s] += number
            ring.waiting[s] += number
            queue_value(ring, s)
        else:
            ring.origin[r, slot - origin, s] += number
            ring.standing[r, s] += number
            ring.size[r] += number
            if slot == origin:
                ring.native[r] += number


@njit(cache=True, nogil=True)
def _emit(rows, slot, ring, cells, bench, rules, chance, tally):  # type: ignore[no-untyped-def]
    """Choose the rows of a final slot."""
    w = ring.standing.shape[0]
    r = slot % w
    q = slot % (2 * w)
    people = rows.person.size > 0
    natives = ring.native[r]
    arrived = cells.stop[q] - cells.begin[q]
    placed = ring.size[r]
    taken = np.int64(0)
    if people:
        taken, placed = _place_people(rows, slot, ring, cells, rules, chance, tally)
    else:
        if natives < arrived:
            _open_cells(rows, slot, ring, cells, rules, chance)
        if ring.size[r] > natives:
            taken = _place_movers(rows, slot, ring, cells)
    tally[ROWS] += placed
    tally[SLOTS] += placed > 0
    if rules.bucketed and placed > 0:
        number = _gather(rows, cells, taken, q)
        begin_draws(chance, slot + rules.first, BUCKETS)
        tally[MADE] += make_buckets(bench, cells.taken, number, rows.code, rules.l, chance, rows.bucket)


@njit(cache=True, nogil=True)
def _open_cells(rows, slot, ring, cells, rules, chance):  # type: ignore[no-untyped-def]
    """Put the rows of a slot's disturbed cells in random order and let those stay that are to stay."""
    w = ring.standing.shape[0]
    r = slot % w
    q = slot % (2 * w)
    people = rows.person.size > 0
    place = cells.cursor[0]
    if place + cells.stop[q] - cells.begin[q] > cells.order.size:
        place = np.int64(0)
    end = cells.end[q]
    for p in range(ring.held[r]):
        s = ring.present[r, p]
        end[s] = -1
        if people or ring.origin[r, 0, s] < ring.arrived[r, s]:
            cells.next[q, s] = place
            end[s] = place
            place += ring.arrived[r, s]
    cells.cursor[0] = place
    for row in range(cells.begin[q], cells.stop[q]):
        s = rows.code[row]
        if end[s] >= 0:
            cells.order[end[s]] = row
            end[s] += 1
            rows.late[row] = LEFT
    for p in range(ring.held[r]):
        s = ring.present[r, p]
        if end[s] >= 0:
            begin_draws(chance, slot + rules.first, CELLS + s)
            shuffle(chance, cells.order, cells.next[q, s], cells.end[q, s])
            if not people:
                for _ in range(ring.origin[r, 0, s]):
                    rows.late[cells.order[cells.next[q, s]]] = 0
                    cells.next[q, s] += 1


@njit(cache=True, nogil=True)
def _place_movers(rows, slot, ring, cells):  # type: ignore[no-untyped-def]
    """Rows of earlier slots, the next of each cell; returns how many, listed in `cells.taken`."""
    w = ring.standing.shape[0]
    r = slot % w
    taken = np.int64(0)
    for p in range(ring.held[r]):
        s = ring.present[r, p]
        for d in range(1, min(w, slot + 1)):
            q = (slot - d) % (2 * w)
            for _ in range(ring.origin[r, d, s]):
                row = cells.order[cells.next[q, s]]
                cells.next[q, s] += 1
                rows.late[row] = d
                cells.taken[taken] = row
                taken += 1
    return taken


@njit(cache=True, nogil=True)
def _place_people(rows, slot, ring, cells, rules, chance, tally):  # type: ignore[no-untyped-def]
    """The same with nobody twice; returns how many were taken and how many of them stay after trimming."""
    w = ring.standing.shape[0]
    r = slot % w
    _open_cells(rows, slot, ring, cells, rules, chance)
    values = ring.present[r, : ring.held[r]]
    values.sort()
    taken = np.int64(0)
    for d in range(min(w, slot + 1)):
        q = (slot - d) % (2 * w)
        for p in range(values.size):
            s = values[p]
            wanted = ring.origin[r, d, s]
            if wanted == 0:
                continue
            search = _find_awaited(rows, slot, ring, cells, rules, s, d, tally)
            for others in range(search == 0, 2):
                for n in range(cells.next[q, s], cells.end[q, s]):
                    row = cells.order[n]
                    who = rows.person[row]
                    if wanted == 0:
                        break
                    if rows.late[row] != LEFT or cells.seen[who] == slot:
                        continue
                    if others == 0 and cells.awaited[who] != search:
                        continue
                    cells.seen[who] = slot
                    rows.late[row] = d
                    cells.taken[taken] = row
                    taken += 1
                    wanted -= 1
    placed = taken
    if taken < ring.size[r]:
        placed = _trim(rows, cells, values, taken, rules.l)
        tally[DUPLICATES] += ring.size[r] - placed
    return taken, placed


@njit(cache=True, nogil=True)
def _find_awaited(rows, slot, ring, cells, rules, s, d, tally):  # type: ignore[no-untyped-def]
    """Mark people with a record in a later slot to which rows of this cell are to go.

    Returns the number that marks them, 0 if no row is to go on.
    """
    w = ring.standing.shape[0]
    search = 0
    for later in range(slot + 1, min(slot - d + w, rules.span)):
        if ring.origin[later % w, later - slot + d, s] > 0:
            if search == 0:
                tally[SEARCHES] += 1
                search = tally[SEARCHES]
            q = later % (2 * w)
            for row in range(cells.begin[q], cells.stop[q]):
                cells.awaited[rows.person[row]] = search
    return search


@njit(cache=True, nogil=True)
def _trim(rows, cells, values, taken, l):  # type: ignore[no-untyped-def]
    """Withhold what stands too high, the last taken first; returns how many stay."""
    highest = np.int64(0)
    for n in range(taken):
        s = rows.code[cells.taken[n]]
        cells.actual[s] += 1
        highest = max(highest, cells.actual[s])
    most = largest_level(cells.actual, values, values.size, l, highest)
    placed = taken
    for n in range(taken - 1, -1, -1):
        row = cells.taken[n]
        s = rows.code[row]
        if cells.actual[s] > most:
            cells.actual[s] -= 1
            rows.late[row] = TRIMMED
            placed -= 1
    for p in range(values.size):
        cells.actual[values[p]] = 0
    return placed


@njit(cache=True, nogil=True)
def _gather(rows, cells, taken, q):  # type: ignore[no-untyped-def]
    """List the rows of a slot in `cells.taken` in the order in which they came; returns how many."""
    begin = cells.begin[q]
    number = 0
    for n in range(taken):
        row = cells.taken[n]
        if row < begin and rows.late[row] >= 0:
            cells.taken[number] = row
            number += 1
    cells.taken[:number].sort()
    for row in range(begin, cells.stop[q]):
        if rows.late[row] == 0:
            cells.taken[number] = row
            number += 1
    return number


@njit(cache=True, nogil=True)
def arrivals_of(slot):  # type: ignore[no-untyped-def]
    """The slots that occur and the first row of each (and the end of all); nothing if rows are not sorted."""
    number = 0
    for row in range(slot.size):
        if row == 0 or slot[row] > slot[row - 1]:
            number += 1
        elif slot[row] < slot[row - 1]:
            return np.empty(0, np.int64), np.empty(0, np.int64)
    slots = np.empty(number, np.int64)
    begin = np.empty(number + 1, np.int64)
    k = 0
    for row in range(slot.size):
        if row == 0 or slot[row] > slot[row - 1]:
            slots[k] = slot[row]
            begin[k] = row
            k += 1
    begin[number] = slot.size
    return slots, begin


@njit(cache=True, nogil=True)
def first_seen(code, values):  # type: ignore[no-untyped-def]
    """For each code its place in the order of first occurrence."""
    place = np.full(values, -1, np.int32)
    seen = 0
    for row in range(code.size):
        if seen == values:
            break
        if place[code[row]] < 0:
            place[code[row]] = seen
            seen += 1
    return place


@njit(cache=True, nogil=True)
def sum_up(late, code, extra, values, furthest):  # type: ignore[no-untyped-def]
    """How many rows were moved by each distance, and per value how many came and how many are withheld.

    `extra` is how far each row had come before it arrived; an empty array says: not at all.
    """
    moved = np.zeros(furthest + 1, np.int64)
    came = np.zeros(values, np.int64)
    withheld = np.zeros(values, np.int64)
    for row in range(late.size):
        came[code[row]] += 1
        if late[row] < 0:
            withheld[code[row]] += 1
        else:
            moved[late[row] + (extra[row] if extra.size else 0)] += 1
    return moved, came, withheld
