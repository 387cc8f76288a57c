"""Maximal boxes of a family of itemsets over symbols, in one search.

Instant by instant a set of symbols is chosen; instants may be passed over. A shelf holds what may still
follow: patterns of later instants that are frequent with every way to take one item from each chosen set.
Each of them carries bits: the items of earlier instants that are not in the box and could be without loss of
that pattern. An item whose bit all of them carry can be added to whatever comes of this choice, so none of it
is maximal. What is left at the end is maximal, and nothing has to be looked at twice.

Patterns stand in the order of their items, so all that begin with one item stand together, a run, and what
follows that item is what they have behind it. Sets of symbols are closed one by one: what goes with all that
may follow is taken in, and a set that would take in a symbol before its last one has been looked at already.

Cost: what may follow, summed over all choices.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit

from timeveil.models.patterns.kernels.box_shelf import (
    ALL,
    NONE,
    all_have,
    beaten,
    beside,
    follow_more,
    follow_one,
    last_instant,
    runs_of,
    singles,
    take_in,
)
from timeveil.models.patterns.kernels.itemset_lookup import ONE, lowest


@njit(cache=True, nogil=True)
def _next(every, chosen, last, shared, depth):  # type: ignore[no-untyped-def]
    """The symbols after the last one that may be added: none that would bring one with it from before."""
    left = every & ~chosen & ~((np.uint64(2) << np.uint64(last)) - ONE) if last >= 0 else every & ~chosen
    found = left
    while left:
        s = lowest(left)
        if shared[depth, s] & ((ONE << np.uint64(s)) - ONE) & ~chosen:
            found &= ~(ONE << np.uint64(s))
        left &= left - ONE
    return found


@njit(cache=True, nogil=True)
def _ends(bits, runs, run_of, depth, every):  # type: ignore[no-untyped-def]
    """Whether a box that all symbols of an instant end is maximal."""
    for w in range(len(bits)):
        both, left = ALL, every
        while left:
            both &= bits[w, runs[depth, run_of[depth, lowest(left)], 1]]
            left &= left - ONE
        if both:
            return False
    return True


@njit(cache=True, nogil=True)
def _room_for_runs(first_items, rests):  # type: ignore[no-untyped-def]
    """How many items the longest pattern has, and one more; and how many different items there are.

    Patterns stand in the order of their items. What a pattern has behind its first item stands after it, or
    is the first of all, nothing.
    """
    lengths, longest, different = np.zeros(len(rests), np.int32), 0, 1
    for v in range(len(rests) - 1, 0, -1):
        lengths[v] = lengths[rests[v]] + 1
        longest = max(longest, lengths[v])
        different += first_items[v] != first_items[v - 1]
    return longest + 1, different


@njit(cache=True, nogil=True)
def _with_symbols(boxes, from_, to, at, word, symbols):  # type: ignore[no-untyped-def]
    """Write a box with more symbols of one word."""
    for w in range(boxes.shape[1]):
        to[at, w] = boxes[from_, w]
    to[at, word] |= symbols


@njit(cache=True, nogil=True)
def _go_on(shelf, stack, boxes, at, where, kinds, instants, most):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912, PLR0915
    """Search on from where `at` says, until all is done or more room is needed; returns how much of it."""
    head, place, behind, bits, twin = shelf
    # for each depth: where its list begins, its runs, the next of them, the instant, the level of sets, and
    # whether all symbols end a box; for each level the list, and the set, what goes with it and what to add
    here, every_of, runs, run_of, shared, some, lists, states, chosen = stack
    per_word, items = 64 // kinds, np.arange(instants * kinds)
    instant_of = items // kinds
    words_of = instant_of // per_word
    bit_of = ONE << (items - words_of * (per_word * kinds)).astype(np.uint64)
    word_at, low_at = words_of[::kinds].copy(), (np.arange(instants) % per_word * kinds).astype(np.uint64)
    common, symbols = np.empty((2, len(bits)), np.uint64), (ONE << np.uint64(kinds)) - ONE
    depth, begin, end, entering, count, looks = at[0], at[1], at[2], at[3] == 1, at[4], at[5]
    room_for = len(boxes) - instants  # so many may end one list
    while depth >= 0:
        fresh = entering
        if entering:
            if count >= room_for:
                at[0], at[1], at[2], at[3], at[4], at[5] = depth, begin, end, 1, count, looks
                return 0
            entering, looks = False, looks + 1
            if looks > 1000 * most:
                break
            if end - begin == 1:
                _with_symbols(chosen, depth, boxes, count, 0, NONE)
                count, depth = count + 1, depth - 1
                continue
            if singles(place, behind, begin, end):
                last = end - 1
                while last > begin:
                    last, j, final = last_instant(head, bits, begin, last, instant_of, kinds)
                    if final:
                        _with_symbols(chosen, depth, boxes, count, word_at[j], final << low_at[j])
                        count += 1
                depth -= 1
                continue
            here[depth, 0], here[depth, 4], lists[depth, 0, 1] = begin, -1, end
            here[depth, 1] = runs_of(
                head, place, behind, bits, begin, end, where, words_of, bit_of, runs, depth
            )
            here[depth, 2] = beaten(bits, begin, runs, depth, here[depth, 1], instant_of, kinds, common)
        level = here[depth, 4]
        if level < 0:
            c, runs_here = here[depth, 2], here[depth, 1]
            if c == runs_here:
                depth -= 1
                continue
            j = instant_of[runs[depth, c, 0]]
            word, low = word_at[j], low_at[j]
            every = (bits[word, here[depth, 0]] >> low) & symbols
            # what goes with all that comes after the first instant that is looked at
            closed = (common[0, word] >> low) & symbols if fresh else NONE
            while c < runs_here and instant_of[runs[depth, c, 0]] == j:
                s = runs[depth, c, 0] - j * kinds
                one, any_of = beside(behind, bits, runs[depth, c, 1], runs[depth, c, 2], word, twin, s)
                run_of[depth, s] = c
                shared[depth, s], some[depth, s] = (one >> low) & every, (any_of >> low) & symbols
                c += 1
            here[depth, 2], here[depth, 3], here[depth, 4], here[depth, 5] = c, j, 0, -1
            every_of[depth], states[depth, 0, 0], states[depth, 0, 1] = every, closed, closed
            states[depth, 0, 2] = _next(every, closed, -1, shared, depth)
            level = 0
        j, every, left = here[depth, 3], every_of[depth], states[depth, level, 2]
        first = level == 0 and states[depth, 0, 1] != 0
        if not first and left == 0:
            here[depth, 4] = level - 1
            continue
        word, low, before = word_at[j], low_at[j], states[depth, level, 0]
        own, s = symbols << low, lowest(before if first else left)
        bit, run, top = ONE << np.uint64(s), run_of[depth, s], lists[depth, level, 1]
        begin_of, end_of = runs[depth, run, 1], runs[depth, run, 2]
        need = top + (end_of - begin_of if level == 0 else top - lists[depth, level, 0]) + 1
        if need > len(head) or count >= room_for:
            at[0], at[3], at[4], at[5] = depth, 0, count, looks
            return need
        if first:
            states[depth, 0, 1] = 0
        else:
            states[depth, level, 2] = left & (left - ONE)
        if end_of - begin_of == 1 if level == 0 else states[depth, level, 1] & bit == 0:
            if level > 0 and every & (bit - ONE) & ~before:
                continue
            if here[depth, 5] < 0:
                here[depth, 5] = _ends(bits, runs, run_of, depth, every)
            if here[depth, 5]:
                _with_symbols(chosen, depth, boxes, count, word, every << low)
                count += 1
            continue
        if level == 0:
            now = before if first else shared[depth, s]
            extra, any_of = now & ~bit, some[depth, s]
            more = NONE if first else _next(every, now, s, shared, depth)
            if extra == 0 and more == 0 and all_have(bits, begin_of, end_of, word, own):
                continue
            stop = follow_one(head, place, behind, bits, begin_of, end_of, word, own & ~(now << low), top)
        else:
            barred = ((bit - ONE) & ~before) << low
            stop, one, any_of = follow_more(
                head, place, bits, lists[depth, level, 0], top, twin, s, word, low, own, barred, top
            )
            if stop < 0:
                continue
            one, any_of = (one >> low) & symbols, (any_of >> low) & symbols
            extra, now = one & ~(before | bit), before | one
            for q in range(top, stop if extra else top):
                bits[word, q] &= ~(extra << low)
            more = _next(every, now, s, shared, depth)
        while extra:
            take_in(place, bits, top, stop, twin, lowest(extra), word, own)
            extra &= extra - ONE
        kept = not all_have(bits, top, stop, word, own)
        if more:
            here[depth, 4] = level + 1
            lists[depth, level + 1, 0], lists[depth, level + 1, 1] = top, stop
            states[depth, level + 1, 0], states[depth, level + 1, 1] = now, any_of
            states[depth, level + 1, 2] = more
        if kept:
            _with_symbols(chosen, depth, chosen, depth + 1, word, now << low)
            depth, begin, end, entering = depth + 1, top, stop, True
    at[0], at[4], at[5] = depth, count, looks
    return 0


AT_A_TIME = 1 << 12


class TooManyBoxes(Exception):  # noqa: N818
    """There are more boxes, or more choices on the way to them, than are to be looked at."""


Shelf = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _shelf(size: int, kinds: int, words: int) -> Shelf:
    """Room for so many patterns: the first item of each, the place it was taken from, what it has behind it,
    its bits, and its twins.

    It is one piece, because NumPy asks for large pages for pieces of 4 MiB and more.
    """
    piece = np.empty(size * words + (size * (3 + kinds) + 1) // 2, np.uint64)
    head, place, behind, *_ = lines = (
        piece[size * words :].view(np.uint32)[: size * (3 + kinds)].reshape(-1, size)
    )
    return head.view(np.int32), place, behind, piece[: size * words].reshape(words, size), lines[3:]


def search(
    first_items: np.ndarray, rests: np.ndarray, kinds: int, instants: int, most: int
) -> Iterator[np.ndarray]:
    """All maximal boxes of itemsets sorted by their items, as bits, some at a time.

    More than `most`, or more than a thousand times as many choices, raise `TooManyBoxes`.
    """
    nodes, words = len(rests), -(-instants // (64 // kinds))
    shelf = head, place, behind, bits, _ = _shelf(2 * nodes + 64, kinds, words)
    head[:nodes], place[:nodes], behind[:nodes], bits[:, :nodes] = first_items, np.arange(nodes), rests, 0
    where, (longest, different) = np.empty(nodes, np.uint32), _room_for_runs(first_items, rests)
    stack = (
        np.zeros((longest, 6), np.int64),
        np.zeros(longest, np.uint64),
        np.empty((longest, different, 3), np.int64),
        np.empty((longest, kinds), np.int64),
        np.empty((longest, kinds), np.uint64),
        np.empty((longest, kinds), np.uint64),
        np.empty((longest, kinds + 2, 2), np.int64),
        np.empty((longest, kinds + 2, 3), np.uint64),
        np.zeros((longest + 1, words), np.uint64),
    )
    at, total = np.array([0, 0, nodes, 1, 0, 0]), 0
    while at[0] >= 0:
        boxes, at[4] = np.empty((AT_A_TIME + instants, words), np.uint64), 0
        need = _go_on(shelf, stack, boxes, at, where, kinds, instants, most)
        yield boxes[: min(int(at[4]), most - total)]
        total += int(at[4])
        if total > most or at[5] > 1000 * most:
            raise TooManyBoxes
        if need > len(shelf[0]):
            smaller, shelf = shelf, _shelf(max(need, 2 * len(shelf[0])), kinds, words)
            for old, new in zip(smaller, shelf, strict=True):
                new[..., : old.shape[-1]] = old
