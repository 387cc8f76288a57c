"""Swaps and moves that lower the loss of a partition, each scored in O(instants).

The loss is `sum of size * width(group) / unit + weight * sum of loss(block)`: the width of a group is the
root mean square of its envelope's widths; the loss of a block is what its shapes lose under one pattern.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.compiling import LEAN, kernel, part
from timeveil.models.series.kernels.arrangement import (
    Places,
    Rows,
    Rules,
    State,
    block_loss,
    desk_of,
    refresh_block,
    refresh_group,
)

LEAST = 1e-9  # a gain below this is rounding


def improve(
    rows: Rows,
    places: Places,
    state: State,
    rules: Rules,
    order: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    tally: np.ndarray,
) -> None:
    """One pass over the leaves [first, last): for each row the best swap or move within its leaf.

    `tally` counts swaps and moves.
    """
    d = rows.values.shape[1]
    room = int(np.diff(offsets[first : last + 1]).max(initial=1))
    near = (*(np.empty((room, d)) for _ in range(5)), np.empty(room, np.int64))
    best = np.empty((max(1, rules.tries), 5))
    desk = desk_of(d, len(rules.table))
    improve_leaves(rows, places, state, rules, near, best, desk, order, offsets, first, last, tally)


@kernel
def improve_leaves(rows, places, state, rules, near, best, desk, order, offsets, first, last, tally):  # type: ignore[no-untyped-def]
    """The same; `near` holds the leaf's values, shapes, what is left without each row, and its rows."""
    d = rows.values.shape[1]
    for f in range(first, last):
        leaf = order[offsets[f] : offsets[f + 1]]
        for i in range(len(leaf)):
            near[5][i] = leaf[i]
            for j in range(d):
                near[0][i, j] = rows.values[leaf[i], j]
                near[1][i, j] = rows.shapes[leaf[i], j]
            without(rows, places, state, leaf[i], near[2][i], near[3][i], near[4][i])
        for i in range(len(leaf)):
            _rank(rows, places, state, rules, near, i, len(leaf), best)
            gain, at, kind = _choose(rows, places, state, rules, near, i, best, desk)
            if gain >= -LEAST:
                continue
            r, s = leaf[i], leaf[at]
            b, c = places.block[r], places.block[s]
            if kind == 0:
                swap(places, r, s)
            else:
                move(places, r, c)
            tally[kind] += 1
            g, h = places.group[b], places.group[c]
            if g != h:
                for there in (g, h):
                    refresh_group(rows.values, places, state.reach, state.wide, there)
            for there in (b, c):
                refresh_block(rows, places, state, rules, there, desk)
            for o in range(len(leaf)):
                there = places.group[places.block[leaf[o]]]
                if there == g or there == h:  # noqa: PLR1714, SIM109
                    without(rows, places, state, leaf[o], near[2][o], near[3][o], near[4][o])


@part
def without(rows, places, state, r, low, high, sums):  # type: ignore[no-untyped-def]
    """The envelope of a row's group and the sum of its block with the row thought away."""
    b = places.block[r]
    reach = state.reach[places.group[b]]
    for j in range(len(low)):
        v = rows.values[r, j]
        low[j] = reach[1, j] if v == reach[0, j] else reach[0, j]
        high[j] = reach[2, j] if v == reach[3, j] else reach[3, j]
        sums[j] = state.sums[b, j] - rows.shapes[r, j]


@part
def swap(places, r, s):  # type: ignore[no-untyped-def]
    """Two rows change places."""
    b, c = places.block[r], places.block[s]
    for m in range(places.size[b]):
        if places.members[b, m] == r:
            places.members[b, m] = s
            break
    for m in range(places.size[c]):
        if places.members[c, m] == s:
            places.members[c, m] = r
            break
    places.block[r], places.block[s] = c, b


@part
def move(places, r, c):  # type: ignore[no-untyped-def]
    """A row goes over to another block."""
    b = places.block[r]
    last = places.size[b] - 1
    for m in range(last):
        if places.members[b, m] == r:
            places.members[b, m] = places.members[b, last]
            break
    places.size[b] = last
    places.members[c, places.size[c]] = r
    places.size[c] += 1
    places.counts[places.group[b]] -= 1
    places.counts[places.group[c]] += 1
    places.block[r] = c


@part
def _rank(rows, places, state, rules, near, i, number, best):  # type: ignore[no-untyped-def]
    """The best changes of leaf row i by the bound.

    Of each: the change of loss, with whom, 0 for a swap or 1 for a move, and both bounds after it.
    """
    b = places.block[near[5][i]]
    g = places.group[b]
    for place in range(len(best)):
        best[place, 0] = np.inf
    may_leave = places.size[b] > rules.p
    for o in range(number):
        c = places.block[near[5][o]]
        if c == b:
            continue
        h = places.group[c]
        before = rules.weight * (state.bound[b] + state.bound[c])
        wide = (places.counts[g] * state.wide[g] + places.counts[h] * state.wide[h]) / rules.unit
        one, two, value = _swapped(rows, places, state, near, i, o)
        change = rules.weight * (one + two) - before
        if g != h:
            change += value / rules.unit - wide
        _note(best, change, o, 0, one, two)
        if not may_leave or places.size[c] >= places.members.shape[1]:
            continue
        if g != h and (places.counts[g] <= rules.k or places.counts[h] >= 2 * rules.k - 1):
            continue
        one, two, value = _moved(rows, places, state, near, i, o)
        change = rules.weight * (one + two) - before
        if g != h:
            change += value / rules.unit - wide
        _note(best, change, o, 1, one, two)


@njit(nogil=True, inline="always")
def _note(best, change, at, kind, one, two):  # type: ignore[no-untyped-def]
    """Keep the best few, in order."""
    place = len(best) - 1
    if change >= best[place, 0]:
        return
    while place > 0 and change < best[place - 1, 0]:
        for item in range(5):
            best[place, item] = best[place - 1, item]
        place -= 1
    best[place, 0], best[place, 1], best[place, 2] = change, at, kind
    best[place, 3], best[place, 4] = one, two


@njit(**LEAN, no_cpython_wrapper=True, fastmath=True)
def _swapped(rows, places, state, near, i, o):  # type: ignore[no-untyped-def]
    """The bounds of both blocks, and the widths of both groups times their sizes, after a swap."""
    values, shapes, low, high, sums, leaf = near
    r, s = leaf[i], leaf[o]
    b, c = places.block[r], places.block[s]
    one, two, x, y = 0.0, 0.0, 0.0, 0.0
    for j in range(values.shape[1]):
        v, w = values[i, j], values[o, j]
        first = max(high[i, j], w) - min(low[i, j], w)
        second = max(high[o, j], v) - min(low[o, j], v)
        one += first * first
        two += second * second
        here, there = sums[i, j] + shapes[o, j], sums[o, j] + shapes[i, j]
        x += here * here
        y += there * there
    turn = rows.flat[s] - rows.flat[r]
    mine = places.size[b] - max(np.sqrt(x), state.flats[b] + turn)
    theirs = places.size[c] - max(np.sqrt(y), state.flats[c] - turn)
    g, h = places.group[b], places.group[c]
    root = np.sqrt(np.float64(values.shape[1]))
    return mine, theirs, (places.counts[g] * np.sqrt(one) + places.counts[h] * np.sqrt(two)) / root


@part
def _moved(rows, places, state, near, i, o):  # type: ignore[no-untyped-def]
    """The same after row i went over to the block of row o."""
    values, shapes, low, high, sums, leaf = near
    r, s = leaf[i], leaf[o]
    b, c = places.block[r], places.block[s]
    g, h = places.group[b], places.group[c]
    reach = state.reach[h]
    one, two, x, y = 0.0, 0.0, 0.0, 0.0
    for j in range(values.shape[1]):
        v = values[i, j]
        one += (high[i, j] - low[i, j]) ** 2
        two += (max(reach[3, j], v) - min(reach[0, j], v)) ** 2
        x += sums[i, j] ** 2
        y += (state.sums[c, j] + shapes[i, j]) ** 2
    flat = rows.flat[r]
    mine = places.size[b] - 1 - max(np.sqrt(x), state.flats[b] - flat)
    theirs = places.size[c] + 1 - max(np.sqrt(y), state.flats[c] + flat)
    root = np.sqrt(np.float64(values.shape[1]))
    return (
        mine,
        theirs,
        ((places.counts[g] - 1) * np.sqrt(one) + (places.counts[h] + 1) * np.sqrt(two)) / root,
    )


@part
def _choose(rows, places, state, rules, near, i, best, desk):  # type: ignore[no-untyped-def]
    """Change of loss, place in the leaf and kind of the best of the best, scored exactly where asked to.

    No block loses less than its bound, so a candidate that would not help at the bound is not looked at, nor
    is a swap of equal rows.
    """
    if rules.tries == 0 or best[0, 0] == np.inf:
        return best[0, 0], int(best[0, 1]), int(best[0, 2])
    least, at, kind = -LEAST, -1, 0
    for t in range(len(best)):
        if best[t, 0] == np.inf:
            break
        o, one, two = int(best[t, 1]), best[t, 3], best[t, 4]
        r, s = near[5][i], near[5][o]
        b, c = places.block[r], places.block[s]
        gap = state.lost[b] - state.bound[b] + state.lost[c] - state.bound[c]
        change = best[t, 0] - rules.weight * gap
        if change >= least:
            continue
        taken = np.int64(-1) if best[t, 2] == 1 else s
        if taken >= 0 and same(near[0], i, o):
            continue
        for side in range(2):
            if change < least:
                gone, new, at_bound = (r, taken, one) if side == 0 else (taken, r, two)
                there = b if side == 0 else c
                exact = changed(rows, places, state, rules, gone, new, there, desk)
                change += rules.weight * (exact - at_bound)
        if change < least:
            least, at, kind = change, o, int(best[t, 2])
    return least, at, kind


@part
def same(values, i, o):  # type: ignore[no-untyped-def]
    """Whether two rows are equal."""
    for j in range(values.shape[1]):  # noqa: SIM110
        if values[i, j] != values[o, j]:
            return False
    return True


@part
def changed(rows, places, state, rules, gone, new, b, desk):  # type: ignore[no-untyped-def]
    """What block b loses exactly with one row gone and another new; -1 is no row."""
    low, high, sums = desk[0], desk[1], desk[2]
    spread = state.spread[b]
    size, flats = places.size[b], state.flats[b]
    for j in range(len(low)):
        low[j], high[j], sums[j] = spread[0, j], spread[3, j], state.sums[b, j]
    if gone >= 0:
        size -= 1
        flats -= rows.flat[gone]
        for j in range(len(low)):
            v = rows.u[gone, j]
            if v == spread[0, j]:
                low[j] = spread[1, j]
            if v == spread[3, j]:
                high[j] = spread[2, j]
            sums[j] -= rows.shapes[gone, j]
    if new >= 0:
        size += 1
        flats += rows.flat[new]
        for j in range(len(low)):
            v = rows.u[new, j]
            low[j], high[j] = min(low[j], v), max(high[j], v)
            sums[j] += rows.shapes[new, j]
    return block_loss(size, flats, rules.level, rules.table, desk)
