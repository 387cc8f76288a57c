"""Frequent itemsets, depth first.

Both miners give one form, a tree of itemsets: node 0 is the empty set; the children of a node stand
together, from `first` on, `kids` of them, in the order of their items; a node's items are those on its way
from the root. A child has a higher number than its parent.

`mine_symbols` takes one symbol per instant: the rows of a node are counted by symbol at every later instant
and dealt out instant by instant, so its cost is the sum of all supports times the instants that are left.
`mine_baskets` takes sets of any items: after the first item the rows that have it are laid out as bits, and
every further count is a conjunction of words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic


@intrinsic
def ones_in(_: Any, __: Any) -> Any:
    """Number of bits that are set in a word of 64."""

    def emit(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        return builder.ctpop(given[0])

    return types.uint64(types.uint64), emit


@njit(cache=True, nogil=True)
def more_room(tree, most):  # type: ignore[no-untyped-def]
    """The same four columns with twice the room, at most `most`."""
    size = min(most, 2 * len(tree[0]))
    grown = (
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )
    for c in range(4):
        grown[c][: len(tree[c])] = tree[c]
    return grown


@njit(cache=True, nogil=True)
def new_tree(rows, most):  # type: ignore[no-untyped-def]
    """Room for item, support, first and kids, with the empty set in it."""
    size = min(most, 1024)
    tree = (
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )
    tree[0][0], tree[1][0], tree[2][0], tree[3][0] = -1, rows, 1, 0
    return tree


@njit(cache=True, nogil=True)
def mine_symbols(columns, kinds, least, longest, most):  # type: ignore[no-untyped-def]
    """Itemsets of at least `least` rows and at most `longest` items; item `j * kinds + s` is symbol s at j.

    `columns` has one row per instant. Returns item, support, first, kids, and whether `most` sufficed.
    """
    instants, n = columns.shape
    tree, count = new_tree(n, most), 1
    rows = np.empty((instants + 1, n), np.int32)
    for r in range(n):
        rows[0, r] = r
    here = np.zeros((instants + 1, 5), np.int64)  # node, begin, end, next child, instant dealt out
    here[0, 2] = n
    begins = np.zeros((instants + 1, kinds), np.int64)
    seen = np.empty(kinds, np.int64)
    depth, fresh = 0, True
    while depth >= 0:
        node, begin, end = here[depth, 0], here[depth, 1], here[depth, 2]
        if fresh:
            tree[2][node], tree[3][node] = count, 0
            since = tree[0][node] // kinds + 1 if node > 0 else 0
            for j in range(since if depth < longest else instants, instants):
                seen[:] = 0
                for r in range(begin, end):
                    seen[columns[j, rows[depth, r]]] += 1
                for s in range(kinds):
                    if seen[s] >= least:
                        if count == len(tree[0]):
                            if count == most:
                                return tree[0], tree[1], tree[2], tree[3], False
                            tree = more_room(tree, most)
                        tree[0][count], tree[1][count] = j * kinds + s, seen[s]
                        tree[2][count], tree[3][count] = 0, 0
                        count += 1
            tree[3][node] = count - tree[2][node]
            here[depth, 3], here[depth, 4], fresh = tree[2][node], -1, False
        child, stop = here[depth, 3], tree[2][node] + tree[3][node]
        if child == stop:
            depth -= 1
            continue
        j = tree[0][child] // kinds
        if here[depth, 4] != j:
            here[depth, 4] = j
            _deal(columns[j], rows, depth, (begin, end), tree, (child, stop), kinds, begins, seen)
        s = tree[0][child] - j * kinds
        here[depth, 3] = child + 1
        depth += 1
        here[depth, 0], here[depth, 1] = child, begins[depth - 1, s]
        here[depth, 2] = begins[depth - 1, s] + tree[1][child]
        fresh = True
    return tree[0][:count], tree[1][:count], tree[2][:count], tree[3][:count], True


@njit(cache=True, nogil=True)
def _deal(column, rows, depth, span, tree, children, kinds, begins, place):  # type: ignore[no-untyped-def]
    """Deal the rows of a node out to its children of one instant, in their order."""
    place[:] = -1
    total = 0
    j = tree[0][children[0]] // kinds
    for c in range(children[0], children[1]):
        if tree[0][c] // kinds != j:
            break
        s = tree[0][c] - j * kinds
        place[s], begins[depth, s] = total, total
        total += tree[1][c]
    for r in range(span[0], span[1]):
        row = rows[depth, r]
        s = column[row]
        if place[s] >= 0:
            rows[depth + 1, place[s]] = row
            place[s] += 1


@njit(cache=True, nogil=True)
def mine_baskets(starts, items, kinds, least, longest, most):  # type: ignore[no-untyped-def]
    """Itemsets of at least `least` baskets and at most `longest` items, of items numbered below `kinds`.

    Basket b holds `items[starts[b]:starts[b + 1]]`, ascending. Returns as `mine_symbols` does.
    """
    n = len(starts) - 1
    tree, count = new_tree(n, most), 1
    tree[2][0] = 1
    begins, holders, _ = holders_of(starts, items, kinds)
    for x in range(kinds if longest > 0 else 0):
        if begins[x + 1] - begins[x] >= least:
            if count == len(tree[0]):
                if count == most:
                    return tree[0], tree[1], tree[2], tree[3], False
                tree = more_room(tree, most)
            tree[0][count], tree[1][count], tree[2][count], tree[3][count] = (
                x,
                begins[x + 1] - begins[x],
                0,
                0,
            )
            count += 1
    tree[3][0] = count - 1
    for node in range(1, tree[3][0] + 1):
        x = tree[0][node]
        found, bits = _beside(starts, items, holders[begins[x] : begins[x + 1]], x, kinds, least)
        tree, count, enough = _mine_bits(tree, count, node, found, bits, least, longest, most)
        if not enough:
            return tree[0], tree[1], tree[2], tree[3], False
    return tree[0][:count], tree[1][:count], tree[2][:count], tree[3][:count], True


@njit(cache=True, nogil=True)
def holders_of(starts, items, kinds):  # type: ignore[no-untyped-def]
    """The baskets that hold each item."""
    begins = np.zeros(kinds + 1, np.int64)
    for x in items:
        begins[x + 1] += 1
    begins = np.cumsum(begins)
    place, holders = begins.copy(), np.empty(len(items), np.int64)
    for b in range(len(starts) - 1):
        for q in range(starts[b], starts[b + 1]):
            holders[place[items[q]]] = b
            place[items[q]] += 1
    return begins, holders, place


@njit(cache=True, nogil=True)
def _beside(starts, items, baskets, x, kinds, least):  # type: ignore[no-untyped-def]
    """The items after x that are frequent among some baskets, and for each of them these baskets as bits."""
    seen = np.zeros(kinds, np.int64)
    for b in baskets:
        for q in range(starts[b], starts[b + 1]):
            seen[items[q]] += 1
    found = np.flatnonzero(seen[x + 1 :] >= least) + x + 1
    place = np.full(kinds, -1, np.int64)
    place[found] = np.arange(len(found))
    bits = np.zeros((len(found), (len(baskets) + 63) // 64), np.uint64)
    for r in range(len(baskets)):
        bit = np.uint64(1) << np.uint64(r % 64)
        for q in range(starts[baskets[r]], starts[baskets[r] + 1]):
            if place[items[q]] >= 0:
                bits[place[items[q]], r // 64] |= bit
    return found, bits


@njit(cache=True, nogil=True)
def _mine_bits(tree, count, root, found, bits, least, longest, most):  # type: ignore[no-untyped-def]
    """All below one node of one item, whose frequent companions are `found`, with their baskets as bits."""
    tree[2][root], tree[3][root] = count, 0
    width = bits.shape[1]
    here = np.zeros(
        (len(found) + 2, 4), np.int64
    )  # node, begin and end of its companions on the shelf, next of them
    shelf = np.empty((max(2 * len(found), 1), width), np.uint64)
    names = np.empty(max(2 * len(found), 1), np.int64)
    shelf[: len(found)], names[: len(found)] = bits, found
    here[0, 0], here[0, 2] = root, len(found)
    depth, fresh = 0, True
    while depth >= 0:
        node, begin, end = here[depth, 0], here[depth, 1], here[depth, 2]
        if fresh:
            tree[2][node] = count
            tree[3][node] = end - begin if depth + 2 <= longest else 0
            for c in range(tree[3][node]):
                if count == len(tree[0]):
                    if count == most:
                        return tree, count, False
                    tree = more_room(tree, most)
                support = np.uint64(0)
                for w in range(width):
                    support += ones_in(shelf[begin + c, w])
                tree[0][count], tree[1][count], tree[2][count], tree[3][count] = (
                    names[begin + c],
                    support,
                    0,
                    0,
                )
                count += 1
            here[depth, 3], fresh = 0, False
        at = here[depth, 3]
        if at == tree[3][node]:
            depth -= 1
            continue
        here[depth, 3] = at + 1
        top = end
        for c in range(begin + at + 1, end):
            if top == len(names):
                names = np.concatenate((names, np.empty_like(names)))
                shelf = np.concatenate((shelf, np.empty_like(shelf)))
            support = np.uint64(0)
            for w in range(width):
                both = shelf[begin + at, w] & shelf[c, w]
                shelf[top, w] = both
                support += ones_in(both)
            if support >= least:
                names[top] = names[c]
                top += 1
        depth += 1
        here[depth, 0], here[depth, 1], here[depth, 2] = tree[2][node] + at, end, top
        fresh = True
    return tree, count, True
