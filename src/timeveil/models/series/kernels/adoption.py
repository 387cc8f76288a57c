"""Adoption: series moved one by one to cells whose pattern is their own, where the value loss falls.

A cell is a subgroup; the cells of a leaf have one level and one pattern. `u`, `values` and `shapes` have a
row per series.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from timeveil.compiling import kernel, part
from timeveil.models.series.kernels.group_formation import width_of
from timeveil.models.series.kernels.pattern_lookup import find_leaf, fits, window_of
from timeveil.models.series.kernels.similar_leaves import shape_distance
from timeveil.models.series.kernels.symbol_tree import EMPTY

TRIED = 4  # cells a series tries to change places with somebody in
MOST = 4  # times k: groups of so many take no more


class Places(NamedTuple):
    """Who is where, and the envelopes: `head[g]` and `after[r]` chain the series of a group."""

    cell: np.ndarray
    group_of: np.ndarray
    leaf_of: np.ndarray
    size: np.ndarray
    series: np.ndarray
    low: np.ndarray
    high: np.ndarray
    width: np.ndarray
    head: np.ndarray
    after: np.ndarray


class Desk(NamedTuple):
    """Room to work in: for an envelope, a pattern, the cells tried, and the series of a group."""

    low: np.ndarray
    high: np.ndarray
    symbols: np.ndarray
    near: np.ndarray
    score: np.ndarray
    ends: np.ndarray
    rows: np.ndarray
    came: np.ndarray
    old: np.ndarray


def desk_of(width: int, k: int) -> Desk:
    """Room for so many instants and groups that take more."""
    most = MOST * k
    return Desk(
        np.empty(width),
        np.empty(width),
        np.empty(width, np.uint8),
        np.empty(TRIED, np.int64),
        np.empty(TRIED),
        np.empty((4, width)),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty((2, most, width)),
    )


@kernel
def chain_up(places):  # type: ignore[no-untyped-def]
    """Chain the series of each group, the first one first."""
    for g in range(len(places.head)):
        places.head[g] = EMPTY
    for row in range(len(places.cell) - 1, -1, -1):
        if places.cell[row] >= 0:
            g = places.group_of[places.cell[row]]
            places.after[row] = places.head[g]
            places.head[g] = row
    for g in range(len(places.width)):
        places.width[g] = width_of(places.low[g], places.high[g])


@kernel
def adopt(values, u, shapes, leaves, places, desk, k, p, price, rows):  # type: ignore[no-untyped-def]
    """Move these series where that lowers value loss plus `price` times pattern loss; returns how many moved.

    No group falls below k and no cell below p. A series in no cell joins the one it costs least in.
    """
    low, high, symbols = desk.low, desk.high, desk.symbols
    moved = 0
    for i in range(len(rows)):
        row = rows[i]
        here = places.cell[row]
        gain = np.inf
        if here >= 0:
            g = places.group_of[here]
            if places.series[g] <= k or places.size[here] <= p:
                continue
            _without(values, row, places, g, low, high)
            n = places.series[g]
            gain = n * places.width[g] - (n - 1) * width_of(low, high)
            gain += price * shape_distance(shapes[row], leaves.shape[places.leaf_of[here]])
        there = _best(values, u, shapes, leaves, places, row, symbols, gain, price, MOST * k)
        if there >= 0:
            if here >= 0:
                _leave(row, here, places, low, high)
            _enter(values, row, there, places)
            moved += 1
    return moved


@part
def _best(values, u, shapes, leaves, places, row, symbols, gain, price, full):  # type: ignore[no-untyped-def]
    """The cell in which the series costs least and less than is gained, or -1."""
    best, least = -1, gain
    here = places.cell[row]
    home = places.group_of[here] if here >= 0 else -1
    mean = _mean(values[row])
    for level in leaves.present:
        for t in range(len(symbols)):
            symbols[t] = min(np.int64(u[row, t] * level), level - 1)
        leaf = find_leaf(leaves, symbols, level)
        if leaf < 0:
            continue
        pattern = price * shape_distance(shapes[row], leaves.shape[leaf])
        if pattern >= least:
            continue
        begin, end = window_of(leaves, leaf, mean)
        for i in range(begin, end):
            g = places.group_of[leaves.cells[i]]
            if g == home or places.width[g] + pattern >= least or places.series[g] >= full:
                continue
            n = places.series[g]
            united = _width_with(places.low[g], places.high[g], values[row])
            cost = (n + 1) * united - n * places.width[g] + pattern
            if cost < least * (1 - 1e-9):
                best, least = leaves.cells[i], cost
    return best


@part
def _leave(row, here, places, low, high):  # type: ignore[no-untyped-def]
    """Take a series out of its cell; its group then has this envelope."""
    g = places.group_of[here]
    places.size[here] -= 1
    places.series[g] -= 1
    for t in range(len(low)):
        places.low[g, t], places.high[g, t] = low[t], high[t]
    places.width[g] = width_of(low, high)
    if places.head[g] == row:
        places.head[g] = places.after[row]
        return
    before = places.head[g]
    while places.after[before] != row:
        before = places.after[before]
    places.after[before] = places.after[row]


@part
def _enter(values, row, there, places):  # type: ignore[no-untyped-def]
    g = places.group_of[there]
    places.cell[row] = there
    places.size[there] += 1
    places.series[g] += 1
    for t in range(values.shape[1]):
        places.low[g, t] = min(places.low[g, t], values[row, t])
        places.high[g, t] = max(places.high[g, t], values[row, t])
    places.width[g] = width_of(places.low[g], places.high[g])
    places.after[row] = places.head[g]
    places.head[g] = row


@kernel
def exchange(values, u, shapes, leaves, places, desk, price, rows):  # type: ignore[no-untyped-def]
    """Let these series change places with others where that lowers the same sum; returns how many did.

    Each of the two takes a pattern that is its own.
    """
    low, high = desk.low, desk.high
    done = 0
    for i in range(len(rows)):
        row = rows[i]
        here = places.cell[row]
        if here < 0:
            continue
        g = places.group_of[here]
        _without(values, row, places, g, low, high)
        _nearest(values, u, shapes, leaves, places, price, row, desk)
        other, gain = np.int64(-1), 1e-9 * places.series[g] * places.width[g]
        for place in range(TRIED):
            there = desk.near[place]
            if there >= 0:
                other, gain = _partner(
                    values, u, shapes, leaves, places, price, row, there, desk, other, gain
                )
        if other >= 0:
            there = places.cell[other]
            for turn in range(4):
                one, cell = (row, here) if turn % 2 == 0 else (other, there)
                if turn < 2:
                    _without(values, one, places, places.group_of[cell], low, high)
                    _leave(one, cell, places, low, high)
                else:
                    _enter(values, row + other - one, cell, places)
            done += 1
    return done


@part
def _nearest(values, u, shapes, leaves, places, price, row, desk):  # type: ignore[no-untyped-def]
    """Write the cells with a pattern of the series' own whose groups it would widen least."""
    symbols, near, score = desk.symbols, desk.near, desk.score
    for place in range(TRIED):
        near[place], score[place] = -1, np.inf
    here = places.cell[row]
    home = places.group_of[here]
    most = places.series[home] * places.width[home]
    most += price * shape_distance(shapes[row], leaves.shape[places.leaf_of[here]])
    mean = _mean(values[row])
    for level in leaves.present:
        for t in range(len(symbols)):
            symbols[t] = min(np.int64(u[row, t] * level), level - 1)
        leaf = find_leaf(leaves, symbols, level)
        if leaf < 0 or price * shape_distance(shapes[row], leaves.shape[leaf]) > most:
            continue
        begin, end = window_of(leaves, leaf, mean)
        for i in range(begin, end):
            g = places.group_of[leaves.cells[i]]
            if g == home or places.series[g] == 0:
                continue
            grown = _width_with(places.low[g], places.high[g], values[row]) - places.width[g]
            grown *= places.series[g]
            if grown < score[TRIED - 1]:
                at = TRIED - 1
                while at > 0 and grown < score[at - 1]:
                    near[at], score[at] = near[at - 1], score[at - 1]
                    at -= 1
                near[at], score[at] = leaves.cells[i], grown


@part
def _partner(values, u, shapes, leaves, places, price, row, there, desk, other, gain):  # type: ignore[no-untyped-def]
    """The series of a cell that gains most by changing places, if it gains more than `gain`."""
    here = places.cell[row]
    g, h = places.group_of[here], places.group_of[there]
    mine, theirs = places.leaf_of[here], places.leaf_of[there]
    width = values.shape[1]
    low, high, ends = desk.low, desk.high, desk.ends
    _ends(values, places, h, ends)
    now = places.series[g] * places.width[g] + places.series[h] * places.width[h]
    now += price * (
        shape_distance(shapes[row], leaves.shape[mine]) - shape_distance(shapes[row], leaves.shape[theirs])
    )
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
            then = places.series[g] * np.sqrt(one / width) + places.series[h] * np.sqrt(two / width)
            if mine != theirs:
                then += price * shape_distance(shapes[s], leaves.shape[mine])
                then -= price * shape_distance(shapes[s], leaves.shape[theirs])
            if now - then > gain and (mine == theirs or fits(u, leaves, s, mine)):
                other, gain = s, now - then
        s = places.after[s]
    return other, gain


@part
def _ends(values, places, h, ends):  # type: ignore[no-untyped-def]
    """Write the two lowest and the two highest values of a group."""
    for t in range(values.shape[1]):
        ends[0, t], ends[1, t], ends[2, t], ends[3, t] = np.inf, np.inf, -np.inf, -np.inf
    s = places.head[h]
    while s != EMPTY:
        for t in range(values.shape[1]):
            v = values[s, t]
            ends[1, t] = min(ends[1, t], max(ends[0, t], v))
            ends[0, t] = min(ends[0, t], v)
            ends[3, t] = max(ends[3, t], min(ends[2, t], v))
            ends[2, t] = max(ends[2, t], v)
        s = places.after[s]


@kernel
def dissolve(values, u, shapes, leaves, places, desk, k, price, groups):  # type: ignore[no-untyped-def]
    """Dissolve groups whose series all cost less elsewhere, in the order given; returns how many."""
    rows, came, old = desk.rows, desk.came, desk.old
    gone = 0
    for i in range(len(groups)):
        g = groups[i]
        if places.series[g] == 0 or places.series[g] > MOST * k or places.width[g] == 0:
            continue
        total = places.series[g] * places.width[g]
        number, row = 0, places.head[g]
        while row != EMPTY:
            rows[number] = row
            total += price * shape_distance(shapes[row], leaves.shape[places.leaf_of[places.cell[row]]])
            number += 1
            row = places.after[row]
        spent, placed = 0.0, 0
        while placed < number and spent < total:
            row = rows[placed]
            came[placed] = places.cell[row]
            there = _best(
                values, u, shapes, leaves, places, row, desk.symbols, total - spent, price, MOST * k
            )
            if there < 0:
                break
            into = places.group_of[there]
            for t in range(values.shape[1]):
                old[0, placed, t], old[1, placed, t] = places.low[into, t], places.high[into, t]
            before = places.series[into] * places.width[into]
            _enter(values, row, there, places)
            spent += places.series[into] * places.width[into] - before
            spent += price * shape_distance(shapes[row], leaves.shape[places.leaf_of[there]])
            placed += 1
        if placed == number and spent < total:
            places.series[g], places.head[g], places.width[g] = 0, EMPTY, np.inf
            for at in range(number):
                places.size[came[at]] = 0
            gone += 1
        else:
            _undo(rows, came, old, placed, number, places, g)
    return gone


@part
def _undo(rows, came, old, placed, number, places, g):  # type: ignore[no-untyped-def]
    """Bring the first `placed` series back, the last one first."""
    for i in range(placed - 1, -1, -1):
        there = places.cell[rows[i]]
        into = places.group_of[there]
        places.size[there] -= 1
        places.series[into] -= 1
        places.head[into] = places.after[rows[i]]
        for t in range(old.shape[2]):
            places.low[into, t], places.high[into, t] = old[0, i, t], old[1, i, t]
        places.width[into] = width_of(places.low[into], places.high[into])
        places.cell[rows[i]] = came[i]
    for i in range(number):
        places.after[rows[i]] = rows[i + 1] if i + 1 < number else EMPTY
    places.head[g] = rows[0]


@part
def _without(values, row, places, g, low, high):  # type: ignore[no-untyped-def]
    """Write the envelope of a group without one of its series."""
    for t in range(len(low)):
        low[t], high[t] = np.inf, -np.inf
    other = places.head[g]
    while other != EMPTY:
        if other != row:
            for t in range(len(low)):
                low[t] = min(low[t], values[other, t])
                high[t] = max(high[t], values[other, t])
        other = places.after[other]


@part
def _width_with(low, high, value):  # type: ignore[no-untyped-def]
    total = 0.0
    for t in range(len(low)):
        total += (max(high[t], value[t]) - min(low[t], value[t])) ** 2
    return np.sqrt(total / len(low))


@part
def _mean(value):  # type: ignore[no-untyped-def]
    total = 0.0
    for t in range(len(value)):
        total += value[t]
    return total / len(value)
