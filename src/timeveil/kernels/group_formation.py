"""Group formation on arrays, bucket by bucket; the readable twin is `timeveil.series.formation`."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def ranges_of(values, rows, bounds):  # type: ignore[no-untyped-def]
    """The lowest and highest value of each run of rows, column by column."""
    width = values.shape[1]
    low, high = np.empty((len(bounds) - 1, width)), np.empty((len(bounds) - 1, width))
    for part in range(len(bounds) - 1):
        low[part] = values[rows[bounds[part]]]
        high[part] = low[part]
        for i in range(bounds[part] + 1, bounds[part + 1]):
            row = rows[i]
            for t in range(width):
                low[part, t] = min(low[part, t], values[row, t])
                high[part, t] = max(high[part, t], values[row, t])
    return low, high


@njit(cache=True, nogil=True)
def form_in_buckets(low, high, size, order, bounds, k, group):  # type: ignore[no-untyped-def]
    """Write the group of each subgroup, formed among those of its bucket; returns how many groups there are.

    A bucket is a run of `order` between two bounds and holds k series or more.
    """
    made = 0
    for bucket in range(len(bounds) - 1):
        inside = np.sort(order[bounds[bucket] : bounds[bucket + 1]])
        made += _form(low, high, size, inside, k, group, made)
    return made


@njit(cache=True, nogil=True)
def _form(low, high, size, inside, k, group, first):  # type: ignore[no-untyped-def]
    """Steps 1 to 5 of §5.3.3 in one bucket."""
    width = low.shape[1]
    bottom, top = np.empty((len(inside), width)), np.empty((len(inside), width))
    count = np.zeros(len(inside), np.int64)
    free = np.empty(len(inside), np.int64)
    alone = np.empty(len(inside))  # total value loss of the free ones
    made, waiting, left = 0, 0, 0
    for s in inside:
        if size[s] >= k:
            group[s] = first + made
            bottom[made], top[made], count[made] = low[s], high[s], size[s]
            made += 1
        else:
            free[waiting] = s
            alone[waiting] = size[s] * width_of(low[s], high[s])
            waiting += 1
            left += size[s]
    while left >= k:
        best = np.argmin(alone[:waiting])
        bottom[made], top[made] = low[free[best]], high[free[best]]
        waiting = _take(free, alone, waiting, best, low, high, size, group, first, made, bottom, top, count)
        while count[made] < k:
            best = _nearest(low, high, size, free, waiting, bottom[made], top[made], count[made])
            waiting = _take(
                free, alone, waiting, best, low, high, size, group, first, made, bottom, top, count
            )
        left -= count[made]
        made += 1
    for i in range(waiting):
        _join(low, high, size, free[i], group, first, made, bottom, top, count)
    return made


@njit(cache=True, nogil=True)
def _take(free, alone, waiting, at, low, high, size, group, first, into, bottom, top, count):  # type: ignore[no-untyped-def]
    """Put a free subgroup into a group; returns how many are still free, in their order."""
    s = free[at]
    group[s] = first + into
    count[into] += size[s]
    for t in range(low.shape[1]):
        bottom[into, t] = min(bottom[into, t], low[s, t])
        top[into, t] = max(top[into, t], high[s, t])
    for i in range(at, waiting - 1):
        free[i] = free[i + 1]
        alone[i] = alone[i + 1]
    return waiting - 1


@njit(cache=True, nogil=True)
def _nearest(low, high, size, free, waiting, bottom, top, count):  # type: ignore[no-untyped-def]
    """The free subgroup that makes the group's total value loss least, the first of equal ones."""
    best, least = 0, np.inf
    for i in range(waiting):
        s = free[i]
        loss = (count + size[s]) * _united(bottom, top, low[s], high[s])
        if loss < least:
            best, least = i, loss
    return best


@njit(cache=True, nogil=True)
def _join(low, high, size, s, group, first, made, bottom, top, count):  # type: ignore[no-untyped-def]
    """Put a subgroup left over where the total value loss grows least."""
    best, least = 0, np.inf
    for g in range(made):
        united = _united(bottom[g], top[g], low[s], high[s])
        grown = (count[g] + size[s]) * united - count[g] * width_of(bottom[g], top[g])
        if grown < least:
            best, least = g, grown
    group[s] = first + best
    count[best] += size[s]
    for t in range(low.shape[1]):
        bottom[best, t] = min(bottom[best, t], low[s, t])
        top[best, t] = max(top[best, t], high[s, t])


@njit(cache=True, nogil=True)
def width_of(bottom, top):  # type: ignore[no-untyped-def]
    """Root mean square width of an envelope (eq. 2)."""
    total = 0.0
    for t in range(len(bottom)):
        total += (top[t] - bottom[t]) ** 2
    return np.sqrt(total / len(bottom))


@njit(cache=True, nogil=True)
def _united(bottom, top, low, high):  # type: ignore[no-untyped-def]
    """The width of two envelopes united."""
    total = 0.0
    for t in range(len(bottom)):
        total += (max(top[t], high[t]) - min(bottom[t], low[t])) ** 2
    return np.sqrt(total / len(bottom))
