"""Gathering the nearest: sizes, places, and the same groups as by hand."""

from __future__ import annotations

import itertools

import numpy as np

from timeveil.models.series.kernels.gathering import gather_nearest


def by_hand(features: np.ndarray, segments: list[int], size: int) -> list[list[int]]:
    groups = []
    for begin, end in itertools.pairwise(segments):
        left = list(range(begin, end))
        while len(left) >= 2 * size:
            middle = features[left].mean(axis=0)
            far = max(left, key=lambda row: ((features[row] - middle) ** 2).sum())
            near = sorted(left, key=lambda row: ((features[row] - features[far]) ** 2).sum())[:size]
            groups.append(sorted(near))
            left = [row for row in left if row not in near]
        if left:
            groups.append(left)
    return groups


def test_groups_are_those_by_hand() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        n, size = int(rng.integers(1, 80)), int(rng.integers(1, 9))
        features = rng.random((n, int(rng.integers(1, 4))))
        segments = [0, *np.sort(rng.integers(0, n + 1, rng.integers(0, 3))).tolist(), n]
        order, offsets = gather_nearest(features, np.array(segments), size)
        found = [order[a:b].tolist() for a, b in itertools.pairwise(offsets)]
        assert found == by_hand(features, segments, size)


def test_equal_rows_are_gathered_too() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        n, size = int(rng.integers(1, 80)), int(rng.integers(1, 9))
        features = rng.integers(0, 2, (n, 2)).astype(np.float32)
        order, offsets = gather_nearest(features, np.array([0, n]), size)
        assert sorted(order.tolist()) == list(range(n))
        sizes = np.diff(offsets)
        assert (sizes[:-1] == size).all()
        assert sizes[-1] < 2 * size
        assert sizes[-1] >= size or len(sizes) == 1
