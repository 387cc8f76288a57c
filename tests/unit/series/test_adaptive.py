"""`adaptive` and `representative`: promises on all sorts of series, and how near the best they come."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.experiments.series_calls import adaptive, representative
from tests.effort import some
from tests.oracles import adaptive as slow

from timeveil.models.series.method.partition import Partition
from timeveil.symbols import pattern_distance, positions, reconstructed, symbols_at, z_normalised


def drawn(rng: np.random.Generator, least: int = 1) -> tuple[np.ndarray, int, int]:
    """A small matrix with ties, equal and constant series, one instant, few series."""
    k = int(rng.integers(max(least, 2), 8))
    p = int(rng.integers(least, k + 1))
    n = k + int(rng.choice([0, 1, k - 1, k, 2 * k, 40]))
    d = int(rng.choice([1, 2, 3, 6, 12]))
    matrix = rng.integers(0, rng.choice([1, 2, 5, 10**6]), (n, d)).astype(float)
    if rng.random() < 0.3:
        matrix[rng.random(n) < 0.5] = matrix[0]
    if rng.random() < 0.3:
        matrix[rng.random(n) < 0.5] = 7.0
    return matrix * float(rng.choice([1e-200, 1.0, 1e200])) + float(rng.choice([0.0, -3.0])), k, p


def check(matrix: np.ndarray, found: Partition, k: int, p: int, max_level: int, center: str) -> None:
    assert np.bincount(found.group).min() >= k
    assert np.bincount(found.subgroup).min() >= p
    assert set(found.subgroup.tolist()) == set(range(len(found.symbols)))
    for subgroup in range(len(found.symbols)):
        assert len(set(found.group[found.subgroup == subgroup].tolist())) == 1
    assert found.symbols.shape == found.levels.shape == (len(found.symbols), matrix.shape[1])
    assert (found.symbols < found.levels).all()
    assert (found.levels <= max_level).all()
    assert found.facts["objective_after"] <= found.facts["objective_before"] + 1e-9
    if found.own:
        own = symbols_at(positions(z_normalised(matrix, center)), found.levels[found.subgroup])  # type: ignore[arg-type]
        assert (own == found.symbols[found.subgroup]).all()


def test_promises_hold_on_all_sorts_of_series() -> None:
    rng = np.random.default_rng(1)
    for _ in range(some(300)):
        matrix, k, p = drawn(rng)
        center = str(rng.choice(["mean", "median"]))
        most, effort = int(rng.choice([2, 5, 20, 52])), int(rng.integers(0, 2))
        weight = float(rng.choice([0, 2, 50]))
        found = adaptive(matrix, k, p, shape_weight=weight, effort=effort, max_level=most, center=center)
        assert found.own
        check(matrix, found, k, p, most, center)


def test_promises_of_representatives() -> None:
    rng = np.random.default_rng(2)
    for _ in range(some(200)):
        matrix, k, p = drawn(rng, least=3)
        found = representative(matrix, k, p, effort=int(rng.integers(0, 2)))
        assert not found.own
        check(matrix, found, k, p, 20, "mean")
        assert (found.levels == found.levels[:, :1]).all()


@pytest.mark.parametrize(("n", "d"), [(300, 1), (40, 400), (20, 10)])
def test_few_and_many_instants(n: int, d: int) -> None:
    matrix = np.cumsum(np.random.default_rng(3).standard_normal((n, d)), axis=1)
    check(matrix, adaptive(matrix, 10, 5), 10, 5, 20, "mean")


def test_fewer_than_two_groups_are_one() -> None:
    matrix = np.random.default_rng(4).random((19, 4))
    found = adaptive(matrix, 10, 5)
    assert set(found.group.tolist()) == {0}
    assert len(found.symbols) == 3


@pytest.mark.parametrize("value", [0.0, -3.5, 1e300])
def test_equal_series_lose_nothing(value: float) -> None:
    matrix = np.full((50, 6), value)
    found = adaptive(matrix, 10, 5, effort=2)
    check(matrix, found, 10, 5, 20, "mean")
    assert found.facts["swaps"] == 0
    assert (found.levels == 1).all()
    assert found.facts["objective_after"] == 0


def test_where_constant_series_prevail_the_pattern_is_flat() -> None:
    matrix = np.ones((10, 5))
    matrix[:3] = [1, 2, 3, 4, 5]
    found = adaptive(matrix, 10, 10)
    assert (found.levels == 1).all()


def test_the_objective_is_value_loss_and_pattern_loss() -> None:
    rng = np.random.default_rng(5)
    matrix = np.cumsum(rng.standard_normal((400, 8)), axis=1) * 7 + 100
    matrix[:30] = 5.0
    for method in (adaptive, representative):
        found = method(matrix, 10, 5, shape_weight=4)
        value = np.mean([slow.width(matrix[found.group == group]) for group in found.group])
        pattern = pattern_distance(matrix, reconstructed(found.symbols, found.levels)[found.subgroup]).mean()
        objective = value / found.facts["value_unit"] + 4 * pattern
        assert np.isclose(objective, found.facts["objective_after"], rtol=1e-5)


def test_more_effort_loses_less() -> None:
    matrix = np.cumsum(np.random.default_rng(6).standard_normal((400, 10)), axis=1)
    after = [adaptive(matrix, 10, 5, shape_weight=10, effort=e).facts["objective_after"] for e in (0, 1, 3)]
    assert after[1] < 0.85 * after[0]
    assert after[2] < 0.99 * after[1]


def test_the_weight_moves_the_loss_from_shape_to_value() -> None:
    matrix = np.cumsum(np.random.default_rng(7).standard_normal((400, 10)), axis=1)
    patterns, values = [], []
    for weight in (1, 10, 100):
        found = adaptive(matrix, 10, 5, shape_weight=weight)
        shown = reconstructed(found.symbols, found.levels)[found.subgroup]
        patterns.append(pattern_distance(matrix, shown).mean())
        values.append(
            np.mean([slow.width(matrix[found.group == group]) for group in range(found.group.max() + 1)])
        )
    assert patterns == sorted(patterns, reverse=True)
    assert values == sorted(values)


def test_the_same_series_give_the_same_partition() -> None:
    matrix = np.random.default_rng(8).random((500, 6))
    one, two = adaptive(matrix, 6, 3), adaptive(matrix.copy(), 6, 3)
    assert np.array_equal(one.subgroup, two.subgroup)
    assert np.array_equal(one.levels, two.levels)
    assert one.facts == two.facts


def test_the_best_of_all_partitions_is_never_beaten_and_often_reached() -> None:
    rng = np.random.default_rng(9)
    ratios = []
    for _ in range(25):
        matrix = rng.integers(0, 12, (8, 3)).astype(float)
        found = adaptive(matrix, 4, 2, shape_weight=5, effort=2, max_level=4)
        u = positions(z_normalised(matrix))
        best = slow.best_objective(matrix, u, 4, 2, 5, found.facts["value_unit"], 4)
        assert found.facts["objective_after"] >= best - 1e-5
        ratios.append(found.facts["objective_after"] / best)
    assert np.mean(ratios) < 1.15
    assert np.mean(np.array(ratios) < 1.0001) > 0.3


def test_many_series_start_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timeveil.models.series.method.starting.TRY_ALL_ROWS", 1000)
    monkeypatch.setattr("timeveil.models.series.method.starting.CELL", 64)
    matrix = np.cumsum(np.random.default_rng(10).standard_normal((3000, 5)), axis=1)
    check(matrix, adaptive(matrix, 10, 5, effort=1), 10, 5, 20, "mean")


def test_progress_is_reported_and_an_interrupt_stops_it() -> None:
    matrix = np.random.default_rng(11).random((300, 4))
    told: list[tuple[str, float]] = []
    adaptive(matrix, 5, 2, effort=2, progress=lambda doing, share: told.append((doing, share)))
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] == 1
    assert len({doing for doing, _ in told}) >= 5

    def interrupted(doing: str, share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adaptive(matrix, 5, 2, progress=interrupted)
