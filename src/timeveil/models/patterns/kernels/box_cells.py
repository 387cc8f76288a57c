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

from timeveil.models.patterns.kernels.itemset_lookup import ONE, lowest, room
from timeveil.models.patterns.kernels.itemsets import ones_in

TWO = np.uint64(2)


@njit(inline="always")
def _followed(table, support, ways, begin, total, word, below, to, kept, width, sizes):  # type: ignore[no-untyped-def]
    """The supports of some ways with one more symbol, which is told by the bits below it.

    Of the first instant, none is all less each of its `width` symbols. The nodes of these ways are kept if
    more is to follow.
    """
    here, kids_at = np.uint64(2 * word), np.uint64(2 * word + 1)
    way, end, at, each = np.uint64(begin), np.uint64(begin + total), np.uint64(to), np.uint64(width)
    while way < end:
        node = np.uint64(ways[way])
        node = table[node, here] + ones_in(table[node, kids_at] & below)
        if kept:
            ways[at] = node
        none, left = at, support[node]
        for _ in range(each):
            way, at = way + ONE, at + ONE
            node = np.uint64(ways[way])
            node = table[node, here] + ones_in(table[node, kids_at] & below)
            if kept:
                ways[at] = node
            sizes[at] = support[node]
            left -= sizes[at]
        sizes[none] = left
        way, at = way + ONE, at + ONE


@njit(inline="always")
def _sum_up(sizes, begin, end, widths, depth):  # type: ignore[no-untyped-def]
    """From supports to sizes of cells, from the second instant on: none of an instant is all less each."""
    unit, last = np.uint64(widths[0]) + ONE, np.uint64(end)
    for d in range(1, depth):
        width, high = np.uint64(widths[d]), np.uint64(begin)
        step = unit * (width + ONE)
        if width == ONE:
            while high < last:
                for a in range(high, high + unit):
                    sizes[a] -= sizes[a + unit]
                high += step
        elif width == TWO:
            while high < last:
                for a in range(high, high + unit):
                    sizes[a] -= sizes[a + unit] + sizes[a + unit + unit]
                high += step
        else:
            while high < last:
                each, high = high + unit, high + step
                while each < high:
                    for a in range(unit):
                        sizes[high - step + a] -= sizes[each + a]
                    each += unit
        unit = step


@njit(inline="always")
def _less_each(sizes, begin, total, to, width):  # type: ignore[no-untyped-def]
    """What is left of some cells beside those with each symbol, which come behind it."""
    whole, none, cells = np.uint64(begin), np.uint64(to), np.uint64(total)
    each = none + cells
    if width == 1:
        for a in range(cells):
            sizes[none + a] = sizes[whole + a] - sizes[each + a]
    else:
        for a in range(cells):
            sizes[none + a] = sizes[whole + a] - sizes[each + a] - sizes[each + cells + a]
    for _ in range(2, width):
        each += cells
        for a in range(cells):
            sizes[none + a] -= sizes[each + cells + a]


@njit(inline="always")
def _below(chosen, low, below):  # type: ignore[no-untyped-def]
    """For each chosen symbol all bits below it."""
    count = 0
    while chosen:
        below[count] = (((chosen & (~chosen + ONE)) - ONE) << low) | ((ONE << low) - ONE)
        chosen &= chosen - ONE
        count += 1


@njit(inline="always")
def _write(cell, depth, path, sets, widths, kinds, present, used):  # type: ignore[no-untyped-def]
    """Write what the rows of a cell have, and return where it ends."""
    left = np.uint64(cell)
    for d in range(depth):
        digits, symbols = np.uint64(widths[d]) + ONE, sets[d]
        digit = left % digits
        left //= digits
        if digit:
            for _ in range(digit - ONE):
                symbols &= symbols - ONE
            present[used] = path[d] * kinds + lowest(symbols)
            used += 1
    return used


@njit(cache=True, nogil=True)
def small_box_cells(table, support, kinds, instants, boxes, least, widest):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912, PLR0915
    """Cells of some boxes that hold more than none and fewer than `least`, or fewer than none.

    Returns the box of each, its size, and the bounds and items of what its rows have; and which boxes have
    more than `widest` cells and were not looked into. `table` is that of `kid_table`, `boxes` are bits.
    """
    per_word, symbols = 64 // kinds, (ONE << np.uint64(kinds)) - ONE
    instant_of = np.arange(64) // kinds
    lows = (np.arange(64) // kinds * kinds).astype(np.uint64)
    path, sets = np.full(instants + 1, -1, np.int64), np.zeros(instants + 1, np.uint64)
    widths, totals = np.zeros(instants + 1, np.int64), np.ones(instants + 2, np.int64)
    starts, below = np.zeros(instants + 2, np.int64), np.empty(kinds, np.uint64)
    ways, sizes = np.zeros(1 << 12, np.uint32), np.empty(1 << 12, np.int32)
    sizes[0], few = support[0], np.int32(min(least, (1 << 31) - 1))
    which, small, ends = np.empty(256, np.int64), np.empty(256, np.int64), np.zeros(257, np.int64)
    present, count, used = np.empty(1024, np.int64), 0, 0
    wide, wides, known = np.empty(64, np.int64), 0, 0
    for b in range(len(boxes)):
        depth = 0
        for w in range(boxes.shape[1]):
            rest = boxes[b, w]
            while rest:
                lowest_bit = lowest(rest)
                j, chosen = w * per_word + instant_of[lowest_bit], (rest >> lows[lowest_bit]) & symbols
                rest &= ~(symbols << lows[lowest_bit])
                if path[depth] != j or sets[depth] != chosen:
                    path[depth], sets[depth], widths[depth] = j, chosen, np.int64(ones_in(chosen))
                    known = min(known, depth)
                totals[depth + 1] = min(totals[depth] * (widths[depth] + 1), widest + 1)
                depth += 1
        if totals[depth] > widest:
            wide = room(wide, wides + 1)
            wide[wides] = b
            wides, known = wides + 1, 0
            continue
        if 2 * totals[depth] > len(sizes):
            ways, sizes = room(ways, 2 * totals[depth]), room(sizes, 2 * totals[depth])
        for d in range(max(min(known, depth - 1), 0), depth):
            begin, total = starts[d], totals[d]
            none, end, kept = begin + total, begin + total + totals[d + 1], d + 1 < depth
            starts[d + 1], to = none, none
            _below(sets[d], lows[path[d] % per_word * kinds], below)
            for a in range(total if kept else 0):
                ways[none + a] = ways[begin + a]
            for c in range(widths[d]):
                to += total
                _followed(
                    table,
                    support,
                    ways,
                    begin,
                    total,
                    path[d] // per_word,
                    below[c],
                    to,
                    kept,
                    widths[0] if d else 0,
                    sizes,
                )
            _sum_up(sizes, none + total, end, widths, d)
            _less_each(sizes, begin, total, none, widths[d])
        known, begin, end, hits = max(depth - 1, 0), starts[depth], starts[depth] + totals[depth], np.int32(0)
        for a in range(np.uint64(begin), np.uint64(end)):
            hits += np.int32((sizes[a] != 0) & (sizes[a] < few))
        if hits == 0:
            continue
        if count + hits > len(which):
            which, small = room(which, count + hits), room(small, count + hits)
            ends = room(ends, len(which) + 1)
        if used + hits * depth > len(present):
            present = room(present, used + hits * depth)
        for a in range(begin, end):
            if sizes[a] != 0 and sizes[a] < few:
                which[count], small[count] = b, sizes[a]
                used = _write(a - begin, depth, path, sets, widths, kinds, present, used)
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
