"""Sets of items as bits: who has them, which of them go together, and what virtual rows add to supports."""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.kernels.itemsets import ones_in

ALL = ~np.uint64(0)


@njit(cache=True, nogil=True)
def as_bits(bounds, members, width):  # type: ignore[no-untyped-def]
    """Each set of numbers below 64 * `width` as a row of words."""
    bits = np.zeros((len(bounds) - 1, width), np.uint64)
    for r in range(len(bounds) - 1):
        for q in range(bounds[r], bounds[r + 1]):
            bits[r, members[q] // 64] |= np.uint64(1) << np.uint64(members[q] % 64)
    return bits


@njit(cache=True, nogil=True)
def first_fit(bounds, present, lacks, absent, items, kinds, instant_of):  # type: ignore[no-untyped-def]
    """Merge channels in their order, each into the first it agrees with; what each merger has and lacks.

    Two agree when neither has what the other lacks and, where an instant has several `kinds` of items, they
    do not have two items of one instant, nor lack all of an instant together. For each item the mergers that
    have it, lack it or cannot have it are bits, so that 64 of them are asked at once. Items stand in order.
    """
    instants, made, width = instant_of.max() + 1 if items else 1, 0, 1
    begins = np.searchsorted(instant_of, np.arange(instants + 1))
    having, lacking, barred = np.zeros((3, items, width), np.uint64)
    for c in range(len(bounds) - 1):
        home = np.int64(made)
        has, misses = present[bounds[c] : bounds[c + 1]], absent[lacks[c] : lacks[c + 1]]
        for w in range((made + 63) // 64):
            free = _free(misses, having, w, _free(has, barred, w, ALL))
            if kinds > 1 and free:
                free &= ~_nothing_left(misses, w, lacking, free, begins, kinds, instant_of)
            if free:
                home = 64 * w + np.int64(ones_in((free & (~free + np.uint64(1))) - np.uint64(1)))
                break
        if home >= made:
            home = np.int64(made)
            made += 1
            if made > 64 * width:
                having, lacking, barred = _wider(having), _wider(lacking), _wider(barred)
                width *= 2
        place, bit = home // 64, np.uint64(1) << np.uint64(home % 64)
        for x in has:
            having[x, place] |= bit
            for other in range(begins[instant_of[x]], begins[instant_of[x] + 1] if kinds > 1 else 0):
                if other != x:
                    barred[other, place] |= bit
        for x in misses:
            lacking[x, place] |= bit
            barred[x, place] |= bit
    return having, lacking, made


@njit(cache=True, nogil=True)
def _free(some, against, w, free):  # type: ignore[no-untyped-def]
    """Of one word of mergers those that no item is against."""
    for x in some:
        free &= ~against[x, w]
        if free == 0:
            break
    return free


@njit(cache=True, nogil=True)
def _nothing_left(absent, w, lacking, asked, begins, kinds, instant_of):  # type: ignore[no-untyped-def]
    """Of the mergers asked for those that lack all items of an instant but some that are absent anyway."""
    found, q = np.uint64(0), 0
    while q < len(absent):
        instant = instant_of[absent[q]]
        lack_all = asked if begins[instant + 1] - begins[instant] == kinds else np.uint64(0)
        for x in range(begins[instant], begins[instant + 1]):
            if q < len(absent) and absent[q] == x:
                q += 1
            elif lack_all:
                lack_all &= lacking[x, w]
        found |= lack_all
    return found


@njit(cache=True, nogil=True)
def _wider(bits):  # type: ignore[no-untyped-def]
    larger = np.zeros((bits.shape[0], 2 * bits.shape[1]), np.uint64)
    larger[:, : bits.shape[1]] = bits
    return larger


@njit(cache=True, nogil=True)
def together(item, first, kids, weight, items):  # type: ignore[no-untyped-def]
    """For every two items the weight of all sets of a tree that have both; of an item with itself, of it.

    What lies below a node has all that the node has.
    """
    found = np.zeros((items, items), np.int64)
    below = weight.copy()
    for v in range(len(item) - 1, -1, -1):
        for c in range(first[v], first[v] + kids[v]):
            below[v] += below[c]
    path, turn, top = np.empty(items + 1, np.int64), np.empty(items + 1, np.int64), 0
    path[0], turn[0] = 0, first[0]
    while top >= 0:
        v, c = path[top], turn[top]
        if c == first[v] + kids[v]:
            top -= 1
            continue
        turn[top] = c + 1
        x = item[c]
        found[x, x] += below[c]
        for a in range(1, top + 1):
            found[x, item[path[a]]] += below[c]
        if kids[c]:
            top += 1
            path[top], turn[top] = c, first[c]
    for x in range(items):
        for y in range(x):
            found[y, x] = found[x, y]
    return found


@njit(cache=True, nogil=True)
def cheapest(asked, costs, place, kinds):  # type: ignore[no-untyped-def]
    """A row for each line of `asked`, one item of every instant: the one that is asked for, 1, or not -1.

    `place` says where the costs of an item stand. Instant by instant the item that costs least beside those
    of the row so far, then by itself.
    """
    instants = asked.shape[1] // kinds
    found = np.full((len(asked), instants), -1, np.int64)
    for v in range(len(asked)):
        for x in range(asked.shape[1]):
            if asked[v, x] > 0:
                found[v, x // kinds] = x
        for j in range(instants):
            if found[v, j] >= 0:
                continue
            best, least, alone = -1, np.int64(0), np.int64(0)
            for x in range(j * kinds, (j + 1) * kinds):
                if asked[v, x] < 0:
                    continue
                at, cost = place[x], np.int64(0)
                own = costs[at, at]
                for other in found[v]:
                    if other >= 0:
                        cost += costs[at, place[other]]
                if best < 0 or cost < least or (cost == least and own < alone):
                    best, least, alone = x, cost, own
            found[v, j] = best
    return found


@njit(cache=True, nogil=True)
def added_support(item, first, kids, holders, copies):  # type: ignore[no-untyped-def]
    """What rows add to the support of every node: the copies of all that have the node's items.

    `holders` has for each item the rows that have it, as bits.
    """
    width = holders.shape[1]
    added = np.zeros(len(item), np.int64)
    added[0] = copies.sum()
    alike = (copies == copies[0]).all()
    longest, depth = 1, np.zeros(len(item), np.int64)
    for v in range(len(item)):
        for c in range(first[v], first[v] + kids[v]):
            depth[c] = depth[v] + 1
            longest = max(longest, depth[c] + 1)
    rows = np.zeros((longest, width), np.uint64)
    rows[0, :] = ~np.uint64(0)
    for r in range(len(copies), 64 * width):
        rows[0, r // 64] &= ~(np.uint64(1) << np.uint64(r % 64))
    path, top = np.empty(longest, np.int64), 0
    path[0], turn = 0, np.zeros(longest, np.int64)
    while top >= 0:
        v = path[top]
        if turn[top] == kids[v]:
            top -= 1
            continue
        c = first[v] + turn[top]
        turn[top] += 1
        total = np.int64(0)
        for w in range(width):
            both = rows[top, w] & holders[item[c], w]
            rows[top + 1, w] = both
            total += np.int64(ones_in(both))
        if alike:
            total *= copies[0]
        elif total:
            total = np.int64(0)
            for w in range(width):
                both = rows[top + 1, w]
                while both:
                    total += copies[
                        64 * w + np.int64(ones_in((both & (~both + np.uint64(1))) - np.uint64(1)))
                    ]
                    both &= both - np.uint64(1)
        added[c] = total
        if total and kids[c]:
            top += 1
            path[top], turn[top] = c, 0
    return added


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
