"""Small cells of many boxes of symbols, from the supports of a family of itemsets.

A cell is what rows can have of a box, one item or none of each instant. Boxes in order begin alike: the
sizes of the cells of what they begin with are kept, and with them the nodes of all ways to take at most one
item of each instant. With one more instant the supports of these ways and each of its symbols give the
cells that have this symbol; what is left of a cell has none of them.

Cost: the number of cells, times the instants of a box.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.kernels.itemset_lookup import ONE, room
from timeveil.kernels.itemsets import ones_in

TWO = np.uint64(2)


@njit(cache=True, nogil=True)
def _followed(table, support, ways, total, word, below, count, sizes):  # type: ignore[no-untyped-def]
    """The supports of all ways with each of some symbols, which are told by the bits below them."""
    here, kids_at = np.uint64(2 * word), np.uint64(2 * word + 1)
    for c in range(np.uint64(count)):
        mine, to = below[c], c * total
        for a in range(total):
            node = ways[a]
            sizes[to + a] = support[table[node, here] + ones_in(table[node, kids_at] & mine)]


@njit(cache=True, nogil=True)
def _widened(table, ways, total, word, below, count):  # type: ignore[no-untyped-def]
    """The nodes of these ways, after those of all ways with none of the symbols."""
    here, kids_at = np.uint64(2 * word), np.uint64(2 * word + 1)
    for a in range(total):
        ways[total + a] = ways[a]
    for c in range(np.uint64(count)):
        mine, to = below[c], (c + TWO) * total
        for a in range(total):
            node = ways[a]
            ways[to + a] = table[node, here] + ones_in(table[node, kids_at] & mine)


@njit(cache=True, nogil=True)
def _sum_up(sizes, widths, depth):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912
    """From supports to sizes of cells: none of an instant is all less each."""
    unit, end = ONE, np.uint64(len(sizes))
    for d in range(depth):
        width = np.uint64(widths[d])
        step = unit * (width + ONE)
        if d == 0 and width == ONE:
            for a in range(np.uint64(0), end, TWO):
                sizes[a] -= sizes[a + ONE]
        elif width == ONE:
            for high in range(np.uint64(0), end, step):
                for a in range(high, high + unit):
                    sizes[a] -= sizes[a + unit]
        elif width == TWO:
            for high in range(np.uint64(0), end, step):
                for a in range(high, high + unit):
                    sizes[a] -= sizes[a + unit] + sizes[a + unit + unit]
        else:
            for high in range(np.uint64(0), end, step):
                for a in range(high, high + unit):
                    for each in range(a + unit, a + step, unit):
                        sizes[a] -= sizes[each]
        unit = step


@njit(cache=True, nogil=True)
def _less_each(sizes, total, count):  # type: ignore[no-untyped-def]
    """What is left of the first cells beside those with each symbol, which come third and later."""
    if count == 1:
        for a in range(total):
            sizes[total + a] = sizes[a] - sizes[total + total + a]
        return
    for a in range(total):
        sizes[total + a] = sizes[a] - sizes[total + total + a] - sizes[total + total + total + a]
    for c in range(np.uint64(2), np.uint64(count)):
        to = (c + TWO) * total
        for a in range(total):
            sizes[total + a] -= sizes[to + a]


@njit(cache=True, nogil=True)
def _below(chosen, low, below):  # type: ignore[no-untyped-def]
    """For each chosen symbol all bits below it; returns how many there are."""
    count = 0
    while chosen:
        below[count] = (((chosen & (~chosen + ONE)) - ONE) << low) | ((ONE << low) - ONE)
        chosen &= chosen - ONE
        count += 1
    return count


@njit(cache=True, nogil=True)
def small_box_cells(table, support, kinds, instants, bounds, items, least, widest):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912, PLR0915
    """Cells of some boxes that hold more than none and fewer than `least`, or fewer than none.

    Returns the box of each, its size, and the bounds and items of what its rows have; and which boxes have
    more than `widest` cells and were not looked into. `table` is that of `kid_table`.
    """
    per_word, instant_of = 64 // kinds, np.arange(kinds * instants) // kinds
    word_of = np.arange(instants) // per_word
    low_of = (np.arange(instants) % per_word * kinds).astype(np.uint64)
    path, sets = np.full(instants + 1, -1, np.int64), np.zeros(instants + 1, np.uint64)
    widths, totals = np.zeros(instants + 1, np.int64), np.ones(instants + 2, np.int64)
    starts, below = np.zeros(instants + 2, np.int64), np.empty(kinds + 1, np.uint64)
    ways, sizes = np.zeros(1 << 12, np.uint32), np.empty(1 << 12, np.int32)
    sizes[0] = support[0]
    which, small, ends = np.empty(256, np.int64), np.empty(256, np.int64), np.zeros(257, np.int64)
    present, count, used = np.empty(1024, np.int64), 0, 0
    wide, wides, known = np.empty(64, np.int64), 0, 0
    for b in range(len(bounds) - 1):
        q, depth = bounds[b], 0
        while q < bounds[b + 1]:
            j, chosen, width = instant_of[items[q]], np.uint64(0), 0
            while q < bounds[b + 1] and instant_of[items[q]] == j:
                chosen |= ONE << np.uint64(items[q] - j * kinds)
                q, width = q + 1, width + 1
            if path[depth] != j or sets[depth] != chosen:
                path[depth], sets[depth], widths[depth] = j, chosen, width
                known = min(known, depth)
            totals[depth + 1] = min(totals[depth] * (width + 1), widest + 1)
            depth += 1
        if totals[depth] > widest:
            wide = room(wide, wides + 1)
            wide[wides] = b
            wides, known = wides + 1, 0
            continue
        for d in range(max(min(known, depth - 1), 0), depth):
            word, total = word_of[path[d]], totals[d]
            _below(sets[d], low_of[path[d]], below)
            starts[d + 1] = starts[d] + total
            if starts[d + 1] + totals[d + 1] > len(sizes):
                ways, sizes = (
                    room(ways, starts[d + 1] + totals[d + 1]),
                    room(sizes, starts[d + 1] + totals[d + 1]),
                )
            begin = starts[d + 1]
            end = begin + totals[d + 1]
            whole, each = np.uint64(total), sizes[begin + total : end]
            if d + 1 < depth:
                _widened(table, ways[starts[d] :], whole, word, below, widths[d])
                for a in range(begin + total, end):
                    sizes[a] = support[ways[a]]
            else:
                _followed(table, support, ways[starts[d] :], whole, word, below, widths[d], each)
            _sum_up(each, widths, d)
            _less_each(sizes[starts[d] :], whole, widths[d])
        known, begin, end = max(depth - 1, 0), starts[depth], starts[depth] + totals[depth]
        hits = 0
        for a in range(begin, end):
            hits += (sizes[a] != 0) & (sizes[a] < least)
        if hits == 0:
            continue
        which, small = room(which, count + hits), room(small, count + hits)
        ends, present = room(ends, count + hits + 1), room(present, used + hits * depth)
        for a in range(begin, end):
            if sizes[a] == 0 or sizes[a] >= least:
                continue
            which[count], small[count] = b, sizes[a]
            left, q = a - begin, bounds[b]
            for d in range(depth):
                digit = left % (widths[d] + 1)
                if digit:
                    present[used] = items[q + digit - 1]
                    used += 1
                left //= widths[d] + 1
                q += widths[d]
            count += 1
            ends[count] = used
    return which[:count], small[:count], ends[: count + 1], present[:used], wide[:wides]


@njit(cache=True, nogil=True)
def lacking(bounds, items, box, ends, present):  # type: ignore[no-untyped-def]
    """What the rows of some cells lack of the box of each: bounds and items."""
    starts = np.zeros(len(box) + 1, np.int64)
    for c in range(len(box)):
        starts[c + 1] = starts[c] + bounds[box[c] + 1] - bounds[box[c]] - (ends[c + 1] - ends[c])
    absent = np.empty(starts[-1], np.int64)
    for c in range(len(box)):
        to, at = starts[c], ends[c]
        for q in range(bounds[box[c]], bounds[box[c] + 1]):
            if at < ends[c + 1] and present[at] == items[q]:
                at += 1
            else:
                absent[to] = items[q]
                to += 1
    return starts, absent
