"""Draws that are a function of (seed, slot, purpose, number): Threefry-2x64 with 20 rounds.

The state of a sequence of draws is eight words: two of the key, slot, purpose, the next block's number, how
many draws of the current block are left, and the block itself.
"""

from __future__ import annotations

import numpy as np
from numba import njit

MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
WORD = np.uint64(64)
ONE = np.uint64(1)
PARITY = np.uint64(0x1BD11BDAA9FC1A22)
ROTATIONS = np.array([16, 42, 12, 31, 16, 32, 24, 21], np.uint64)


def chance_of(seed: int) -> np.ndarray:
    """The state for a seed of at most 128 bits."""
    words = [seed & ((1 << 64) - 1), seed >> 64, 0, 0, 0, 0, 0, 0]
    return np.array(words, np.uint64)


@njit(cache=True, nogil=True)
def begin_draws(chance, slot, stream):  # type: ignore[no-untyped-def]
    """Start the draws for one purpose in one slot."""
    chance[2] = np.uint64(slot)
    chance[3] = np.uint64(stream) << HALF
    chance[4] = np.uint64(0)
    chance[5] = np.uint64(0)


@njit(cache=True, nogil=True)
def draw_below(chance, bound):  # type: ignore[no-untyped-def]
    """A whole number from 0 to less than `bound`."""
    if chance[5] == 0:
        _next_block(chance)
        chance[5] = np.uint64(4)
    left = np.int64(chance[5])
    word = chance[6] if left > 2 else chance[7]
    half = word & MASK if left % 2 == 0 else word >> HALF
    chance[5] = np.uint64(left - 1)
    return np.int64((half * np.uint64(bound)) >> HALF)


@njit(cache=True, nogil=True)
def _next_block(chance):  # type: ignore[no-untyped-def]
    k0 = chance[0]
    k1 = chance[1]
    k2 = PARITY ^ k0 ^ k1
    a = chance[2] + k0
    b = (chance[3] | chance[4]) + k1
    for step in range(20):
        turn = ROTATIONS[step % 8]
        a = a + b
        b = ((b << turn) | (b >> (WORD - turn))) ^ a
        if step % 4 == 3:
            number = step // 4 + 1
            if number % 3 == 0:
                a, b = a + k0, b + k1
            elif number % 3 == 1:
                a, b = a + k1, b + k2
            else:
                a, b = a + k2, b + k0
            b = b + np.uint64(number)
    chance[4] = chance[4] + ONE
    chance[6] = a
    chance[7] = b


@njit(cache=True, nogil=True)
def shuffle(chance, items, begin, end):  # type: ignore[no-untyped-def]
    """Put items[begin:end] in random order."""
    for last in range(end - begin - 1, 0, -1):
        other = draw_below(chance, last + 1)
        items[begin + last], items[begin + other] = items[begin + other], items[begin + last]


@njit(cache=True, nogil=True)
def random_waits(chance, slots, begin, first, stream, most):  # type: ignore[no-untyped-def]
    """For each row of each arriving slot, a whole number from 0 to `most`."""
    out = np.empty(begin[-1], np.int64)
    for k in range(slots.size):
        begin_draws(chance, slots[k] + first, stream)
        for row in range(begin[k], begin[k + 1]):
            out[row] = draw_below(chance, most + 1)
    return out
