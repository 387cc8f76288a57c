"""The balanced k-d cut against its slow twin, and what it promises of sizes, order and ties."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.oracles import cuts as slow
from tests.unit.kernels.parts import in_python

from timeveil.models.series.kernels import cuts
from timeveil.models.series.kernels.cuts import balanced_cut


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    """Features with few or many different values, in a few segments, some empty."""
    n, f = int(rng.integers(1, 120)), int(rng.integers(1, 5))
    values = rng.integers(0, rng.choice([1, 2, 5, 1000]), (n, f)).astype(rng.choice([np.float32, np.float64]))
    inner = np.sort(rng.integers(0, n + 1, rng.integers(0, 4)))
    return values, np.concatenate([[0], inner, [n]]), int(rng.integers(1, 12))


def test_the_cut_is_the_slow_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        features, segments, minimum = drawn(rng)
        order, offsets, came = balanced_cut(features, segments, minimum)
        expected = slow.balanced_cut(features, segments.tolist(), minimum)
        assert (order.tolist(), offsets.tolist(), came.tolist()) == expected


def test_parts_are_of_the_promised_size() -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        features, segments, minimum = drawn(rng)
        _, offsets, came = balanced_cut(features, segments, minimum)
        sizes, whole = np.diff(offsets), np.diff(segments)[came]
        assert (sizes < 2 * minimum).all()
        assert ((sizes >= minimum) | (sizes == whole)).all()


def test_in_place_the_rows_end_in_order() -> None:
    features = np.random.default_rng(6).random((90, 3))
    moved = features.copy()
    order, _, _ = balanced_cut(moved, np.array([0, 40, 90]), 4, in_place=True)
    assert (moved == features[order]).all()


def test_input_is_left_alone() -> None:
    features = np.random.default_rng(3).random((50, 2))
    before = features.copy()
    balanced_cut(features, np.array([0, 50]), 4)
    assert (features == before).all()


@pytest.mark.parametrize("kind", ["random", "equal", "few", "rising", "falling", "organ pipe", "sawtooth"])
def test_the_nth_smallest_is_that_of_sorting(kind: str) -> None:
    rng = np.random.default_rng(4)
    nth_smallest, sample = in_python(cuts.nth_smallest), np.empty(cuts.SAMPLE)
    for size in (1, 2, 3, 599, 600, 5000):
        rise = np.arange(size, dtype=float)
        keys = {
            "random": rng.random(size),
            "equal": np.zeros(size),
            "few": rng.integers(0, 3, size).astype(float),
            "rising": rise,
            "falling": -rise,
            "organ pipe": np.minimum(rise, size - rise),
            "sawtooth": rise % 7,
        }[kind]
        for n in {0, size // 3, size // 2, size - 1}:
            assert nth_smallest(keys.copy(), size, n, sample) == np.sort(keys)[n]


def test_a_run_is_sorted_and_nothing_beside_it() -> None:
    rng = np.random.default_rng(6)
    for size in (0, 1, 2, 3, 4, 5, 126, 127, 300):
        keys = rng.integers(0, rng.choice([2, 1000]), size + 5).astype(float)
        expected = np.concatenate([keys[:3], np.sort(keys[3 : 3 + size]), keys[3 + size :]])
        in_python(cuts._sort)(keys, 3, size)
        assert keys.tolist() == expected.tolist()


def test_equal_rows_do_not_slow_it_down() -> None:
    n = 100_000
    rng = np.random.default_rng(5)
    spread = rng.random((n, 5))
    equal, few = np.zeros((n, 5)), rng.integers(0, 2, (n, 5)).astype(float)

    def seconds(features: np.ndarray) -> float:
        begin = time.perf_counter()
        balanced_cut(features, np.array([0, n]), 10)
        return time.perf_counter() - begin

    seconds(spread)
    base = min(seconds(spread) for _ in range(3))
    assert min(seconds(equal) for _ in range(3)) < 2 * base
    assert min(seconds(few) for _ in range(3)) < 2 * base
