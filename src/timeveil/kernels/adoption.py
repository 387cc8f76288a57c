"""Adoption: series moved one by one to cells whose pattern is their own, where the value loss falls.

A cell is a subgroup; the cells of a leaf have one level and one pattern. `u` and `values` have a row per series.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from timeveil.kernels.symbol_tree import EMPTY, HALF, PRIME, SEED

WINDOW = 32  # cells of a leaf that are looked at, those whose groups are nearest to the series in mean

TRIED = 4  # cells a series tries to change places with somebody in
MOST = 4  # times k: groups of so many take no more


class Leaves(NamedTuple):
    """Patterns: symbols and unit shape of each, its level, and the levels there are.

    cells[begin[f]:begin[f+1]]: the cells of leaf f by the mean of their groups, `mean`. table: leaves by the hash
    of pattern and level.
    """

    symbols: np.ndarray
    shape: np.ndarray
    level: np.ndarray
    present: np.ndarray
    cells: np.ndarray
    begin: np.ndarray
    mean: np.ndarray
    table: np.ndarray


class Places(NamedTuple):
    """Who is where, and the envelopes: `head[g]` and `after[r]` chain the series of a group."""

    cell: np.ndarray
    group_of: np.ndarray
    leaf_of: np.ndarray
    size: np.ndarray
    count: np.ndarray
    low: np.ndarray
    high: np.ndarray
    width: np.ndarray
    head: np.ndarray
    after: np.ndarray


@njit(cache=True, nogil=True)
def table_of(symbols, level):  # type: ignore[no-untyped-def]
    """Leaves by the hash of their pattern and level."""
    room = 4
    while room < 2 * len(level):
        room *= 2
    table = np.full(room, EMPTY, np.int64)
    for leaf in range(len(level)):
        slot = _slot(symbols[leaf], level[leaf], room)
        while table[slot] != EMPTY:
            slot = (slot + 1) & (room - 1)
        table[slot] = leaf
    return table


@njit(cache=True, nogil=True)
def chain_up(places):  # type: ignore[no-untyped-def]
    """Chain the series of each group, the first one first."""
    places.head[:] = EMPTY
    for row in range(len(places.cell) - 1, -1, -1):
        if places.cell[row] >= 0:
            g = places.group_of[places.cell[row]]
            places.after[row] = places.head[g]
            places.head[g] = row
    for g in range(len(places.width)):
        places.width[g] = _width(places.low[g], places.high[g])


@njit(cache=True, nogil=True)
def adopt(values, u, shapes, leaves, places, k, p, price, first, last):  # type: ignore[no-untyped-def]
    """Move series first to last - 1 where that lowers the value loss and no pattern loss rises; returns how many moved.

    A series in no cell joins the one it costs least in.
    """
    width = values.shape[1]
    low, high = np.empty(width), np.empty(width)
    symbols = np.empty(width, np.uint8)
    moved = 0
    for row in range(first, last):
        here = places.cell[row]
        gain = np.inf
        if here >= 0:
            g = places.group_of[here]
            if places.count[g] <= k or places.size[here] <= p:
                continue
            _without(values, row, places, g, low, high)
            n = places.count[g]
            gain = n * places.width[g] - (n - 1) * _width(low, high)
            gain += price * _distance(shapes[row], leaves.shape[places.leaf_of[here]])
        there = _best(values, u, shapes, leaves, places, row, symbols, gain, price, MOST * k)
        if there >= 0:
            if here >= 0:
                _leave(row, here, places, low, high)
            _enter(values, row, there, places)
            moved += 1
    return moved


@njit(cache=True, nogil=True)
def _best(values, u, shapes, leaves, places, row, symbols, gain, price, full):  # type: ignore[no-untyped-def]
    """The cell in which the series costs least and less than is gained, or -1."""
    best, least = -1, gain
    here = places.cell[row]
    home = places.group_of[here] if here >= 0 else -1
    mean = values[row].mean()
    for level in leaves.present:
        for t in range(len(symbols)):
            symbols[t] = min(np.int64(u[row, t] * level), level - 1)
        leaf = _find(leaves, symbols, level)
        if leaf < 0:
            continue
        pattern = price * _distance(shapes[row], leaves.shape[leaf])
        begin, end = _window(leaves, leaf, mean)
        for i in range(begin, end):
            g = places.group_of[leaves.cells[i]]
            if g == home or places.width[g] + pattern >= least or places.count[g] >= full:
                continue
            n = places.count[g]
            united = _width_with(places.low[g], places.high[g], values[row])
            cost = (n + 1) * united - n * places.width[g] + pattern
            if cost < least * (1 - 1e-9):
                best, least = leaves.cells[i], cost
    return best


@njit(cache=True, nogil=True)
def _leave(row, here, places, low, high):  # type: ignore[no-untyped-def]
    """Take a series out of its cell; its group then has this envelope."""
    g = places.group_of[here]
    places.size[here] -= 1
    places.count[g] -= 1
    places.low[g], places.high[g] = low, high
    places.width[g] = _width(low, high)
    if places.head[g] == row:
        places.head[g] = places.after[row]
        return
    before = places.head[g]
    while places.after[before] != row:
        before = places.after[before]
    places.after[before] = places.after[row]


@njit(cache=True, nogil=True)
def _enter(values, row, there, places):  # type: ignore[no-untyped-def]
    g = places.group_of[there]
    places.cell[row] = there
    places.size[there] += 1
    places.count[g] += 1
    for t in range(values.shape[1]):
        places.low[g, t] = min(places.low[g, t], values[row, t])
        places.high[g, t] = max(places.high[g, t], values[row, t])
    places.width[g] = _width(places.low[g], places.high[g])
    places.after[row] = places.head[g]
    places.head[g] = row


@njit(cache=True, nogil=True)
def exchange(values, u, shapes, leaves, places, price, first, last):  # type: ignore[no-untyped-def]
    """Let series first to last - 1 change places with others where that lowers the value loss; returns how many did.

    Each of the two takes a pattern that is its own, and their pattern losses together do not rise.
    """
    width = values.shape[1]
    low, high, symbols = np.empty(width), np.empty(width), np.empty(width, np.uint8)
    near, score = np.empty(TRIED, np.int64), np.empty(TRIED)
    done = 0
    for row in range(first, last):
        here = places.cell[row]
        if here < 0:
            continue
        g = places.group_of[here]
        _without(values, row, places, g, low, high)
        _nearest(values, u, leaves, places, row, symbols, near, score)
        other, gain = np.int64(-1), 1e-9 * places.count[g] * places.width[g]
        for there in near:
            if there >= 0:
                other, gain = _partner(
                    values, u, shapes, leaves, places, price, row, there, low, high, other, gain
                )
        if other >= 0:
            there = places.cell[other]
            _without(values, row, places, g, low, high)
            _leave(row, here, places, low, high)
            _without(values, other, places, places.group_of[there], low, high)
            _leave(other, there, places, low, high)
            _enter(values, row, there, places)
            _enter(values, other, here, places)
            done += 1
    return done


@njit(cache=True, nogil=True)
def _nearest(values, u, leaves, places, row, symbols, near, score):  # type: ignore[no-untyped-def]
    """Write the cells with a pattern of the series' own whose groups it would widen least."""
    near[:], score[:] = -1, np.inf
    home = places.group_of[places.cell[row]]
    mean = values[row].mean()
    for level in leaves.present:
        for t in range(len(symbols)):
            symbols[t] = min(np.int64(u[row, t] * level), level - 1)
        leaf = _find(leaves, symbols, level)
        if leaf < 0:
            continue
        begin, end = _window(leaves, leaf, mean)
        for i in range(begin, end):
            g = places.group_of[leaves.cells[i]]
            if g == home or places.count[g] == 0:
                continue
            grown = _width_with(places.low[g], places.high[g], values[row]) - places.width[g]
            grown *= places.count[g]
            if grown < score[-1]:
                at = len(near) - 1
                while at > 0 and grown < score[at - 1]:
                    near[at], score[at] = near[at - 1], score[at - 1]
                    at -= 1
                near[at], score[at] = leaves.cells[i], grown


@njit(cache=True, nogil=True)
def _partner(values, u, shapes, leaves, places, price, row, there, low, high, other, gain):  # type: ignore[no-untyped-def]
    """The series of a cell that gains most by changing places, if it gains more than `gain`."""
    here = places.cell[row]
    g, h = places.group_of[here], places.group_of[there]
    mine, theirs = places.leaf_of[here], places.leaf_of[there]
    width = values.shape[1]
    ends = np.empty((4, width))
    ends[0], ends[1], ends[2], ends[3] = np.inf, np.inf, -np.inf, -np.inf
    s = places.head[h]
    while s != EMPTY:
        for t in range(width):
            v = values[s, t]
            if v < ends[0, t]:
                ends[1, t] = ends[0, t]
                ends[0, t] = v
            elif v < ends[1, t]:
                ends[1, t] = v
            if v > ends[2, t]:
                ends[3, t] = ends[2, t]
                ends[2, t] = v
            elif v > ends[3, t]:
                ends[3, t] = v
        s = places.after[s]
    now = places.count[g] * places.width[g] + places.count[h] * places.width[h]
    now += price * (_distance(shapes[row], leaves.shape[mine]) - _distance(shapes[row], leaves.shape[theirs]))
    s = places.head[h]
    while s != EMPTY:
        if places.cell[s] == there:
            one, two = 0.0, 0.0
            for t in range(width):
                v, r = values[s, t], values[row, t]
                one += (max(high[t], v) - min(low[t], v)) ** 2
                bottom = ends[1, t] if v == ends[0, t] else ends[0, t]
                top = ends[3, t] if v == ends[2, t] else ends[2, t]
                two += (max(top, r) - min(bottom, r)) ** 2
            then = places.count[g] * np.sqrt(one / width) + places.count[h] * np.sqrt(two / width)
            if mine != theirs:
                then += price * _distance(shapes[s], leaves.shape[mine])
                then -= price * _distance(shapes[s], leaves.shape[theirs])
            if now - then > gain and (mine == theirs or _fits(u, leaves, s, mine)):
                other, gain = s, now - then
        s = places.after[s]
    return other, gain


@njit(cache=True, nogil=True)
def _fits(u, leaves, row, leaf):  # type: ignore[no-untyped-def]
    """Whether the pattern of a leaf is a series' own."""
    level = leaves.level[leaf]
    for t in range(u.shape[1]):
        if min(np.int64(u[row, t] * level), level - 1) != leaves.symbols[leaf, t]:
            return False
    return True


@njit(cache=True, nogil=True)
def _window(leaves, leaf, mean):  # type: ignore[no-untyped-def]
    """Which of a leaf's cells are looked at."""
    begin, end = leaves.begin[leaf], leaves.begin[leaf + 1]
    if end - begin > WINDOW:
        at = begin + np.searchsorted(leaves.mean[begin:end], mean)
        begin = max(begin, min(at - WINDOW // 2, end - WINDOW))
        end = begin + WINDOW
    return begin, end


@njit(cache=True, nogil=True)
def dissolve(values, u, shapes, leaves, places, k, price, groups):  # type: ignore[no-untyped-def]
    """Dissolve groups whose series all cost less elsewhere, in the order given; returns how many."""
    width = values.shape[1]
    symbols = np.empty(width, np.uint8)
    gone = 0
    for g in groups:
        if places.count[g] == 0 or places.count[g] > MOST * k or places.width[g] == 0:
            continue
        total = places.count[g] * places.width[g]
        rows = np.empty(places.count[g], np.int64)
        came = np.empty(places.count[g], np.int64)
        old = np.empty((2, places.count[g], width))
        number, row = 0, places.head[g]
        while row != EMPTY:
            rows[number] = row
            total += price * _distance(shapes[row], leaves.shape[places.leaf_of[places.cell[row]]])
            number += 1
            row = places.after[row]
        spent, placed = 0.0, 0
        while placed < number and spent < total:
            row = rows[placed]
            came[placed] = places.cell[row]
            there = _best(values, u, shapes, leaves, places, row, symbols, total - spent, price, MOST * k)
            if there < 0:
                break
            into = places.group_of[there]
            old[0, placed], old[1, placed] = places.low[into], places.high[into]
            before = places.count[into] * places.width[into]
            _enter(values, row, there, places)
            spent += places.count[into] * places.width[into] - before
            spent += price * _distance(shapes[row], leaves.shape[places.leaf_of[there]])
            placed += 1
        if placed == number and spent < total:
            places.count[g], places.head[g], places.width[g] = 0, EMPTY, np.inf
            for i in range(number):
                places.size[came[i]] = 0
            gone += 1
        else:
            _undo(rows, came, old, placed, places, g)
    return gone


@njit(cache=True, nogil=True)
def _undo(rows, came, old, placed, places, g):  # type: ignore[no-untyped-def]
    """Bring the first `placed` series back, the last one first."""
    for i in range(placed - 1, -1, -1):
        there = places.cell[rows[i]]
        into = places.group_of[there]
        places.size[there] -= 1
        places.count[into] -= 1
        places.head[into] = places.after[rows[i]]
        places.low[into], places.high[into] = old[0, i], old[1, i]
        places.width[into] = _width(places.low[into], places.high[into])
        places.cell[rows[i]] = came[i]
    for i in range(len(rows)):
        places.after[rows[i]] = rows[i + 1] if i + 1 < len(rows) else EMPTY
    places.head[g] = rows[0]


@njit(cache=True, nogil=True)
def _without(values, row, places, g, low, high):  # type: ignore[no-untyped-def]
    """Write the envelope of a group without one of its series."""
    low[:], high[:] = np.inf, -np.inf
    other = places.head[g]
    while other != EMPTY:
        if other != row:
            for t in range(len(low)):
                low[t] = min(low[t], values[other, t])
                high[t] = max(high[t], values[other, t])
        other = places.after[other]


@njit(cache=True, nogil=True)
def _find(leaves, symbols, level):  # type: ignore[no-untyped-def]
    """The leaf with this pattern and level, or -1."""
    room = len(leaves.table)
    slot = _slot(symbols, level, room)
    while leaves.table[slot] != EMPTY:
        leaf = leaves.table[slot]
        if leaves.level[leaf] == level and _equal(leaves.symbols[leaf], symbols):
            return leaf
        slot = (slot + 1) & (room - 1)
    return np.int64(-1)


@njit(cache=True, nogil=True)
def _slot(symbols, level, room):  # type: ignore[no-untyped-def]
    mixed = SEED + np.uint64(level)
    for t in range(len(symbols)):
        mixed = (mixed ^ np.uint64(symbols[t])) * PRIME
    mixed = (mixed ^ (mixed >> HALF)) * SEED
    return np.int64((mixed ^ (mixed >> HALF)) & np.uint64(room - 1))


@njit(cache=True, nogil=True)
def _equal(one, other):  # type: ignore[no-untyped-def]
    for t in range(len(one)):
        if one[t] != other[t]:
            return False
    return True


@njit(cache=True, nogil=True)
def _distance(one, other):  # type: ignore[no-untyped-def]
    """Half the squared distance of unit shapes; 1 where exactly one of them is zero."""
    total, mine, theirs = 0.0, False, False
    for t in range(len(one)):
        total += (one[t] - other[t]) ** 2
        mine |= one[t] != 0
        theirs |= other[t] != 0
    return 1.0 if mine != theirs else total / 2


@njit(cache=True, nogil=True)
def _width(low, high):  # type: ignore[no-untyped-def]
    total = 0.0
    for t in range(len(low)):
        total += (high[t] - low[t]) ** 2
    return np.sqrt(total / len(low))


@njit(cache=True, nogil=True)
def _width_with(low, high, value):  # type: ignore[no-untyped-def]
    total = 0.0
    for t in range(len(low)):
        total += (max(high[t], value[t]) - min(low[t], value[t])) ** 2
    return np.sqrt(total / len(low))
