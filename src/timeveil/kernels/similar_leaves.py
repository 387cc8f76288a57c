"""Undersized leaves joined to the most similar good leaf of their group."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def most_similar(shape, size, undersized, leaves, bounds):  # type: ignore[no-untyped-def]
    """The leaf that each leaf ends in, itself unless it is undersized.

    `leaves` between two bounds are those of one group, with a good one among them; `shape` has the unit
    centred reconstruction of each.
    The smallest goes first; of equally similar leaves the smaller one takes it.
    """
    size = size.copy()
    ends_in = np.arange(len(size))
    for g in range(len(bounds) - 1):
        inside = leaves[bounds[g] : bounds[g + 1]]
        waiting = inside[undersized[inside]]
        waiting = waiting[np.argsort(size[waiting], kind="mergesort")]
        for bad in waiting:
            best, least = -1, np.inf
            for good in inside:
                if undersized[good]:
                    continue
                far = shape_distance(shape[bad], shape[good])
                if best < 0 or far < least - 1e-12 or (far < least + 1e-12 and size[good] < size[best]):
                    best, least = good, far
            ends_in[bad] = best
            size[best] += size[bad]
    return ends_in


@njit(cache=True, nogil=True)
def shape_distance(one, other):  # type: ignore[no-untyped-def]
    """Half the squared distance of unit shapes; 1 where exactly one of them is zero (eq. 3)."""
    total, mine, theirs = 0.0, False, False
    for t in range(len(one)):
        total += (one[t] - other[t]) ** 2
        mine |= one[t] != 0
        theirs |= other[t] != 0
    return 1.0 if mine != theirs else total / 2
