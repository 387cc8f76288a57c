"""The best pattern of a subgroup: only true symbols, and hardly ever worse than the best of all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.effort import some
from tests.oracles import adaptive as slow

from timeveil.models.series.method.fitting import Alphabet, Fits, best_patterns
from timeveil.symbols import positions, reconstructed, symbols_at, unit_shapes, z_normalised


def extremes(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return u.min(axis=0, keepdims=True), u.max(axis=0, keepdims=True)


def test_choices_are_the_symbols_that_all_share() -> None:
    rng = np.random.default_rng(1)
    for _ in range(some(300)):
        rows, d, most = int(rng.integers(1, 6)), int(rng.integers(1, 6)), int(rng.integers(2, 53))
        matrix = rng.integers(0, rng.choice([2, 4, 1000]), (rows, d)).astype(float)
        u = positions(z_normalised(matrix, str(rng.choice(["mean", "median"]))))  # type: ignore[arg-type]
        choices = Alphabet(most).choices(*extremes(u))[0]
        for instant, level in itertools.product(range(d), range(1, most + 1)):
            shared = len(set(symbols_at(u[:, instant], level))) == 1
            expected = float(reconstructed(symbols_at(u[0, instant], level), level)) if shared else np.inf
            assert choices[instant, level - 1] == expected


def test_the_fit_is_what_it_says_and_seldom_far_from_the_best() -> None:
    rng = np.random.default_rng(2)
    missed = []
    for level in (None, 3):
        for _ in range(60):
            matrix = rng.random((3, 1)) + rng.random((3, 4)) / 4 + rng.random(4)
            ends = extremes(positions(z_normalised(matrix)))
            sums = unit_shapes(matrix).sum(axis=0, keepdims=True)
            symbols, levels, preserved = best_patterns(Alphabet(8, level), *ends, sums, np.zeros(1))
            pattern = reconstructed(symbols, levels)[0]
            assert np.isclose(3 - preserved[0], sum(slow.distance(row, pattern) for row in matrix))
            choices = Alphabet(8, level).choices(*ends)[0]
            every = itertools.product(*(column[np.isfinite(column)] for column in choices))
            best = 3 - min(sum(slow.distance(row, way) for row in matrix) for way in every)
            assert preserved[0] <= best + 1e-9
            missed.append(best - preserved[0])
    assert np.mean(missed) < 0.01
    assert np.mean(np.array(missed) < 1e-3) > 0.6


def test_where_constant_series_prevail_the_pattern_is_flat() -> None:
    ends = np.full((2, 5), 0.3), np.full((2, 5), 0.7)
    sums = np.array([np.zeros(5), [0.5, 0, 0, 0, -0.5]])
    symbols, levels, preserved = best_patterns(Alphabet(6), *ends, sums, np.array([0.0, 2.0]))
    assert (symbols == 0).all()
    assert (levels == 1).all()
    assert preserved.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("level", [None, 4])
def test_what_was_fitted_before_is_looked_up_by_its_members(level: int | None) -> None:
    rng = np.random.default_rng(3)
    positions = np.sort(rng.random((2, 40, 5)).astype(np.float32), axis=0)
    sums = (rng.random((40, 5)) - 0.5).astype(np.float32)
    flats, fits = (rng.random(40) * 0.3).astype(np.float32), Fits(Alphabet(6, level), 40)
    members = fits.tags + np.roll(fits.tags, 1)

    def asked(of: Fits, rows: np.ndarray) -> list[float]:
        return of.preserved(members[rows], *positions[:, rows], sums[rows], flats[rows]).tolist()

    alone = [asked(Fits(Alphabet(6, level), 40), np.array([row]))[0] for row in range(40)]
    for rows in (np.arange(20), np.array([30, 3, 25, 3, 19]), np.arange(40)[::-1]):
        assert asked(fits, rows) == [alone[row] for row in rows]
    # Nothing is worked out again: what else is asked about does not matter.
    positions, sums = np.zeros_like(positions), np.zeros_like(sums)
    assert asked(fits, np.arange(40)) == alone
