"""Rows in blocks, blocks in groups, and everything that follows from it, kept up to date.

Of every group, per instant, the two lowest and two highest values are known, so that one member can be
thought away; of every block the sum of its shapes and the same four of its positions. State is always worked
out from the members, so nothing drifts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from timeveil.compiling import kernel, part
from timeveil.models.series.kernels.block_patterns import fit, true_choices


class Rows(NamedTuple):
    """The series: values, unit centred shapes, positions on the normal curve, and which are constant."""

    values: np.ndarray
    shapes: np.ndarray
    u: np.ndarray
    flat: np.ndarray


class Places(NamedTuple):
    """Who is where: members of blocks, blocks of groups, and how many of each."""

    block: np.ndarray
    members: np.ndarray
    size: np.ndarray
    group: np.ndarray
    blocks: np.ndarray
    held: np.ndarray
    counts: np.ndarray


class State(NamedTuple):
    """What follows from the places.

    reach: two lowest and two highest values of each group; wide: its width. spread: the same four of the
    positions of each block; sums: of its shapes; flats: its constant rows; bound: the least it can lose;
    lost: what it is taken to lose.
    """

    reach: np.ndarray
    wide: np.ndarray
    spread: np.ndarray
    sums: np.ndarray
    flats: np.ndarray
    bound: np.ndarray
    lost: np.ndarray


class Rules(NamedTuple):
    """How to judge.

    k, p: least sizes; unit: of width; weight: of shape; tries: how many candidates are scored exactly, 0 to
    score by the bound; level: the one level of patterns that need not be anybody's own, 0 for true ones;
    table: what a symbol stands for, by level and symbol.
    """

    k: int
    p: int
    unit: float
    weight: float
    tries: int
    level: int
    table: np.ndarray


def places_of(groups: np.ndarray, blocks: np.ndarray, came: np.ndarray, k: int, p: int) -> Places:
    """Rows that stand block by block, group by group, in their places."""
    size, count = np.diff(blocks), np.diff(groups)
    number = np.arange(len(size))
    block = np.repeat(number, size)
    members = np.full((len(size), max(2 * p, int(size.max()))), -1, np.int64)
    rows = np.arange(len(block))
    members[block, rows - blocks[block]] = rows
    held = np.bincount(came, minlength=len(count))
    listed = np.full((len(count), max(2 * k // p, int(held.max()))), -1, np.int64)
    listed[came, number - np.concatenate([[0], np.cumsum(held)])[came]] = number
    return Places(block, members, size, came.copy(), listed, held, count)


def state_of(places: Places, instants: int) -> State:
    """Room for what follows from the places."""
    blocks, groups = len(places.size), len(places.counts)
    return State(
        np.empty((groups, 4, instants)),
        np.empty(groups),
        np.empty((blocks, 4, instants)),
        np.empty((blocks, instants)),
        np.empty(blocks, np.int64),
        np.empty(blocks),
        np.empty(blocks),
    )


def desk_of(d: int, most: int) -> tuple[np.ndarray, ...]:
    """Room for one pattern: low, high, V, choices, levels, number, picked."""
    return (
        np.empty(d),
        np.empty(d),
        np.empty(d),
        np.empty((d, most)),
        np.empty((d, most), np.uint8),
        np.empty(d, np.int64),
        np.empty(d, np.int64),
    )


def refresh(rows: Rows, places: Places, state: State, rules: Rules, first: int, last: int) -> None:
    """Work out the state of groups [first, last) and of their blocks."""
    desk = desk_of(rows.values.shape[1], len(rules.table))
    refresh_all(rows, places, state, rules, desk, first, last)


@kernel
def refresh_all(rows, places, state, rules, desk, first, last):  # type: ignore[no-untyped-def]
    """The same at a given desk."""
    for g in range(first, last):
        refresh_group(rows.values, places, state.reach, state.wide, g)
        for i in range(places.held[g]):
            refresh_block(rows, places, state, rules, places.blocks[g, i], desk)


@kernel
def refresh_group(values, places, reach, wide, g):  # type: ignore[no-untyped-def]
    """The extremes and the width of a group, from its members."""
    four = reach[g]
    for j in range(four.shape[1]):
        four[0, j], four[1, j], four[2, j], four[3, j] = np.inf, np.inf, -np.inf, -np.inf
    for i in range(places.held[g]):
        b = places.blocks[g, i]
        for m in range(places.size[b]):
            _take(four, values[places.members[b, m]])
    square = 0.0
    for j in range(four.shape[1]):
        square += (four[3, j] - four[0, j]) ** 2
    wide[g] = np.sqrt(square / four.shape[1])


@part
def refresh_block(rows, places, state, rules, b, desk):  # type: ignore[no-untyped-def]
    """The sum, the extremes and the loss of a block, from its members."""
    spread, sums = state.spread[b], state.sums[b]
    for j in range(len(sums)):
        spread[0, j], spread[1, j], spread[2, j], spread[3, j] = np.inf, np.inf, -np.inf, -np.inf
        sums[j] = 0.0
    size, flats = places.size[b], np.int64(0)
    for m in range(size):
        r = places.members[b, m]
        _take(spread, rows.u[r])
        flats += rows.flat[r]
        for j in range(len(sums)):
            sums[j] += rows.shapes[r, j]
    state.flats[b] = flats
    norm = 0.0
    for j in range(len(sums)):
        norm += sums[j] * sums[j]
    state.bound[b] = size - max(np.sqrt(norm), flats)
    if rules.tries == 0:
        state.lost[b] = state.bound[b]
    else:
        for j in range(len(sums)):
            desk[0][j], desk[1][j], desk[2][j] = spread[0, j], spread[3, j], sums[j]
        state.lost[b] = block_loss(size, flats, rules.level, rules.table, desk)


@part
def block_loss(size, flats, level, table, desk):  # type: ignore[no-untyped-def]
    """What a block loses under its best pattern; low, high and V stand on the desk."""
    low, high, sums, choices, levels, number, picked = desk
    if level > 0:
        for j in range(len(low)):
            number[j] = level
            for symbol in range(level):
                choices[j, symbol] = table[level, symbol]
    else:
        true_choices(low, high, table, choices, levels, number)
    return size - max(fit(sums, choices, number, picked), flats)


def write_patterns(
    places: Places,
    state: State,
    rules: Rules,
    first: int,
    last: int,
    symbols: np.ndarray,
    levels: np.ndarray,
) -> None:
    """The best pattern of blocks [first, last): one symbol and one level per instant."""
    desk = desk_of(symbols.shape[1], len(rules.table))
    args = (places.size, state.spread, state.sums, state.flats)
    write_some(*args, rules.level, rules.table, first, last, symbols, levels, desk)


@kernel
def write_some(size, spread, sums, flats, one, table, first, last, symbols, levels, desk):  # type: ignore[no-untyped-def]
    """The same from what is needed for it; `one` is the one level of patterns that have one."""
    for b in range(first, last):
        for j in range(sums.shape[1]):
            desk[0][j], desk[1][j], desk[2][j] = spread[b, 0, j], spread[b, 3, j], sums[b, j]
        kept = size[b] - block_loss(size[b], flats[b], one, table, desk)
        flat = kept <= flats[b]
        for j in range(sums.shape[1]):
            at = desk[6][j]
            if flat:
                levels[b, j], symbols[b, j] = 1, 0
            elif one > 0:
                levels[b, j], symbols[b, j] = one, at
            else:
                levels[b, j] = desk[4][j, at]
                symbols[b, j] = int(levels[b, j] * desk[0][j])


@part
def _take(four, row):  # type: ignore[no-untyped-def]
    """One more row in the two lowest (0, 1) and the two highest (2, 3)."""
    for j in range(len(row)):
        v = row[j]
        four[1, j] = min(four[1, j], max(four[0, j], v))
        four[0, j] = min(four[0, j], v)
        four[2, j] = max(four[2, j], min(four[3, j], v))
        four[3, j] = max(four[3, j], v)
