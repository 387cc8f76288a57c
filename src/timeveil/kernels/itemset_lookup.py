"""Itemsets that can be looked up: children of a node by their items, and all sets in order of their items.

A family is a tree as `kernels.itemsets` makes it; item `j * kinds + s` stands at instant j.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.kernels.itemsets import ones_in

ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def room(shelf, needed):  # type: ignore[no-untyped-def]
    """The array, or a larger one that begins with it."""
    if needed <= len(shelf):
        return shelf
    larger = np.empty((max(needed, 2 * len(shelf)), *shelf.shape[1:]), shelf.dtype)
    larger[: len(shelf)] = shelf
    return larger


@njit(cache=True, nogil=True)
def lowest(some):  # type: ignore[no-untyped-def]
    """The place of the lowest bit that is set."""
    return np.int64(ones_in((some & (~some + ONE)) - ONE))


@njit(cache=True, nogil=True)
def kid_table(item, first, kids, kinds, words):  # type: ignore[no-untyped-def]
    """For every node and word its children as bits, and before them the first of these children.

    No instant lies across two words.
    """
    per_word = 64 // kinds
    table = np.zeros((len(item), 2 * words), np.uint64)
    for v in range(len(item)):
        c, end = first[v], first[v] + kids[v]
        for w in range(words):
            table[v, 2 * w], bits = c, np.uint64(0)
            while c < end and item[c] // kinds // per_word == w:
                bits |= ONE << np.uint64(item[c] - w * per_word * kinds)
                c += 1
            table[v, 2 * w + 1] = bits
    return table


@njit(cache=True, nogil=True)
def kid_at(table, node, word, below):  # type: ignore[no-untyped-def]
    """The child of a node, which must be there, by the word of its item and all bits below it."""
    return np.int64(table[node, 2 * word] + ones_in(table[node, 2 * word + 1] & below))


@njit(cache=True, nogil=True)
def as_sets(bits, kinds):  # type: ignore[no-untyped-def]
    """Sets of items that are given as bits, no instant across two words: bounds and items."""
    bounds, in_word = np.zeros(len(bits) + 1, np.int64), 64 // kinds * kinds
    for r in range(len(bits)):
        bounds[r + 1] = bounds[r]
        for w in range(bits.shape[1]):
            bounds[r + 1] += np.int64(ones_in(bits[r, w]))
    items, size = np.empty(bounds[-1], np.int64), np.uint64(0)
    for r in range(len(bits)):
        for w in range(bits.shape[1]):
            left = bits[r, w]
            while left:
                items[size] = w * in_word + lowest(left)
                size += ONE
                left &= left - ONE
    return bounds, items


@njit(cache=True, nogil=True)
def by_items(item, first, kids, table, kinds):  # type: ignore[no-untyped-def]
    """Itemsets sorted by their items: the first item of each, and the place of the rest without it."""
    nodes, per_word = len(item), 64 // kinds
    place, stack = np.empty(nodes, np.uint32), np.empty(nodes, np.uint32)
    stack[0], top, count = 0, 1, 0
    while top > 0:
        top -= 1
        v = stack[top]
        place[v] = count
        count += 1
        for c in range(first[v] + kids[v] - 1, first[v] - 1, -1):
            stack[top] = c
            top += 1
    begin, less = np.full(nodes, -1, np.int32), np.zeros(nodes, np.uint32)
    for v in range(nodes):
        for c in range(first[v], first[v] + kids[v]):
            begin[c] = item[c] if v == 0 else begin[v]
            j = item[c] // kinds
            below = (ONE << np.uint64((j % per_word) * kinds + item[c] % kinds)) - ONE
            less[c] = 0 if v == 0 else kid_at(table, less[v], j // per_word, below)
    head, rest = np.empty(nodes, np.int32), np.empty(nodes, np.uint32)
    for v in range(nodes):
        head[place[v]], rest[place[v]] = begin[v], place[less[v]]
    return head, rest
