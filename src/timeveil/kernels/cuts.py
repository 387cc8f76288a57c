"""Balanced k-d cut: rows near each other in parts of about one size, in O(n log n) whatever the ties.

Each segment is halved again and again across its widest column until its parts hold fewer than twice the
minimum. A part keeps the order of its rows, so of equal values the first rows go to the first part. Rows
move with their part, so that every pass reads memory from left to right.
"""

from __future__ import annotations

import numpy as np
from numba import njit

AT_ONCE = 1 << 16  # segments a call, so that an interrupt is heard
SMALL = 600  # rows below which sampling a pivot does not pay


def balanced_cut(
    features: np.ndarray, segments: np.ndarray, minimum: int, *, in_place: bool = False
) -> tuple[np.ndarray, ...]:
    """Cut the rows of each segment into parts of [minimum, 2 * minimum) rows; a smaller segment stays whole.

    `segments` holds the bounds of contiguous runs of rows, from 0 to n. Returns `order` (rows, part by part),
    `offsets` (the bounds of the parts in it) and `came` (the segment of each part). The parts of a segment
    stand together, in its place; an empty segment has none. `in_place` saves a copy and leaves the features
    in the order of the parts.
    """
    bounds = np.ascontiguousarray(segments, dtype=np.int64)
    sizes = np.diff(bounds)
    rows = np.ascontiguousarray(features) if in_place else np.array(features, order="C")
    order = np.arange(len(rows), dtype=np.int64)
    half = int(sizes.max(initial=0)) * 2 // 3 + 1
    spare, places = np.empty((half, rows.shape[1]), rows.dtype), np.empty(half, np.int64)
    keys = np.empty(int(sizes.max(initial=0)), rows.dtype)
    most = int(np.maximum(sizes // minimum, 1).sum())
    ends, came = np.empty(most, np.int64), np.empty(most, np.int64)
    parts = 0
    for first in range(0, len(sizes), AT_ONCE):
        some = bounds[first : first + AT_ONCE + 1]
        parts = cut_segments((rows, order, spare, places, keys), some, first, minimum, ends, came, parts)
    return order, np.concatenate([bounds[:1], ends[:parts]]), came[:parts].copy()


@njit(cache=True, nogil=True)
def cut_segments(desk, bounds, first, minimum, ends, came, parts):  # type: ignore[no-untyped-def]
    """Cut in place; writes the end and the segment of each part, returns how many parts there are now."""
    stack = np.empty((128, 2), np.int64)
    reach = np.empty((2, desk[0].shape[1]), desk[0].dtype)
    for s in range(len(bounds) - 1):
        stack[0, 0], stack[0, 1] = bounds[s], bounds[s + 1]
        deep = 1 if bounds[s] < bounds[s + 1] else 0
        while deep > 0:
            deep -= 1
            begin, end = stack[deep, 0], stack[deep, 1]
            pieces = (end - begin) // minimum
            if pieces < 2:
                ends[parts], came[parts] = end, first + s
                parts += 1
                continue
            left = (end - begin) * (pieces // 2) // pieces
            _halve(desk, begin, end, left, reach)
            stack[deep, 0], stack[deep, 1] = begin + left, end
            stack[deep + 1, 0], stack[deep + 1, 1] = begin, begin + left
            deep += 2
    return parts


@njit(cache=True, nogil=True)
def _halve(desk, begin, end, left, reach):  # type: ignore[no-untyped-def]
    """Bring the `left` smallest rows of [begin, end) by the widest column to the front."""
    rows, order, spare, places, keys = desk
    across = _widest(rows, begin, end, reach)
    if across < 0:
        return
    size = end - begin
    for i in range(size):
        keys[i] = rows[begin + i, across]
    edge = nth_smallest(keys, size, left - 1)
    equal = left
    for i in range(begin, end):
        equal -= rows[i, across] < edge
    front, back = begin, 0
    for i in range(begin, end):
        value = rows[i, across]
        if value < edge or (value == edge and equal > 0):
            equal -= value == edge
            rows[front] = rows[i]
            order[front] = order[i]
            front += 1
        else:
            spare[back] = rows[i]
            places[back] = order[i]
            back += 1
    rows[front:end] = spare[:back]
    order[front:end] = places[:back]


@njit(cache=True, nogil=True)
def _widest(rows, begin, end, reach):  # type: ignore[no-untyped-def]
    """The column with the widest range, the first of equal ones; -1 where all rows are equal."""
    width = rows.shape[1]
    reach[0] = rows[begin]
    reach[1] = rows[begin]
    for i in range(begin + 1, end):
        for j in range(width):
            reach[0, j] = min(reach[0, j], rows[i, j])
            reach[1, j] = max(reach[1, j], rows[i, j])
    across = -1
    most = reach[0, 0] - reach[0, 0]
    for j in range(width):
        if reach[1, j] - reach[0, j] > most:
            across, most = j, reach[1, j] - reach[0, j]
    return across


@njit(cache=True, nogil=True)
def nth_smallest(keys, size, n):  # type: ignore[no-untyped-def]
    """The n-th smallest, from 0, of keys[:size], which are moved about; equal keys cost nothing extra."""
    left, right = 0, size - 1
    rounds = 0
    while left < right:
        rounds += 1
        if rounds > 64:  # a run of bad pivots
            keys[left : right + 1].sort()
            break
        low, high = _partition(keys, left, right, _pivot(keys, left, right, n))
        if n <= low:
            right = low
        elif n >= high:
            left = high
        else:
            break
    return keys[n]


@njit(cache=True, nogil=True)
def _pivot(keys, left, right, n):  # type: ignore[no-untyped-def]
    """A key near the n-th: the same quantile of a sample, or the median of three."""
    count = right - left + 1
    if count < SMALL:
        a, b, c = keys[left], keys[(left + right) // 2], keys[right]
        return max(min(a, b), min(max(a, b), c))
    picked = 127
    step = count // picked
    sample = np.empty(picked, keys.dtype)
    for i in range(picked):
        sample[i] = keys[left + i * step]
    sample.sort()
    return sample[(n - left) * picked // count]


@njit(cache=True, nogil=True)
def _partition(keys, left, right, pivot):  # type: ignore[no-untyped-def]
    """Hoare's: keys up to `low` are at most the pivot, from `high` on at least, between them equal."""
    i, j = left, right
    while i <= j:
        while keys[i] < pivot:
            i += 1
        while pivot < keys[j]:
            j -= 1
        if i <= j:
            keys[i], keys[j] = keys[j], keys[i]
            i += 1
            j -= 1
    return j, i
