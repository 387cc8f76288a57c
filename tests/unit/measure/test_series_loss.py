"""What a series release lost: by hand, against a slow twin, and on releases of every method."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import series_queries as oracle

from timeveil.errors import InputError
from timeveil.judging import answer, measure
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges.bands import Bands, Columns
from timeveil.models.series.judges.measure import ReleaseSummary, SeriesLoss, Workload, widths
from timeveil.models.series.judges.query import Complex, PatternRange, PatternSimilarity, RangeCount
from timeveil.models.series.words import loss_summary
from timeveil.symbols import z_normalised


def some(number=60, size=5, seed=0, **how):
    """Walks, a constant and a twin among them."""
    rng = np.random.default_rng(seed)
    series = rng.normal(size=(number, size)).cumsum(axis=1)
    series[0], series[1] = 2.0, series[2]
    return oracle.Case(series.tolist(), **how)


def test_losses_by_hand():
    """Two groups of two, envelopes 2 and 1 wide at one instant and 0 at the other."""
    case = oracle.Case([[0.0, 5.0], [2.0, 5.0], [10.0, 20.0], [11.0, 20.0]], k=2, p=2, most=2)
    orders = [oracle.release_of(replace(case, seed=seed)) for seed in range(40)]
    release, ledger = next(
        pair for pair in orders if pair[0].table["t1_lo"].to_pylist() == pair[0].table["t1_hi"].to_pylist()
    )
    loss = measure(release, ledger, queries=0)
    assert isinstance(loss, SeriesLoss)
    assert loss.value_loss == pytest.approx((math.sqrt(4 / 2) + math.sqrt(1 / 2)) / 2)
    assert loss.value_loss_unrounded == pytest.approx(loss.value_loss)
    assert loss.value_span == pytest.approx(math.sqrt((11**2 + 15**2) / 2))
    assert loss.pattern_loss == pytest.approx(0.0, abs=1e-12)
    assert (loss.rows, loss.suppressed, loss.groups, loss.cells) == (4, 0, 2, 2)
    assert (loss.level_mean, loss.level_min) == (2.0, 2)
    assert loss.query_errors == ()


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 99),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 2]),
    st.sampled_from(["mean", "median"]),
    st.sampled_from([(None, None), ((0, 2), (1, 2, 3)), ((3,), (0, 1, 2, 3, 4))]),
)
def test_losses_are_those_of_the_slow_twin(seed, each, own, digits, center, parts):
    """Over the published instants and series alone."""
    case = some(24, seed=seed, each=each, own=own, digits=digits, center=center, suppressed=2,
                values=parts[0], pattern=parts[1])  # fmt: skip
    release, ledger = oracle.release_of(case)
    loss = measure(release, ledger, queries=0)
    values = case.values or tuple(range(5))
    pattern = case.pattern or tuple(range(5))
    rows = release.table.to_pylist()
    wide = [math.sqrt(sum((r[f"t{p}_hi"] - r[f"t{p}_lo"]) ** 2 for p in values) / len(values)) for r in rows]
    assert loss.value_loss == pytest.approx(np.mean(wide))
    assert (loss.value_loss_unrounded < loss.value_loss * (1 - 1e-9)) == (digits is not None)
    cells = list(dict.fromkeys((r["group"], r["pattern"], str(r["level"])) for r in rows))
    by_cell = {cells.index((r["group"], r["pattern"], str(r["level"]))): r for r in rows}
    losses, levels = [], []
    for entry in ledger.table.to_pylist():
        if entry["subgroup"] is None:
            continue
        row = by_cell[entry["subgroup"]]
        level = row["level"] if each else [row["level"]] * len(pattern)
        told = [
            oracle.NORMAL.inv_cdf((oracle.LETTERS.index(letter) + 0.5) / count)
            for letter, count in zip(row["pattern"], level, strict=True)
        ]
        losses.append(oracle.distance([case.series[entry["row"]][p] for p in pattern], told))
        levels += level
    assert loss.pattern_loss == pytest.approx(np.mean(losses))
    assert loss.level_mean == pytest.approx(np.mean(levels))
    assert (loss.rows, loss.suppressed, loss.level_min) == (22, 2, min(levels))


def test_ranks_count_as_comparisons_do():
    """Bands on ranks are bands on values, with ties and open sides."""
    rng = np.random.default_rng(3)
    rows = np.rint(rng.normal(scale=3, size=(4, 200)))
    columns = Columns(rows)
    bands = columns.draw(rng.integers(0, 200, 50), 3, rng)
    low, high = bands.low.copy(), bands.high.copy()
    low[0, 0], high[1, 0], low[2, 0], high[3, 0] = 99, -99, -0.5, 0.5
    bands = Bands(bands.column, low, high)
    expected = np.ones((50, 200), dtype=bool)
    for question in range(50):
        for place in range(bands.column.shape[1]):
            row = rows[bands.column[question, place]]
            expected[question] &= (row >= low[question, place]) & (row <= high[question, place])
    assert (columns.within(bands) == expected).all()


@pytest.mark.parametrize("each", [True, False], ids=["level each", "one level"])
def test_questions_are_answered_as_by_answer(each):
    """The many at once come out as each alone does, and the truth is what a count of the original gives."""
    case = some(40, each=each, suppressed=2)
    release, ledger = oracle.release_of(case)
    evidence, rng = Evidence(release, ledger), np.random.default_rng(0)
    asked = Workload(evidence.matrix, ReleaseSummary.of(evidence))
    seen = {}
    for kind, columns in (("v", asked._values), ("d", asked._differences)):
        columns.draw = lambda *given, kind=kind, draw=columns.draw: seen.setdefault(kind, draw(*given))
    ranges = asked.ranges(30, rng)
    differences = asked.pattern_ranges(30, rng)
    pairs = list(zip(*np.triu_indices(5, 1), strict=True))
    for question in range(30):
        wanted = _wanted(seen["v"], question, lambda column: f"t{column}")
        assert ranges.guess[question] == pytest.approx(answer(release, RangeCount(wanted)).value)
        fit = [
            all(low <= series[int(name[1:])] <= high for name, (low, high) in wanted.items())
            for series in case.series
        ]
        assert ranges.truth[question] == sum(fit) > 0
        wanted = _wanted(seen["d"], question, lambda column: tuple(f"t{p}" for p in pairs[column]))
        assert differences.guess[question] == answer(release, PatternRange(wanted)).value
    assert (differences.hits <= np.minimum(differences.truth, differences.guess)).all()


def _wanted(bands, question, name):
    ends = zip(bands.column[question], bands.low[question], bands.high[question], strict=True)
    return {name(int(column)): (float(low), float(high)) for column, low, high in ends if math.isfinite(low)}


def test_similar_and_complex_questions_are_answered_as_by_answer(monkeypatch):
    """Whom they are like, and within what, is drawn; the rest is `answer`."""
    case = some(40, each=True)
    release, ledger = oracle.release_of(case)
    evidence, rng = Evidence(release, ledger), np.random.default_rng(0)
    asked = Workload(evidence.matrix, ReleaseSummary.of(evidence))
    monkeypatch.setattr(asked, "_centres", lambda questions, _: np.arange(questions) % 40)
    tolerance = np.linspace(0.01, 1.5, 40)
    found = asked.similarities(tolerance, rng)
    for question, (like, within) in enumerate(zip(case.series, tolerance, strict=True)):
        assert found.guess[question] == answer(release, PatternSimilarity(like, within)).value
        assert found.truth[question] == sum(oracle.distance(s, like) <= within for s in case.series)
    bands = asked._values.draw(np.arange(40), 2, rng)
    monkeypatch.setattr(asked._values, "draw", lambda *_: bands)
    found = asked.complex(tolerance, rng)
    question = 39  # the second half of a block asks for shapes
    like = PatternSimilarity(case.series[question], tolerance[question])
    values = RangeCount(_wanted(bands, question, lambda column: f"t{column}"))
    assert found.guess[question] == pytest.approx(answer(release, Complex(pattern=like, range=values)).value)


@pytest.mark.parametrize("flat", [1, 20])
def test_precision_and_recall_count_series_in_rows_that_are_named(monkeypatch, flat):
    """Each series and question one by one: does it fit, and is its row in the answer?"""
    case = some(40, each=True, suppressed=2)
    case = replace(case, series=[[2.0] * 5] * flat + case.series[flat:])
    release, ledger = oracle.release_of(case)
    evidence, rng = Evidence(release, ledger), np.random.default_rng(0)
    asked = Workload(evidence.matrix, ReleaseSummary.of(evidence))
    monkeypatch.setattr(asked, "_centres", lambda questions, _: np.arange(questions) % 40)
    bands = asked._differences.draw(np.arange(40), 3, rng)
    monkeypatch.setattr(asked._differences, "draw", lambda *_: bands)
    shapes, pairs = evidence.published.shapes(), list(zip(*np.triu_indices(5, 1), strict=True))
    tolerance = np.full(40, 0.2)
    ranged, alike = asked.pattern_ranges(40, rng), asked.similarities(tolerance, rng)
    for question, like in enumerate(case.series):
        wanted = _wanted(bands, question, lambda column: pairs[column])

        def within(z, wanted=wanted):
            return all(low <= z[one] - z[other] <= high for (one, other), (low, high) in wanted.items())

        def near(series, like=like):
            return oracle.distance(series, like) <= 0.2

        z = z_normalised(case.series)
        for found, fits, told in (
            (ranged, [within(one) for one in z], [within(one) for one in shapes]),
            (alike, [near(one) for one in case.series], [near(one) for one in shapes]),
        ):
            hits = sum(fit and run >= 0 and told[run] for fit, run in zip(fits, evidence.run, strict=True))
            assert found.hits[question] == hits
            assert found.truth[question] == sum(fits) > 0
            assert found.guess[question] == evidence.published.rows[told].sum()


def test_the_paper_asks_within_1_to_10_times_the_pattern_loss(monkeypatch):
    asked = []
    similar = Workload.similarities
    monkeypatch.setattr(Workload, "similarities", lambda w, t, rng: asked.append(t) or similar(w, t, rng))
    loss = measure(*oracle.release_of(some()), queries=2000)
    own, one = asked
    assert 1 <= (own / loss.pattern_loss).min() < 1.1
    assert 9.9 < (own / loss.pattern_loss).max() <= 10
    assert set(one) == {0.1}


def test_identical_series_lose_nothing():
    """k times the same series: no width, every range count exact, and every shape found."""
    series = [[1.0, 2.0, 4.0, 3.0]] * 6
    loss = measure(*oracle.release_of(oracle.Case(series, k=3, p=3, each=True, most=20)), queries=50)
    assert (loss.value_loss, loss.query_error("range").mean) == (0.0, 0.0)
    assert loss.pattern_loss < 0.01


def test_the_same_seed_asks_the_same():
    pair = oracle.release_of(some())
    assert measure(*pair, queries=40, seed=5) == measure(*pair, queries=40, seed=5)
    assert measure(*pair, queries=40, seed=5) != measure(*pair, queries=40, seed=6)


def test_parts_that_were_not_published_are_not_asked_about():
    values_only = measure(*oracle.release_of(some(values=(0, 3), pattern=(2,))), queries=20)
    assert [found.kind for found in values_only.query_errors] == ["range"]
    json.dumps(values_only.as_dict())


def test_progress_goes_on():
    told = []
    measure(*oracle.release_of(some()), queries=20, progress=lambda doing, share: told.append((doing, share)))
    assert {doing for doing, _ in told} == {
        "range counts", "pattern ranges", "similar shapes", "complex questions"
    }  # fmt: skip
    assert all(0 <= share <= 1 for _, share in told)


def test_the_ledger_of_another_release_is_refused():
    release, ledger = oracle.release_of(some())
    _, other = oracle.release_of(some(k=8, p=4))
    for wrong in (other, replace(ledger, model="time")):
        with pytest.raises(InputError) as caught:
            measure(release, wrong)
        assert caught.value.code == "ledger-mismatch"
    moved = ledger.table.set_column(2, "subgroup", pa.array(ledger.table["subgroup"].to_pylist()[::-1]))
    with pytest.raises(InputError):
        measure(release, replace(ledger, entries=moved))


def test_the_loss_in_words():
    """Every sentence and every kind of question has a line."""
    loss = measure(*oracle.release_of(some(digits=2, suppressed=1)), queries=50)
    text = " ".join(line.strip() for line in loss_summary(loss).lines())
    assert "59 series published in 14 groups" in text
    assert "1 withheld" in text
    assert "before bounds were rounded outward" in text
    for words in (
        "values in ranges",
        "differences in ranges",
        "similar shapes, within 0.1",
        "values and shapes",
    ):
        assert words in text
    bare = measure(*oracle.release_of(some(values=(0,), pattern=(1,))), queries=0)
    assert not any("random" in line for line in loss_summary(bare).lines())


def test_widths_whose_squares_are_beyond_numbers() -> None:
    low, high = np.array([[-1e300, 0.0], [0.0, 0.0]]), np.array([[1e300, 0.0], [0.0, 0.0]])
    assert widths(low, high).tolist() == pytest.approx([2e300 / 2**0.5, 0.0])
