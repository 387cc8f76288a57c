"""The latest slots of a stream as counts on arrays, and how a slot enters and leaves.

Slot j stands at j % w. Only values that occur are touched, so a slot costs its records, however many values
there are. The readable twin is `timeveil.models.stream.method.window`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class Ring(NamedTuple):
    """Counts by slot of the ring and value.

    origin[r, d, s]: published in slot r, from d slots before; standing[r, s] their sum, size[r] that of all
    values, native[r] of those that came there. withheld[r, s]: of those that came in slot r. arrived[r, s]:
    all that came. present[r, :held[r]]: the values that occur, `listed` where. waiting[s]: withheld in the
    whole window; queue[:held[w]] lists the values that may have some, `queued` which. gain[s] holds for
    slot known[s].
    """

    origin: np.ndarray
    standing: np.ndarray
    withheld: np.ndarray
    arrived: np.ndarray
    size: np.ndarray
    native: np.ndarray
    present: np.ndarray
    listed: np.ndarray
    held: np.ndarray
    waiting: np.ndarray
    queue: np.ndarray
    queued: np.ndarray
    gain: np.ndarray
    known: np.ndarray
    journal: np.ndarray


def ring_of(width: int, values: int, l: int) -> Ring:
    """An empty ring."""
    per_slot = (width, values)
    return Ring(
        np.zeros((width, width, values), np.int32),
        np.zeros(per_slot, np.int32),
        np.zeros(per_slot, np.int32),
        np.zeros(per_slot, np.int32),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(per_slot, np.int64),
        np.zeros(per_slot, np.bool_),
        np.zeros(width + 1, np.int64),
        np.zeros(values, np.int64),
        np.zeros(values, np.int64),
        np.zeros(values, np.bool_),
        np.zeros(values, np.int64),
        np.full(values, -1, np.int64),
        np.zeros((l * (2 * width + 6), 5), np.int64),
    )


@njit(cache=True, nogil=True, inline="always")
def clear_slot(ring, r):  # type: ignore[no-untyped-def]
    """A slot leaves the ring, and what is withheld there with it."""
    values = ring.present[r, : ring.held[r]]
    for s in values:
        ring.waiting[s] -= ring.withheld[r, s]
    if 4 * values.size > ring.waiting.size:
        ring.withheld[r] = 0
        ring.standing[r] = 0
        ring.arrived[r] = 0
        ring.listed[r] = False
        ring.origin[r] = 0
    else:
        for s in values:
            ring.withheld[r, s] = 0
            ring.standing[r, s] = 0
            ring.arrived[r, s] = 0
            ring.listed[r, s] = False
            ring.origin[r, :, s] = 0
    ring.held[r] = 0
    ring.size[r] = 0
    ring.native[r] = 0


@njit(cache=True, nogil=True, inline="always")
def list_value(ring, r, s):  # type: ignore[no-untyped-def]
    """Note that a value occurs in a slot."""
    if not ring.listed[r, s]:
        ring.listed[r, s] = True
        ring.present[r, ring.held[r]] = s
        ring.held[r] += 1


@njit(cache=True, nogil=True, inline="always")
def queue_value(ring, s):  # type: ignore[no-untyped-def]
    """Note that a value has withheld records."""
    w = ring.standing.shape[0]
    if not ring.queued[s]:
        ring.queued[s] = True
        ring.queue[ring.held[w]] = s
        ring.held[w] += 1


@njit(cache=True, nogil=True, inline="always")
def take_in(ring, last, code, begin, end, l):  # type: ignore[no-untyped-def]
    """The records of an arriving slot, with as few withheld as l-eligibility needs (§III)."""
    r = last % ring.standing.shape[0]
    _count(ring, r, code[begin:end])
    highest = np.int64(0)
    for p in range(ring.held[r]):
        highest = max(highest, ring.arrived[r, ring.present[r, p]])
    most = highest
    if highest * l > end - begin:
        most = largest_level(ring.arrived[r], ring.present[r], ring.held[r], l, highest)
    if most == highest and ring.waiting.size <= end - begin:
        ring.standing[r] = ring.arrived[r]
        ring.origin[r, 0] = ring.arrived[r]
        ring.size[r] = end - begin
        ring.native[r] = end - begin
        return most
    total = 0
    for p in range(ring.held[r]):
        s = ring.present[r, p]
        kept = min(ring.arrived[r, s], most)
        ring.standing[r, s] = kept
        ring.origin[r, 0, s] = kept
        ring.withheld[r, s] = ring.arrived[r, s] - kept
        if ring.withheld[r, s] > 0:
            ring.waiting[s] += ring.withheld[r, s]
            queue_value(ring, s)
        total += kept
    ring.size[r] = total
    ring.native[r] = total
    return most


@njit(cache=True, nogil=True)
def _count(ring, r, code):  # type: ignore[no-untyped-def]
    """Count a slot's records by value and list the values: by looking at all of them where they are few."""
    arrived = ring.arrived[r]
    if arrived.size > code.size:
        for s in code:
            if arrived[s] == 0:
                list_value(ring, r, s)
            arrived[s] += 1
        return
    for s in code:
        arrived[s] += 1
    number = 0
    for s in range(arrived.size):
        ring.present[r, number] = s
        ring.listed[r, s] = arrived[s] > 0
        number += arrived[s] > 0
    ring.held[r] = number


@njit(cache=True, nogil=True)
def largest_level(counts, values, number, l, highest):  # type: ignore[no-untyped-def]
    """The largest L with sum(min(count, L)) >= l * L."""
    low = 0
    high = highest
    while low < high:
        middle = (low + high + 1) // 2
        total = np.int64(0)
        for p in range(number):
            total += min(counts[values[p]], middle)
        if total >= l * middle:
            low = middle
        else:
            high = middle - 1
    return low
