"""The balanced k-d cut and nearest neighbours against their slow twins: sizes, order and ties."""

from __future__ import annotations

import time

import numpy as np
from tests.effort import some
from tests.oracles import cuts as slow

from timeveil.models.series.method.partition import balanced_cut, gather_nearest


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    """Features with few or many different values, in a few segments, some empty."""
    n, f = int(rng.integers(1, 120)), int(rng.integers(1, 5))
    values = rng.integers(0, rng.choice([1, 2, 5, 1000]), (n, f)).astype(rng.choice([np.float32, np.float64]))
    inner = np.sort(rng.integers(0, n + 1, rng.integers(0, 4)))
    return values, np.concatenate([[0], inner, [n]]), int(rng.integers(1, 12))


def test_the_cut_is_the_slow_one_and_leaves_its_input_alone() -> None:
    rng = np.random.default_rng(1)
    for _ in range(some(3000)):
        features, segments, minimum = drawn(rng)
        before = features.copy()
        order, offsets, segment = balanced_cut(features, segments, minimum)
        expected = slow.balanced_cut(features, segments.tolist(), minimum)
        assert (order.tolist(), offsets.tolist(), segment.tolist()) == expected
        assert (features == before).all()


def test_parts_are_of_the_promised_size() -> None:
    rng = np.random.default_rng(2)
    for _ in range(some(1500)):
        features, segments, minimum = drawn(rng)
        _, offsets, segment = balanced_cut(features, segments, minimum)
        sizes, lengths = np.diff(offsets), np.diff(segments)[segment]
        assert (sizes < 2 * minimum).all()
        assert ((sizes >= minimum) | (sizes == lengths)).all()


def test_equal_rows_do_not_slow_it_down() -> None:
    n = 100_000
    rng = np.random.default_rng(5)
    spread = rng.random((n, 5))
    equal, few = np.zeros((n, 5)), rng.integers(0, 2, (n, 5)).astype(float)

    def seconds(features: np.ndarray) -> float:
        begin = time.process_time()
        balanced_cut(features, np.array([0, n]), 10)
        return time.process_time() - begin

    usual = min(seconds(spread) for _ in range(3))
    assert min(seconds(equal) for _ in range(3)) < 2 * usual
    assert min(seconds(few) for _ in range(3)) < 2 * usual


def test_groups_of_nearest_rows_are_those_by_hand() -> None:
    rng = np.random.default_rng(1)
    for _ in range(some(600)):
        n, size = int(rng.integers(1, 80)), int(rng.integers(2, 9))
        features = rng.random((n, int(rng.integers(1, 4))))
        segments = [0, *np.sort(rng.integers(0, n + 1, rng.integers(0, 3))).tolist(), n]
        order, bounds = gather_nearest(features, np.array(segments), size)
        groups = [part.tolist() for part in np.split(order, bounds[1:-1])]
        assert groups == slow.nearest(features, segments, size)


def test_equal_rows_are_gathered_too() -> None:
    rng = np.random.default_rng(2)
    for _ in range(some(900)):
        n, size = int(rng.integers(1, 80)), int(rng.integers(1, 9))
        features = rng.integers(0, 2, (n, 2)).astype(np.float32)
        order, bounds = gather_nearest(features, np.array([0, n]), size)
        assert sorted(order.tolist()) == list(range(n))
        sizes = np.diff(bounds)
        assert (sizes[:-1] == size).all()
        assert sizes[-1] < 2 * size
        assert sizes[-1] >= size or len(sizes) == 1
