"""Answers about series: the truth lies between the bounds, and the guess is that of the slow twin."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import series_queries as oracle

from timeveil.judging import answer
from timeveil.models.series.judges.estimate import Scaling, estimate_patterns, estimate_ranges
from timeveil.models.series.judges.query import Complex, PatternRange, PatternSimilarity, RangeCount

FEW = settings(max_examples=some(80), deadline=None)


@st.composite
def cases(draw, customised=False, own=None):
    """Series that share shapes, with constants, ties and twins among them."""
    size = draw(st.integers(2 if customised else 1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shapes = rng.normal(size=(draw(st.integers(1, 4)), size))
    number = draw(st.integers(4, 24))
    series = shapes[rng.integers(0, len(shapes), number)] * rng.uniform(0.5, 2, (number, 1))
    series += rng.normal(size=(number, 1)) + rng.normal(
        scale=draw(st.sampled_from([0, 0.1, 1])), size=series.shape
    )
    kind = draw(st.sampled_from(["plain", "whole", "constants", "twins", "far"]))
    if kind == "whole":
        series = np.rint(2 * series)
    if kind == "constants":
        series[:: draw(st.integers(1, 3))] = 3.0
    if kind == "twins":
        series[number // 2 :] = series[: number - number // 2]
    if kind == "far":
        series = 1e6 + series
    values = pattern = None
    if customised:
        places = st.lists(st.integers(0, size - 1), min_size=1, unique=True).map(lambda p: tuple(sorted(p)))
        values, pattern = draw(places), draw(places)
    return oracle.Case(
        series.tolist(),
        k=draw(st.integers(2, 4)),
        p=draw(st.integers(1, 2)),
        suppressed=draw(st.integers(0, 2)),
        center=draw(st.sampled_from(["mean", "median"])),
        each=draw(st.booleans()),
        own=draw(st.booleans()) if own is None else own,
        values=values,
        pattern=pattern,
        digits=draw(st.sampled_from([None, 2])),
        seed=draw(st.integers(0, 99)),
    )


def ranges(draw, case, most=3):
    """Ranges between values that occur."""
    size = len(case.series[0])
    out = {}
    for place in draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=most, unique=True)):
        ends = sorted(draw(st.sampled_from(case.series))[place] for _ in range(2))
        out[f"t{place}"] = (draw(st.sampled_from([ends[0], None])), ends[1])
    return out


def open_ends(ends):
    return (-math.inf if ends[0] is None else ends[0]), (math.inf if ends[1] is None else ends[1])


def within(ends, value):
    low, high = open_ends(ends)
    return low <= value <= high


def in_ranges(case, wanted):
    return [
        all(within(wanted[f"t{p}"], x) for p, x in enumerate(s) if f"t{p}" in wanted) for s in case.series
    ]


@FEW
@given(st.data())
def test_range_counts_hold_and_spread_evenly(data):
    """low <= truth <= high about the original, suppressed series included; the guess is the paper's."""
    case = data.draw(cases())
    wanted = ranges(data.draw, case)
    release, _ = oracle.release_of(case)
    found = answer(release, RangeCount(wanted))
    assert found.low <= sum(in_ranges(case, wanted)) <= found.high
    expected = 0.0
    for row in release.table.to_pylist():
        share = 1.0
        for name, ends in wanted.items():
            least, most = row[f"{name}_lo"], row[f"{name}_hi"]
            low, high = open_ends(ends)
            if most > least:
                share *= max(min(high, most) - max(low, least), 0) / (most - least)
            else:
                share *= low <= least <= high
        expected += share
    assert found.value == pytest.approx(expected)
    assert found.low <= found.value + 1e-9
    assert found.value <= found.high + 1e-9


FEATURES = {
    "slope": lambda case, s, _: oracle.slope(s, case.center),
    "peak-to-trough": lambda case, s, _: oracle.spread(s, case.center),
    "differences": lambda case, s, key: oracle.difference(s, case.center, *key),
    "adjacent": lambda case, s, key: oracle.difference(s, case.center, *key),
}


def feature_query(draw, case):
    """A question about features, and whether each series fits it."""
    size = len(case.series[0])
    name = draw(st.sampled_from(sorted(FEATURES) if size > 1 else ["slope", "peak-to-trough"]))
    keys = {"slope": [None], "peak-to-trough": [None]}.get(name)
    if name == "adjacent":
        keys = [(p, p + 1) for p in draw(st.lists(st.integers(0, size - 2), min_size=1, max_size=2))]
    if name == "differences":
        pair = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda p: p[0] != p[1])
        keys = draw(st.lists(pair, min_size=1, max_size=2))
    wanted, fit = {}, [True] * len(case.series)
    for key in set(keys):
        measured = [FEATURES[name](case, s, key) for s in case.series]
        low, high = sorted(draw(st.sampled_from(measured)) for _ in range(2))
        ends = (low - draw(st.sampled_from([1e-6, 0.5])), draw(st.sampled_from([high + 1e-6, None])))
        wanted[name if key is None else tuple(f"t{p}" for p in key)] = ends
        fit = [old and within(ends, value) for old, value in zip(fit, measured, strict=True)]
    return PatternRange(wanted, features=name), fit


def similarity_query(draw, case):
    """A question about shapes, and whether each series fits it."""
    features = draw(st.sampled_from(["differences", "adjacent"]))
    like = draw(st.sampled_from([*case.series, [float(p) for p in range(len(case.series[0]))]]))
    distances = [oracle.distance(s, like, features) for s in case.series]
    tolerance = draw(st.sampled_from([*distances, 0.05, 0.3, 1.0])) + 1e-7
    fit = [found <= tolerance for found in distances]
    return PatternSimilarity(like, tolerance, features=features), fit


@FEW
@given(st.data())
def test_questions_about_shapes_hold(data):
    """Whatever the features, centre and levels; where patterns are borrowed, nothing is sure."""
    case = data.draw(cases())
    ask = data.draw(st.sampled_from([feature_query, similarity_query]))
    query, fit = ask(data.draw, case)
    release, _ = oracle.release_of(case)
    found = answer(release, query)
    assert found.low <= sum(fit) <= found.high
    assert found.low <= found.value <= found.high
    if not case.own:
        assert (found.low, found.high) == (0, len(case.series))


@FEW
@given(st.data())
def test_complex_questions_hold(data):
    """Both parts at once."""
    case = data.draw(cases())
    query, fit = data.draw(st.sampled_from([feature_query, similarity_query]))(data.draw, case)
    wanted = ranges(data.draw, case)
    release, _ = oracle.release_of(case)
    found = answer(release, Complex(pattern=query, range=RangeCount(wanted)))
    truth = sum(a and b for a, b in zip(fit, in_ranges(case, wanted), strict=True))
    assert found.low <= truth <= found.high


@FEW
@given(st.data())
def test_questions_of_customised_releases_hold(data):
    """What was left out is estimated; a question that cannot be answered is refused by name."""
    case = data.draw(cases(customised=True, own=True))
    query, fit = data.draw(st.sampled_from([feature_query, similarity_query]))(data.draw, case)
    wanted = ranges(data.draw, case)
    release, _ = oracle.release_of(case)
    found = answer(release, RangeCount(wanted))
    assert found.low <= sum(in_ranges(case, wanted)) <= found.high
    if set(range(len(case.series[0]))) == set(case.values) | set(case.pattern):
        found = answer(release, query)
        assert found.low <= sum(fit) <= found.high


@FEW
@given(st.data())
def test_every_estimated_range_contains_the_truth_and_lies_in_the_programs(data):
    """Coverage is complete, and no range is wider than what the paper's program, as corrected, gives."""
    case = data.draw(cases(customised=True, own=True))
    everything = [x for s in case.series for x in s]
    domain = data.draw(st.sampled_from([(None, None), (min(everything), max(everything))]))
    release, ledger = oracle.release_of(case)
    size, table = len(case.series[0]), release.table.to_pylist()
    found = estimate_ranges(release, domain)
    missing = [p for p in range(size) if p not in case.values]
    assert found.column_names == [f"t{p}_{end}" for p in missing for end in ("lo", "hi")]
    if not missing:
        return
    estimates = found.to_pylist()
    for series, group in _members(case, ledger):
        z = oracle.z_of(series, case.center)
        for number, row in enumerate(table):
            if row["group"] == group and _is_own(case, row, z):
                for p in missing:
                    assert estimates[number][f"t{p}_lo"] <= series[p] <= estimates[number][f"t{p}_hi"]
    number = data.draw(st.integers(0, len(table) - 1))
    expected = oracle.estimated_range(_known(case, table[number]), size, case.center, open_ends(domain))
    scale = max(1.0, *(abs(x) for x in everything))
    for p in missing:
        assert estimates[number][f"t{p}_lo"] >= expected[p][0] - 1e-5 * scale
        assert estimates[number][f"t{p}_hi"] <= expected[p][1] + 1e-5 * scale


@settings(max_examples=some(200), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_two_variable_program_is_solved_as_by_a_general_solver(seed):
    """On sides made around a true centre and deviation, some of them open, some of no width."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 8))
    center, deviation = rng.normal(), abs(rng.normal()) * rng.integers(0, 2)
    z = rng.normal(size=size).round(int(rng.integers(0, 3)))
    value = center + deviation * z
    low, high = value - rng.exponential(size=size), value + rng.exponential(size=size) * rng.integers(0, 2)
    below, above = z - rng.exponential(size=size) * rng.integers(0, 2), z + rng.exponential(size=size)
    low[rng.random(size) < 0.2], high[rng.random(size) < 0.2] = -np.inf, np.inf
    span = max(float(max(high) - min(low)), 2.1 * deviation)
    scale = Scaling(*(side[None, :] for side in (low, high, below, above)), span=np.array([span]))
    target = np.sort(rng.normal(size=2))
    found = scale.between(target[:1], target[1:])
    sides = low, high, below, above
    expected = [oracle.extreme(*sides, t, s, span) for t, s in zip(target, (-1, 1), strict=True)]
    assert [float(bound[0]) for bound in found] == pytest.approx(expected, rel=1e-5, abs=1e-5)


def _members(case, ledger):
    return [
        (case.series[row["row"]], row["group"])
        for row in ledger.table.to_pylist()
        if row["group"] is not None
    ]


def _levels(row, width):
    return row["level"] if isinstance(row["level"], list) else [row["level"]] * width


def _is_own(case, row, z):
    levels = _levels(row, len(case.pattern))
    letters = [oracle.LETTERS[oracle.symbol(z[p], n)] for p, n in zip(case.pattern, levels, strict=True)]
    return "".join(letters) == row["pattern"]


def _known(case, row):
    levels = _levels(row, len(case.pattern))
    marks = {
        p: (oracle.LETTERS.index(letter), level)
        for p, letter, level in zip(case.pattern, row["pattern"], levels, strict=True)
    }
    return [
        ((row[f"t{p}_lo"], row[f"t{p}_hi"]) if p in case.values else None, marks.get(p))
        for p in range(len(case.series[0]))
    ]


@FEW
@given(st.data())
def test_symbols_of_identical_series_are_estimated_as_they_are(data):
    """Where envelopes have no width, nothing is left to guess."""
    case = data.draw(cases(customised=True, own=True))
    size = len(case.series[0])
    case = replace(case, series=case.series[-1:] * 5, suppressed=0, values=tuple(range(size)), digits=None)
    release, _ = oracle.release_of(case)
    found = estimate_patterns(release).to_pylist()
    z = oracle.z_of(case.series[0], case.center)
    missing = [p for p in range(size) if p not in case.pattern]
    assert estimate_patterns(release).column_names == [
        f"t{p}_{part}" for p in missing for part in ("symbol", "level")
    ]
    for row in found:
        for p in missing:
            level = row[f"t{p}_level"]
            borders = [oracle.NORMAL.inv_cdf(b / level) for b in range(1, level)]
            if all(abs(z[p] - border) > 1e-6 for border in borders):
                assert row[f"t{p}_symbol"] == oracle.LETTERS[oracle.symbol(z[p], level)]


def test_identical_series_are_told_exactly():
    """k identical series leave nothing open: values, counts and shapes come out as they are."""
    release, _ = oracle.release_of(oracle.Case([[1.0, 2.0, 4.0, 3.0]] * 4, k=4, p=4, each=True, most=20))
    found = answer(release, RangeCount({"t0": (0, 2), "t2": (4, 4)}))
    assert (found.low, found.value, found.high) == (4, 4, 4)
    assert answer(release, RangeCount({"t0": (2, 3)})).high == 0
    found = answer(release, PatternSimilarity([1, 2, 4, 3], 0.3))
    assert (found.low, found.value, found.high) == (4, 4, 4)
    found = answer(release, PatternRange({("t2", "t0"): (1, None)}))
    assert (found.low, found.value, found.high) == (4, 4, 4)
