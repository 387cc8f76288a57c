"""The distance of shapes."""

from __future__ import annotations

import numpy as np

from timeveil.symbols import pattern_distance, unit_shapes


def test_it_is_the_cosine_distance_of_all_differences() -> None:
    chance = np.random.default_rng(3)
    one, other = chance.normal(size=(100, 8)), chance.normal(size=(100, 8))
    earlier, later = np.triu_indices(8, 1)
    mine, theirs = one[:, earlier] - one[:, later], other[:, earlier] - other[:, later]
    lengths = np.linalg.norm(mine, axis=1) * np.linalg.norm(theirs, axis=1)
    assert np.allclose(pattern_distance(one, other), 1 - (mine * theirs).sum(axis=1) / lengths)


def test_it_is_one_minus_the_correlation() -> None:
    one, other = np.random.default_rng(4).normal(size=(2, 9))
    assert np.isclose(pattern_distance(one, other), 1 - np.corrcoef(one, other)[0, 1])


def test_a_constant_is_0_from_a_constant_and_1_from_all_else() -> None:
    flat, rising = [[0.1] * 5], [[1.0, 2.0, 3.0, 4.0, 5.0]]
    assert pattern_distance(flat, [[7.0] * 5]) == [0.0]
    assert pattern_distance(flat, rising) == pattern_distance(rising, flat) == [1.0]


def test_neither_place_nor_scale_matters() -> None:
    rows = np.random.default_rng(6).normal(size=(20, 5))
    assert np.allclose(pattern_distance(rows, rows * 1e9 + 3), 0, atol=1e-12)
    assert np.allclose(pattern_distance(rows, -rows), 2)


def test_unit_shapes_have_length_1() -> None:
    shapes = unit_shapes(np.random.default_rng(7).normal(size=(50, 4)) * 1e200)
    assert np.allclose(np.square(shapes).sum(axis=1), 1)


def test_a_small_spread_far_from_0_keeps_its_shape() -> None:
    rows = np.random.default_rng(8).integers(0, 5, (50, 6)).astype(np.float64)
    assert np.allclose(unit_shapes(rows + 2.0**52), unit_shapes(rows), atol=1e-15)
    assert np.allclose(pattern_distance(rows + 2.0**52, rows), 0, atol=1e-15)
