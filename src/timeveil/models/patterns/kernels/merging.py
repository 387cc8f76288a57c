"""Channels that agree become one: in which order they are taken, and into which merger each goes.

What a channel has and what it lacks are bits of words, the first item highest. No instant lies across two
words; of baskets every item is an instant of its own.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.models.patterns.kernels.itemset_lookup import ONE, lowest, room

NONE = np.uint64(0)
AT_ONCE = 32
DIGIT = 13


@njit(cache=True, nogil=True)
def instants_in(present, absent, kinds, instants):  # type: ignore[no-untyped-def]
    """The instants of all items that channels have or lack."""
    seen = np.zeros(kinds * instants, np.bool_)
    for x in present:
        seen[np.uint64(x)] = True
    for x in absent:
        seen[np.uint64(x)] = True
    return np.flatnonzero(seen.reshape(instants, kinds).sum(1))


@njit(cache=True, nogil=True)
def as_lines(bounds, present, lacks, absent, word_of, bit_of, width):  # type: ignore[no-untyped-def]
    """A column of words for each channel: how many items it has, these items, and those that it lacks."""
    lines = np.zeros((1 + 2 * width, len(bounds) - 1), np.uint64)
    lines[0] = np.diff(bounds)
    _write(lines, 1, bounds, present, word_of, bit_of)
    _write(lines, 1 + width, lacks, absent, word_of, bit_of)
    return lines


@njit(cache=True, nogil=True)
def _write(lines, row, bounds, members, word_of, bit_of):  # type: ignore[no-untyped-def]
    """Sets of items as bits, each from a row on: a word is written when all of its items are known."""
    for c in range(len(bounds) - 1):
        word, bits = 0, NONE
        for q in range(bounds[c], bounds[c + 1]):
            x = np.uint64(members[q])
            if word_of[x] != word:
                lines[row + word, c] |= bits
                word, bits = word_of[x], NONE
            bits |= bit_of[x]
        if bits:
            lines[row + word, c] |= bits


@njit(cache=True, nogil=True)
def largest_first(lines):  # type: ignore[no-untyped-def]
    """Columns of words in order, as numbers from the largest to the smallest: by their digits, last first."""
    size, digits, last = lines.shape[1], -(-64 // DIGIT), np.uint64((1 << DIGIT) - 1)
    order, other = np.arange(size).astype(np.uint32), np.empty(size, np.uint32)
    seen = np.empty((digits, 1 << DIGIT), np.uint32)
    for w in range(len(lines) - 1, -1, -1):
        keys = lines[w]
        seen[:] = 0
        for c in range(size):
            key = ~keys[c]
            for d in range(digits):
                seen[d, key & last] += np.uint32(1)
                key >>= np.uint64(DIGIT)
        for d in range(digits):
            shift = np.uint64(d * DIGIT)
            if size == 0 or seen[d, (~keys[0] >> shift) & last] == size:
                continue  # all have this digit
            _deal(keys, shift, last, order, other, seen[d])
            order, other = other, order
    found = np.empty_like(lines)
    for w in range(len(lines)):
        for c in range(size):
            found[w, c] = lines[w, order[c]]
    return found


@njit(cache=True, nogil=True)
def _deal(keys, shift, last, order, other, seen):  # type: ignore[no-untyped-def]
    """Write into `other` what `order` has, by one digit of its keys, of which so many are `seen`."""
    begin = np.uint32(0)
    for digit in range(len(seen)):
        here = seen[digit]
        seen[digit] = begin
        begin += here
    for c in order:
        digit = (~keys[c] >> shift) & last
        other[seen[digit]] = c
        seen[digit] += np.uint32(1)


@njit(cache=True, nogil=True)
def first_fit(lines, kinds):  # type: ignore[no-untyped-def]
    """Merge channels in their order, each into the first it agrees with; what each merger has and lacks.

    Two agree when neither has what the other lacks and, where an instant has several `kinds` of items, they
    do not have two items of one instant, nor lack all of an instant together. For each item the mergers that
    have it, and those that lack it or cannot have it, are bits, so that many of them are asked at once.
    """
    width, made, done = len(lines) // 2, 0, 0
    rows = np.zeros((256, 2 * width), np.uint64)
    having, barred = np.zeros((2, 64 * width, 4), np.uint64)
    while True:
        done, made = _fit(lines, done, rows, made, having, barred, kinds)
        if done == lines.shape[1]:
            return rows[:made, :width], rows[:made, width:]
        rows, having, barred = room(rows, made + 1), _wider(having), _wider(barred)
        rows[made:] = 0


@njit(cache=True, nogil=True)
def _fit(lines, done, rows, made, having, barred, kinds):  # type: ignore[no-untyped-def]
    """Go on from the channels that are done while there is room for one merger more."""
    width, taken, firsts = rows.shape[1] // 2, np.empty(AT_ONCE, np.uint64), NONE
    for i in range(64 // kinds):
        firsts |= ONE << np.uint64(63 - i * kinds)
    for c in range(done, lines.shape[1]):
        if made == len(rows):
            return c, made
        home = np.int64(-1)
        for begin in range(0, made // 64 + 1, AT_ONCE):
            size = min(AT_ONCE, ((made // 64 + 4) & ~3) - begin)
            taken[:size] = 0
            for w in range(width):
                _take(taken, size, lines[1 + w, c], 64 * w, barred, begin)
                _take(taken, size, lines[1 + width + w, c], 64 * w, having, begin)
            home = _first_free(taken, size, 64 * begin, made, rows, lines, c, kinds, firsts)
            if home >= 0:
                break
        made = max(made, home + 1)
        _join(rows, home, lines, c, having, barred, kinds)
    return lines.shape[1], made


@njit(cache=True, nogil=True, inline="always")
def _take(taken, size, bits, items, against, begin):  # type: ignore[no-untyped-def]
    """Add the mergers that any of some items is against."""
    while bits:
        x = np.uint64(items) + np.uint64(lowest(bits))
        bits &= bits - ONE
        for w in range(size):
            taken[np.uint64(w)] |= against[x, np.uint64(begin + w)]


@njit(cache=True, nogil=True, inline="always")
def _first_free(taken, size, begin, made, rows, lines, c, kinds, firsts):  # type: ignore[no-untyped-def]
    """The first merger, or a new one, that is not taken and leaves an item at every instant; -1 for none."""
    for w in range(size):
        free = ~taken[np.uint64(w)]
        while free:
            home = begin + 64 * w + lowest(free)
            if home >= made:
                return made
            if kinds == 1 or not _nothing_left(rows, home, lines, c, kinds, firsts):
                return home
            free &= free - ONE
    return -1


@njit(cache=True, nogil=True, inline="always")
def _nothing_left(rows, home, lines, c, kinds, firsts):  # type: ignore[no-untyped-def]
    """Whether a merger and a channel together lack all items of an instant."""
    width = rows.shape[1] // 2
    for w in range(width):
        lack, full = rows[home, width + w] | lines[1 + width + w, c], firsts
        for s in range(kinds):
            full &= lack << np.uint64(s)
        if full:
            return True
    return False


@njit(cache=True, nogil=True, inline="always")
def _join(rows, home, lines, c, having, barred, kinds):  # type: ignore[no-untyped-def]
    """Put a channel into a merger. Only what is new to it is told to the items."""
    width = rows.shape[1] // 2
    at, bit = np.uint64(home >> 6), ONE << np.uint64(home & 63)
    for w in range(width):
        fresh = lines[1 + w, c] & ~rows[home, w]
        if fresh:
            rows[home, w] |= fresh
            while fresh:
                low = lowest(fresh)
                x = 64 * w + low
                fresh &= fresh - ONE
                having[x, at] |= bit
                begin = x - (low - 64 % kinds) % kinds
                for other in range(begin, begin + kinds):
                    if other != x:
                        barred[other, at] |= bit
        fresh = lines[1 + width + w, c] & ~rows[home, width + w]
        if fresh:
            rows[home, width + w] |= fresh
            while fresh:
                barred[np.uint64(64 * w + lowest(fresh)), at] |= bit
                fresh &= fresh - ONE


@njit(cache=True, nogil=True)
def _wider(bits):  # type: ignore[no-untyped-def]
    larger = np.zeros((bits.shape[0], 2 * bits.shape[1]), np.uint64)
    larger[:, : bits.shape[1]] = bits
    return larger
