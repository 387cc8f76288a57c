"""Secret chance that does not depend on what was drawn before.

Which records move, which share a bucket and which of two equal choices is made is drawn under a secret seed.
Every draw is a function of (seed, slot, purpose), computed with SHAKE-128. So the draws of a slot are the
same however its records were handed over, and a publisher that resumes needs to remember its seed only.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from hashlib import shake_128
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

CELLS = b"cells"
JITTER = b"jitter"
TIES = b"ties"
MIXING = b"mixing"
BUCKETS = b"buckets"
PACKETS = b"packets"

BLOCK = 64
"""Words drawn at a time by `Draws`."""


class Chance:
    """Random words by slot and purpose.

    >>> chance = Chance(7)
    >>> chance.words(3, TIES, 2).tolist() == Chance(7).words(3, TIES, 2).tolist()
    True
    >>> sorted(chance.order(3, CELLS, np.array([1, 0, 1, 0]))[:2].tolist())
    [1, 3]
    """

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(16, "big")

    def words(self, slot: int, purpose: bytes, count: int) -> Words:
        """Random words of 64 bits."""
        message = self._key + slot.to_bytes(8, "big", signed=True) + purpose
        return np.frombuffer(shake_128(message).digest(8 * count), np.uint64)

    def below(self, slot: int, purpose: bytes, count: int, bound: int) -> Ints:
        """Whole numbers from 0 to less than `bound`, at most 2**32."""
        # Multiply and shift instead of a modulo: 32 random bits times a bound of at most 2**32 fit in a word.
        scaled = (self.words(slot, purpose, count) >> np.uint64(32)) * np.uint64(bound)
        return (scaled >> np.uint64(32)).astype(np.int64)

    def order(self, slot: int, purpose: bytes, group: Ints) -> Ints:
        """Positions sorted by group number and, inside a group, at random."""
        # One sort: the group in the upper bits of a word, random bits in all others.
        bits = max(int(group.max(initial=0)).bit_length(), 1)
        keys = self.words(slot, purpose, len(group)) >> np.uint64(bits)
        keys |= group.astype(np.uint64) << np.uint64(64 - bits)
        return keys.argsort()

    def draws(self, slot: int, purpose: bytes) -> Draws:
        """Single draws, one after another."""
        return Draws(self, slot, purpose)


class Draws:
    """Whole numbers drawn one after another for one purpose in one slot."""

    def __init__(self, chance: Chance, slot: int, purpose: bytes) -> None:
        self._chance, self._slot, self._purpose = chance, slot, purpose
        self._block = 0
        self._unused: list[int] = []

    def below(self, bound: int) -> int:
        """A whole number from 0 to less than `bound`."""
        if not self._unused:
            # Numbered blocks, so that single draws depend on nothing but how many came before them.
            purpose = self._purpose + self._block.to_bytes(8, "big")
            self._unused = self._chance.words(self._slot, purpose, BLOCK).tolist()
            self._block += 1
        # Python's whole numbers do not overflow: all 64 bits decide.
        return self._unused.pop() * bound >> 64

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Put items in random order (Fisher and Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]
