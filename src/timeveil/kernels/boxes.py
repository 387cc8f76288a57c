"""What can be computed from the supports of a family of itemsets: maximal sets, boxes, and small cells.

A family is a tree as `kernels.itemsets` makes it; item `j * kinds + s` stands at instant j, and a row has at
most one item of an instant. A *box* names some items of some instants; it belongs to the family when every
way to take one item from each of its instants is frequent. A box with one item per instant is an itemset.
The *cells* of a box are what rows can have of it, one item or none of each instant; supports give their
sizes, because none of an instant is all less each.

Cost: `links` looks up depth - 1 nodes per itemset; `maximal_boxes` grows with the boxes that cannot be
widened within an instant; `small_cells` with the number of cells.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def child_of(item, first, kids, node, wanted):  # type: ignore[no-untyped-def]
    """The child of a node by its item, -1 if there is none."""
    low, high = first[node], first[node] + kids[node]
    end = high
    while low < high:
        middle = (low + high) // 2
        if item[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and item[low] == wanted else -1


@njit(cache=True, nogil=True)
def links(item, first, kids):  # type: ignore[no-untyped-def]
    """For every node: where its items begin in `paths`, its items, the nodes without each of them; and
    whether a frequent set lies above it."""
    nodes = len(item)
    begins = np.zeros(nodes + 1, np.int64)
    depth = np.zeros(nodes, np.int64)
    for v in range(nodes):
        begins[v + 1] = begins[v] + depth[v]
        for c in range(first[v], first[v] + kids[v]):
            depth[c] = depth[v] + 1
    paths, drops = np.empty(begins[-1], np.int64), np.empty(begins[-1], np.int64)
    covered = kids > 0
    for v in range(nodes):
        length = depth[v]
        for c in range(first[v], first[v] + kids[v]):
            at = begins[c]
            for a in range(length):
                without = child_of(item, first, kids, drops[begins[v] + a], item[c])
                paths[at + a], drops[at + a] = paths[begins[v] + a], without
                covered[without] = True
            paths[at + length], drops[at + length] = item[c], v
    return begins, paths, drops, covered


@njit(cache=True, nogil=True)
def extensions(begins, paths, drops, instants, kinds):  # type: ignore[no-untyped-def]
    """For every node and instant, the symbols that can be added, as bits."""
    added = np.zeros((len(begins) - 1, instants), np.uint64)
    for a in range(len(paths)):
        added[drops[a], paths[a] // kinds] |= np.uint64(1) << np.uint64(paths[a] % kinds)
    return added


@njit(cache=True, nogil=True)
def in_order(first, kids):  # type: ignore[no-untyped-def]
    """Each node's place when all are sorted by their items."""
    place, stack = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
    stack[0], top, count = 0, 1, 0
    while top > 0:
        top -= 1
        v = stack[top]
        place[v] = count
        count += 1
        for c in range(first[v] + kids[v] - 1, first[v] - 1, -1):
            stack[top] = c
            top += 1
    return place


@njit(cache=True, nogil=True)
def _common(shelf, a, a_end, b, b_end, out):  # type: ignore[no-untyped-def]
    """Write what two ascending runs of the shelf share; returns the end of it."""
    while a < a_end and b < b_end:
        if shelf[a] == shelf[b]:
            shelf[out] = shelf[a]
            out += 1
            a += 1
            b += 1
        elif shelf[a] < shelf[b]:
            a += 1
        else:
            b += 1
    return out


@njit(cache=True, nogil=True)
def _within(shelf, a, a_end, b, b_end):  # type: ignore[no-untyped-def]
    """Whether one ascending run of the shelf lies in another."""
    if a_end - a > b_end - b:
        return False
    while a < a_end:
        while b < b_end and shelf[b] < shelf[a]:
            b += 1
        if b == b_end or shelf[b] != shelf[a]:
            return False
        a += 1
        b += 1
    return True


@njit(cache=True, nogil=True)
def _room(shelf, needed):  # type: ignore[no-untyped-def]
    if needed <= len(shelf):
        return shelf
    larger = np.empty(max(needed, 2 * len(shelf)), shelf.dtype)
    larger[: len(shelf)] = shelf
    return larger


@njit(cache=True, nogil=True)
def _is_maximal(box, item, first, kids, begins, drops, added, ways, kinds):  # type: ignore[no-untyped-def]  # noqa: C901
    """Whether no item can be added to a box. `ways` is room for the ways to take one item per instant."""
    instants = len(box)
    ways = _room(ways, 64)
    ways[0], count = 0, 1
    for j in range(instants):
        if box[j]:
            symbols = 0
            for s in range(kinds):
                symbols += (box[j] >> np.uint64(s)) & np.uint64(1)
            ways = _room(ways, count * (np.int64(symbols) + 1))
            out = count
            for s in range(kinds):
                if (box[j] >> np.uint64(s)) & np.uint64(1):
                    for w in range(count):
                        ways[out] = child_of(item, first, kids, ways[w], j * kinds + s)
                        out += 1
            for w in range(out - count):
                ways[w] = ways[count + w]
            count = out - count
    for j in range(instants):
        before = 0
        for i in range(j):
            before += box[i] != 0
        may = added[0, j] & ~box[j]
        for w in range(count):
            if may == 0:
                break
            node = ways[w]
            may &= added[drops[begins[node] + before] if box[j] else node, j]
        if may:
            return False, ways
    return True, ways


@njit(cache=True, nogil=True)
def maximal_boxes(item, first, kids, begins, paths, drops, added, kinds, most):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912, PLR0915
    """All boxes of the family that cannot be widened: bounds, their items, and whether `most` sufficed.

    Instant by instant. `shelf` holds what may still follow, as places of itemsets of later instants; of the
    sets of symbols at an instant only those need a look that no further symbol could join without loss of
    what may follow (closed sets, found one by one).
    """
    nodes, instants = len(item), added.shape[1]
    place = in_order(first, kids)
    rest_of, head = np.zeros(nodes, np.int64), np.full(nodes, -1, np.int64)
    for v in range(1, nodes):
        rest_of[place[v]], head[place[v]] = place[drops[begins[v]]], paths[begins[v]]
    found = np.empty(1024, np.int64)
    bounds, boxes, size = np.zeros(1024, np.int64), 0, 0
    shelf = np.empty(max(4 * nodes, 1024), np.int64)
    shelf[:nodes] = np.arange(nodes)
    runs = np.zeros((instants + 1, kinds, 3), np.int64)  # begin, end, symbol of what follows each
    found_symbols = np.zeros(instants + 1, np.int64)
    here = np.zeros(
        (instants * (kinds + 2) + 2, 6), np.int64
    )  # instant, begin, end, next to try, top, base of set
    sets = np.zeros(len(here), np.uint64)
    box, ways = np.zeros(instants, np.uint64), np.empty(64, np.int64)
    depth, looks = -1, 0
    entering, begin, end, top, instant = True, 0, nodes, nodes, 0
    while True:
        if entering:
            entering = False
            looks += 1
            if end - begin == 1 or instant == instants:
                for j in range(instant, instants):
                    box[j] = 0
                good, ways = _is_maximal(box, item, first, kids, begins, drops, added, ways, kinds)
                if good:
                    if boxes == most:
                        return bounds, found, boxes, False
                    bounds = _room(bounds, boxes + 2)
                    for j in range(instants):
                        for s in range(kinds):
                            if (box[j] >> np.uint64(s)) & np.uint64(1):
                                found = _room(found, size + 1)
                                found[size] = j * kinds + s
                                size += 1
                    boxes += 1
                    bounds[boxes] = size
                if looks > 400 * most:
                    return bounds, found, boxes, False
            else:
                shelf = _room(shelf, top + end - begin + 1)
                symbols, q = 0, begin + 1
                while q < end and head[shelf[q]] // kinds == instant:
                    first_item = head[shelf[q]]
                    runs[instant, symbols, 0], runs[instant, symbols, 2] = top, first_item % kinds
                    while q < end and head[shelf[q]] == first_item:
                        shelf[top] = rest_of[shelf[q]]
                        top += 1
                        q += 1
                    runs[instant, symbols, 1] = top
                    symbols += 1
                found_symbols[instant] = symbols
                rest = top
                shelf[top] = 0
                top += 1
                for z in range(q, end):
                    shelf[top] = shelf[z]
                    top += 1
                depth += 1
                here[depth] = (instant, rest, top, -1, top, 0)
                sets[depth] = _closure(shelf, rest, top, runs[instant], symbols)
        if depth < 0:
            break
        instant, begin, end, b, top = (
            here[depth, 0],
            here[depth, 1],
            here[depth, 2],
            here[depth, 3],
            here[depth, 4],
        )
        if b == -1:
            here[depth, 3] = here[depth, 5]
            box[instant] = np.uint64(0)
            for c in range(found_symbols[instant]):
                if (sets[depth] >> np.uint64(c)) & np.uint64(1):
                    box[instant] |= np.uint64(1) << np.uint64(runs[instant, c, 2])
            instant += 1
            entering = True
            continue
        if b == found_symbols[instant]:
            depth -= 1
            continue
        here[depth, 3] = b + 1
        if (sets[depth] >> np.uint64(b)) & np.uint64(1):
            continue
        shelf = _room(shelf, top + end - begin)
        stop = _common(shelf, begin, end, runs[instant, b, 0], runs[instant, b, 1], top)
        closed = _closure(shelf, top, stop, runs[instant], found_symbols[instant])
        below = (np.uint64(1) << np.uint64(b)) - np.uint64(1)
        if closed & below == sets[depth] & below:
            depth += 1
            here[depth] = (instant, top, stop, -1, stop, b + 1)
            sets[depth] = closed
    return bounds[: boxes + 1], found[:size], boxes, True


@njit(cache=True, nogil=True)
def _closure(shelf, begin, end, runs, symbols):  # type: ignore[no-untyped-def]
    """The symbols that lose nothing of what may follow, as bits."""
    closed = np.uint64(0)
    for c in range(symbols):
        if _within(shelf, begin, end, runs[c, 0], runs[c, 1]):
            closed |= np.uint64(1) << np.uint64(c)
    return closed


@njit(cache=True, nogil=True)
def cell_counts(tree, kinds, box, cells):  # type: ignore[no-untyped-def]
    """Sizes of all cells of one box, in the mixed radix of its instants (digit 0 is none); returns how many.

    `box` lists items in ascending order; every way to take at most one item per instant is in the tree.
    """
    item, support, first, kids = tree
    length = len(box)
    weight, next_instant = np.empty(length, np.int64), np.empty(length, np.int64)
    total, a = 1, 0
    while a < length:
        b = a
        while b < length and box[b] // kinds == box[a] // kinds:
            weight[b] = total * (b - a + 1)
            b += 1
        for c in range(a, b):
            next_instant[c] = b
        total *= b - a + 1
        a = b
    stack = np.empty((length * length + 2, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], top = 0, 0, 0, 1
    while top > 0:
        top -= 1
        node, since, index = stack[top, 0], stack[top, 1], stack[top, 2]
        cells[index] = support[node]
        for c in range(since, length):
            stack[top, 0] = child_of(item, first, kids, node, box[c])
            stack[top, 1], stack[top, 2] = next_instant[c], index + weight[c]
            top += 1
    a = 0
    while a < length:
        unit, count = weight[a], next_instant[a] - a
        for high in range(0, total, unit * (count + 1)):
            for low in range(unit):
                for digit in range(1, count + 1):
                    cells[high + low] -= cells[high + low + digit * unit]
        a = next_instant[a]
    return total


@njit(cache=True, nogil=True)
def small_cells(tree, kinds, bounds, boxes, least, room):  # type: ignore[no-untyped-def]
    """Cells of some boxes that hold more than none and fewer than `least`, or fewer than none.

    Returns the box of each, its size, and the bounds and items of what its rows have. `room` is the number
    of cells of the largest box.
    """
    cells = np.empty(room, np.int64)
    which, sizes, ends = np.empty(256, np.int64), np.empty(256, np.int64), np.zeros(257, np.int64)
    present, count, used = np.empty(1024, np.int64), 0, 0
    for b in range(len(bounds) - 1):
        box = boxes[bounds[b] : bounds[b + 1]]
        total = cell_counts(tree, kinds, box, cells)
        for index in range(total):
            if cells[index] == 0 or cells[index] >= least:
                continue
            which, sizes = _room(which, count + 1), _room(sizes, count + 1)
            ends, present = _room(ends, count + 2), _room(present, used + len(box))
            which[count], sizes[count] = b, cells[index]
            left, a = index, 0
            while a < len(box):
                c = a
                while c < len(box) and box[c] // kinds == box[a] // kinds:
                    c += 1
                digit = left % (c - a + 1)
                if digit:
                    present[used] = box[a + digit - 1]
                    used += 1
                left //= c - a + 1
                a = c
            count += 1
            ends[count] = used
    return which[:count], sizes[:count], ends[: count + 1], present[:used]


@njit(cache=True, nogil=True)
def shortfall(tree, kinds, bounds, boxes, starts, members, least, room, items):  # type: ignore[no-untyped-def]
    """For each of some sets of items, how many rows its fullest need lacks of `least`.

    A set falls into one cell of every box; the box in which that cell is smallest decides.
    """
    cells = np.empty(room, np.int64)
    has = np.zeros((len(starts) - 1, items), np.bool_)
    for v in range(len(starts) - 1):
        for q in range(starts[v], starts[v + 1]):
            has[v, members[q]] = True
    lacking = np.zeros(len(starts) - 1, np.int64)
    for b in range(len(bounds) - 1):
        box = boxes[bounds[b] : bounds[b + 1]]
        cell_counts(tree, kinds, box, cells)
        for v in range(len(lacking)):
            index, unit, a = 0, 1, 0
            while a < len(box):
                c = a
                while c < len(box) and box[c] // kinds == box[a] // kinds:
                    if has[v, box[c]]:
                        index += unit * (c - a + 1)
                    c += 1
                unit *= c - a + 1
                a = c
            lacking[v] = max(lacking[v], least - cells[index])
    return lacking
