"""The order in which channels are taken, and mergers so many that they are asked in several parts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.unit.kernels.test_virtual import packed

from timeveil.models.patterns.kernels.merging import AT_ONCE, as_lines, first_fit, largest_first


@pytest.mark.parametrize("seed", range(20))
def test_columns_from_the_largest_to_the_smallest(seed: int) -> None:
    draw = np.random.default_rng(seed)
    lines = draw.integers(0, 1 << 64, (int(draw.integers(1, 4)), int(draw.integers(0, 300))), np.uint64)
    lines &= draw.choice([~np.uint64(0), np.uint64(3), np.uint64(1 << 63)], lines.shape)
    found = largest_first(lines)
    assert found.T.tolist() == sorted(lines.T.tolist(), reverse=True)


def test_the_last_of_many_mergers() -> None:
    """Pairs that lack all other items do not go together; one item goes with the only pair that is left."""
    items, last = 70, frozenset({68, 69})
    pairs = [frozenset(pair) for pair in combinations(range(items), 2)]
    assert len(pairs) > 64 * AT_ONCE
    has = [frozenset({68}), *pairs]
    lacks = [frozenset(range(items)) - (some if len(some) == 2 else last) for some in has]
    word, bit = np.arange(items) // 64, np.uint64(1) << (63 - np.arange(items) % 64).astype(np.uint64)
    lines = largest_first(as_lines(*packed(has), *packed(lacks), word, bit, 2))
    have, lack = first_fit(lines, 1)
    assert have.tolist() == lines[1:3, : len(pairs)].T.tolist()
    assert lack.tolist() == lines[3:, : len(pairs)].T.tolist()
    assert lines[:, -1].tolist() == [1, 0, int(bit[68]), int(bit[:64].sum()), int(bit[64:68].sum())]
