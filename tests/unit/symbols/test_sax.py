"""Patterns: cells, borders, letters."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from timeveil.symbols import (
    LETTERS,
    MOST_LEVELS,
    NUDGE,
    borders,
    from_letters,
    positions,
    reconstructed,
    symbols_at,
    to_letters,
    z_normalised,
)


def test_a_row_has_mean_0_and_population_deviation_1() -> None:
    rows = np.random.default_rng(1).normal(50, 7, (200, 12))
    z = z_normalised(rows)
    assert np.allclose(z.mean(axis=1), 0, atol=1e-12)
    assert np.allclose(z.std(axis=1), 1)


def test_the_median_can_be_the_centre() -> None:
    z = z_normalised([[0.0, 1.0, 8.0]], "median")
    assert z[0, 1] == 0.0
    assert np.isclose(z[0, 2] - z[0, 0], 8 / np.std([0, 1, 8]))


@pytest.mark.parametrize("value", [0.0, 0.1, -1e300, 5e-324, 1e308])
def test_a_constant_row_is_0_everywhere(value: float) -> None:
    assert not z_normalised([[value] * 7]).any()


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e9, 1e307])
def test_the_unit_of_measurement_does_not_matter(size: float) -> None:
    row = np.array([[1.0, 2.0, 5.0, -3.0]])
    assert np.allclose(z_normalised(row * size), z_normalised(row), rtol=1e-12)


@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize(
    ("offset", "step"), [(1e15, 1.0), (1.7e15, 1.0), (-4e15, 1.0), (1e9, 1e-6), (1e6, 1e-9), (0.0, 1.0)]
)
def test_a_small_spread_far_from_0_keeps_its_digits(center: str, offset: float, step: float) -> None:
    """Against fractions, of the doubles as they are."""
    rows = offset + np.random.default_rng(5).integers(0, 5, (60, 12)) * step
    z = z_normalised(rows, center)  # type: ignore[arg-type]
    for row, found in zip(rows.tolist(), z, strict=True):
        exact = [Fraction(value) for value in row]
        mean = sum(exact) / len(exact)
        middle = statistics.median(exact) if center == "median" else mean
        variance = sum((value - mean) ** 2 for value in exact) / len(exact)
        deviation = math.sqrt(variance)
        assert np.allclose(found, [float(value - middle) / deviation for value in exact], atol=1e-12)


def test_a_row_gives_the_same_wherever_it_stands() -> None:
    rows = np.random.default_rng(2).normal(size=(70_000, 3))
    whole = z_normalised(rows)
    for place in (0, 65_535, 65_536, 69_999):
        assert (z_normalised(rows[place : place + 1]) == whole[place]).all()


@pytest.mark.parametrize("level", range(1, MOST_LEVELS + 1))
def test_symbols_agree_with_the_borders_and_a_border_goes_up(level: int) -> None:
    between = borders(np.arange(1, level), level)
    z = np.concatenate([np.random.default_rng(level).normal(size=2000), between, [-40.0, 0.0, 40.0]])
    assert (symbols_at(positions(z), level) == np.searchsorted(between, z, side="right")).all()


def test_positions_and_quantiles_are_those_of_the_normal_curve() -> None:
    z = np.concatenate([np.linspace(-9, 9, 10_001), [-40.0, 40.0]])
    assert np.abs(positions(z) - np.minimum(ndtr(z) + NUDGE, 1)).max() < 1e-15
    for level in range(1, MOST_LEVELS + 1):
        symbols = np.arange(level)
        ends = borders(np.append(symbols, level), level)
        np.testing.assert_allclose(ends, ndtri(np.arange(level + 1) / level), rtol=1e-14, atol=1e-15)
        middles = reconstructed(symbols, level)
        np.testing.assert_allclose(middles, ndtri((symbols + 0.5) / level), rtol=1e-14, atol=1e-15)


def test_each_instant_may_have_a_level_of_its_own() -> None:
    u = positions(np.random.default_rng(3).normal(size=(5, 4)))
    levels = np.array([1, 2, 7, 52])
    together = symbols_at(u, levels)
    assert all((together[:, i] == symbols_at(u[:, i], int(levels[i]))).all() for i in range(4))


@pytest.mark.parametrize("level", [1, 2, 3, 20, 52])
def test_a_reconstruction_lies_in_its_cell(level: int) -> None:
    for symbol in range(level):
        low, high = borders([symbol, symbol + 1], level)
        assert low < reconstructed([symbol], level)[0] < high
        assert symbols_at(positions(reconstructed([symbol], level)), level)[0] == symbol


def test_letters_go_beyond_z() -> None:
    assert to_letters(range(MOST_LEVELS)) == LETTERS
    assert from_letters(LETTERS).tolist() == list(range(MOST_LEVELS))


def test_the_paper_s_table_with_the_median() -> None:
    """Fig. 3 comes out with the median only: the patterns of Table 1 at level 3."""
    table = [
        [170.0, 175.0, 188.0, 197.0, 213.0, 221.0],
        [145.0, 157.0, 165.0, 177.0, 204.0, 196.0],
        [176.0, 181.0, 147.0, 134.0, 125.0, 112.0],
        [98.0, 120.0, 125.0, 132.0, 151.0, 161.0],
        [117.0, 107.0, 87.0, 74.0, 51.0, 56.0],
        [32.0, 54.0, 59.0, 67.0, 96.0, 101.0],
        [88.0, 93.0, 56.0, 43.0, 20.0, 25.0],
        [71.0, 63.0, 47.0, 38.0, 43.0, 20.0],
    ]
    found = [to_letters(row) for row in symbols_at(positions(z_normalised(table, "median")), 3)]
    up, down = ["aabbcc", "aabbcc"], "ccbbaa"
    assert found[:7] == [*up, down, "abbbcc", down, "abbbcc", down]
