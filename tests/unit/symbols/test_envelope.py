"""Envelopes and their rounding."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.judges_series import rounded

from timeveil.symbols import envelopes, rounded_outward


def test_every_member_lies_in_the_envelope_and_somebody_on_each_bound() -> None:
    chance = np.random.default_rng(5)
    matrix, group = chance.normal(size=(300, 6)), chance.integers(-1, 9, 300)
    low, high = envelopes(matrix, group)
    for number in range(9):
        members = matrix[group == number]
        assert (low[number] == members.min(axis=0)).all()
        assert (high[number] == members.max(axis=0)).all()


def test_nobody_in_a_group() -> None:
    low, high = envelopes(np.ones((2, 3)), np.array([-1, -1]))
    assert low.shape == high.shape == (0, 3)


@pytest.mark.parametrize("digits", [1, 2, 3, 6, 15, 17, 40])
def test_rounded_bounds_contain_the_raw_ones(digits: int) -> None:
    chance = np.random.default_rng(digits)
    values = chance.normal(size=4000) * 10.0 ** chance.integers(-320, 308, 4000)
    extreme = [0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 1e22, 0.3]
    values = np.concatenate([values, extreme, np.arange(-50.0, 50.0)])
    low, high = rounded_outward(values, values, digits)
    assert (low <= values).all()
    assert (high >= values).all()
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()


def test_rounded_bounds_have_few_digits_and_stay_near() -> None:
    values = np.random.default_rng(0).normal(size=2000) * 1000
    low, high = rounded_outward(values, values, 3)
    assert all(float(f"{bound:.2e}") == bound for bound in [*low, *high])
    assert ((high - low) <= np.abs(values) * 0.01 + 1e-9).all()


@pytest.mark.parametrize("digits", [1, 2, 3, 7, 15])
def test_a_rounded_bound_is_the_nearest_decimal_below_and_nothing_else(digits: int) -> None:
    """Also around powers of ten, where a logarithm is not exact, and for very small and large values."""
    chance = np.random.default_rng(digits)
    tens = np.array([float(f"1e{n}") for n in range(-40, 41)])
    values = chance.normal(size=1000) * 10.0 ** chance.integers(-60, 60, 1000)
    plain = np.round(chance.normal(size=1000) * 100, 2)
    values = np.concatenate([values, plain, tens, np.nextafter(tens, 0), np.nextafter(tens, np.inf)])
    values = np.concatenate([values, -values, [0.0]])
    low, high = rounded_outward(values, values, digits)
    assert low.tolist() == [rounded(float(value), digits, "down") for value in values]
    assert high.tolist() == [rounded(float(value), digits, "up") for value in values]
    assert all(float(f"{bound:.{digits - 1}e}") == bound for bound in [*low, *high])


def test_rounding_twice_changes_nothing() -> None:
    values = np.random.default_rng(9).normal(size=2000)
    once = rounded_outward(values, values, 3)
    again = rounded_outward(*once, 3)
    assert (once[0] == again[0]).all()
    assert (once[1] == again[1]).all()
