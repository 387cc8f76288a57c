"""Undersized leaves joined to the most similar good leaf of their group."""

from __future__ import annotations

import numpy as np

from timeveil.compiling import kernel, part


def most_similar(
    shape: np.ndarray, size: np.ndarray, undersized: np.ndarray, leaves: np.ndarray, bounds: np.ndarray
) -> np.ndarray:
    """The leaf that each leaf ends in, itself unless it is undersized.

    `leaves` between two bounds are those of one group, with a good one among them; `shape` has the unit
    centred reconstruction of each.
    The smallest goes first; of equally similar leaves the smaller one takes it.
    """
    ends_in = np.arange(len(size))
    group = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    bad = undersized[leaves]
    first = np.lexsort((size[leaves[bad]], group[bad]))
    waiting, of = leaves[bad][first], group[bad][first]
    join_leaves(shape, size.copy(), undersized, leaves, bounds, waiting, of, ends_in)
    return ends_in


@kernel
def join_leaves(shape, size, undersized, leaves, bounds, waiting, of, ends_in):  # type: ignore[no-untyped-def]
    """Write where the waiting leaves, each of a group, end, one after the other."""
    for i in range(len(waiting)):
        bad = waiting[i]
        best, least = np.int64(-1), np.inf
        for j in range(bounds[of[i]], bounds[of[i] + 1]):
            good = leaves[j]
            if undersized[good]:
                continue
            far = shape_distance(shape[bad], shape[good])
            if best < 0 or far < least - 1e-12 or (far < least + 1e-12 and size[good] < size[best]):
                best, least = good, far
        ends_in[bad] = best
        size[best] += size[bad]


@part
def shape_distance(one, other):  # type: ignore[no-untyped-def]
    """Half the squared distance of unit shapes; 1 where exactly one of them is zero (eq. 3)."""
    total, mine, theirs = 0.0, False, False
    for t in range(len(one)):
        total += (one[t] - other[t]) ** 2
        mine |= one[t] != 0
        theirs |= other[t] != 0
    return 1.0 if mine != theirs else total / 2
