"""Series grouped by the symbols of their positions, any number of nodes at once.

A node is a run of `rows` between two `bounds`; `u` has one row of positions in (0, 1) per series, and the
symbol at level L is `floor(L * u)`. Symbols are hashed to find their like and compared one by one before
two series are put together, so no two patterns are ever taken for one.
"""

from __future__ import annotations

import numpy as np

from timeveil.compiling import kernel, part

EMPTY = -1
SEED = np.uint64(0x9E3779B97F4A7C15)
PRIME = np.uint64(0x100000001B3)
HALF = np.uint64(29)


def group_equal(
    u: np.ndarray, rows: np.ndarray, bounds: np.ndarray, level: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bring the series of each node together that have one pattern at the node's level.

    Returns the rows in their new order, the bounds of the children in it, and the node of each child.
    Children come in the order of their first series, and series keep their order in a child.
    """
    longest = int(np.diff(bounds).max(initial=0))
    desk = (
        np.empty((longest, u.shape[1]), np.uint8),
        *(np.empty(room, np.int64) for room in (_room(longest), longest, longest, longest + 1)),
    )
    order, ends, parent = (np.empty(len(rows), np.int64) for _ in range(3))
    made = number_equal(u, rows, bounds, level, desk, order, ends, parent)
    return order, np.concatenate([bounds[:1], ends[:made]]), parent[:made].copy()


def _room(number: int) -> int:
    """A power of two, twice the number or more."""
    return max(4, 1 << max(2 * number - 1, 0).bit_length())


@kernel
def number_equal(u, rows, bounds, level, desk, order, ends, parent):  # type: ignore[no-untyped-def]
    """Write the order of the rows, the ends of the children and their nodes; returns how many there are."""
    symbols, table, child, first, place = desk
    made = 0
    for node in range(len(bounds) - 1):
        begin, size = bounds[node], bounds[node + 1] - bounds[node]
        for i in range(size):
            row = rows[begin + i]
            for t in range(u.shape[1]):
                symbols[i, t] = min(np.int64(u[row, t] * level[node]), level[node] - 1)
        children = _number(symbols, size, table, child, first)
        for c in range(children + 1):
            place[c] = 0
        for i in range(size):
            place[child[i] + 1] += 1
        for c in range(children):
            place[c + 1] += place[c]
            ends[made + c] = begin + place[c + 1]
            parent[made + c] = node
        for i in range(size):
            order[begin + place[child[i]]] = rows[begin + i]
            place[child[i]] += 1
        made += children
    return made


@part
def _number(symbols, size, table, child, first):  # type: ignore[no-untyped-def]
    """Number the distinct rows of symbols[:size] as they come; returns how many there are."""
    room = np.int64(4)
    while room < 2 * size:
        room *= 2
    for free in range(room):
        table[free] = EMPTY
    mask = np.uint64(room - 1)
    found = 0
    for i in range(size):
        mixed = SEED
        for t in range(symbols.shape[1]):
            mixed = (mixed ^ np.uint64(symbols[i, t])) * PRIME
        mixed = (mixed ^ (mixed >> HALF)) * SEED
        slot = np.int64((mixed ^ (mixed >> HALF)) & mask)
        while table[slot] != EMPTY and not _same(symbols, i, first[table[slot]]):
            slot = (slot + 1) & (room - 1)
        if table[slot] == EMPTY:
            table[slot] = found
            first[found] = i
            found += 1
        child[i] = table[slot]
    return found


@part
def _same(symbols, one, other):  # type: ignore[no-untyped-def]
    for t in range(symbols.shape[1]):  # noqa: SIM110
        if symbols[one, t] != symbols[other, t]:
            return False
    return True


def highest_levels(
    u: np.ndarray, rows: np.ndarray, bounds: np.ndarray, least: np.ndarray, most: int
) -> np.ndarray:
    """The highest level, up to `most`, at which all series of a node agree; `least` where none above it does.

    Symbols rise with positions, so a node agrees where its lowest and highest position do.
    """
    levels = np.empty(len(bounds) - 1, np.uint8)
    write_levels(u, rows, bounds, least, most, np.empty(u.shape[1]), np.empty(u.shape[1]), levels)
    return levels


@kernel
def write_levels(u, rows, bounds, least, most, low, high, levels):  # type: ignore[no-untyped-def]
    """The same, with room for the lowest and highest positions of a node."""
    width = u.shape[1]
    for node in range(len(bounds) - 1):
        for t in range(width):
            low[t] = high[t] = u[rows[bounds[node]], t]
        for i in range(bounds[node] + 1, bounds[node + 1]):
            row = rows[i]
            for t in range(width):
                low[t] = min(low[t], u[row, t])
                high[t] = max(high[t], u[row, t])
        level = np.int64(most)
        while level > least[node] and not _agree(low, high, level):
            level -= 1
        levels[node] = level


@part
def _agree(low, high, level):  # type: ignore[no-untyped-def]
    for t in range(len(low)):
        if min(np.int64(low[t] * level), level - 1) != min(np.int64(high[t] * level), level - 1):
            return False
    return True
