"""Sets of items as bits: who has them, which of them go together, and what virtual rows add to supports."""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.kernels.itemsets import ones_in


@njit(cache=True, nogil=True)
def as_bits(bounds, members, width):  # type: ignore[no-untyped-def]
    """Each set of numbers below 64 * `width` as a row of words."""
    bits = np.zeros((len(bounds) - 1, width), np.uint64)
    for r in range(len(bounds) - 1):
        for q in range(bounds[r], bounds[r + 1]):
            bits[r, members[q] // 64] |= np.uint64(1) << np.uint64(members[q] % 64)
    return bits


@njit(cache=True, nogil=True)
def first_fit(present, absent, conflicts, instant_of):  # type: ignore[no-untyped-def]
    """Merge channels in their order, each into the first it agrees with; returns the merger of each.

    Two agree when neither has what the other lacks and, where `conflicts` says so, they do not have two
    items of one instant.
    """
    count, width = present.shape
    have, lack = np.empty_like(present), np.empty_like(absent)
    merger, made = np.empty(count, np.int64), 0
    for c in range(count):
        home = -1
        for m in range(made):
            fits = True
            for w in range(width):
                if present[c, w] & lack[m, w] or absent[c, w] & have[m, w]:
                    fits = False
                    break
            if fits and conflicts and _clash(present[c], have[m], instant_of):
                fits = False
            if fits:
                home = m
                break
        if home < 0:
            home = made
            have[home], lack[home] = present[c], absent[c]
            made += 1
        else:
            for w in range(width):
                have[home, w] |= present[c, w]
                lack[home, w] |= absent[c, w]
        merger[c] = home
    return merger, have[:made].copy()


@njit(cache=True, nogil=True)
def _clash(one, other, instant_of):  # type: ignore[no-untyped-def]
    """Whether two sets of items have different items of one instant."""
    for w in range(len(one)):
        new = one[w] & ~other[w]
        while new:
            x = 64 * w + np.int64(ones_in((new & (~new + np.uint64(1))) - np.uint64(1)))
            new &= new - np.uint64(1)
            low = x
            while low > 0 and instant_of[low - 1] == instant_of[x]:
                low -= 1
            while low < len(instant_of) and instant_of[low] == instant_of[x]:
                if low != x and (other[low // 64] >> np.uint64(low % 64)) & np.uint64(1):
                    return True
                low += 1
    return False


@njit(cache=True, nogil=True)
def added_support(item, first, kids, holders, copies):  # type: ignore[no-untyped-def]
    """What rows add to the support of every node: the copies of all that have the node's items.

    `holders` has for each item the rows that have it, as bits.
    """
    width = holders.shape[1]
    added = np.zeros(len(item), np.int64)
    added[0] = copies.sum()
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
        total = 0
        for w in range(width):
            both = rows[top, w] & holders[item[c], w]
            rows[top + 1, w] = both
            while both:
                total += copies[64 * w + np.int64(ones_in((both & (~both + np.uint64(1))) - np.uint64(1)))]
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
