"""Balanced k-d cut: rows near each other in parts of about one size, in O(n log n) whatever the ties.

Each segment is halved again and again across its widest column until its parts hold fewer than twice the
minimum. A part keeps the order of its rows, so of equal values the first rows go to the first part. Rows
move with their part, so that every pass reads memory from left to right.
"""

from __future__ import annotations

import numpy as np

from timeveil.compiling import kernel, part

AT_ONCE = 1 << 16  # segments a call, so that an interrupt is heard
SMALL, SAMPLE = 600, 127  # rows below which sampling a pivot does not pay, and how many are sampled


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
    keys, sample = np.empty(int(sizes.max(initial=0)), rows.dtype), np.empty(SAMPLE, rows.dtype)
    stack, reach = np.empty((128, 2), np.int64), np.empty((2, rows.shape[1]), rows.dtype)
    desk = (rows, order, spare, places, keys, sample, stack, reach)
    most = int(np.maximum(sizes // minimum, 1).sum())
    ends, came = np.empty(most, np.int64), np.empty(most, np.int64)
    parts = 0
    for first in range(0, len(sizes), AT_ONCE):
        some = bounds[first : first + AT_ONCE + 1]
        parts = cut_segments(desk, some, first, minimum, ends, came, parts)
    return order, np.concatenate([bounds[:1], ends[:parts]]), came[:parts].copy()


@kernel
def cut_segments(desk, bounds, first, minimum, ends, came, parts):  # type: ignore[no-untyped-def]
    """Cut in place; writes the end and the segment of each part, returns how many parts there are now."""
    stack = desk[6]
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
            _halve(desk, begin, end, left)
            stack[deep, 0], stack[deep, 1] = begin + left, end
            stack[deep + 1, 0], stack[deep + 1, 1] = begin, begin + left
            deep += 2
    return parts


@part
def _halve(desk, begin, end, left):  # type: ignore[no-untyped-def]
    """Bring the `left` smallest rows of [begin, end) by the widest column to the front."""
    rows, order, spare, places, keys, sample, _, reach = desk
    width = rows.shape[1]
    across = _widest(rows, begin, end, reach)
    if across < 0:
        return
    size = end - begin
    for i in range(size):
        keys[i] = rows[begin + i, across]
    edge = nth_smallest(keys, size, left - 1, sample)
    equal = left
    for i in range(begin, end):
        equal -= rows[i, across] < edge
    front, back = begin, 0
    for i in range(begin, end):
        value = rows[i, across]
        if value < edge or (value == edge and equal > 0):
            equal -= value == edge
            for j in range(width):
                rows[front, j] = rows[i, j]
            order[front] = order[i]
            front += 1
        else:
            for j in range(width):
                spare[back, j] = rows[i, j]
            places[back] = order[i]
            back += 1
    for i in range(back):
        for j in range(width):
            rows[front + i, j] = spare[i, j]
        order[front + i] = places[i]


@part
def _widest(rows, begin, end, reach):  # type: ignore[no-untyped-def]
    """The column with the widest range, the first of equal ones; -1 where all rows are equal."""
    width = rows.shape[1]
    for j in range(width):
        reach[0, j] = reach[1, j] = rows[begin, j]
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


@part
def nth_smallest(keys, size, n, sample):  # type: ignore[no-untyped-def]
    """The n-th smallest, from 0, of keys[:size], which are moved about; equal keys cost nothing extra."""
    left, right = np.int64(0), size - 1
    rounds = 0
    while left < right:
        rounds += 1
        if rounds > 64:  # a run of bad pivots
            _sort(keys, left, right + 1 - left)
            break
        count = right - left + 1
        if count < SMALL:
            a, b, c = keys[left], keys[(left + right) // 2], keys[right]
            pivot = max(min(a, b), min(max(a, b), c))
        else:  # the same quantile of a sample
            step = count // SAMPLE
            for at in range(SAMPLE):
                sample[at] = keys[left + at * step]
            _sort(sample, np.int64(0), np.int64(SAMPLE))
            pivot = sample[(n - left) * SAMPLE // count]
        i, j = left, right
        while i <= j:  # Hoare: up to j at most the pivot, from i on at least, between them equal
            while keys[i] < pivot:
                i += 1
            while pivot < keys[j]:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if n <= j:
            right = j
        elif n >= i:
            left = i
        else:
            break
    return keys[n]


@part
def _sort(keys, begin, size):  # type: ignore[no-untyped-def]
    """Sort keys[begin : begin + size] as a heap; NumPy's own takes long to compile."""
    for step in range(size + size // 2):
        top = size // 2 - 1 - step  # first build the heap, then take from it
        last = size
        key = keys[begin + max(top, 0)]
        if top < 0:
            top, last = 0, size - 1 - (step - size // 2)
            key = keys[begin + last]
            keys[begin + last] = keys[begin]
        while 2 * top + 1 < last:
            under = 2 * top + 1
            if under + 1 < last and keys[begin + under] < keys[begin + under + 1]:
                under += 1
            if keys[begin + under] <= key:
                break
            keys[begin + top] = keys[begin + under]
            top = under
        keys[begin + top] = key
