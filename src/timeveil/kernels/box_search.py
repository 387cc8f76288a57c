"""Maximal boxes of a family of itemsets over symbols, and their small cells, in one search.

Instant by instant a set of symbols is chosen, or none. `shelf` holds what may still follow: patterns of later
instants that are frequent with every way to take one item from each chosen set. Each of them carries
bits: the items of earlier instants that are not in the box and could be without loss of that pattern. An item
whose bit all of them carry can be added to whatever comes of this choice, so none of it is maximal. What is
left at the end is maximal, and nothing has to be looked at twice.

The nodes of all ways to take at most one item of each instant of the box come along, so that a finished box
has its supports, and from them its cells, at hand.

Cost: what may follow, summed over all choices, and the number of cells.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.kernels.itemsets import ones_in


@njit(cache=True, nogil=True)
def room(shelf, needed):  # type: ignore[no-untyped-def]
    """The array, or a larger one that begins with it."""
    if needed <= len(shelf):
        return shelf
    larger = np.empty((max(needed, 2 * len(shelf)), *shelf.shape[1:]), shelf.dtype)
    larger[: len(shelf)] = shelf
    return larger


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
                bits |= np.uint64(1) << np.uint64(item[c] - w * per_word * kinds)
                c += 1
            table[v, 2 * w + 1] = bits
    return table


@njit(cache=True, nogil=True)
def kid_at(table, node, word, below):  # type: ignore[no-untyped-def]
    """The child of a node, which must be there, by the word of its item and all bits below it."""
    return np.int64(table[node, 2 * word] + ones_in(table[node, 2 * word + 1] & below))


@njit(cache=True, nogil=True)
def by_items(item, first, kids, table, kinds):  # type: ignore[no-untyped-def]
    """Itemsets sorted by their items: the first item of each, and the place of the rest without it."""
    nodes, per_word = len(item), 64 // kinds
    place, stack = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    stack[0], top, count = 0, 1, 0
    while top > 0:
        top -= 1
        v = stack[top]
        place[v] = count
        count += 1
        for c in range(first[v] + kids[v] - 1, first[v] - 1, -1):
            stack[top] = c
            top += 1
    begin, less = np.full(nodes, -1, np.int64), np.zeros(nodes, np.int64)
    for v in range(nodes):
        for c in range(first[v], first[v] + kids[v]):
            begin[c] = item[c] if v == 0 else begin[v]
            j = item[c] // kinds
            below = (np.uint64(1) << np.uint64((j % per_word) * kinds + item[c] % kinds)) - np.uint64(1)
            less[c] = 0 if v == 0 else kid_at(table, less[v], j // per_word, below)
    head, rest = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    for v in range(nodes):
        head[place[v]], rest[place[v]] = begin[v], place[less[v]]
    return head, rest


@njit(cache=True, nogil=True)
def _split(shelf, bits, span, instant, runs, head, rest, kinds, chosen, where, top):  # type: ignore[no-untyped-def]
    """Lay out what may follow each symbol of an instant, and what may follow none; returns their ends.

    Bits of `chosen`, the items just taken, go. Each pattern gets a bit for every symbol that it may follow.
    """
    begin, end, words = span[0], span[1], bits.shape[1]
    per_word = 64 // kinds
    word, low = instant // per_word, (instant % per_word) * kinds
    symbols, q, start = 0, begin + 1, top
    while q < end and head[shelf[q]] // kinds == instant:
        x = head[shelf[q]]
        runs[symbols, 0], runs[symbols, 2] = top, x - instant * kinds
        while q < end and head[shelf[q]] == x:
            shelf[top] = rest[shelf[q]]
            for w in range(words):
                bits[top, w] = bits[q, w] & ~chosen[w]
            top += 1
            q += 1
        runs[symbols, 1] = top
        symbols += 1
    none = top
    shelf[top], where[shelf[begin]] = shelf[begin], top
    for w in range(words):
        bits[top, w] = bits[begin, w] & ~chosen[w]
    top += 1
    for z in range(q, end):
        shelf[top], where[shelf[z]] = shelf[z], top
        for w in range(words):
            bits[top, w] = bits[z, w] & ~chosen[w]
        top += 1
    for c in range(symbols):
        bit = np.uint64(1) << np.uint64(low + runs[c, 2])
        for b in range(runs[c, 0], runs[c, 1]):
            bits[where[shelf[b]], word] |= bit
    own = ((np.uint64(1) << np.uint64(kinds)) - np.uint64(1)) << np.uint64(low)
    for b in range(start, none):
        bits[b, word] |= bits[where[shelf[b]], word] & own
    return symbols, none, top


@njit(cache=True, nogil=True)
def _follow(shelf, bits, span, run, word, bit, out):  # type: ignore[no-untyped-def]
    """What may follow a set of symbols and one more, from `out` on."""
    b, words = run[0], bits.shape[1]
    for a in range(span[0], span[1]):
        if bits[a, word] & bit:
            while shelf[b] != shelf[a]:
                b += 1
            shelf[out] = shelf[a]
            for w in range(words):
                bits[out, w] = bits[a, w] & bits[b, w]
            out += 1
    return out


@njit(cache=True, nogil=True)
def _shared(bits, begin, end, common):  # type: ignore[no-untyped-def]
    """The bits that all of a run have."""
    for w in range(len(common)):
        both = bits[begin, w]
        for q in range(begin + 1, end):
            both &= bits[q, w]
            if both == 0:
                break
        common[w] = both


@njit(cache=True, nogil=True)
def _widen(ways, begin, total, table, chosen, word, out):  # type: ignore[no-untyped-def]
    """The nodes of all ways with nothing or one of the chosen items of an instant."""
    for a in range(total):
        node, left, to = ways[begin + a], chosen, out + a
        start, bits = table[node, 2 * word], table[node, 2 * word + 1]
        ways[to] = node
        while left:
            lowest = left & (~left + np.uint64(1))
            to += total
            ways[to] = np.int32(start + ones_in(bits & (lowest - np.uint64(1))))
            left ^= lowest


@njit(cache=True, nogil=True)
def _fill(cells, ways, begin, total, table, support, chosen, word):  # type: ignore[no-untyped-def]
    """The supports of those nodes."""
    for a in range(total):
        node, left, to = ways[begin + a], chosen, a
        start, bits = table[node, 2 * word], table[node, 2 * word + 1]
        cells[to] = support[node]
        while left:
            lowest = left & (~left + np.uint64(1))
            to += total
            cells[to] = support[np.int64(start + ones_in(bits & (lowest - np.uint64(1))))]
            left ^= lowest


@njit(cache=True, nogil=True)
def _sum_up(cells, total, sizes, count):  # type: ignore[no-untyped-def]
    """From supports to sizes of cells: none of an instant is all less each."""
    unit = 1
    for c in range(count):
        size = sizes[c]
        for high in range(0, total, unit * (size + 1)):
            for digit in range(1, size + 1):
                for low in range(high, high + unit):
                    cells[low] -= cells[low + digit * unit]
        unit *= size + 1


@njit(cache=True, nogil=True)
def _note(here, instant, begin, end, following, top, way, total):  # type: ignore[no-untyped-def]
    here[0], here[1], here[2], here[3] = instant, begin, end, following
    here[4], here[5], here[6], here[7] = top, way, total, 0


@njit(cache=True, nogil=True)
def search(tree, kinds, instants, least, most, widest, part, parts):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912, PLR0915
    """All maximal boxes, and their cells of more than none and fewer than `least` rows, or fewer than none.

    Returns bounds and items of the boxes; of each small cell its box, size, bounds and present items; which
    boxes have more than `widest` cells and were not looked into; and whether `most` boxes sufficed. Of
    `parts` parts of the work only one is done.
    """
    item, support, first, kids = tree
    nodes, per_word = len(item), 64 // kinds
    words = -(-instants // per_word)
    table = kid_table(item, first, kids, kinds, words)
    head, rest = by_items(item, first, kids, table, kinds)
    where = np.empty(nodes, np.int32)
    shelf, bits = np.empty(4 * nodes + 64, np.int32), np.zeros((4 * nodes + 64, words), np.uint64)
    shelf[:nodes] = np.arange(nodes)
    ways, cells = np.zeros(1024, np.int32), np.empty(1024, np.int64)
    cells[0] = support[0]
    runs = np.zeros((instants, kinds, 3), np.int64)
    depth = instants * (kinds + 1) + 2
    # instant, begin, end, next symbol, top of the shelf, begin and number of ways, whether looked at
    here, sets = np.zeros((depth, 8), np.int64), np.zeros(depth, np.uint64)
    found_symbols, box = np.zeros(instants, np.int64), np.zeros(instants, np.uint64)
    chosen, common = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    bounds, items, boxes, size = np.zeros(1024, np.int64), np.empty(1024, np.int64), 0, 0
    which, sizes, ends = np.empty(256, np.int64), np.empty(256, np.int64), np.zeros(257, np.int64)
    present, small, used = np.empty(1024, np.int64), 0, 0
    wide, wides = np.empty(64, np.int64), 0
    counts, looks = np.zeros(instants, np.int64), 0
    level, entering, number, cut = -1, True, 0, min(2, instants)
    instant, begin, end, top, way, total = 0, 0, nodes, nodes, 0, 1
    while True:
        if entering:
            entering = False
            looks += 1
            if instant == 0 and end - begin == 1 and part > 0:
                break
            if end - begin == 1 or instant == instants:
                if boxes == most or looks > 1000 * most:
                    return bounds, items, which, sizes, ends, present, wide, boxes, False
                for j in range(instant, instants):
                    box[j] = 0
                if boxes + 2 > len(bounds) or size + instants * kinds > len(items):
                    bounds, items = room(bounds, boxes + 2), room(items, size + instants * kinds)
                filled = 0
                for j in range(instants):
                    counts[filled] = np.int64(ones_in(box[j]))
                    filled += counts[filled] > 0
                    for s in range(kinds):
                        if (box[j] >> np.uint64(s)) & np.uint64(1):
                            items[size] = j * kinds + s
                            size += 1
                boxes += 1
                bounds[boxes] = size
                if total < 0:
                    wide = room(wide, wides + 1)
                    wide[wides] = boxes - 1
                    wides += 1
                elif least > 0:
                    _sum_up(cells, total, counts, filled)
                    for a in range(total):
                        if cells[a] == 0 or cells[a] >= least:
                            continue
                        which, sizes = room(which, small + 1), room(sizes, small + 1)
                        ends, present = room(ends, small + 2), room(present, used + instants)
                        which[small], sizes[small] = boxes - 1, cells[a]
                        left, q = a, bounds[boxes - 1]
                        for c in range(filled):
                            digit = left % (counts[c] + 1)
                            if digit:
                                present[used] = items[q + digit - 1]
                                used += 1
                            left //= counts[c] + 1
                            q += counts[c]
                        small += 1
                        ends[small] = used
            else:
                need = top + 2 * (end - begin) + 1
                if need > len(shelf):
                    shelf, bits = room(shelf, need), room(bits, need)
                if instant:
                    for w in range(words):
                        chosen[w] = 0
                    chosen[(instant - 1) // per_word] = box[instant - 1] << np.uint64(
                        ((instant - 1) % per_word) * kinds
                    )
                symbols, none, top = _split(
                    shelf, bits, (begin, end), instant, runs[instant], head, rest, kinds, chosen, where, top
                )
                found_symbols[instant] = symbols
                level += 1
                _note(here[level], instant, none, top, 0, top, way, total)
                sets[level] = 0
        if level < 0:
            break
        instant, begin, end, top = here[level, 0], here[level, 1], here[level, 2], here[level, 4]
        way, total = here[level, 5], here[level, 6]
        word, low = instant // per_word, np.uint64((instant % per_word) * kinds)
        own = ((np.uint64(1) << np.uint64(kinds)) - np.uint64(1)) << low
        if here[level, 7] == 0:
            here[level, 7] = 1
            _shared(bits, begin, end, common)
            closed = (common[word] & own) >> low
            # close by one: what a set is closed to must not have a symbol before the last one that it has not
            last = here[level, 3]
            below = np.uint64(0)
            if last > 0:
                below = (np.uint64(1) << np.uint64(runs[instant, last - 1, 2])) - np.uint64(1)
            if closed & below != sets[level] & below:
                level -= 1
                continue
            extra = closed & ~sets[level]
            for c in range(found_symbols[instant]):
                if (extra >> np.uint64(runs[instant, c, 2])) & np.uint64(1):
                    bit = np.uint64(1) << (low + np.uint64(runs[instant, c, 2]))
                    _follow(shelf, bits, (begin, end), runs[instant, c], word, bit, begin)
            sets[level] = closed
            if extra:
                _shared(bits, begin, end, common)
            common[word] &= ~own
            wider = False
            for w in range(words):
                wider |= common[w] != 0
            if wider:
                continue
            leaf = end - begin == 1 or instant + 1 == instants
            if instant + 1 == cut or (leaf and instant + 1 < cut):
                number += 1
                if number % parts != part:
                    continue
            box[instant] = closed
            if total > 0 and least > 0:
                larger = total * (np.int64(ones_in(closed)) + 1)
                if larger > widest:
                    total = -1
                elif leaf:
                    if larger > len(cells):
                        cells = room(cells, larger)
                    _fill(cells, ways, way, total, table, support, closed << low, word)
                    total = larger
                elif closed:
                    if way + total + larger > len(ways):
                        ways = room(ways, way + total + larger)
                    _widen(ways, way, total, table, closed << low, word, way + total)
                    way, total = way + total, larger
            instant += 1
            entering = True
            continue
        c = here[level, 3]
        if c == found_symbols[instant]:
            level -= 1
            continue
        here[level, 3] = c + 1
        bit = np.uint64(1) << np.uint64(runs[instant, c, 2])
        if sets[level] & bit:
            continue
        sets[level + 1] = sets[level] | bit
        level += 1
        if sets[level] == bit:
            _note(here[level], instant, runs[instant, c, 0], runs[instant, c, 1], c + 1, top, way, total)
            continue
        if top + end - begin > len(shelf):
            shelf, bits = room(shelf, top + end - begin), room(bits, top + end - begin)
        stop = _follow(shelf, bits, (begin, end), runs[instant, c], word, bit << low, top)
        _note(here[level], instant, top, stop, c + 1, stop, way, total)
    return (
        bounds[: boxes + 1],
        items[:size],
        which[:small],
        sizes[:small],
        ends[: small + 1],
        present[:used],
        wide[:wides],
        boxes,
        True,
    )
