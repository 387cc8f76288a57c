"""Sets of symbols whose supports follow from others, as everybody has one symbol at every instant.

A family is a tree as `kernels.itemsets` makes it, with its children at hand in a table as `kid_table` makes
it. A node is *short* at an instant when all symbols of it but one can be added without leaving the family:
the node with that one follows.

Cost: `beside` looks up depth - 1 nodes per itemset; the rest grows with what follows, but for one look at
every node.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.kernels.itemset_lookup import ONE, lowest, room
from timeveil.kernels.itemsets import ones_in

MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _places(kinds, items):  # type: ignore[no-untyped-def]
    """The word of each item, and its bit in it."""
    words, bits, per_word = np.empty(items, np.int64), np.empty(items, np.uint64), 64 // kinds
    for x in range(items):
        words[x] = x // kinds // per_word
        bits[x] = ONE << np.uint64(x - words[x] * per_word * kinds)
    return words, bits


@njit(cache=True, nogil=True)
def beside(item, first, kids, table, kinds):  # type: ignore[no-untyped-def]
    """For every node the items that can be added to it, as bits; its parent; and how many items it has."""
    nodes, per_word, words = len(item), 64 // kinds, table.shape[1] // 2
    more = np.zeros((nodes, words), np.uint64)
    parent, depth = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32)
    longest = 1
    for v in range(nodes):
        for c in range(first[v], first[v] + kids[v]):
            depth[c] = depth[v] + 1
            longest = max(longest, depth[c])
    without = np.zeros((longest + 1, longest), np.uint64)  # the node on each depth, without each of its items
    path, turn = np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    place, bits = np.zeros(longest + 1, np.uint64), np.zeros(longest + 1, np.uint64)
    word_of, bit_of = _places(kinds, words * per_word * kinds)
    top, turn[0] = 0, first[0]
    while top >= 0:
        v, c = path[top], turn[top]
        if c == first[v] + kids[v]:
            top -= 1
            continue
        turn[top] = c + 1
        word, bit = word_of[item[c]], bit_of[item[c]]
        more[v, word] |= bit
        here, kids_at = np.uint64(2 * word), np.uint64(2 * word + 1)
        mine, longer = without[top], without[top + 1]
        for a in range(top):
            w = mine[a]
            less = table[w, here] + ones_in(table[w, kids_at] & (bit - ONE))
            longer[a] = less
            more[less, place[a]] |= bits[a]
        parent[c] = v
        if kids[c]:
            without[top + 1, top], place[top], bits[top] = v, word, bit
            top += 1
            path[top], turn[top] = c, first[c]
    return more, parent, depth


@njit(cache=True, nogil=True)
def _slot(keys, key):  # type: ignore[no-untyped-def]
    """Where a key is, or is to be."""
    size = np.uint64(len(keys) - 1)
    slot = ((np.uint64(key) * MIX) >> np.uint64(20)) & size
    while keys[slot] != key and keys[slot] >= 0:
        slot = (slot + ONE) & size
    return slot


@njit(cache=True, nogil=True)
def _child(table, keys, values, node, x, word, bit, items):  # type: ignore[no-untyped-def]
    """The child of a node by its item, which must be there, among the old ones or the new ones."""
    if node < len(table):
        has = table[node, 2 * word + 1]
        if has & bit:
            return np.int64(table[node, 2 * word] + ones_in(has & (bit - ONE)))
    return values[_slot(keys, node * items + x)]


@njit(cache=True, nogil=True)
def _grown(keys, values):  # type: ignore[no-untyped-def]
    larger, moved = np.full(2 * len(keys), -1, np.int64), np.empty(2 * len(keys), np.int64)
    for q in range(len(keys)):
        if keys[q] >= 0:
            slot = _slot(larger, keys[q])
            larger[slot], moved[slot] = keys[q], values[q]
    return larger, moved


@njit(cache=True, nogil=True)
def _down(table, keys, values, node, line, begin, end, word_of, bit_of):  # type: ignore[no-untyped-def]
    """The node with some of a line of items more."""
    for place in range(begin, end):
        x = line[place]
        node = _child(table, keys, values, node, x, word_of[x], bit_of[x], len(word_of))
    return node


@njit(cache=True, nogil=True)
def _with_item(item, parent, node, x, line):  # type: ignore[no-untyped-def]
    """Write the items of a node and one more in order; returns how many they are."""
    length, v = 1, node
    while v > 0:
        length, v = length + 1, parent[v]
    place, v, held = length - 1, node, x
    while place >= 0:
        if v > 0 and item[v] > held:
            line[place], v = item[v], parent[v]
        else:
            line[place], held = held, -1
        place -= 1
    return length


@njit(cache=True, nogil=True)
def short(more, kinds, instants):  # type: ignore[no-untyped-def]
    """Nodes that are short at an instant, as node times instants plus instant."""
    per_word, count, found = 64 // kinds, 0, np.empty(64, np.int64)
    symbols, wanted = (ONE << np.uint64(kinds)) - ONE, np.uint64(kinds - 1)
    for v in range(len(more)):
        for w in range(more.shape[1]):
            bits, j = more[v, w], w * per_word
            while ones_in(bits) >= wanted:
                if ones_in(bits & symbols) == wanted:
                    found = room(found, count + 1)
                    found[count] = v * instants + j
                    count += 1
                bits, j = bits >> np.uint64(kinds), j + 1
    return found[:count]


@njit(cache=True, nogil=True)
def follow(item, support, table, more, parent, depth, queue, kinds, instants, most):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912
    """All nodes, those that follow after the others: item, support, parent, and the round in which each did.

    What follows has the length of what it follows from, but for one set that is shorter: lengths are done
    one after the other, and of each as many rounds as something is short. `queue` has what is, by length. It
    ends early with more than `most` nodes.
    """
    nodes, per_word, items = len(item), 64 // kinds, kinds * instants
    symbols, wanted = (ONE << np.uint64(kinds)) - ONE, np.uint64(kinds - 1)
    keys, values, count = np.full(1 << 10, -1, np.int64), np.empty(1 << 10, np.int64), nodes
    since, line, later = np.zeros(nodes, np.int64), np.empty(instants + 1, np.int64), np.empty(64, np.int64)
    word_of, bit_of = _places(kinds, items)
    upto = np.zeros(instants + 1, np.int64)
    asked = 0
    while asked < len(queue):
        end, above = asked, depth[queue[asked] // instants]
        while end < len(queue) and depth[queue[end] // instants] == above:
            end += 1
        waiting, asked, turn = queue[asked:end], end, 0
        while len(waiting):
            turn, shorts = turn + 1, 0
            for q in range(len(waiting)):
                base, j = waiting[q] // instants, waiting[q] % instants
                has = (more[base, j // per_word] >> np.uint64(j % per_word * kinds)) & symbols
                if ones_in(has) != wanted:
                    continue  # it has followed from another node
                new = j * kinds + lowest(~has)
                length = _with_item(item, parent, base, new, line)
                for a in range(length - 1):
                    upto[a + 1] = _down(table, keys, values, upto[a], line, a, a + 1, word_of, bit_of)
                place, size = 0, support[base]
                while line[place] != new:
                    place += 1
                for x in range(j * kinds, (j + 1) * kinds):
                    if x != new:
                        line[place] = x
                        other = _down(table, keys, values, upto[place], line, place, length, word_of, bit_of)
                        size -= support[other]
                line[place], under = new, upto[length - 1]
                if count == len(item):
                    item, support, parent = (
                        room(item, count + 1),
                        room(support, count + 1),
                        room(parent, count + 1),
                    )
                    depth, since, more = room(depth, count + 1), room(since, count + 1), room(more, count + 1)
                item[count], support[count], parent[count] = line[length - 1], size, under
                depth[count], since[count], more[count] = length, turn, 0
                if 2 * (count - nodes) > len(keys):
                    keys, values = _grown(keys, values)
                slot = _slot(keys, under * items + line[length - 1])
                keys[slot], values[slot] = under * items + line[length - 1], count
                count += 1
                if count > most:
                    return item[:count], support[:count], parent[:count], since[:count]
                for gone in range(length):
                    less = _down(table, keys, values, upto[gone], line, gone + 1, length, word_of, bit_of)
                    i = line[gone] // kinds
                    word, low = i // per_word, np.uint64(i % per_word * kinds)
                    more[less, word] |= bit_of[line[gone]]
                    if ones_in((more[less, word] >> low) & symbols) == wanted:
                        later = room(later, shorts + 1)
                        later[shorts] = less * instants + i
                        shorts += 1
            waiting = later[:shorts].copy()
    return item[:count], support[:count], parent[:count], since[:count]


@njit(cache=True, nogil=True)
def as_tree(item, parent, first, kids, new):  # type: ignore[no-untyped-def]
    """All nodes of a tree and more that have followed, by length and then by items.

    `new` are those that have followed, by their parents and then by their items. Returns which node each is,
    the first of its children and how many it has.
    """
    nodes, total = len(first), len(item)
    begins = np.zeros(total + 1, np.int64)
    for v in new:
        begins[parent[v] + 1] += 1
    begins = np.cumsum(begins)
    which, starts, sizes = np.zeros(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    count = 1
    for place in range(total):
        v = which[place]
        old, end = (first[v], first[v] + kids[v]) if v < nodes else (0, 0)
        starts[place] = count
        for q in range(begins[v], begins[v + 1]):
            while old < end and item[old] < item[new[q]]:
                which[count] = old
                old, count = old + 1, count + 1
            which[count] = new[q]
            count += 1
        while old < end:
            which[count] = old
            old, count = old + 1, count + 1
        sizes[place] = count - starts[place]
    return which, starts, sizes
