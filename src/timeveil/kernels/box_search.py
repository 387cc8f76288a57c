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

import numpy as np
from numba import njit

from timeveil.kernels.itemset_lookup import ONE, lowest, room


@njit(cache=True, nogil=True)
def _more_bits(bits, size):  # type: ignore[no-untyped-def]
    larger = np.empty((len(bits), size), np.uint64)
    larger[:, : bits.shape[1]] = bits
    return larger


@njit(cache=True, nogil=True)
def _write(items, size, path, sets, depth, kinds):  # type: ignore[no-untyped-def]
    """Write the items of a box, and return where they end."""
    for d in range(depth):
        left, zero = sets[d], path[d] * kinds
        while left:
            items[size] = zero + lowest(left)
            size += 1
            left &= left - ONE
    return size


@njit(cache=True, nogil=True)
def _end_of(head, bits, begin, last, instant_of, kinds):  # type: ignore[no-untyped-def]
    """Of single items those of the last instant, which end a box; none if it is not maximal.

    Returns the place before them, their instant and them.
    """
    j, first, found = instant_of[head[last]], last, np.uint64(0)
    while first > begin and instant_of[head[first]] == j:
        found |= ONE << np.uint64(head[first] - j * kinds)
        first -= 1
    for w in range(len(bits)):
        both = bits[w, last]
        for q in range(first + 1, last):
            both &= bits[w, q]
        if both:
            found = np.uint64(0)
    return first, j, found


@njit(cache=True, nogil=True)
def _singles(place, behind, begin, end):  # type: ignore[no-untyped-def]
    """Whether all patterns are single items: they have behind them what the first of all is, nothing."""
    for q in range(end - 1, begin, -1):  # noqa: SIM110
        if behind[place[q]] != place[begin]:
            return False
    return True


@njit(cache=True, nogil=True)
def _runs_of(head, place, behind, bits, begin, end, where, kinds, runs):  # type: ignore[no-untyped-def]
    """Find the runs, the last item first, and what each pattern has behind its first item.

    Each pattern gets a bit for every item that may stand before it. Returns how many runs there are; of each
    the item, where it begins and where it ends.
    """
    per_word, count, item = 64 // kinds, 0, -1
    word, bit, zero = 0, np.uint64(0), place[begin]
    where[0], here, q = begin, bits[0], np.uint64(end)
    for _ in range(end - begin - 1):
        q -= ONE
        before = place[q]
        where[before - zero] = q
        after = where[behind[before] - zero]
        behind[q] = after
        if head[q] != item:
            item = head[q]
            runs[count, 0], runs[count, 2] = item, q + ONE
            if count:
                runs[count - 1, 1] = q + ONE
            count += 1
            word = item // kinds // per_word
            here, bit = bits[word], ONE << np.uint64(item - word * per_word * kinds)
        here[after] |= bit
    runs[count - 1, 1] = begin + 1
    return count


@njit(cache=True, nogil=True)
def _beaten(bits, begin, runs, count, kinds, common):  # type: ignore[no-untyped-def]
    """So many runs need not be looked at: an earlier item can be added to all of their patterns.

    `common` gets what all patterns after the first run that is left have in common.
    """
    per_word, words, stop = 64 // kinds, len(common), 0
    shared = np.empty(words, np.uint64)
    for w in range(words):
        common[w] = shared[w] = bits[w, begin]
    for c in range(count):
        some = np.uint64(0)
        for w in range(words):
            here, both = bits[w], shared[w]
            for q in range(np.uint64(runs[c, 1]), np.uint64(runs[c, 2])):
                both &= here[q]
                if both == 0:
                    break
            shared[w] = both
            some |= both
        if some == 0:
            break
        j = runs[c, 0] // kinds
        if c + 1 == count or runs[c + 1, 0] // kinds != j:
            earlier = shared[j // per_word] & ((ONE << np.uint64(j % per_word * kinds)) - ONE)
            for w in range(j // per_word):
                earlier |= shared[w]
            if earlier:
                stop = c + 1
                common[:] = shared
    return stop


@njit(cache=True, nogil=True)
def _beside(behind, bits, begin, end, word):  # type: ignore[no-untyped-def]
    """The items that all have before what a run has behind its first item, and those that any has."""
    shared, some = ~np.uint64(0), np.uint64(0)
    here = bits[word]
    for q in range(np.uint64(begin + 1), np.uint64(end)):  # the first has nothing behind it
        before = here[behind[q]]
        shared &= before
        some |= before
    return shared, some


@njit(cache=True, nogil=True)
def _follow_one(head, place, behind, bits, begin, end, word, others, top):  # type: ignore[no-untyped-def]
    """Lay out from `top` on what may follow one symbol; `others` are the bits of those not chosen."""
    here, to = bits[word], np.uint64(top)
    for q in range(np.uint64(begin), np.uint64(end)):
        after = behind[q]
        head[to], place[to] = head[after], after
        here[to] = here[q] | (here[after] & others)
        to += ONE
    for w in range(len(bits)):
        if w != word:
            for q in range(begin, end):
                bits[w, top + q - begin] = bits[w, q]
    return top + end - begin


@njit(cache=True, nogil=True)
def _follow_more(head, place, behind, bits, begin, end, run, word, own, bit, top):  # type: ignore[no-untyped-def]
    """Lay out from `top` on what may follow a set of symbols and one more.

    Returns the end, and the symbols that all of it goes with, and any of it.
    """
    shared, some = ~np.uint64(0), np.uint64(0)
    here, others = bits[word], own & ~bit
    to, other, first = np.uint64(top), np.uint64(run), np.uint64(begin)
    for q in range(first, np.uint64(end)):
        beside = here[q]
        if beside & bit:
            after = place[q]
            while behind[other] != after:
                other += ONE
            if q > first:  # the first has nothing behind it
                shared &= beside
                some |= beside
            head[to], place[to] = head[q], after
            here[to] = (beside & here[other]) | (beside & others)
            to += ONE
    for w in range(len(bits)):
        if w != word:
            here, other = bits[w], np.uint64(run)
            for q in range(np.uint64(top), to):
                while place[first] != place[q]:
                    first += ONE
                while behind[other] != place[q]:
                    other += ONE
                here[q] = here[first] & here[other]
            first = np.uint64(begin)
    return np.int64(to), shared, some


@njit(cache=True, nogil=True)
def _take_in(place, behind, bits, begin, end, run, word, own):  # type: ignore[no-untyped-def]
    """Add a symbol that goes with all of a list."""
    for w in range(len(bits)):
        here, other, kept = bits[w], np.uint64(run), own if w == word else np.uint64(0)
        for q in range(np.uint64(begin), np.uint64(end)):
            while behind[other] != place[q]:
                other += ONE
            here[q] &= here[other] | kept


@njit(cache=True, nogil=True)
def _all_have(bits, begin, end, word, own):  # type: ignore[no-untyped-def]
    """Whether an item of another instant can be added to all of a list."""
    for w in range(len(bits)):
        here, both = bits[w], ~own if w == word else ~np.uint64(0)
        for q in range(np.uint64(begin), np.uint64(end)):
            both &= here[q]
            if both == 0:
                break
        if both:
            return True
    return False


@njit(cache=True, nogil=True)
def _next(every, chosen, last, shared):  # type: ignore[no-untyped-def]
    """The symbols after the last one that may be added: none that would bring one with it from before."""
    left = every & ~chosen & ~((np.uint64(2) << np.uint64(last)) - ONE) if last >= 0 else every & ~chosen
    found = left
    while left:
        s = lowest(left)
        if shared[s] & ((ONE << np.uint64(s)) - ONE) & ~chosen:
            found &= ~(ONE << np.uint64(s))
        left &= left - ONE
    return found


@njit(cache=True, nogil=True)
def _ends(bits, runs, run_of, every):  # type: ignore[no-untyped-def]
    """Whether a box that all symbols of an instant end is maximal."""
    for w in range(len(bits)):
        both, left = ~np.uint64(0), every
        while left:
            both &= bits[w, runs[run_of[lowest(left)], 1]]
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
def search(first_items, rests, kinds, instants, most):  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912, PLR0915
    """All maximal boxes of itemsets sorted by their items: bounds and items, their number, and whether all.

    At most `most` are found, and no more than a thousand times as many choices looked at.
    """
    nodes, per_word = len(rests), 64 // kinds
    words, size = -(-instants // per_word), 2 * nodes + 64
    # of each pattern on the shelf the first item, the place it was taken from, and what it has behind it
    head, place, behind = np.empty(size, np.int32), np.empty(size, np.uint32), np.empty(size, np.uint32)
    bits, where = np.empty((words, size), np.uint64), np.empty(nodes, np.uint32)
    head[:nodes], place[:nodes], behind[:nodes], bits[:, :nodes] = first_items, np.arange(nodes), rests, 0
    path, sets = np.zeros(instants + 1, np.int64), np.zeros(instants + 1, np.uint64)
    # for each depth: begin, runs, next of them, instant, level of sets, whether all symbols end a box
    here, masks = np.zeros((instants + 1, 6), np.int64), np.zeros((instants + 1, 2), np.uint64)
    runs = np.empty((*_room_for_runs(first_items, rests), 3), np.int64)
    run_of = np.empty((instants + 1, kinds), np.int64)
    shared, some = np.empty((instants + 1, kinds), np.uint64), np.empty((instants + 1, kinds), np.uint64)
    lists = np.empty((instants + 1, kinds + 2, 2), np.int64)
    states = np.empty(
        (instants + 1, kinds + 2, 3), np.uint64
    )  # the set, what goes with it, what is to be added
    common, instant_of = np.empty(words, np.uint64), np.arange(instants * kinds) // kinds
    bounds, items, boxes, size, looks = np.zeros(1024, np.int64), np.empty(1024, np.int64), 0, 0, 0
    symbols = (ONE << np.uint64(kinds)) - ONE
    depth, begin, end, entering = 0, 0, nodes, True
    while depth >= 0:
        if entering:
            entering, looks = False, looks + 1
            if looks > 1000 * most:
                return bounds, items, boxes, False
            if end - begin == 1 or _singles(place, behind, begin, end):
                last, longer = end - 1, depth + (end - begin > 1)
                while True:
                    if last > begin:
                        last, path[depth], sets[depth] = _end_of(head, bits, begin, last, instant_of, kinds)
                    if longer == depth or sets[depth]:
                        if boxes == most:
                            return bounds, items, boxes, False
                        bounds, items = room(bounds, boxes + 2), room(items, size + instants * kinds)
                        size = _write(items, size, path, sets, longer, kinds)
                        boxes += 1
                        bounds[boxes] = size
                    if last == begin:
                        break
                depth -= 1
                continue
            here[depth, 0], here[depth, 4] = begin, -1
            here[depth, 1] = _runs_of(head, place, behind, bits, begin, end, where, kinds, runs[depth])
            here[depth, 2] = _beaten(bits, begin, runs[depth], here[depth, 1], kinds, common)
            lists[depth, 0, 1], masks[depth, 1] = end, ONE
        begin, level = here[depth, 0], here[depth, 4]
        if level < 0:
            at = here[depth, 2]
            if at == here[depth, 1]:
                depth -= 1
                continue
            j = instant_of[runs[depth, at, 0]]
            word, low = j // per_word, np.uint64(j % per_word * kinds)
            every = (bits[word, begin] >> low) & symbols
            # what goes with all that comes after the first instant that is looked at
            closed = (common[word] >> low) & symbols if masks[depth, 1] else np.uint64(0)
            while at < here[depth, 1] and instant_of[runs[depth, at, 0]] == j:
                s = runs[depth, at, 0] - j * kinds
                one, any_of = _beside(behind, bits, runs[depth, at, 1], runs[depth, at, 2], word)
                run_of[depth, s], shared[depth, s], some[depth, s] = (
                    at,
                    (one >> low) & every,
                    (any_of >> low) & symbols,
                )
                at += 1
            here[depth, 2], here[depth, 3], here[depth, 4], here[depth, 5] = at, j, 0, -1
            masks[depth, 0], masks[depth, 1] = every, 0
            states[depth, 0, 0], states[depth, 0, 1] = closed, closed
            states[depth, 0, 2] = _next(every, closed, -1, shared[depth])
            level = 0
        j, every, first = here[depth, 3], masks[depth, 0], level == 0 and states[depth, 0, 1] != 0
        if not first and states[depth, level, 2] == 0:
            here[depth, 4] = level - 1
            continue
        word, low = j // per_word, np.uint64(j % per_word * kinds)
        own, before = symbols << low, states[depth, level, 0]
        if first:
            c, states[depth, 0, 1] = lowest(before), 0
        else:
            c = lowest(states[depth, level, 2])
            states[depth, level, 2] &= states[depth, level, 2] - ONE
        bit, run = ONE << np.uint64(c), run_of[depth, c]
        begin_of, end_of, top = runs[depth, run, 1], runs[depth, run, 2], lists[depth, level, 1]
        alone = end_of - begin_of == 1 if level == 0 else states[depth, level, 1] & bit == 0
        if alone:
            if level > 0 and every & (bit - ONE) & ~before:
                continue
            if here[depth, 5] < 0:
                here[depth, 5] = _ends(bits, runs[depth], run_of[depth], every)
            if here[depth, 5]:
                if boxes == most:
                    return bounds, items, boxes, False
                path[depth], sets[depth] = j, every
                bounds, items = room(bounds, boxes + 2), room(items, size + instants * kinds)
                size = _write(items, size, path, sets, depth + 1, kinds)
                boxes += 1
                bounds[boxes] = size
            continue
        need = top + (end_of - begin_of if level == 0 else top - lists[depth, level, 0])
        if need > len(head):
            head, place, behind = room(head, need), room(place, need), room(behind, need)
            bits = _more_bits(bits, len(head))
        if level == 0:
            now = before if first else shared[depth, c]
            extra, any_of = now & ~bit, some[depth, c]
            more = np.uint64(0) if first else _next(every, now, c, shared[depth])
            if extra == 0 and more == 0 and _all_have(bits, begin_of, end_of, word, own):
                continue
            stop = _follow_one(head, place, behind, bits, begin_of, end_of, word, own & ~(now << low), top)
        else:
            stop, one, any_of = _follow_more(
                head, place, behind, bits, lists[depth, level, 0], top, begin_of, word, own, bit << low, top
            )
            one, any_of = (one >> low) & symbols, (any_of >> low) & symbols
            if one & (bit - ONE) & ~before:
                continue
            extra, now = one & ~(before | bit), before | one
            for q in range(top, stop if extra else top):
                bits[word, q] &= ~(extra << low)
            more = _next(every, now, c, shared[depth])
        while extra:
            _take_in(place, behind, bits, top, stop, runs[depth, run_of[depth, lowest(extra)], 1], word, own)
            extra &= extra - ONE
        kept = not _all_have(bits, top, stop, word, own)
        if more:
            here[depth, 4] = level + 1
            lists[depth, level + 1, 0], lists[depth, level + 1, 1] = top, stop
            states[depth, level + 1, 0], states[depth, level + 1, 1] = now, any_of
            states[depth, level + 1, 2] = more
        if kept:
            path[depth], sets[depth] = j, now
            depth, begin, end, entering = depth + 1, top, stop, True
    return bounds[: boxes + 1], items[:size], boxes, True
