"""Adoption: series moved one by one to cells whose pattern is their own, where the value loss falls.

A cell is a subgroup; the cells of a leaf have one level and one pattern. `u` and `values` have a row per series.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from timeveil.kernels.symbol_tree import EMPTY, HALF, PRIME, SEED

WINDOW = 32  # cells of a leaf that are looked at, those whose groups are nearest to the series in mean


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
def adopt(values, u, shapes, leaves, places, k, p, first, last):  # type: ignore[no-untyped-def]
    """Move series first to last - 1 where that lowers the value loss and no pattern loss rises; returns how many moved.

    A series in no cell joins the one it costs least in.
    """
    width = values.shape[1]
    low, high = np.empty(width), np.empty(width)
    symbols = np.empty(width, np.uint8)
    moved = 0
    for row in range(first, last):
        here = places.cell[row]
        gain, most = np.inf, np.inf
        if here >= 0:
            g = places.group_of[here]
            if places.count[g] <= k or places.size[here] <= p:
                continue
            _without(values, row, places, g, low, high)
            n = places.count[g]
            gain = n * places.width[g] - (n - 1) * _width(low, high)
            most = _distance(shapes[row], leaves.shape[places.leaf_of[here]])
        there = _best(values, u, shapes, leaves, places, row, symbols, gain, most)
        if there >= 0:
            _move(values, row, here, there, places, low, high)
            moved += 1
    return moved


@njit(cache=True, nogil=True)
def _best(values, u, shapes, leaves, places, row, symbols, gain, most):  # type: ignore[no-untyped-def]
    """The cell in which the series costs least and less than is gained, or -1."""
    best, least = -1, gain
    here = places.cell[row]
    home = places.group_of[here] if here >= 0 else -1
    mean = values[row].mean()
    for level in leaves.present:
        for t in range(len(symbols)):
            symbols[t] = min(np.int64(u[row, t] * level), level - 1)
        leaf = _find(leaves, symbols, level)
        if leaf < 0 or (here >= 0 and _distance(shapes[row], leaves.shape[leaf]) > most + 1e-12):
            continue
        begin, end = leaves.begin[leaf], leaves.begin[leaf + 1]
        if end - begin > WINDOW:
            at = begin + np.searchsorted(leaves.mean[begin:end], mean)
            begin = max(begin, min(at - WINDOW // 2, end - WINDOW))
            end = begin + WINDOW
        for i in range(begin, end):
            g = places.group_of[leaves.cells[i]]
            if g == home or places.width[g] >= least:
                continue
            n = places.count[g]
            cost = (n + 1) * _width_with(places.low[g], places.high[g], values[row]) - n * places.width[g]
            if cost < least * (1 - 1e-9):
                best, least = leaves.cells[i], cost
    return best


@njit(cache=True, nogil=True)
def _move(values, row, here, there, places, low, high):  # type: ignore[no-untyped-def]
    if here >= 0:
        g = places.group_of[here]
        places.size[here] -= 1
        places.count[g] -= 1
        places.low[g], places.high[g] = low, high
        places.width[g] = _width(low, high)
        if places.head[g] == row:
            places.head[g] = places.after[row]
        else:
            before = places.head[g]
            while places.after[before] != row:
                before = places.after[before]
            places.after[before] = places.after[row]
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
