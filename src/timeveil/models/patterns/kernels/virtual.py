"""Sets of items as bits: who has them, what virtual rows cost, and what they add to supports."""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.models.patterns.kernels.itemset_lookup import ONE, lowest
from timeveil.models.patterns.kernels.itemsets import holders_of, ones_in

WHOLE = 1 << 32


@njit(cache=True, nogil=True)
def as_bits(bounds, members, width):  # type: ignore[no-untyped-def]
    """Each set of numbers below 64 * `width` as a row of words."""
    bits = np.zeros((len(bounds) - 1, width), np.uint64)
    for r in range(len(bounds) - 1):
        for q in range(bounds[r], bounds[r + 1]):
            bits[r, members[q] // 64] |= np.uint64(1) << np.uint64(members[q] % 64)
    return bits


@njit(cache=True, nogil=True)
def together(item, support, first, kids, place, known, longest):  # type: ignore[no-untyped-def]
    """For every two of `known` items what one more costs all sets of a tree that have both.

    Of an item with itself, all that have it. One more in a count of n costs 1/n, told in whole numbers;
    `place` says where the costs of an item stand. What lies below a node has all that the node has: costs are
    kept by item for what is above a node until all below it is seen.
    """
    found = np.zeros((known + 1, known + 1), np.int64)
    costs, total = np.zeros((longest + 3, known + 1), np.int64), np.zeros(longest + 2, np.int64)
    path, turn, own = np.zeros((3, longest + 2), np.int64)
    top, turn[0], own[0] = 0, first[0], known  # what any set has stands beside the root
    deep = np.zeros(longest + 2, np.bool_)
    while top >= 0:
        v, x, sum_of = path[top], own[top], total[top]
        c, end = turn[top], first[v] + kids[v]
        while c < end and kids[c] == 0:
            cost, y = _one_more(support[c]), place[item[c]]
            found[x, y] += cost
            costs[top, y] += cost
            sum_of += cost
            c += 1
        turn[top], total[top] = c + 1, sum_of
        if c < end:
            deep[top] = True
            top += 1
            path[top], turn[top], own[top], deep[top] = c, first[c], place[item[c]], False
            total[top] = _one_more(support[c])
            continue
        if deep[top]:
            above, below = np.uint64(top), np.uint64(top + 1)
            for later in range(x + 1 if top else 0, known):
                y = np.uint64(later)
                found[x, y] += costs[below, y]
                costs[above, y] += costs[below, y]
                costs[below, y] = 0
        top -= 1
        if top >= 0:
            found[own[top], x] += sum_of
            costs[top, x] += sum_of
            total[top] += sum_of
    for x in range(known):
        found[x, x], found[known, x] = found[known, x], 0
        for y in range(x):
            found[x, y] = found[y, x]
    return found


@njit(cache=True, nogil=True)
def _one_more(count):  # type: ignore[no-untyped-def]
    """WHOLE // count: what is not whole lies too far below the next whole number to be rounded to it."""
    return np.int64(WHOLE / max(count, 1))


@njit(cache=True, nogil=True)
def cheapest(have, lack, word_of, bit_of, costs, place, kinds):  # type: ignore[no-untyped-def]
    """A row for each merger, one item of every instant: the one that it has, or one that it does not lack.

    What it has and lacks are bits. `place` says where the costs of an item stand. Instant by instant the item
    that costs least beside those of the row so far, then by itself; among equals the first.
    """
    instants = len(word_of) // kinds
    found, cost = np.full((len(have), instants), -1, np.int64), np.empty(len(costs), np.int64)
    for v in range(len(have)):
        cost[:] = 0
        for x in range(len(word_of)):
            if have[v, word_of[x]] & bit_of[x]:
                found[v, x // kinds] = x
                cost += costs[place[x]]
        for j in range(instants):
            if found[v, j] >= 0:
                continue
            best, least = -1, (np.int64(0), np.int64(0))
            for x in range(j * kinds, (j + 1) * kinds):
                if lack[v, word_of[x]] & bit_of[x]:
                    continue
                at = place[x]
                here = cost[at], costs[at, at]
                if best < 0 or here < least:
                    best, least = x, here
            found[v, j] = best
            cost += costs[place[best]]
    return found


@njit(cache=True, nogil=True)
def added_support(item, first, kids, bounds, members, items, copies):  # type: ignore[no-untyped-def]
    """What rows add to the support of every node: the copies of all that have the node's items.

    Below each single item only the rows that have it are asked, as bits.
    """
    begins, holders, _ = holders_of(bounds, members, items)
    width, longest = -(-np.diff(begins).max() // 64), np.diff(bounds).max()
    bits, rows = np.zeros((items, width), np.uint64), np.zeros((longest + 1, width), np.uint64)
    added = np.zeros(len(item), np.int64)
    added[0] = copies.sum()
    for node in range(first[0], first[0] + kids[0]):
        mine = holders[begins[item[node]] : begins[item[node] + 1]]
        added[node] = copies[mine].sum()
        if added[node] == 0 or kids[node] == 0:
            continue
        rows[0] = 0
        for r in range(len(mine)):
            bit = ONE << np.uint64(r % 64)
            rows[0, r // 64] |= bit
            for q in range(bounds[mine[r]], bounds[mine[r] + 1]):
                bits[members[q], r // 64] |= bit
        _add_below(node, item, first, kids, bits, rows, copies[mine], added)
        for r in mine:
            for q in range(bounds[r], bounds[r + 1]):
                bits[members[q]] = 0
    return added


@njit(cache=True, nogil=True)
def _add_below(node, item, first, kids, bits, rows, copies, added):  # type: ignore[no-untyped-def]
    """The same below one node; `bits` has for each item those of its rows that have it."""
    width, alike = -(-len(copies) // 64), (copies == copies[0]).all()
    path, turn, top = np.empty(len(rows), np.int64), np.zeros(len(rows), np.int64), 0
    path[0], turn[0] = node, first[node]
    while top >= 0:
        v, c = path[top], turn[top]
        if c == first[v] + kids[v]:
            top -= 1
            continue
        turn[top] = c + 1
        some, x = np.uint64(0), item[c]
        for place in range(width):
            w = np.uint64(place)
            both = rows[top, w] & bits[x, w]
            rows[top + 1, w] = both
            some += ones_in(both)
        if some == 0:
            continue
        added[c] = np.int64(some) * copies[0] if alike else _copies_of(rows[top + 1], width, copies)
        if kids[c]:
            top += 1
            path[top], turn[top] = c, first[c]


@njit(cache=True, nogil=True)
def _copies_of(row, width, copies):  # type: ignore[no-untyped-def]
    """The copies of all that are bits of a row."""
    total = np.int64(0)
    for w in range(width):
        left = row[w]
        while left:
            total += copies[64 * w + lowest(left)]
            left &= left - ONE
    return total


@njit(cache=True, nogil=True)
def rows_of_cells(holders, rows, bounds, present, lacks, missing):  # type: ignore[no-untyped-def]
    """The rows that lie in any of some cells, and for each cell the first row in it.

    A row lies in a cell when it has all of its present items and none of its missing ones.
    """
    cells, width = len(bounds) - 1, holders.shape[1]
    any_of, first_row = np.zeros(rows, np.bool_), np.full(cells, -1, np.int64)
    for c in range(cells):
        for w in range(width):
            word = ~np.uint64(0)
            for q in range(bounds[c], bounds[c + 1]):
                word &= holders[present[q], w]
            for q in range(lacks[c], lacks[c + 1]):
                word &= ~holders[missing[q], w]
            while word:
                r = 64 * w + np.int64(ones_in((word & (~word + np.uint64(1))) - np.uint64(1)))
                word &= word - np.uint64(1)
                if r < rows:
                    any_of[r] = True
                    if first_row[c] < 0:
                        first_row[c] = r
    return any_of, first_row
