"""The step of the stream method on arrays: relays, fill and lift.

It works on a `Ring` of counts and costs the relays made, however many values there are. The readable twin of
this module is `timeveil.models.stream.method.reposition` with `timeveil.models.stream.method.window`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.models.stream.kernels.ring import list_value

NEVER, LAST_CHANCE, ALWAYS = 0, 1, 2
WITHHELD, ORIGIN, COUNT = 0, 1, 2
NO_GAIN = np.int64(-(2**62))
NONE, ZERO = np.int64(-1), np.int64(0)  # typed, so that each function is compiled once


@njit(cache=True, nogil=True)
def reposition(ring, last, level, l, move, withhold, filler):  # type: ignore[no-untyped-def]
    """Figure 4 on the last slot, whose commonest value stands there `level` times."""
    w = ring.standing.shape[0]
    while True:
        _fill_level(ring, last, level, move, withhold)
        if not _lift_level(ring, last, level, l, move, withhold, filler):
            return
        r = last % w
        for p in range(ring.held[r]):
            level = max(level, ring.standing[r, ring.present[r, p]])


@njit(cache=True, nogil=True, inline="always")
def forget_idle(ring):  # type: ignore[no-untyped-def]
    """Drop values without withheld records from the queue; returns how many are left."""
    w = ring.standing.shape[0]
    kept = 0
    for q in range(ring.held[w]):
        s = ring.queue[q]
        if ring.waiting[s] > 0:
            ring.queue[kept] = s
            kept += 1
        else:
            ring.queued[s] = False
    ring.held[w] = kept
    return kept


@njit(cache=True, nogil=True, inline="always")
def _fill_level(ring, last, level, move, withhold):  # type: ignore[no-untyped-def]
    w = ring.standing.shape[0]
    r = last % w
    for q in range(ring.held[w]):
        s = ring.queue[q]
        while ring.waiting[s] > 0 and ring.standing[r, s] < level:
            if _gain_of(ring, s, last, move, withhold) <= 0:
                break
            _apply(ring, s, last, NONE, ZERO)


@njit(cache=True, nogil=True)
def _lift_level(ring, last, level, l, move, withhold, filler):  # type: ignore[no-untyped-def]
    w = ring.standing.shape[0]
    r = last % w
    needed = max(1, (level + 1) * l - ring.size[r])
    oldest = last - w + 1
    spare = filler == ALWAYS
    if filler == LAST_CHANCE and oldest >= 0:
        o = oldest % w
        for p in range(ring.held[o]):
            if ring.withheld[o, ring.present[o, p]] > 0:
                spare = True
    if not spare:
        found = 0
        for q in range(ring.held[w]):
            s = ring.queue[q]
            if ring.standing[r, s] <= level:
                found += min(ring.waiting[s], level + 1 - ring.standing[r, s])
        if found < needed:
            return False
    total = 0
    notes = ZERO
    for _ in range(needed):
        value, source, gain = _best(ring, last, level, l, move, withhold, spare)
        if value < 0:
            total = 0
            break
        total += gain
        notes = _apply(ring, value, last, source, notes)
    if total > 0:
        return True
    _undo(ring, notes)
    return False


@njit(cache=True, nogil=True)
def _best(ring, last, level, l, move, withhold, spare):  # type: ignore[no-untyped-def]
    """Value, starting slot (-1 for a withheld record) and gain of the best relay; value -1 if none."""
    w = ring.standing.shape[0]
    r = last % w
    best = -1
    source = -1
    most = NO_GAIN
    for q in range(ring.held[w]):
        s = ring.queue[q]
        if ring.waiting[s] > 0 and ring.standing[r, s] <= level:
            gain = _gain_of(ring, s, last, move, withhold)
            if best < 0 or gain > most or (gain == most and s < best):
                best, most = s, gain
    if not spare:
        return best, source, most
    for j in range(last - 1, max(last - w, -1), -1):
        b = j % w
        highest, often = _heights(ring, b)
        for p in range(ring.held[b]):
            s = ring.present[b, p]
            if ring.standing[b, s] == 0 or ring.standing[r, s] > level:
                continue
            left = highest - 1 if ring.standing[b, s] == highest and often == 1 else highest
            if ring.size[b] - 1 < l * left:
                continue
            o = j - _nearest(ring, b, s)
            gain = -_walk_cost(ring, s, o, j, last, move)
            if gain > NO_GAIN and (best < 0 or gain > most or (gain == most and s < best)):
                best, source, most = s, j, gain
    return best, source, most


@njit(cache=True, nogil=True)
def _heights(ring, b):  # type: ignore[no-untyped-def]
    """How often the commonest value of a slot stands there, and how many values stand as often."""
    highest = 0
    often = 0
    for p in range(ring.held[b]):
        count = ring.standing[b, ring.present[b, p]]
        if count > highest:
            highest, often = count, 1
        elif count == highest:
            often += 1
    return highest, often


@njit(cache=True, nogil=True, inline="always")
def _nearest(ring, b, s):  # type: ignore[no-untyped-def]
    """How far the latest record of a value in a slot has come."""
    d = 0
    while ring.origin[b, d, s] == 0:
        d += 1
    return d


@njit(cache=True, nogil=True, inline="always")
def _gain_of(ring, s, last, move, withhold):  # type: ignore[no-untyped-def]
    if ring.known[s] != last:
        i = _latest_withheld(ring, s, last)
        ring.gain[s] = withhold[s] - _walk_cost(ring, s, i, i, last, move)
        ring.known[s] = last
    return ring.gain[s]


@njit(cache=True, nogil=True, inline="always")
def _latest_withheld(ring, s, last):  # type: ignore[no-untyped-def]
    b = last % ring.standing.shape[0]
    i = last
    while ring.withheld[b, s] == 0:
        i -= 1
        b = b - 1 if b > 0 else ring.standing.shape[0] - 1
    return i


@njit(cache=True, nogil=True, inline="always")
def _walk_cost(ring, s, carried, here, last, move):  # type: ignore[no-untyped-def]
    """What a relay costs that starts in slot `here` (eq. 6); a huge number where it goes too far."""
    w = ring.standing.shape[0]
    b = here % w
    cost = np.int64(0)
    for j in range(here + 1, last + 1):
        b = b + 1 if b + 1 < w else 0  # j % w
        if j < last and ring.standing[b, s] == 0:
            continue
        if j - carried >= w:
            return -NO_GAIN
        cost += move[j - carried] - move[here - carried]
        here = j
        if j < last:
            carried = max(carried, j - _nearest(ring, b, s))
    return cost


@njit(cache=True, nogil=True)
def _apply(ring, s, last, source, notes):  # type: ignore[no-untyped-def]
    """Carry a relay out and note every change; `source` is -1 for a withheld record."""
    w = ring.standing.shape[0]
    here = _latest_withheld(ring, s, last) if source < 0 else source
    carried = here
    b = here % w
    if source < 0:
        notes = _change(ring, WITHHELD, b, s, 0, -1, notes)
    else:
        d = _nearest(ring, b, s)
        carried = here - d
        notes = _change(ring, ORIGIN, b, s, d, -1, notes)
        notes = _change(ring, COUNT, b, s, 0, -1, notes)
    for j in range(here + 1, last):
        b = b + 1 if b + 1 < w else 0  # j % w
        if ring.standing[b, s] == 0:
            continue
        notes = _change(ring, ORIGIN, b, s, j - carried, 1, notes)
        d = _nearest(ring, b, s)
        notes = _change(ring, ORIGIN, b, s, d, -1, notes)
        carried = j - d
    b = last % w
    list_value(ring, b, s)
    notes = _change(ring, ORIGIN, b, s, last - carried, 1, notes)
    notes = _change(ring, COUNT, b, s, 0, 1, notes)
    ring.known[s] = -1
    return notes


@njit(cache=True, nogil=True, inline="always")
def _change(ring, kind, r, s, d, by, notes):  # type: ignore[no-untyped-def]
    _alter(ring, kind, r, s, d, by)
    ring.journal[notes, 0] = kind
    ring.journal[notes, 1] = r
    ring.journal[notes, 2] = s
    ring.journal[notes, 3] = d
    ring.journal[notes, 4] = by
    return notes + 1


@njit(cache=True, nogil=True, inline="always")
def _alter(ring, kind, r, s, d, by):  # type: ignore[no-untyped-def]
    if kind == WITHHELD:
        ring.withheld[r, s] += by
        ring.waiting[s] += by
    elif kind == ORIGIN:
        ring.origin[r, d, s] += by
        if d == 0:
            ring.native[r] += by
    else:
        ring.standing[r, s] += by
        ring.size[r] += by


@njit(cache=True, nogil=True)
def _undo(ring, notes):  # type: ignore[no-untyped-def]
    """Take back the changes of a lift, the latest first."""
    for n in range(notes - 1, -1, -1):
        kind, r, s, d, by = ring.journal[n]
        _alter(ring, kind, r, s, d, -by)
        ring.known[s] = -1
