"""Patterns that can be looked up: which leaf has the pattern a series has at some level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from timeveil.compiling import kernel, part
from timeveil.models.series.kernels.symbol_tree import EMPTY, HALF, PRIME, SEED


class Leaves(NamedTuple):
    """Patterns: symbols and unit shape of each, its level, and the levels there are.

    cells[begin[f]:begin[f+1]]: the cells of leaf f by the mean of their groups, `mean`. table: leaves by the
    hash of pattern and level. window: how many cells of a leaf are looked at, those whose groups are nearest
    to the series in mean.
    """

    symbols: np.ndarray
    shape: np.ndarray
    level: np.ndarray
    present: np.ndarray
    cells: np.ndarray
    begin: np.ndarray
    mean: np.ndarray
    table: np.ndarray
    window: int


def table_of(symbols: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Leaves by the hash of their pattern and level."""
    table = np.full(max(4, 1 << max(2 * len(level) - 1, 0).bit_length()), EMPTY, np.int64)
    fill_table(symbols, level, table)
    return table


@kernel
def fill_table(symbols, level, table):  # type: ignore[no-untyped-def]
    """Write every leaf into the first free slot from that of its hash on."""
    room = len(table)
    for leaf in range(len(level)):
        slot = _slot(symbols[leaf], level[leaf], room)
        while table[slot] != EMPTY:
            slot = (slot + 1) & (room - 1)
        table[slot] = leaf


@part
def find_leaf(leaves, symbols, level):  # type: ignore[no-untyped-def]
    """The leaf with this pattern and level, or -1."""
    room = len(leaves.table)
    slot = _slot(symbols, level, room)
    while leaves.table[slot] != EMPTY:
        leaf = leaves.table[slot]
        if leaves.level[leaf] == level and _equal(leaves.symbols[leaf], symbols):
            return leaf
        slot = (slot + 1) & (room - 1)
    return np.int64(-1)


@part
def fits(u, leaves, row, leaf):  # type: ignore[no-untyped-def]
    """Whether the pattern of a leaf is a series' own."""
    level = leaves.level[leaf]
    for t in range(u.shape[1]):
        if min(np.int64(u[row, t] * level), level - 1) != leaves.symbols[leaf, t]:
            return False
    return True


@part
def window_of(leaves, leaf, mean):  # type: ignore[no-untyped-def]
    """Which of a leaf's cells are looked at."""
    begin, end = leaves.begin[leaf], leaves.begin[leaf + 1]
    if end - begin > leaves.window:
        at, above = begin, end
        while at < above:
            middle = (at + above) // 2
            if leaves.mean[middle] < mean:
                at = middle + 1
            else:
                above = middle
        begin = max(begin, min(at - leaves.window // 2, end - leaves.window))
        end = begin + leaves.window
    return begin, end


@part
def _slot(symbols, level, room):  # type: ignore[no-untyped-def]
    mixed = SEED + np.uint64(level)
    for t in range(len(symbols)):
        mixed = (mixed ^ np.uint64(symbols[t])) * PRIME
    mixed = (mixed ^ (mixed >> HALF)) * SEED
    return np.int64((mixed ^ (mixed >> HALF)) & np.uint64(room - 1))


@part
def _equal(one, other):  # type: ignore[no-untyped-def]
    for t in range(len(one)):  # noqa: SIM110
        if one[t] != other[t]:
            return False
    return True
