"""Itemsets that can be looked up: children of a node by their items, and all sets in order of their items.

A family is a tree as `kernels.itemsets` makes it; item `j * kinds + s` stands at instant j.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.models.patterns.kernels.itemsets import ones_in

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
def places_of(kinds, items):  # type: ignore[no-untyped-def]
    """The word of each item, and its bit in it; no instant lies across two words."""
    words, bits, in_word = np.empty(items, np.int64), np.empty(items, np.uint64), 64 // kinds * kinds
    for x in range(items):
        words[x], bits[x] = x // in_word, ONE << np.uint64(x % in_word)
    return words, bits


@njit(cache=True, nogil=True)
def kid_table(item, first, kids, kinds, words):  # type: ignore[no-untyped-def]
    """For every node and word its children as bits, and before them the first of these children."""
    word_of, bit_of = places_of(kinds, words * (64 // kinds) * kinds)
    table = np.zeros((len(item), 2 * words), np.uint64)
    for v in range(len(item)):
        c, end = first[v], first[v] + kids[v]
        for w in range(words):
            table[v, 2 * w], bits = c, np.uint64(0)
            while c < end and word_of[item[c]] == w:
                bits |= bit_of[item[c]]
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
    nodes, alone = len(item), first[0] + kids[0]
    word_of, bit_of = places_of(kinds, table.shape[1] // 2 * (64 // kinds) * kinds)
    place, stack = np.empty(nodes, np.uint32), np.empty(nodes, np.uint32)
    head, rest, without = np.empty(nodes, np.int32), np.empty(nodes, np.uint32), np.zeros(nodes, np.uint32)
    stack[0], top, begin = 0, 1, -1
    for count in range(nodes):
        top -= 1
        v = np.int64(stack[top])
        if 0 < v < alone:
            begin = item[v]
        place[v], head[count], rest[count] = count, begin, without[v]
        for c in range(first[v] + kids[v] - 1, first[v] - 1, -1):
            if v > 0:
                without[c] = kid_at(table, without[v], word_of[item[c]], bit_of[item[c]] - ONE)
            stack[top] = c
            top += 1
    for count in range(nodes):
        rest[count] = place[rest[count]]
    return head, rest
