"""Questions about series: what they take, what they refuse, and what is estimated for them."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import replace
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import series_queries as oracle

import timeveil as tv
from timeveil.errors import ParameterError
from timeveil.evidence.published import WindowCount
from timeveil.judging import answer, gather
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges.estimate import estimate_patterns, estimate_ranges, estimated_ranges
from timeveil.models.series.judges.features import FEATURES
from timeveil.models.series.judges.query import Complex, PatternRange, PatternSimilarity, RangeCount
from timeveil.models.series.words.pictures import release_picture

NAMES = [f"t{place}" for place in range(8)]


def walks(number=400, seed=0):
    rng = np.random.default_rng(seed)
    series = rng.normal(size=(number, 8)).cumsum(axis=1) + rng.normal(scale=3, size=(number, 1))
    series[:12] = 4.0
    return series


def published(method="kapra", **how):
    matrix = walks()
    table = pa.table({name: matrix[:, place] for place, name in enumerate(NAMES)})
    return tv.anonymize_series(table, tv.Roles(series=NAMES), k=10, p=4, method=method, **how)


@pytest.fixture(scope="module")
def release():
    return oracle.release_of(oracle.Case(walks(40)[:, :4].tolist()))[0]


@pytest.mark.parametrize(
    ("query", "said", "code"),
    [
        (RangeCount({"t9": (0, 1)}), "no instant `t9`", "column-missing"),
        (RangeCount({"t0": 5}), "is not a pair", "bad-parameter"),
        (RangeCount({"t0": (2, 1)}), "ends before it starts", "bad-parameter"),
        (RangeCount({"t0": ("a", 1)}), "is not a number but a str", "bad-parameter"),
        (RangeCount({"t0": (float("nan"), 1)}), "is not a number", "bad-parameter"),
        (PatternRange({("t0", "t0"): (0, 1)}), "have no `t0` less `t0`", "bad-parameter"),
        (
            PatternRange({("t0", "t2"): (0, 1)}, features="adjacent"),
            "have no `t0` less `t2`",
            "bad-parameter",
        ),
        (PatternRange({"t0": (0, 1)}), "have no `t0`", "bad-parameter"),
        (PatternRange({("t0", "t1"): (0, 1)}, features="slope"), "have no", "bad-parameter"),
        (PatternRange({"slope": (0, 1)}, features="curve"), "no features called `curve`", "bad-parameter"),
        (PatternSimilarity([1, 2, 3], 0.1), "3 numbers", "bad-parameter"),
        (PatternSimilarity([1, 2, 3, float("inf")], 0.1), "3 are finite", "bad-parameter"),
        (PatternSimilarity([1, 2, 3, 4], "near"), "tolerance is not a number", "bad-parameter"),
        (PatternSimilarity([1, 2, 3, 4], -0.1), "`tolerance` is below 0", "bad-parameter"),
        (PatternSimilarity([1, 2, 3, 4], 0.1, features="slope"), "single number", "bad-parameter"),
        (Complex(pattern=RangeCount({}), range=RangeCount({})), "one about shapes", "bad-parameter"),
        (WindowCount(), "cannot answer a `WindowCount`", "bad-parameter"),
    ],
)
def test_questions_that_cannot_be_asked(release, query, said, code):
    """Each is refused with what is wrong and a hint."""
    with pytest.raises(tv.TimeveilError) as caught:
        answer(release, query)
    assert said in caught.value.message
    assert caught.value.code == code
    assert caught.value.hint


def test_a_question_about_nothing_counts_everybody(release):
    found = answer(release, RangeCount({}))
    assert (found.low, found.value, found.high) == (40, 40, 40)


def test_a_question_about_series_is_not_for_other_releases():
    visits = pa.table({"who": ["a", "b", "c"], "at": [1, 1, 1]})
    roles = tv.Roles(respondent="who", time="at")
    release, _ = tv.generalize_time(visits, roles, k=2, unit="day")
    for ask in (lambda: answer(release, RangeCount({})), lambda: estimate_ranges(release)):
        with pytest.raises(ParameterError):
            ask()


@pytest.mark.parametrize("name", sorted(FEATURES))
def test_every_feature_is_described(name):
    """What can be asked for is said, and said right: the example in the hint is one."""
    instants = ("a", "b", "c")
    said = FEATURES[name].keys(instants)
    example = name if said == f'"{name}"' else tuple(re.findall("`(.+?)`", said.split("such as ")[1]))
    assert FEATURES[name].has(instants, example)


def test_borrowed_patterns_say_nothing_of_what_was_left_out():
    """Lemma 1 does not hold for a pattern that need not be the series' own."""
    case = oracle.Case(walks(40)[:, :4].tolist(), own=False, values=(0, 1, 2), pattern=(1, 2, 3))
    release, _ = oracle.release_of(case)
    asks = [
        lambda: estimate_ranges(release),
        lambda: estimate_patterns(release),
        lambda: answer(release, RangeCount({"t3": (0, 1)})),
        lambda: answer(release, PatternRange({("t0", "t1"): (0, 1)})),
    ]
    for ask in asks:
        with pytest.raises(ParameterError) as caught:
            ask()
        assert caught.value.code == "not-published"
    assert answer(release, RangeCount({"t0": (None, None)})).value == 40


def test_an_instant_without_values_and_symbol_is_named():
    case = oracle.Case(walks(40)[:, :4].tolist(), values=(0, 1), pattern=(1, 2))
    release, _ = oracle.release_of(case)
    for ask in (
        lambda: answer(release, PatternRange({("t3", "t1"): (0, 1)})),
        lambda: answer(release, PatternSimilarity([1, 2, 3, 4], 0.1)),
        lambda: estimate_patterns(release),
    ):
        with pytest.raises(ParameterError) as caught:
            ask()
        assert caught.value.code == "not-published"
        assert "t3" in caught.value.message
        assert "t0" not in caught.value.message  # it has values, from which a symbol can be estimated
    assert answer(release, RangeCount({"t3": (0, 1)})).high <= 40


@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize("method", ["adaptive", "kapra"])
def test_estimates_of_a_customised_release_hold(center, method):
    """All true values lie in the estimated ranges, and ranges are of some use."""
    release, ledger = published(method, center=center, publish_values=NAMES[:6], publish_pattern=NAMES[2:])
    evidence = Evidence(release, ledger)
    known, kept = evidence.published, evidence.released
    missing = known.others(known.values)
    assert [known.instants[place] for place in missing] == ["t6", "t7"]
    truth, run = evidence.matrix[kept][:, missing], evidence.run[kept]
    for domain in ((None, None), (evidence.matrix.min(), evidence.matrix.max())):
        low, high = estimated_ranges(known, missing, domain)
        assert (low[run] <= truth).all()
        assert (truth <= high[run]).all()
    assert np.isfinite(high).all()
    found = estimate_ranges(release)
    assert found.num_rows == release.table.num_rows == len(kept)
    symbols = estimate_patterns(release)
    assert symbols.column_names == ["t0_symbol", "t0_level", "t1_symbol", "t1_level"]


def spikes(rng):
    """Flat but for one instant: it lies further from the median than any value can from the mean."""
    matrix = rng.random((60, 6)) * 0.05
    matrix[np.arange(60), rng.integers(0, 6, 60)] = rng.choice([-1, 1], 60) * rng.integers(5, 9, 60)
    return matrix


@pytest.mark.parametrize("seed", range(4))
def test_bounds_about_the_median_hold_for_series_with_one_spike(seed):
    """About the median deviations do not add up to 0, and reach further than about the mean."""
    rng = np.random.default_rng(seed)
    matrix, names = spikes(rng), NAMES[:6]
    shown = [names[place] for place in sorted(rng.choice(6, 4, replace=False))]
    table = pa.table({name: matrix[:, place] for place, name in enumerate(names)})
    how = {"method": "kapra", "center": "median", "publish_values": shown}
    release, ledger = tv.anonymize_series(table, tv.Roles(series=names), k=4, p=2, **how)
    evidence = Evidence(release, ledger)
    missing, run = evidence.published.others(evidence.published.values), evidence.run[evidence.released]
    low, high = estimated_ranges(evidence.published, missing)
    truth = evidence.matrix[evidence.released][:, missing]
    assert ((low[run] <= truth) & (truth <= high[run])).all()
    for one, other in permutations(range(6), 2):
        apart = [oracle.difference(series, "median", one, other) for series in matrix]
        for least in (2.3, 2.45):
            found = answer(release, PatternRange({(names[one], names[other]): (least, None)}))
            assert found.low <= sum(each >= least for each in apart) <= found.high


@pytest.mark.parametrize("method", ["adaptive", "kapra", "naive", "representative"])
def test_the_truth_lies_between_the_bounds_for_every_method(method):
    """Questions around series of the original, each counted there one by one."""
    matrix, rng = walks(), np.random.default_rng(5)
    release, _ = published(method)
    for _ in range(12):
        somebody, places = matrix[rng.integers(400)], rng.choice(8, 2, replace=False)
        ranges = {p: (somebody[p] - rng.exponential(), somebody[p] + rng.exponential()) for p in places}
        values = [all(low <= s[p] <= high for p, (low, high) in ranges.items()) for s in matrix]
        apart = oracle.difference(somebody, "mean", *places)
        shapes = [abs(oracle.difference(s, "mean", *places) - apart) <= 0.5 for s in matrix]
        alike = [oracle.distance(s, somebody) <= 0.25 for s in matrix]
        by_value = RangeCount({NAMES[p]: ends for p, ends in ranges.items()})
        by_shape = PatternRange({tuple(NAMES[p] for p in places): (apart - 0.5, apart + 0.5)})
        both = [one and other for one, other in zip(values, shapes, strict=True)]
        for query, truth in (
            (by_value, values),
            (by_shape, shapes),
            (PatternSimilarity(somebody, 0.25), alike),
            (Complex(pattern=by_shape, range=by_value), both),
        ):
            found = answer(release, query)
            assert found.low <= sum(truth) <= found.high
            assert found.low <= found.value <= found.high


def test_runs_are_read_whatever_the_batches():
    """Many small batches give the runs of one."""
    release, _ = published()
    parts = pa.Table.from_batches(release.table.to_batches(max_chunksize=7))
    one, many = (Evidence(r).published for r in (release, replace(release, parts={"data": parts})))
    for name in ("group", "rows", "low", "high", "symbols", "levels"):
        assert np.array_equal(getattr(one, name), getattr(many, name))
    assert one.rows.sum() == 400
    assert len(one.rows) == release.manifest["counts"]["cells"]


def test_patterns_that_do_not_fit_their_level_are_refused(release):
    table = release.table
    broken = table.set_column(table.column_names.index("level"), "level", pa.array([1] * 40, pa.int16()))
    with pytest.raises(tv.BundleError):
        answer(replace(release, parts={"data": broken}), RangeCount({}))


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest, table: manifest["series"].update(values=None),
        lambda manifest, table: manifest["series"].update(values=["t0", "t0"]),
        lambda manifest, table: manifest["series"].update(pattern=["t9"]),
        lambda manifest, table: manifest["columns"][2].update(role="keep"),
        lambda manifest, table: manifest["counts"].update(suppressed="none"),
        lambda manifest, table: table.update(t0_lo=[None] * 40),
        lambda manifest, table: table.update(t0_hi=[float("inf")] * 40),
        lambda manifest, table: table.update(t0_hi=[-1e9] * 40),
        lambda manifest, table: table.update(pattern=["????"] * 40),
        lambda manifest, table: table.update(pattern=[None] * 40),
        lambda manifest, table: table.update(level=[None] * 40),
        lambda manifest, table: table.update(group=["one"] * 40),
        lambda manifest, table: table.pop("t1_lo"),
    ],
)
def test_a_table_that_does_not_fit_its_manifest_is_refused(change):
    """By whoever reads it: what is wrong is for `verify` to say."""
    release, ledger = oracle.release_of(oracle.Case(walks(40)[:, :4].tolist()))
    manifest, table = deepcopy(dict(release.manifest)), release.table.to_pydict()
    change(manifest, table)
    broken = replace(release, manifest=manifest, parts={"data": pa.table(table)})
    for read in (
        lambda: answer(broken, RangeCount({"t0": (0, 1)})),
        lambda: tv.measure(broken, ledger, queries=5),
        lambda: tv.attack(broken, ledger, tv.SeriesAdversary(2)),
        lambda: release_picture(gather(broken)),
    ):
        with pytest.raises(tv.BundleError) as caught:
            read()
        assert (caught.value.code, caught.value.__context__) == ("folder-damaged", None)


def test_answers_come_from_the_folder_alone(tmp_path):
    """Written and opened again, a release gives the same answers."""
    release, _ = published()
    queries = [
        RangeCount({"t1": (0, 3)}),
        PatternRange({("t7", "t0"): (1, None)}),
        PatternRange({"slope": (0, None)}, features="slope"),
        PatternSimilarity(range(8), 0.3),
    ]
    queries.append(Complex(pattern=queries[3], range=queries[0]))
    for form in ("parquet", "csv"):
        opened = tv.open_release(tv.write(release, tmp_path / form, format=form))
        assert [answer(opened, query) for query in queries] == [answer(release, query) for query in queries]
