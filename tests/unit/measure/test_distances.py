"""Similar shapes by other distances, against slow and obvious ones, and bounds that hold."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles.series_queries import shape_distance

import timeveil as tv
from timeveil.errors import ParameterError
from timeveil.models.series.judges.features import distance_bounds, distances


@pytest.mark.parametrize("name", ["euclidean", "dtw"])
@pytest.mark.parametrize("seed", range(10))
def test_distances_agree_with_the_slow_ones_and_are_within_their_bounds(name: str, seed: int) -> None:
    chance = np.random.default_rng(seed)
    size = int(chance.integers(1, 8))
    low = chance.normal(size=(20, size))
    high = low + chance.exponential(0.5, (20, size)) * (chance.random((20, size)) < 0.7)
    like = chance.normal(size=size)
    values = low + chance.random((20, size)) * (high - low)
    exact = distances(name, values, like)
    assert exact == pytest.approx([shape_distance(name, row, like.tolist()) for row in values.tolist()])
    nearest, furthest = distance_bounds(name, low, high, like)
    assert (nearest <= exact).all()
    assert (exact <= furthest).all()
    alone = distance_bounds(name, values, values, like)
    assert alone[0] == pytest.approx(exact, abs=1e-8)
    assert alone[1] == pytest.approx(exact, abs=1e-8)


def made(center: str, method: str, seed: int) -> tuple[list[list[float]], tv.Release]:
    chance = np.random.default_rng(seed)
    matrix = chance.normal(size=(60, 5)).cumsum(axis=1)
    matrix[:3] = 2.0
    names = [f"t{number}" for number in range(5)]
    table = pa.table({name: matrix[:, number] for number, name in enumerate(names)})
    release, _ = tv.anonymize_series(
        table, tv.Roles(series=names), k=4, p=2, method=method, center=center, allow_loss=True
    )
    return matrix.tolist(), release


def z_of(series: list[float], center: str) -> list[float]:
    mean, middle = sum(series) / len(series), sorted(series)[len(series) // 2]
    deviation = math.sqrt(sum((value - mean) ** 2 for value in series) / len(series))
    start = mean if center == "mean" else middle
    return [(value - start) / deviation if deviation > 1e-12 else 0.0 for value in series]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize("name", ["euclidean", "dtw"])
def test_answers_hold_for_the_original(name: str, center: str, seed: int) -> None:
    people, release = made(center, ["kapra", "adaptive", "naive", "kapra"][seed], seed)
    for centre in (0, 10, 20, 30):
        like = z_of(people[centre], center)
        far = sorted(shape_distance(name, z_of(series, center), like) for series in people)
        for number in (0, 9, 29, 59):
            tolerance = far[number] + 1e-7
            truth = sum(distance <= tolerance for distance in far)
            count = tv.answer(release, tv.PatternSimilarity(people[centre], tolerance, distance=name))
            assert count.low <= truth <= count.high
            assert count.low <= count.value <= count.high


def test_a_euclidean_distance_ranks_as_the_cosine_does() -> None:
    """For z-normalised values about the mean it is the root of twice the cosine distance."""
    chance = np.random.default_rng(3)
    z = np.array([z_of(series, "mean") for series in chance.normal(size=(30, 6)).tolist()])
    cosine = 1 - z @ z[0] / 6
    assert distances("euclidean", z, z[0]) == pytest.approx(np.sqrt(2 * np.maximum(cosine, 0)), abs=1e-6)


def test_what_cannot_be_asked() -> None:
    _, release = made("mean", "kapra", 0)
    with pytest.raises(ParameterError, match="no distance called `manhattan`") as caught:
        tv.answer(release, tv.PatternSimilarity([1, 2, 3, 4, 5], 0.5, distance="manhattan"))
    assert "cosine, euclidean, dtw" in str(caught.value.hint)
    with pytest.raises(ParameterError, match="features") as caught:
        tv.answer(release, tv.PatternSimilarity([1, 2, 3, 4, 5], 0.5, features="adjacent", distance="dtw"))


def test_measure_states_the_mean_of_each_distance() -> None:
    people, release = made("median", "kapra", 1)
    table = pa.table({f"t{number}": [series[number] for series in people] for number in range(5)})
    release, ledger = tv.anonymize_series(
        table, tv.Roles(series=table.column_names), k=4, p=2, method="kapra", center="median"
    )
    loss = tv.measure(release, ledger, queries=0)
    assert set(loss.pattern_loss_by) == {"euclidean", "dtw"}
    assert loss.pattern_loss_by["dtw"] <= loss.pattern_loss_by["euclidean"]
    shapes = {}
    for row, number in zip(release.table.to_pylist(), subgroups(release), strict=True):
        shapes[number] = [meaning(letter, row["level"]) for letter in row["pattern"]]
    for name, mean in loss.pattern_loss_by.items():
        far = [
            shape_distance(name, z_of(series, "median"), shapes[number])
            for series, number in zip(people, ledger.table["subgroup"].to_pylist(), strict=True)
            if number is not None
        ]
        assert mean == pytest.approx(sum(far) / len(far))


def subgroups(release: tv.Release) -> list[int]:
    """The number of each row's cell, in the order in which cells appear."""
    seen: dict[object, int] = {}
    rows = release.table.to_pylist()
    return [seen.setdefault((row["group"], row["pattern"], row["level"]), len(seen) + 1) for row in rows]


def meaning(letter: str, level: int) -> float:
    """The value that halves a symbol's share of the normal curve."""
    return NormalDist().inv_cdf((2 * (ord(letter) - ord("a")) + 1) / (2 * level))
