"""The judges' families and rows, from plain lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from timeveil.models.patterns.evidence.counting import Baskets
from timeveil.models.patterns.evidence.family import Family


def family_of(sets: Sequence[Sequence[int]], support: Any, size: int, kinds: int = 1) -> Family:
    """A family of sets that are in order."""
    by_length = [[items for items in sets if len(items) == n] for n in range(max(map(len, sets)) + 1)]
    levels = tuple(
        np.array(level, dtype=np.int64).reshape(len(level), n) for n, level in enumerate(by_length)
    )
    return Family(levels, np.asarray(support, dtype=np.int64), size, kinds)


def baskets_of(sets: Any) -> Baskets:
    """Rows from lists of items."""
    lengths = np.array([len(items) for items in sets], dtype=np.int64)
    flat = np.array([item for items in sets for item in items], dtype=np.int64)
    return Baskets(np.concatenate([[0], np.cumsum(lengths)]), flat)
