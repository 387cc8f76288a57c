"""The best pattern of a block: only true symbols, and hardly ever worse than the best of all."""

from __future__ import annotations

import itertools

import numpy as np
from tests.effort import some
from tests.oracles import adaptive as slow
from tests.unit.kernels.parts import in_python

from timeveil.models.series.kernels import block_patterns
from timeveil.symbols.sax import positions, reconstructed, symbols_at, z_normalised
from timeveil.symbols.shape import unit_shapes

fit, true_choices = in_python(block_patterns.fit), in_python(block_patterns.true_choices)


def table(most: int) -> np.ndarray:
    found = np.zeros((most + 1, most + 1))
    for level in range(1, most + 1):
        found[level, :level] = reconstructed(np.arange(level), level)
    return found


def choices_of(u: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    d = u.shape[1]
    choices, levels = np.zeros((d, most + 1)), np.zeros((d, most + 1), np.uint8)
    number = np.zeros(d, np.int64)
    true_choices(u.min(axis=0), u.max(axis=0), table(most), choices, levels, number)
    return choices, levels, number


def test_choices_are_the_symbols_that_all_share() -> None:
    rng = np.random.default_rng(1)
    for _ in range(some(300)):
        rows, d, most = int(rng.integers(1, 6)), int(rng.integers(1, 6)), int(rng.integers(2, 53))
        matrix = rng.integers(0, rng.choice([2, 4, 1000]), (rows, d)).astype(float)
        u = positions(z_normalised(matrix, str(rng.choice(["mean", "median"]))))  # type: ignore[arg-type]
        choices, levels, number = choices_of(u, most)
        for j in range(d):
            shared = [level for level in range(1, most + 1) if len(set(symbols_at(u[:, j], level))) == 1]
            assert levels[j, : number[j]].tolist() == shared
            expected = [float(reconstructed(symbols_at(u[0, j], level), level)) for level in shared]
            assert choices[j, : number[j]].tolist() == expected


def test_the_fit_is_what_it_says_and_seldom_far_from_the_best() -> None:
    rng = np.random.default_rng(2)
    missed = []
    for _ in range(60):
        matrix = rng.random((3, 1)) + rng.random((3, 4)) / 4 + rng.random(4)
        u, total = positions(z_normalised(matrix)), unit_shapes(matrix).sum(axis=0)
        choices, _, number = choices_of(u, 8)
        picked = np.zeros(4, np.int64)
        score = fit(total, choices, number, picked)
        pattern = choices[np.arange(4), picked]
        away = pattern - pattern.mean()
        if score > 0:
            assert np.isclose(score, total @ pattern / np.sqrt(away @ away))
        every = itertools.product(*(choices[j, : number[j]] for j in range(4)))
        best = len(matrix) - min(sum(slow.distance(row, way) for row in matrix) for way in every)
        assert score <= best + 1e-9
        missed.append(best - score)
    assert np.mean(missed) < 0.01
    assert np.mean(np.array(missed) < 1e-3) > 0.6


def test_nothing_to_fit_is_flat() -> None:
    choices, _, number = choices_of(np.full((3, 5), 0.5), 6)
    assert fit(np.zeros(5), choices, number, np.zeros(5, np.int64)) == 0.0
