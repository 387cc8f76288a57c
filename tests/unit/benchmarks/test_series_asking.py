"""Questions in batches have the answers of `answer` one by one; quick baselines do what plain ones do."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.experiments.series_asking import Answering, Questions
from benchmarks.experiments.series_baselines import bfp2ka, tga, xu_groups
from benchmarks.experiments.series_calls import kapra, naive
from benchmarks.experiments.series_methods import Published, by_tga, seen
from benchmarks.experiments.series_runs import timed
from benchmarks.experiments.series_sources import SHOTS, matrix_of
from benchmarks.generated import walk

import timeveil as tv
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges.bands import Bands
from timeveil.models.series.judges.measure import TOLERANCE, ReleaseSummary, Workload

NUMBER = 24


@pytest.fixture(scope="module")
def release() -> tuple[tv.Release, tv.Ledger]:
    matrix = matrix_of(walk(rows=300), SHOTS)
    table = pa.table(dict(zip(SHOTS, matrix.T, strict=True)))
    return tv.anonymize_series(
        table, tv.Roles(series=SHOTS), k=10, p=5, method="kapra", round_outward=None, allow_loss=True
    )


@pytest.fixture(scope="module")
def batch(release: tuple[tv.Release, tv.Ledger]) -> tuple[Questions, list[Answering], np.ndarray]:
    evidence = Evidence(*release)
    questions = Questions(evidence.matrix, NUMBER)
    return questions, [Answering(ReleaseSummary.of(evidence), questions, 0.2)], evidence.matrix


def in_bands(bands: Bands, at: int, names: list[Any]) -> dict[Any, tuple[float, float]]:
    """The ranges of one question, as `answer` takes them."""
    rows = zip(bands.column[at], bands.low[at], bands.high[at], strict=True)
    return {names[column]: (low, high) for column, low, high in rows if np.isfinite(low)}


def check(release: tv.Release, query: Any, guess: float) -> None:
    answer = tv.answer(release, query)
    # No answer is below what surely fits, nor above what may.
    assert answer.value == pytest.approx(min(max(guess, answer.low), answer.high), abs=1e-6)


def test_range_counts_are_those_of_answer(release: Any, batch: Any) -> None:
    questions, answering, _ = batch
    centre, rng = questions.draw()
    bands = questions.values.draw(centre, 3, rng)
    (outcome,) = questions.ranges(answering)
    assert 0 < outcome.guess.min() < outcome.guess.max()
    for at in range(NUMBER):
        check(release[0], tv.RangeCount(in_bands(bands, at, SHOTS)), outcome.guess[at])


def test_pattern_ranges_are_those_of_answer(release: Any, batch: Any) -> None:
    questions, answering, _ = batch
    centre, rng = questions.draw()
    bands = questions.differences.draw(centre, 3, rng)
    pairs = [(SHOTS[first], SHOTS[second]) for first, second in questions.pairs.T]
    (outcome,) = questions.pattern_ranges(answering)
    assert np.ptp(outcome.guess) > 0
    for at in range(NUMBER):
        check(release[0], tv.PatternRange(in_bands(bands, at, pairs)), outcome.guess[at])


def test_similar_shapes_are_those_of_answer(release: Any, batch: Any) -> None:
    questions, answering, matrix = batch
    centre, _ = questions.draw()
    times = np.random.default_rng(1).uniform(1.0, 10.0, NUMBER)
    own, one = questions.similarities(answering)
    assert np.ptp(own[0].guess) > 0
    for at, row in enumerate(centre):
        for outcome, tolerance in ((own[0], 0.2 * times[at]), (one[0], TOLERANCE)):
            query = tv.PatternSimilarity(matrix[row].tolist(), tolerance=tolerance)
            check(release[0], query, outcome.guess[at])


def test_complex_questions_are_those_of_answer(release: Any, batch: Any) -> None:
    questions, answering, matrix = batch
    centre, rng = questions.draw()
    values, shapes = (columns.draw(centre, 2, rng) for columns in (questions.values, questions.differences))
    pairs = [(SHOTS[first], SHOTS[second]) for first, second in questions.pairs.T]
    (outcome,) = questions.complex(answering)
    assert np.ptp(outcome.guess) > 0
    for at in range(NUMBER):
        pattern: Any = tv.PatternSimilarity(matrix[centre[at]].tolist(), tolerance=TOLERANCE)
        if at < NUMBER // 2:
            pattern = tv.PatternRange(in_bands(shapes, at, pairs))
        ranges = tv.RangeCount(in_bands(values, at, SHOTS))
        check(release[0], tv.Complex(pattern=pattern, range=ranges), outcome.guess[at])


def test_many_releases_have_the_outcomes_that_measure_finds_for_each() -> None:
    matrix = np.floor(40 * matrix_of(walk(rows=400), SHOTS))  # with ties, and envelopes without a width
    releases = [seen(matrix, kapra(matrix, 10, 5)), seen(matrix, naive(matrix, 10, 10)), by_tga(matrix, 10)]
    left_out = releases[0].run.copy()
    left_out[:7] = -1
    releases.append(Published(left_out, releases[0].low, releases[0].high, releases[0].shape))
    number = 60
    questions = Questions(matrix, number)
    answering = [Answering(published.shown(), questions, 0.3) for published in releases]
    own, one = questions.similarities(answering)
    others = questions.ranges(answering), questions.pattern_ranges(answering), questions.complex(answering)
    times, fixed = np.random.default_rng(1).uniform(1.0, 10.0, number), np.full(number, TOLERANCE)
    for at, published in enumerate(releases):
        workload = Workload(matrix, published.shown())
        expected = (
            workload.ranges(number, np.random.default_rng(1)),
            workload.pattern_ranges(number, np.random.default_rng(1)),
            workload.complex(fixed, np.random.default_rng(1)),
            workload.similarities(0.3 * times, np.random.default_rng(1)),
            workload.similarities(fixed, np.random.default_rng(1)),
        )
        for outcome, wanted in zip((*(kind[at] for kind in (*others, own, one)),), expected, strict=True):
            assert np.array_equal(outcome.truth, wanted.truth)
            assert np.abs(outcome.guess - wanted.guess).max() < 1e-9
            assert wanted.hits is None or np.array_equal(outcome.hits, wanted.hits)


def plain_sides(values: np.ndarray, one: int, other: int, order: np.ndarray) -> np.ndarray:
    """Each series in turn to the side whose envelope grows least."""
    low, high = values[[one, other]].copy(), values[[one, other]].copy()
    side = np.zeros(len(values), np.int64)
    side[other] = 1
    for row in (row for row in order.tolist() if row not in (one, other)):
        wider = np.square(np.maximum(high, values[row]) - np.minimum(low, values[row])).sum(axis=1)
        to = int(np.argmin(wider - np.square(high - low).sum(axis=1)))
        side[row] = to
        low[to], high[to] = np.minimum(low[to], values[row]), np.maximum(high[to], values[row])
    return side


@pytest.mark.parametrize("seed", range(3))
def test_top_down_groups_are_cut_as_one_series_after_the_other_would_be(seed: int) -> None:
    values = np.random.default_rng(seed).random((90, 4))
    rng = np.random.default_rng(0)
    one = int(rng.integers(len(values)))
    for _ in range(3):
        other = int(np.argmax(np.square(values - values[one]).sum(axis=1)))
        one, other = other, one
    side = plain_sides(values, one, other, rng.permutation(len(values)))
    # A minimum that leaves both sides of the first cut as they are: later cuts stay within a side.
    minimum = int(np.bincount(side).min())
    groups = xu_groups(values, minimum)
    assert len({(int(a), int(b)) for a, b in zip(groups, side, strict=True)}) == groups.max() + 1


def plain_tga(matrix: np.ndarray, k: int) -> np.ndarray:
    """The groups of whole size: each time the free series with the least sum of logs of widths."""
    unit, group, made = np.ptp(matrix, axis=0), np.full(len(matrix), -1), 0
    while np.count_nonzero(group < 0) >= k:
        low = high = matrix[np.argmin(group >= 0)]
        group[np.argmin(group >= 0)] = made
        for _ in range(k - 1):
            free = np.flatnonzero(group < 0)
            width = np.maximum(high, matrix[free]) - np.minimum(low, matrix[free])
            row = free[np.argmin(np.log1p(width / unit).sum(axis=1))]
            low, high, group[row] = np.minimum(low, matrix[row]), np.maximum(high, matrix[row]), made
        made += 1
    return group


def test_tga_takes_the_series_that_costs_least() -> None:
    matrix = np.random.default_rng(4).random((700, 5))
    assert np.array_equal(tga(matrix, 7)[0], plain_tga(matrix, 7))


def plain_common(one: str, other: str) -> int:
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + plain_common(one[1:], other[1:])
    return max(plain_common(one[1:], other), plain_common(one, other[1:]))


def test_rare_strings_become_the_frequent_one_with_most_in_common() -> None:
    strings = ["".join(row) for row in np.random.default_rng(5).choice(list("abc"), (300, 5))]
    counts = Counter(strings)
    frequent = sorted(string for string in counts if counts[string] >= 3)
    assert 1 < len(frequent) < len(counts)
    for string, published in zip(strings, bfp2ka(strings, 3), strict=True):
        best = max(frequent, key=lambda other: (plain_common(string, other), counts[other]))
        assert published == (string if string in frequent else best)


def test_a_method_that_would_take_too_long_is_not_run_on_more_series(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = matrix_of(walk(rows=240), SHOTS)
    first, second = timed(matrix, (120, 240))
    assert set(first["seconds"]) == set(second["seconds"]) >= {"Naive", "KAPRA", "TGA", "BFP2KA"}
    monkeypatch.setattr("benchmarks.experiments.series_runs.LONGEST", 0.0)
    first, second = timed(matrix, (120, 240))
    assert "TGA" in first["seconds"]
    assert "TGA" not in second["seconds"]
