"""Records of one slot by value, and packets made of them; the readable twin is `method.cells`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from timeveil.compiling import part
from timeveil.models.stream.kernels.anatomy import by_value, list_values
from timeveil.models.stream.kernels.chance import draw_below, shuffle
from timeveil.models.stream.kernels.mixture import highest_in

NUMBER, LINE, FREE, SIZE, DISTINCT, LEAST, MADE, CONFLICTS = 0, 1, 2, 3, 4, 5, 6, 7
"""Places in `Desk.state`."""


class Rows(NamedTuple):
    """The records: value and person codes (no people: an empty array), and what becomes of each row."""

    code: np.ndarray
    person: np.ndarray
    late: np.ndarray
    bucket: np.ndarray
    packet: np.ndarray


class Desk(NamedTuple):
    """Room to work in.

    rows: those of the slot; order, start: those of its core by bucket, and where each ends; in the end
    order has the numbers of buckets. chosen, weight: values drawn and what they are drawn by.
    present, shown: per person, one more than the latest slot they had a record in, and were shown in by an
    own packet. state: the next packet's number; packets that wait,
    free places; rows of the slot without a packet, its different values, the least size of its packets;
    buckets made, records withheld because of people.
    """

    rows: np.ndarray
    order: np.ndarray
    start: np.ndarray
    chosen: np.ndarray
    weight: np.ndarray
    present: np.ndarray
    shown: np.ndarray
    state: np.ndarray


class Rules(NamedTuple):
    """The parameters, the absolute number of slot 0, and how many slots there are."""

    l: int
    size: int
    window: int
    spread: int
    fillers: int
    fill_empty: bool
    first: int
    span: int


def desk_of(most: int, values: int, people: int, pool: int) -> Desk:
    """An empty desk for slots of at most so many rows."""
    state = np.zeros(8, np.int64)
    state[FREE] = pool
    return Desk(
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros(most + 2, np.int64),
        np.zeros(values, np.int64),
        np.zeros(values, np.int64),
        np.zeros(people, np.int64),
        np.zeros(people, np.int64),
        state,
    )


@part
def take_in(rows, slot, low, high, desk, bench, rules, shuffling):  # type: ignore[no-untyped-def]
    """The records of a slot in random order, by value."""
    number = high - low
    for i in range(number):
        desk.rows[i] = low + i
    shuffle(shuffling, desk.rows, np.int64(0), number)
    distinct = list_values(bench, desk.rows, number, rows.code)
    by_value(bench, desk.rows, number, rows.code, distinct)
    state = desk.state
    state[SIZE] = number
    state[DISTINCT] = distinct
    state[LEAST] = min(rules.size, number // highest(bench, desk)) if number else 0
    if rows.person.size:
        for row in range(low, high):
            desk.present[rows.person[row]] = slot + 1


@part
def highest(bench, desk):  # type: ignore[no-untyped-def]
    """How many records without a packet the commonest value has."""
    most = np.int64(0)
    for p in range(desk.state[DISTINCT]):
        most = max(most, bench.left[bench.values[p]])
    return most


@part
def draw_values(desk, bench, number, begin, chance):  # type: ignore[no-untyped-def]
    """Draw so many values by `desk.weight` into `desk.chosen` from `begin` on; False if there are fewer."""
    there = 0
    total = np.int64(0)
    distinct = desk.state[DISTINCT]
    for p in range(distinct):
        there += desk.weight[p] > 0
        total += desk.weight[p]
    if there < number:
        return False
    for i in range(number):
        place = draw_below(chance, total)
        for p in range(distinct):
            place -= desk.weight[p]
            if place < 0:
                desk.chosen[begin + i] = bench.values[p]
                total -= desk.weight[p]
                desk.weight[p] = 0
                break
    return True


@part
def pick_highest(desk, bench, chance):  # type: ignore[no-untyped-def]
    """Values of a packet to hold: the commonest first, the others drawn by count."""
    most = highest(bench, desk)
    number = desk.state[LEAST]
    top = 0
    for p in range(desk.state[DISTINCT]):
        top += bench.left[bench.values[p]] == most
    many = top > number
    taken = 0
    for p in range(desk.state[DISTINCT]):
        s = bench.values[p]
        if bench.left[s] == most:
            desk.weight[p] = 1 if many else 0
            if not many:
                desk.chosen[taken] = s
                taken += 1
        else:
            desk.weight[p] = 0 if many else bench.left[s]
    return draw_values(desk, bench, number - taken, taken, chance)


@part
def pick(desk, bench, mix, number, chance):  # type: ignore[no-untyped-def]
    """So many values, drawn by count, without the commonest of the mixture."""
    most = highest_in(mix)
    for p in range(desk.state[DISTINCT]):
        s = bench.values[p]
        desk.weight[p] = 0 if mix.counts[s] == most else bench.left[s]
    return draw_values(desk, bench, number, 0, chance)


@part
def make_packet(rows, slot, number, pool, desk, bench):  # type: ignore[no-untyped-def]
    """A packet of the values in `desk.chosen`."""
    state = desk.state
    state[FREE] -= 1
    p = pool.free[state[FREE]]
    pool.number[p] = state[NUMBER]
    state[NUMBER] += 1
    pool.origin[p] = slot
    pool.filler[p] = False
    pool.gone[p] = False
    pool.called[p] = -1
    pool.size[p] = 0
    for i in range(number):
        join(rows, p, desk.chosen[i], pool, desk, bench)
    return p


@part
def join(rows, p, s, pool, desk, bench):  # type: ignore[no-untyped-def]
    """One record of a value joins a packet."""
    bench.end[s] -= 1
    bench.left[s] -= 1
    desk.state[SIZE] -= 1
    row = bench.sorted[bench.end[s]]
    if pool.size[p] == 0:
        pool.head[p] = row
    else:
        pool.after[pool.tail[p]] = row
    pool.tail[p] = row
    pool.size[p] += 1
    rows.packet[row] = pool.number[p]


@part
def dissolve(rows, p, pool, desk, bench):  # type: ignore[no-untyped-def]
    """The records of a packet go back to the slot."""
    row = pool.head[p]
    for _ in range(pool.size[p]):
        s = rows.code[row]
        bench.sorted[bench.end[s]] = row
        bench.end[s] += 1
        bench.left[s] += 1
        rows.packet[row] = -1
        row = pool.after[row]
    desk.state[SIZE] += pool.size[p]


@part
def release(p, pool, desk):  # type: ignore[no-untyped-def]
    """A packet of the slot's own leaves its place in the pool."""
    pool.free[desk.state[FREE]] = p
    desk.state[FREE] += 1


@part
def holds(rows, p, s, pool):  # type: ignore[no-untyped-def]
    """Whether a packet holds a value."""
    row = pool.head[p]
    for _ in range(pool.size[p]):
        if rows.code[row] == s:
            return True
        row = pool.after[row]
    return False


@part
def is_double(rows, p, pool):  # type: ignore[no-untyped-def]
    """Whether somebody stands in a packet twice."""
    if rows.person.size == 0:
        return False
    row = pool.head[p]
    for i in range(pool.size[p]):
        other = pool.after[row]
        for _ in range(i + 1, pool.size[p]):
            if rows.person[other] == rows.person[row]:
                return True
            other = pool.after[other]
        row = pool.after[row]
    return False


@part
def any_marked(rows, p, marks, stamp, pool):  # type: ignore[no-untyped-def]
    """Whether somebody of a packet is marked."""
    row = pool.head[p]
    for _ in range(pool.size[p] if rows.person.size else 0):
        if marks[rows.person[row]] == stamp:
            return True
        row = pool.after[row]
    return False


@part
def mark(rows, p, marks, stamp, pool):  # type: ignore[no-untyped-def]
    """Mark everybody of a packet."""
    row = pool.head[p]
    for _ in range(pool.size[p] if rows.person.size else 0):
        marks[rows.person[row]] = stamp
        row = pool.after[row]
