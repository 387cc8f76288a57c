"""Naive and KAPRA against their slow twins, on small inputs of every sort."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.experiments.series_calls import kapra, naive
from tests.effort import some
from tests.oracles import series as oracle

import timeveil as tv
from timeveil.models.series.method.paper import Leaves, form_groups, patterns_in, recycle, splitting_tree
from timeveil.models.series.method.partition import Partition, balanced_cut, presplit
from timeveil.models.series.parameters import SeriesParameters
from timeveil.symbols import envelopes, positions, symbols_at, z_normalised


def inputs(seed: int, count: int) -> Iterator[tuple[np.ndarray, int, int, int]]:
    """Series with duplicates, constants and ties, or walks; k and p; the highest level."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        p = int(rng.integers(1, 5))
        k = int(rng.integers(max(p, 2), 9))
        n = k if number % 5 == 0 else int(rng.integers(k, 40))
        d = int(rng.integers(1, 6))
        matrix = rng.integers(0, rng.integers(1, 7) + 1, (n, d)).astype(np.float64)
        if number % 3 == 0:
            matrix = np.cumsum(rng.normal(size=(n, d)), axis=1)
        elif number % 7 == 0:
            matrix = matrix[rng.integers(0, 3, n) % n]
        yield matrix, k, p, int(rng.integers(2, 13))


def assert_promise(matrix: np.ndarray, found: Partition, k: int, p: int, *, fewest: int = 0) -> None:
    """k to an envelope, p of them to a pattern, numbers without holes, not more suppressed than allowed."""
    inside = found.group >= 0
    assert (inside == (found.subgroup >= 0)).all()
    assert np.count_nonzero(~inside) <= fewest
    assert np.bincount(found.group[inside]).min() >= k
    assert np.bincount(found.subgroup[inside]).min() >= p
    assert found.symbols.shape == found.levels.shape == (found.subgroup.max() + 1, matrix.shape[1])
    pairs = set(zip(found.subgroup[inside].tolist(), found.group[inside].tolist(), strict=True))
    assert len(pairs) == len(found.symbols)


def assert_own(matrix: np.ndarray, found: Partition) -> None:
    inside = np.flatnonzero(found.group >= 0)
    assert found.own
    for row in inside.tolist():
        levels = set(found.levels[found.subgroup[row]].tolist())
        assert len(levels) == 1
        assert oracle.pattern(matrix[row].tolist(), levels.pop()) == tuple(
            found.symbols[found.subgroup[row]].tolist()
        )


def as_set(leaves: Leaves) -> set[oracle.Leaf]:
    found = set()
    for number in range(leaves.of.max() + 1):
        rows = np.flatnonzero(leaves.of == number)
        (level,), (undersized,) = (set(side[rows].tolist()) for side in (leaves.level, leaves.undersized))
        found.add((tuple(rows.tolist()), level, undersized))
    return found


def test_tree_and_recycling_are_those_of_the_oracle() -> None:
    for matrix, _, p, max_level in inputs(1, some(2500)):
        u = positions(z_normalised(matrix))
        whole = np.zeros(len(matrix), np.int64)
        found = splitting_tree(u, whole, p, max_level)
        patterns = oracle.Patterns(matrix.tolist(), max_level)
        leaves = oracle.tree(patterns, range(len(matrix)), p)
        assert as_set(found) == leaves
        expected = oracle.recycled(patterns, leaves, p)
        recycled = recycle(u, found, p)
        assert np.count_nonzero(recycled.of < 0) < p
        assert sorted((m, level) for m, level, _ in as_set(recycled)) == sorted(
            (tuple(sorted(m)), level) for (level, _), m in expected.items()
        )


def test_kapra_keeps_the_promise_with_patterns_of_everybodys_own() -> None:
    for matrix, k, p, max_level in inputs(2, some(1000)):
        found = kapra(matrix, k, p, max_level=max_level)
        assert_promise(matrix, found, k, p, fewest=p - 1)
        assert_own(matrix, found)


def test_naive_keeps_the_promise_and_says_whose_patterns_are_own() -> None:
    for matrix, k, p, max_level in inputs(3, some(1000)):
        found = naive(matrix, k, p, max_level=max_level)
        assert_promise(matrix, found, k, p)
        if found.own:
            assert_own(matrix, found)


def test_post_processing_is_that_of_the_oracle() -> None:
    for matrix, _, p, max_level in inputs(4, some(800)):
        found = patterns_in(
            np.zeros(len(matrix), np.int64), matrix, SeriesParameters(k=9, p=p, max_level=max_level)
        )
        patterns = oracle.Patterns(matrix.tolist(), max_level)
        ends = oracle.joined(patterns, oracle.tree(patterns, range(len(matrix)), p), p)
        mine = {
            tuple(np.flatnonzero(found.subgroup == s).tolist()): (
                int(found.levels[s, 0]),
                tuple(found.symbols[s].tolist()),
            )
            for s in range(len(found.symbols))
        }
        assert mine == ends


def test_group_formation_is_that_of_the_oracle() -> None:
    rng = np.random.default_rng(5)
    for _ in range(some(400)):
        d, k = int(rng.integers(1, 4)), int(rng.integers(2, 9))
        subgroups = [rng.integers(0, 20, (rng.integers(1, 6), d)).astype(float) for _ in range(12)]
        rows = np.concatenate(subgroups)
        of = np.repeat(np.arange(12), [len(s) for s in subgroups])
        expected = {frozenset(group) for group in oracle.formed([s.tolist() for s in subgroups], k)}
        for form in (form_groups, oracle.formed_clearly):
            group = form(*envelopes(rows, of), np.bincount(of), k)
            assert {frozenset(np.flatnonzero(group == g).tolist()) for g in set(group.tolist())} == expected


def test_group_formation_in_buckets_loses_little() -> None:
    rng = np.random.default_rng(6)
    for matrix in (
        rng.random((9000, 4)),
        np.cumsum(rng.normal(size=(9000, 4)), axis=1),
        rng.lognormal(size=(9000, 4)),
    ):
        subgroup = presplit(matrix, rng.integers(0, 40, 9000), 5)
        low, high = envelopes(matrix, subgroup)
        size = np.bincount(subgroup)
        loss = []
        for form in (form_groups, oracle.formed_clearly):
            group = form(low, high, size, 10)[subgroup]
            widths = np.sqrt(np.square(np.subtract(*envelopes(matrix, group))).mean(axis=1))
            loss.append(widths[group].mean())
        assert loss[0] <= 1.03 * loss[1]


def losses(matrix: np.ndarray, found: Partition) -> tuple[float, float]:
    from timeveil.symbols import pattern_distance, reconstructed

    widths = np.sqrt(np.square(np.subtract(*envelopes(matrix, found.group))).mean(axis=1))
    shown = reconstructed(found.symbols, found.levels)[found.subgroup]
    return float(widths[found.group].mean()), float(pattern_distance(matrix, shown).mean())


@pytest.mark.parametrize("walk", [True, False])
def test_the_cut_is_the_better_of_two(walk: bool) -> None:
    """Walks are cut best on their principal axes, unrelated numbers as they are."""
    matrix = np.random.default_rng(0).normal(size=(600, 8))
    matrix = matrix.cumsum(axis=1) if walk else matrix
    centred = matrix - matrix.mean(axis=0)
    losses = []
    for features in (matrix, centred @ np.linalg.eigh(centred.T @ centred)[1]):
        order, offsets, _ = balanced_cut(features, np.array([0, 600]), 5)
        parts = np.empty(600, np.int64)
        parts[order] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        losses.append(total_loss(matrix, parts))
    plain, turned = losses
    found = total_loss(matrix, presplit(matrix, np.zeros(600, np.int64), 5))
    assert found == pytest.approx(turned if walk else min(losses), rel=1e-6)
    assert not walk or found < plain


def total_loss(matrix: np.ndarray, parts: np.ndarray) -> float:
    low, high = envelopes(matrix, parts)
    return float((np.bincount(parts) * np.sqrt(np.square(high - low).mean(axis=1))).sum())


def test_many_identical_series_lose_next_to_nothing() -> None:
    matrix = np.full((20_000, 6), 3.0)
    matrix[::2] = np.arange(6.0)
    found = kapra(matrix, 10, 5)
    assert_promise(matrix, found, 10, 5)
    assert losses(matrix, found)[0] < 0.001


@pytest.mark.parametrize("instants", [1, 500])
def test_one_instant_and_many(instants: int) -> None:
    matrix = np.cumsum(np.random.default_rng(8).normal(size=(300, instants)), axis=1)
    for found in (kapra(matrix, 10, 5), naive(matrix, 10, 5)):
        assert_promise(matrix, found, 10, 5, fewest=4)
    assert_own(matrix, kapra(matrix, 10, 5))


def test_huge_and_tiny_values_do_not_overflow() -> None:
    rng = np.random.default_rng(9)
    for scale in (1e-300, 1e307):
        matrix = rng.random((60, 4)) * scale
        for found in (kapra(matrix, 6, 3), naive(matrix, 6, 3)):
            assert_promise(matrix, found, 6, 3, fewest=2)


def test_progress_goes_from_nothing_to_all() -> None:
    shares: list[float] = []
    kapra(np.random.default_rng(10).random((50, 3)), 5, 2, progress=lambda _, share: shares.append(share))
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_symbols_beside_a_border_are_never_taken_for_one() -> None:
    u = np.array([[0.5], [np.nextafter(0.5, 0)]])
    leaves = splitting_tree(np.repeat(u, 4, axis=0), np.zeros(8, np.int64), 2, 2)
    assert leaves.of.tolist() == [0] * 4 + [1] * 4
    assert symbols_at(u, 2)[:, 0].tolist() == [1, 0]


def test_long_series_are_turned_by_their_own_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more instants than series, no matrix of instants by instants is decomposed."""
    sizes, decompose = [], np.linalg.eigh

    def noted(matrix: np.ndarray) -> object:
        sizes.append(len(matrix))
        return decompose(matrix)

    monkeypatch.setattr(np.linalg, "eigh", noted)
    values = np.random.default_rng(0).normal(size=(12, 300)).cumsum(axis=1)
    names = [f"t{instant}" for instant in range(300)]
    table = pa.table({name: values[:, column] for column, name in enumerate(names)})
    release, ledger = tv.anonymize_series(table, tv.Roles(series=names), k=4, p=2, method="kapra")
    assert tv.verify(release, ledger)
    assert max(sizes) <= 12
