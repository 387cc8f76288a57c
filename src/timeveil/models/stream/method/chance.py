"""Secret chance that does not depend on what was drawn before.

Which records move, and which share a bucket, is drawn under a secret seed. Every draw is a function of
(seed, slot, purpose, number), computed with the block function Threefry-2x64 with 20 rounds (Salmon et al.
2011). So a slot's draws are the same however its records were handed over, and a publisher that starts
again needs to remember its seed alone.
"""

from __future__ import annotations

import secrets
from collections.abc import MutableSequence
from typing import Any

from timeveil.errors import ParameterError

MASK = (1 << 64) - 1
ROTATIONS = (16, 42, 12, 31, 16, 32, 24, 21)
PARITY = 0x1BD11BDAA9FC1A22
ROUNDS = 20

BUCKETS = 0
CELLS = 1
JITTER = (1 << 32) - 1
PACKETS = (1 << 32) - 2


class Draws:
    """Whole numbers drawn one after another for one purpose in one slot.

    `stream` is the purpose: `BUCKETS`, `JITTER`, `PACKETS`, or `CELLS` plus a value's code.

    >>> first, again = Draws(7, slot=3, stream=BUCKETS), Draws(7, slot=3, stream=BUCKETS)
    >>> [first.below(10) for _ in range(6)] == [again.below(10) for _ in range(6)]
    True
    """

    def __init__(self, seed: int, slot: int, stream: int) -> None:
        self._key = (seed & MASK, seed >> 64)
        self._slot = slot & MASK
        self._stream = stream << 32
        self._block = 0
        self._left: list[int] = []

    def below(self, bound: int) -> int:
        """A whole number from 0 to less than `bound`."""
        if not self._left:
            first, second = threefry(self._key, (self._slot, self._stream | self._block))
            self._block += 1
            self._left = [second >> 32, second & 0xFFFFFFFF, first >> 32, first & 0xFFFFFFFF]
        return self._left.pop() * bound >> 32

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Put items in random order (Fisher and Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def threefry(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    """One block of 128 random bits.

    >>> [hex(word) for word in threefry((0, 0), (0, 0))]
    ['0xc2b6e3a8c2c69865', '0x6f81ed42f350084d']
    """
    words = (*key, PARITY ^ key[0] ^ key[1])
    a, b = (counter[0] + words[0]) & MASK, (counter[1] + words[1]) & MASK
    for step in range(ROUNDS):
        turn = ROTATIONS[step % 8]
        a = (a + b) & MASK
        b = ((b << turn | b >> (64 - turn)) & MASK) ^ a
        if step % 4 == 3:
            round_key = step // 4 + 1
            a = (a + words[round_key % 3]) & MASK
            b = (b + words[(round_key + 1) % 3] + round_key) & MASK
    return a, b


def secret_seed(seed: int | None) -> int:
    """The seed given, or one of 128 bits from the operating system."""
    if seed is None:
        return secrets.randbits(128)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 128:
        raise ParameterError(
            "the seed must be a whole number from 0 to less than 2**128",
            hint="leave it out to have one drawn; keep it secret: it tells who was moved",
            code="bad-parameter",
        )
    return seed
