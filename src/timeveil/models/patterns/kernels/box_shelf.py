"""A shelf of patterns that may still follow what a search for boxes has chosen.

Patterns of a list stand in the order of their items, nothing first. Each has a first item (`head`), the place
in the list that its list was made from (`place`), what is left of it without its first item (`behind`), and
`bits`: the items of earlier instants that are not in the box and could be added without loss of it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.models.patterns.kernels.itemset_lookup import ONE

NONE, ALL = np.uint64(0), ~np.uint64(0)


@njit(cache=True, nogil=True)
def singles(place, behind, begin, end):  # type: ignore[no-untyped-def]
    """Whether all patterns are single items: they have behind them what the first of all is, nothing."""
    for q in range(np.uint64(end - 1), np.uint64(begin), -1):  # noqa: SIM110
        if behind[place[q]] != place[begin]:
            return False
    return True


@njit(cache=True, nogil=True)
def last_instant(head, bits, begin, last, instant_of, kinds):  # type: ignore[no-untyped-def]
    """Of single items those of the last instant, which end a box; none if it is not maximal.

    Returns the place before them, their instant and them.
    """
    j, first, found = instant_of[head[last]], last, NONE
    while first > begin and instant_of[head[first]] == j:
        found |= ONE << np.uint64(head[first] - j * kinds)
        first -= 1
    for w in range(len(bits)):
        both = bits[w, last]
        for q in range(first + 1, last):
            both &= bits[w, q]
        if both:
            found = NONE
    return first, j, found


@njit(cache=True, nogil=True)
def runs_of(head, place, behind, bits, begin, end, where, words_of, bit_of, runs, depth):  # type: ignore[no-untyped-def]
    """Find the runs, the last item first, and what each pattern has behind its first item.

    Each pattern gets a bit for every item that may stand before it. Returns how many runs there are; of each
    the item, where it begins and where it ends.
    """
    count, zero, first, q = 0, place[begin], np.uint64(begin), np.uint64(end - 1)
    where[0] = begin
    while q > first:
        item, last = head[q], q
        word, bit = words_of[item], bit_of[item]
        while q > first and head[q] == item:
            before = place[q]
            where[before - zero] = q
            after = where[behind[before] - zero]
            behind[q] = after
            bits[word, after] |= bit
            q -= ONE
        runs[depth, count, 0], runs[depth, count, 1], runs[depth, count, 2] = item, q + ONE, last + ONE
        count += 1
    return count


@njit(cache=True, nogil=True)
def beaten(bits, begin, runs, depth, count, instant_of, kinds, common):  # type: ignore[no-untyped-def]
    """So many runs need not be looked at: an earlier item can be added to all of their patterns.

    `common` gets what all patterns after the first run that is left have in common.
    """
    per_word, words, stop = 64 // kinds, len(bits), 0
    for w in range(words):
        common[0, w] = common[1, w] = bits[w, begin]
    for c in range(count):
        some = NONE
        for w in range(words):
            both = common[1, w]
            for q in range(np.uint64(runs[depth, c, 1]), np.uint64(runs[depth, c, 2])):
                both &= bits[w, q]
                if both == 0:
                    break
            common[1, w] = both
            some |= both
        if some == 0:
            break
        j = instant_of[runs[depth, c, 0]]
        if c + 1 == count or instant_of[runs[depth, c + 1, 0]] != j:
            earlier = common[1, j // per_word] & ((ONE << np.uint64(j % per_word * kinds)) - ONE)
            for w in range(j // per_word):
                earlier |= common[1, w]
            if earlier:
                stop = c + 1
                common[0] = common[1]
    return stop


@njit(cache=True, nogil=True)
def beside(behind, bits, begin, end, word, twin, s):  # type: ignore[no-untyped-def]
    """The items that all have before what a run has behind its first item, and those that any has.

    `twin` gets where each of it stands with the first item before it, which is symbol s of its instant.
    """
    shared, some, first = ALL, NONE, np.uint64(begin)
    twin[s, behind[first]] = first  # the first has nothing behind it
    for q in range(first + ONE, np.uint64(end)):
        after = behind[q]
        before = bits[word, after]
        shared &= before
        some |= before
        twin[s, after] = q
    return shared, some


@njit(cache=True, nogil=True)
def follow_one(head, place, behind, bits, begin, end, word, others, top):  # type: ignore[no-untyped-def]
    """Lay out from `top` on what may follow one symbol; `others` are the bits of those not chosen."""
    to = np.uint64(top)
    for q in range(np.uint64(begin), np.uint64(end)):
        after = behind[q]
        head[to], place[to] = head[after], after
        bits[word, to] = bits[word, q] | (bits[word, after] & others)
        to += ONE
    for w in range(len(bits)):
        if w != word:
            for at in range(begin, end):
                bits[w, top + at - begin] = bits[w, at]
    return top + end - begin


@njit(cache=True, nogil=True)
def follow_more(head, place, bits, begin, end, twin, s, word, low, own, barred, top):  # type: ignore[no-untyped-def]
    """Lay out from `top` on what may follow a set of symbols and one more, s.

    Returns the end, and the symbols that all of it goes with, and any of it. The end is -1, and nothing is
    laid out, if all of it goes with a symbol that is `barred`.
    """
    first, last, place_of = np.uint64(begin), np.uint64(end), low + np.uint64(s)
    bit, at = ONE << place_of, first + ONE
    while barred and at < last:
        if bits[word, at] & bit:
            barred &= bits[word, at]
        at += ONE
    if barred:
        return -1, ALL, NONE
    others, shared, some, limit = own & ~bit, ALL, NONE, np.uint32(bits.shape[1] - 1)
    for w in range(len(bits)):
        if w != word:
            to = np.uint64(top)
            for q in range(first, last):
                bits[w, to] = bits[w, q] & bits[w, min(twin[s, place[q]], limit)]
                to += (bits[word, q] >> place_of) & ONE
    head[top], place[top] = head[first], place[first]  # the first has nothing behind it
    bits[word, top] = bits[word, first] & (bits[word, twin[s, place[first]]] | others)
    to = np.uint64(top) + ONE
    for q in range(first + ONE, last):
        # laid out in any case, with what happens to stand in `twin`, and written over if it does not follow
        carried, after = bits[word, q], place[q]
        follows = (carried >> place_of) & ONE
        shared &= carried | (follows - ONE)
        some |= carried & ~(follows - ONE)
        head[to], place[to] = head[q], after
        bits[word, to] = carried & (bits[word, min(twin[s, after], limit)] | others)
        to += follows
    return np.int64(to), shared, some


@njit(cache=True, nogil=True)
def take_in(place, bits, begin, end, twin, s, word, own):  # type: ignore[no-untyped-def]
    """Add a symbol that goes with all of a list."""
    for w in range(len(bits)):
        kept = own if w == word else NONE
        for q in range(np.uint64(begin), np.uint64(end)):
            bits[w, q] &= bits[w, twin[s, place[q]]] | kept


@njit(cache=True, nogil=True)
def all_have(bits, begin, end, word, own):  # type: ignore[no-untyped-def]
    """Whether an item of another instant can be added to all of a list."""
    for w in range(len(bits)):
        both = ~own if w == word else ALL
        for q in range(np.uint64(begin), np.uint64(end)):
            both &= bits[w, q]
            if both == 0:
                break
        if both:
            return True
    return False
