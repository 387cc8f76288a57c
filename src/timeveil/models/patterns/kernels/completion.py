"""Sets of symbols whose supports follow from others, as everybody has one symbol at every instant.

A family is a tree as `kernels.itemsets` makes it, with its children at hand in a table as `kid_table` makes
it. A node is *short* at an instant when all symbols of it but one can be added without leaving the family:
the node with that one follows, and the node is *full* there.

Cost: lengths are done one after the other. A set can be full at an instant only if all parts of it are, so
that nodes are looked up where a shorter one is full; the rest grows with what follows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.models.patterns.kernels.itemset_lookup import ONE, lowest, places_of, room
from timeveil.models.patterns.kernels.itemsets import ones_in

NONE, MIX = np.uint64(0), np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _places(kinds, items):  # type: ignore[no-untyped-def]
    """The word of each item, its bit in it, the bits of its instant, and the first bit of every instant."""
    words, bits = places_of(kinds, items)
    instants, firsts = np.empty(items, np.uint64), NONE
    for x in range(items):
        instants[x] = ((ONE << np.uint64(kinds)) - ONE) * bits[x - x % kinds]
    for first in range(0, 64 // kinds * kinds, kinds):
        firsts |= ONE << np.uint64(first)
    return words, bits, instants, firsts


@njit(cache=True, nogil=True)
def _slot(keys, key):  # type: ignore[no-untyped-def]
    """Where a key is, or is to be."""
    size = np.uint64(len(keys) - 1)
    slot = ((np.uint64(key) * MIX) >> np.uint64(20)) & size
    while keys[slot] != key and keys[slot] >= 0:
        slot = (slot + ONE) & size
    return slot


@njit(cache=True, nogil=True)
def _grown(keys, values):  # type: ignore[no-untyped-def]
    larger, moved = np.full(2 * len(keys), -1, np.int64), np.empty(2 * len(keys), np.int64)
    for q in range(len(keys)):
        if keys[q] >= 0:
            slot = _slot(larger, keys[q])
            larger[slot], moved[slot] = keys[q], values[q]
    return larger, moved


@njit(cache=True, nogil=True)
def _child(table, keys, values, node, x, word, bit, items):  # type: ignore[no-untyped-def]
    """The child of a node by its item, which must be there, among the old ones or the new ones."""
    if node < len(table):
        has = table[node, 2 * word + 1]
        if has & bit:
            return np.int64(table[node, 2 * word] + ones_in(has & (bit - ONE)))
    return values[_slot(keys, node * items + x)]


@njit(cache=True, nogil=True)
def _down(table, keys, values, node, line, begin, end, word_of, bit_of):  # type: ignore[no-untyped-def]
    """The node with some of a line of items more."""
    for place in range(begin, end):
        x = line[place]
        node = _child(table, keys, values, node, x, word_of[x], bit_of[x], len(word_of))
    return node


@njit(cache=True, nogil=True)
def _of(old, new, node):  # type: ignore[no-untyped-def]
    """What a node has in a column of the old ones or, after them, the new."""
    return np.int64(old[node]) if node < len(old) else np.int64(new[node - len(old)])


@njit(cache=True, nogil=True)
def _marked(old, new, node, word, bit):  # type: ignore[no-untyped-def]
    """The word of a node with one bit more, or none."""
    if node < len(old):
        bits = old[node, word] | bit
        old[node, word] = bits
    else:
        bits = new[node - len(old), word] | bit
        new[node - len(old), word] = bits
    return bits


@njit(cache=True, nogil=True)
def _with_item(item, new_item, parent, new_parent, node, x, line):  # type: ignore[no-untyped-def]
    """Fill a line with the items of a node and one more in order; returns the place of this one."""
    place, found = len(line) - 1, 0
    while node > 0:
        last = _of(item, new_item, node)
        if last < x and found == 0:
            line[place], found = x, place
            place -= 1
        line[place], node = last, _of(parent, new_parent, node)
        place -= 1
    if place == 0:
        line[0] = x
    return found


@njit(cache=True, nogil=True)
def follow(item, support, first, kids, table, kinds, instants, most):  # type: ignore[no-untyped-def]
    """What follows, as nodes after the others: item, support, parent, and the round in which each did.

    What follows has the length of what it follows from, but for one set that is shorter: lengths are done
    one after the other, and of each as many rounds as something is short. It ends early with more than `most`
    nodes.
    """
    count, length, places = 0, 0, _places(kinds, kinds * instants)
    more, parent = table[:, 1::2].copy(), np.zeros(len(item), np.int32)
    new_item, new_support, new_parent, since = np.empty((4, 1 << 10), np.int64)
    new_more = np.empty((1 << 10, more.shape[1]), np.uint64)
    keys, values = np.full(1 << 11, -1, np.int64), np.empty(1 << 11, np.int64)
    level = np.zeros(1, np.uint32), np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0, np.uint32)
    while len(level[0]) and len(item) + count <= most:
        level, waiting = _next_level(item, first, kids, table, more, parent, level, kinds, instants, places)
        length, turn = length + 1, 0
        while len(waiting) and len(item) + count <= most:
            turn, begin, needed = turn + 1, count, count + len(waiting)
            new_item, new_support = room(new_item, needed), room(new_support, needed)
            new_parent, new_more = room(new_parent, needed), room(new_more, needed)
            while 2 * needed > len(keys):
                keys, values = _grown(keys, values)
            old, new = (item, support, parent, more), (new_item, new_support, new_parent, new_more)
            index, since = (table, keys, values), room(since, needed)
            count, waiting = _round(old, new, index, count, waiting, length, kinds, instants, places, most)
            since[begin:count] = turn
    return new_item[:count], new_support[:count], new_parent[:count], since[:count]


@njit(cache=True, nogil=True)
def _next_level(item, first, kids, table, more, parent, level, kinds, instants, places):  # type: ignore[no-untyped-def]
    """From nodes of one length to their children: `more` of the shorter ones, and where these are short.

    A level has nodes with children; of each some items, those at whose instant it may be full without them,
    and the node without each. If a set is not full at an instant, no larger one is: nobody asks any further.
    """
    word_of, bit_of, all_of, firsts = places
    nodes, ends, gone, less, children, entries = _kept(level, more, parent, kids, kinds, places)
    longer, longer_ends = np.empty(children, np.uint32), np.zeros(children + 1, np.int64)
    longer_gone, longer_less = np.empty(entries, np.int32), np.empty(entries, np.uint32)
    flagged = np.zeros((len(table) + 63) // 64, np.uint64)
    node, word, bit, every = np.empty((4, instants), np.uint64)
    count, entries, wanted = 0, 0, np.uint64(kinds - 1)
    for i in range(len(nodes)):
        c, begin, size = np.uint64(nodes[i]), ends[i], ends[i + 1] - ends[i]
        for place in range(size):
            x = gone[begin + place]
            node[place], word[place] = less[begin + place], word_of[x]
            bit[place], every[place] = bit_of[x], all_of[x]
        if kids[c] >= kinds - 1:
            _flag(flagged, c)
        for d in range(first[c], first[c] + kids[c]):
            y, inner = item[d], kids[d] > 0
            parent[d] = c
            here, below = np.uint64(2 * word_of[y]), bit_of[y] - ONE
            for place in range(size):
                e = np.uint64(place)
                v = table[node[e], here] + ones_in(table[node[e], here + ONE] & below)
                bits = more[v, word[e]] | bit[e]
                more[v, word[e]] = bits
                if ones_in(bits & every[e]) == wanted:
                    _flag(flagged, v)
                if inner:
                    longer_gone[entries], longer_less[entries] = gone[begin + place], v
                    entries += 1
            if inner:
                longer_gone[entries], longer_less[entries] = y, c
                entries += 1
                longer[count], longer_ends[count + 1] = d, entries
                count += 1
    waiting = _short(flagged, more, kinds, instants, firsts)
    return (longer[:count], longer_ends[: count + 1], longer_gone[:entries], longer_less[:entries]), waiting


@njit(cache=True, nogil=True)
def _kept(level, more, parent, kids, kinds, places):  # type: ignore[no-untyped-def]
    """Keep, in place, items at whose instant the node without is full, and nodes that can have such below.

    Returns what is left, how many children that has, and how many items they keep at most.
    """
    nodes, ends, gone, less = level
    word_of, _, all_of, firsts = places
    count, kept, begin, children, entries = 0, 0, 0, 0, 0
    for i in range(len(nodes)):
        before, end = kept, ends[i + 1]
        for e in range(begin, end):
            x = gone[e]
            if more[less[e], word_of[x]] & all_of[x] == all_of[x]:
                gone[kept], less[kept] = x, less[e]
                kept += 1
        begin = end
        if kept > before or _any_full(more, parent[nodes[i]], kinds, firsts):
            children += kids[nodes[i]]
            entries += (kept - before + 1) * kids[nodes[i]]
            nodes[count], ends[count + 1] = nodes[i], kept
            count += 1
    return nodes[:count], ends[: count + 1], gone, less, children, entries


@njit(cache=True, nogil=True)
def _any_full(more, node, kinds, firsts):  # type: ignore[no-untyped-def]
    """Whether a node goes with all symbols of some instant."""
    for w in range(more.shape[1]):
        full = firsts
        for s in range(kinds):
            full &= more[node, w] >> np.uint64(s)
        if full:
            return True
    return node == 0


@njit(cache=True, nogil=True)
def _flag(flagged, node):  # type: ignore[no-untyped-def]
    """Say that a node may be short."""
    flagged[node >> np.uint64(6)] |= ONE << (node & np.uint64(63))


@njit(cache=True, nogil=True)
def _short(flagged, more, kinds, instants, firsts):  # type: ignore[no-untyped-def]
    """Where flagged nodes are short, as node times instants plus instant: one symbol, no more, is missing."""
    found, count = np.empty(64, np.int64), 0
    for place in range(len(flagged)):
        left = flagged[place]
        while left:
            v = 64 * place + lowest(left)
            left &= left - ONE
            found = room(found, count + instants)
            for w in range(more.shape[1]):
                one, two = NONE, NONE
                for s in range(kinds):
                    missing = ~more[v, w] >> np.uint64(s) & firsts
                    two |= one & missing
                    one |= missing
                one &= ~two
                while one:
                    found[count] = v * instants + w * (64 // kinds) + lowest(one) // kinds
                    one &= one - ONE
                    count += 1
    return found[:count]


@njit(cache=True, nogil=True)
def _round(old, new, index, count, waiting, length, kinds, instants, places, most):  # type: ignore[no-untyped-def]
    """Add what follows where something waits, to `count` that have; how many have then, and what waits next.

    There is room for all among the new ones; `index` finds a node among the old ones or the new.
    """
    (item, support, parent, more), (new_item, new_support, new_parent, new_more) = old, new
    (table, keys, values), (word_of, bit_of, all_of, _) = index, places
    nodes, wanted = len(table), np.uint64(kinds - 1)
    line, upto = np.empty(length, np.int64), np.zeros(length, np.int64)
    later, shorts = np.empty(len(waiting) * length, np.int64), 0
    for q in range(len(waiting)):
        base, j = waiting[q] // instants, waiting[q] % instants
        missing = ~_marked(more, new_more, base, word_of[j * kinds], NONE) & all_of[j * kinds]
        if missing == 0:
            continue  # it has followed from another node
        x = j * kinds + lowest(missing) - lowest(bit_of[j * kinds])
        place = _with_item(item, new_item, parent, new_parent, base, x, line)
        for a in range(length - 1):
            upto[a + 1] = _down(table, keys, values, upto[a], line, a, a + 1, word_of, bit_of)
        size = _of(support, new_support, base)
        for other in range(j * kinds, (j + 1) * kinds):
            if other != x:
                line[place] = other
                node = _down(table, keys, values, upto[place], line, place, length, word_of, bit_of)
                size -= _of(support, new_support, node)
        line[place] = x
        under, last = upto[length - 1], line[length - 1]
        new_item[count], new_support[count], new_parent[count], new_more[count] = last, size, under, 0
        slot = _slot(keys, under * len(word_of) + last)
        keys[slot], values[slot] = under * len(word_of) + last, nodes + count
        count += 1
        if nodes + count > most:
            break
        for gone in range(length):
            less = _down(table, keys, values, upto[gone], line, gone + 1, length, word_of, bit_of)
            x = line[gone]
            if ones_in(_marked(more, new_more, less, word_of[x], bit_of[x]) & all_of[x]) == wanted:
                later[shorts] = less * instants + x // kinds
                shorts += 1
    return count, later[:shorts].copy()


@njit(cache=True, nogil=True)
def deepest(first, kids):  # type: ignore[no-untyped-def]
    """How many items the largest set has."""
    depth = np.zeros(len(first), np.int32)
    for v in range(len(first)):
        depth[first[v] : first[v] + kids[v]] = depth[v] + 1
    return depth.max()


@njit(cache=True, nogil=True)
def as_tree(item, support, first, kids, new_item, new_support, new_parent, order):  # type: ignore[no-untyped-def]
    """All nodes of a tree and more that have followed, by length and then by items.

    `order` has what followed by parents and then by items. Returns the four columns of a tree, and the node
    that each was before.
    """
    nodes, total = len(first), len(item) + len(order)
    begins = np.zeros(total + 1, np.int32)
    for v in new_parent:
        begins[v + 1] += 1
    for v in range(total):
        begins[v + 1] += begins[v]
    items, supports = np.empty(total, np.int64), np.empty(total, np.int64)
    starts, sizes, was = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int32)
    items[0], supports[0], was[0], count = item[0], support[0], 0, 1
    for place in range(total):
        v = was[place]
        starts[place] = count
        old, end = (first[v], first[v] + kids[v]) if v < nodes else (0, 0)
        for q in range(begins[v], begins[v + 1]):
            new = order[q]
            while old < end and item[old] < new_item[new]:
                items[count], supports[count], was[count] = item[old], support[old], old
                old, count = old + 1, count + 1
            items[count], supports[count], was[count] = new_item[new], new_support[new], nodes + new
            count += 1
        while old < end:
            items[count], supports[count], was[count] = item[old], support[old], old
            old, count = old + 1, count + 1
        sizes[place] = count - starts[place]
    return items, supports, starts, sizes, was
