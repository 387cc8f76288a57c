"""Group formation on arrays, bucket by bucket; the readable twin is `method.formation`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from timeveil.compiling import kernel, part


class Parts(NamedTuple):
    """The envelopes of the subgroups and their sizes."""

    low: np.ndarray
    high: np.ndarray
    size: np.ndarray


class Groups(NamedTuple):
    """The envelopes of the groups of a bucket and how many series they have."""

    low: np.ndarray
    high: np.ndarray
    held: np.ndarray


def ranges_of(values: np.ndarray, rows: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest value of each run of rows, column by column."""
    low, high = (np.empty((len(bounds) - 1, values.shape[1])) for _ in range(2))
    write_ranges(values, rows, bounds, low, high)
    return low, high


@kernel
def write_ranges(values, rows, bounds, low, high):  # type: ignore[no-untyped-def]
    """The same, into arrays."""
    width = values.shape[1]
    for run in range(len(bounds) - 1):
        for t in range(width):
            low[run, t] = high[run, t] = values[rows[bounds[run]], t]
        for i in range(bounds[run] + 1, bounds[run + 1]):
            row = rows[i]
            for t in range(width):
                low[run, t] = min(low[run, t], values[row, t])
                high[run, t] = max(high[run, t], values[row, t])


def form_in_buckets(
    low: np.ndarray,
    high: np.ndarray,
    size: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    k: int,
    group: np.ndarray,
) -> int:
    """Write the group of each subgroup, formed among those of its bucket; returns how many groups there are.

    A bucket is a run of `order` between two bounds and holds k series or more.
    """
    lengths = np.diff(bounds)
    inside = order[np.lexsort((order, np.repeat(np.arange(len(lengths)), lengths)))]
    room = int(lengths.max(initial=0))
    groups = Groups(np.empty((room, low.shape[1])), np.empty((room, low.shape[1])), np.empty(room, np.int64))
    free, alone = np.empty(room, np.int64), np.empty(room)
    return int(form_all(Parts(low, high, size), inside, bounds, k, group, groups, free, alone))


@kernel
def form_all(parts, inside, bounds, k, group, groups, free, alone):  # type: ignore[no-untyped-def]
    """The same; `free` and `alone` are for the subgroups in no group and their total value losses."""
    made = np.int64(0)
    for bucket in range(len(bounds) - 1):
        made += _form(parts, inside, bounds[bucket], bounds[bucket + 1], k, group, groups, free, alone, made)
    return made


@part
def _form(parts, inside, begin, end, k, group, groups, free, alone, first):  # type: ignore[no-untyped-def]
    """Steps 1 to 5 of §5.3.3 in one bucket."""
    made, waiting, left = np.int64(0), np.int64(0), np.int64(0)
    for i in range(begin, end):
        s = inside[i]
        if parts.size[s] >= k:
            _open(groups, made)
            _put(parts, s, group, first, groups, made)
            made += 1
        else:
            free[waiting] = s
            alone[waiting] = parts.size[s] * width_of(parts.low[s], parts.high[s])
            waiting += 1
            left += parts.size[s]
    while left >= k:
        _open(groups, made)
        while groups.held[made] < k:
            best = _nearest(parts, free, alone, waiting, groups, made)
            _put(parts, free[best], group, first, groups, made)
            waiting -= 1
            for i in range(best, waiting):
                free[i] = free[i + 1]
                alone[i] = alone[i + 1]
        left -= groups.held[made]
        made += 1
    for i in range(waiting):
        _put(parts, free[i], group, first, groups, _least_grown(parts, free[i], groups, made))
    return made


@part
def _open(groups, g):  # type: ignore[no-untyped-def]
    """A group of none."""
    groups.held[g] = 0
    for t in range(groups.low.shape[1]):
        groups.low[g, t], groups.high[g, t] = np.inf, -np.inf


@part
def _put(parts, s, group, first, groups, g):  # type: ignore[no-untyped-def]
    """Put a subgroup into a group."""
    group[s] = first + g
    groups.held[g] += parts.size[s]
    for t in range(groups.low.shape[1]):
        groups.low[g, t] = min(groups.low[g, t], parts.low[s, t])
        groups.high[g, t] = max(groups.high[g, t], parts.high[s, t])


@part
def _nearest(parts, free, alone, waiting, groups, g):  # type: ignore[no-untyped-def]
    """The free subgroup that makes the group's total value loss least, the first of equal ones."""
    best, least = 0, np.inf
    for i in range(waiting):
        s = free[i]
        loss = alone[i]
        if groups.held[g] > 0:
            loss = (groups.held[g] + parts.size[s]) * _united(groups, g, parts, s)
        if loss < least:
            best, least = i, loss
    return best


@part
def _least_grown(parts, s, groups, made):  # type: ignore[no-untyped-def]
    """The group whose total value loss grows least with a subgroup left over."""
    best, least = 0, np.inf
    for g in range(made):
        grown = (groups.held[g] + parts.size[s]) * _united(groups, g, parts, s)
        grown -= groups.held[g] * width_of(groups.low[g], groups.high[g])
        if grown < least:
            best, least = g, grown
    return best


@part
def width_of(bottom, top):  # type: ignore[no-untyped-def]
    """Root mean square width of an envelope (eq. 2)."""
    total = 0.0
    for t in range(len(bottom)):
        total += (top[t] - bottom[t]) ** 2
    return np.sqrt(total / len(bottom))


@part
def _united(groups, g, parts, s):  # type: ignore[no-untyped-def]
    """The width of a group's envelope and a subgroup's united."""
    total = 0.0
    width = groups.low.shape[1]
    for t in range(width):
        total += (max(groups.high[g, t], parts.high[s, t]) - min(groups.low[g, t], parts.low[s, t])) ** 2
    return np.sqrt(total / width)
