"""Swaps: scored as the loss itself is, disjoint, and never for the worse."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles import adaptive as slow

from timeveil.models.series.method.adaptive import Scores, Seats, refine
from timeveil.models.series.method.fitting import Alphabet
from timeveil.models.series.method.starting import Series, start
from timeveil.symbols import Representation

ALPHABET = Alphabet(6)


def seated(seed: int, count: int = 60, instants: int = 5) -> Seats:
    rng = np.random.default_rng(seed)
    matrix = np.cumsum(rng.standard_normal((count, instants)), axis=1)
    matrix[rng.random(count) < 0.1] = 1.0
    series = Series.of(matrix, "mean", Representation(instants))
    layout, _ = start(series, 6, 3, 1.0, lambda doing, share: None)
    return Seats(series.take(layout.order), layout, np.zeros(count, np.int64))


def loss(seats: Seats, price: float) -> float:
    """Widths by the definition, and the shape that |V| cannot preserve."""
    groups = np.split(seats.values, seats.layout.groups[1:-1])
    subgroups = np.split(seats.shapes, seats.layout.subgroups[1:-1])
    width = sum(len(rows) * slow.width(rows) for rows in groups) * np.sqrt(seats.values.shape[1])
    return float(width + price * sum(len(rows) - np.linalg.norm(rows.sum(axis=0)) for rows in subgroups))


@pytest.mark.parametrize("seed", range(5))
def test_a_swap_changes_the_loss_by_what_was_expected(seed: int) -> None:
    seats, price = seated(seed), 3.0
    first, second, change = Scores(seats, price).candidates(np.arange(60)[None, :], 1, 0.0)
    before = loss(seats, price)
    for one, other, expected in zip(first[:20], second[:20], change[:20], strict=True):
        seats.swap(np.array([one]), np.array([other]))
        assert np.isclose(loss(seats, price) - before, expected, atol=1e-3)
        seats.swap(np.array([one]), np.array([other]))


@pytest.mark.parametrize("effort", [1, 2])
def test_refining_seats_everybody_once(effort: int) -> None:
    seats = seated(7, 200)
    before = {tuple(row) for row in seats.values.tolist()}
    done = refine(
        seats, ALPHABET, 3.0, effort=effort, draw=np.random.default_rng(1), progress=lambda *_: None
    )
    assert done["swaps"] > 0
    assert sorted(seats.row.tolist()) == list(range(200))
    assert {tuple(row) for row in seats.values.tolist()} == before


def test_rounds_by_shape_lower_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timeveil.models.series.method.adaptive.ROUNDS", (1, 0))
    seats = seated(8, 300)
    for _ in range(8):
        before = loss(seats, 3.0)
        refine(seats, ALPHABET, 3.0, effort=1, draw=np.random.default_rng(2), progress=lambda *_: None)
        assert loss(seats, 3.0) <= before
