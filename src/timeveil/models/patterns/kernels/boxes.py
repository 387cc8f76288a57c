"""What can be computed from the supports of a family of itemsets: maximal sets and small cells.

A family is a tree as `kernels.itemsets` makes it; item `j * kinds + s` stands at instant j, and a row has at
most one item of an instant. A *box* names some items of some instants; it belongs to the family when every
way to take one item from each of its instants is frequent. A box with one item per instant is an itemset.
The *cells* of a box are what rows can have of it, one item or none of each instant; supports give their
sizes, because none of an instant is all less each. Boxes of series are searched for in
`kernels.box_search` and looked into in `kernels.box_cells`.

Cost: `links` looks up depth - 1 nodes per itemset; `small_cells` grows with the number of cells.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.models.patterns.kernels.itemset_lookup import room


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
def small_cells(tree, kinds, bounds, boxes, least, largest):  # type: ignore[no-untyped-def]
    """Cells of some boxes that hold more than none and fewer than `least`, or fewer than none.

    Returns the box of each, its size, and the bounds and items of what its rows have. `largest` is the number
    of cells of the largest box.
    """
    cells = np.empty(largest, np.int64)
    which, sizes, ends = np.empty(256, np.int64), np.empty(256, np.int64), np.zeros(257, np.int64)
    present, count, used = np.empty(1024, np.int64), 0, 0
    for b in range(len(bounds) - 1):
        box = boxes[bounds[b] : bounds[b + 1]]
        total = cell_counts(tree, kinds, box, cells)
        for index in range(total):
            if cells[index] == 0 or cells[index] >= least:
                continue
            which, sizes = room(which, count + 1), room(sizes, count + 1)
            ends, present = room(ends, count + 2), room(present, used + len(box))
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
def shortfall(tree, kinds, bounds, boxes, starts, members, least, largest, items):  # type: ignore[no-untyped-def]
    """For each of some sets of items, how many rows its fullest need lacks of `least`.

    A set falls into one cell of every box; the box in which that cell is smallest decides.
    """
    cells = np.empty(largest, np.int64)
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
