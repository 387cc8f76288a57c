"""Changes at random, taken if they help, and at times if they do not: simulated annealing.

A row goes to the subgroup of a row near it, and a member of that subgroup comes for it, or nobody where sizes
allow. A change for the worse by x is taken with chance exp(-x / heat), so that while it is hot the search
leaves what it would otherwise be caught in. The loss is that of `refining`.
"""

from __future__ import annotations

import numpy as np

from timeveil.compiling import kernel, part
from timeveil.models.series.kernels.arrangement import (
    Places,
    Rows,
    Rules,
    State,
    desk_of,
    refresh_block,
    refresh_group,
)
from timeveil.models.series.kernels.refining import changed, move, same, swap


def shake(
    rows: Rows,
    places: Places,
    state: State,
    rules: Rules,
    features: np.ndarray,
    near: int,
    heat: float,
    times: int,
    order: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    chance: np.ndarray,
    tally: np.ndarray,
) -> None:
    """So many tries per row in the leaves [first, last), each with one of so many near it by features.

    `chance` is one word, the state of the draws; `tally` counts swaps and moves.
    """
    most = int(np.diff(offsets[first : last + 1]).max(initial=1))
    room = np.empty((most, near + 1), np.int64), np.empty(near + 1)
    desk = desk_of(rows.values.shape[1], len(rules.table))
    held = (rows, places, state, rules)
    shake_leaves(*held, features, room, desk, heat, times, order, offsets, first, last, chance, tally)


@kernel
def shake_leaves(  # type: ignore[no-untyped-def]
    rows, places, state, rules, features, room, desk, heat, times, order, offsets, first, last, chance, tally
):
    """The same in given room."""
    for f in range(first, last):
        leaf = order[offsets[f] : offsets[f + 1]]
        number = min(len(leaf) - 1, len(room[1]) - 1)
        if number < 1:
            continue
        _nearest(features, leaf, number, room)
        for _ in range(len(leaf) * times):
            i = below(chance, len(leaf))
            r, near = leaf[i], room[0][i, below(chance, number)]
            b, c = places.block[r], places.block[near]
            if b == c:
                continue
            s = np.int64(-1)
            if not may_move(places, rules, b, c) or below(chance, 2) == 0:
                s = places.members[c, below(chance, places.size[c])]
                if same(rows.values, r, s):
                    continue
            limit = -heat * np.log(1.0 - unit(chance))
            if change(rows, places, state, rules, r, s, c, limit, desk) > limit:
                continue
            if s >= 0:
                swap(places, r, s)
                tally[0] += 1
            else:
                move(places, r, c)
                tally[1] += 1
            if places.group[b] != places.group[c]:
                for there in (b, c):
                    refresh_group(rows.values, places, state.reach, state.wide, places.group[there])
            for there in (b, c):
                refresh_block(rows, places, state, rules, there, desk)


@part
def _nearest(features, leaf, number, room):  # type: ignore[no-untyped-def]
    """For each row of a leaf, so many others of it that are nearest."""
    near, far = room
    for i in range(len(leaf)):
        for place in range(number):
            far[place] = np.inf
        for o in range(len(leaf)):
            if o == i:
                continue
            square = 0.0
            for j in range(features.shape[1]):
                square += (features[leaf[i], j] - features[leaf[o], j]) ** 2
            place = number
            while place > 0 and square < far[place - 1]:
                far[place], near[i, place] = far[place - 1], near[i, place - 1]
                place -= 1
            far[place], near[i, place] = square, leaf[o]


@part
def may_move(places, rules, b, c):  # type: ignore[no-untyped-def]
    """Whether a row may go from block b to block c with nobody coming for it."""
    g, h = places.group[b], places.group[c]
    if places.size[b] <= rules.p or places.size[c] >= places.members.shape[1]:
        return False
    return g == h or (places.counts[g] > rules.k and places.counts[h] < 2 * rules.k - 1)


@part
def change(rows, places, state, rules, r, s, c, limit, desk):  # type: ignore[no-untyped-def]
    """By how much the loss grows when row r goes to block c and row s, unless it is -1, comes for it.

    Patterns are looked at only where the change keeps to the limit if both blocks go on losing as much beyond
    their bounds as they do.
    """
    values, shapes, flat = rows.values, rows.shapes, rows.flat
    b = places.block[r]
    g, h = places.group[b], places.group[c]
    mine, theirs = state.reach[g], state.reach[h]
    one, two, x, y = 0.0, 0.0, 0.0, 0.0
    for j in range(values.shape[1]):
        step = np.float64(shapes[r, j])
        if s >= 0:
            step -= shapes[s, j]
        x += (state.sums[b, j] - step) ** 2
        y += (state.sums[c, j] + step) ** 2
        if g == h:
            continue
        v = values[r, j]
        low = mine[1, j] if v == mine[0, j] else mine[0, j]
        high = mine[2, j] if v == mine[3, j] else mine[3, j]
        least, most = theirs[0, j], theirs[3, j]
        if s >= 0:
            w = values[s, j]
            low, high = min(low, w), max(high, w)
            least = theirs[1, j] if w == least else least
            most = theirs[2, j] if w == most else most
        one += (high - low) ** 2
        two += (max(most, v) - min(least, v)) ** 2
    gone, turn = 1, flat[r]
    if s >= 0:
        gone, turn = 0, turn - flat[s]
    here = places.size[b] - gone - max(np.sqrt(x), state.flats[b] - turn)
    there = places.size[c] + gone - max(np.sqrt(y), state.flats[c] + turn)
    grown = rules.weight * (here + there - state.bound[b] - state.bound[c])
    if g != h:
        root = np.sqrt(np.float64(values.shape[1]))
        wide = (places.counts[g] - gone) * np.sqrt(one) + (places.counts[h] + gone) * np.sqrt(two)
        was = places.counts[g] * state.wide[g] + places.counts[h] * state.wide[h]
        grown += (wide / root - was) / rules.unit
    if grown > limit:
        return grown
    gap = state.lost[b] - state.bound[b] + state.lost[c] - state.bound[c]
    here = changed(rows, places, state, rules, r, s, b, desk) - here
    there = changed(rows, places, state, rules, s, r, c, desk) - there
    return grown + rules.weight * (here + there - gap)


@part
def unit(chance):  # type: ignore[no-untyped-def]
    """A number from 0 to less than 1."""
    return np.float64(_word(chance) >> np.uint64(11)) * 2.0**-53


@part
def below(chance, bound):  # type: ignore[no-untyped-def]
    """A whole number from 0 to less than `bound`."""
    return np.int64(((_word(chance) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@part
def _word(chance):  # type: ignore[no-untyped-def]
    """The next 64 bits of SplitMix64 (Steele, Lea and Flood 2014)."""
    chance[0] += np.uint64(0x9E3779B97F4A7C15)
    word = chance[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
