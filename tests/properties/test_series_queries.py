"""Answers about series: the truth lies between the bounds, and the guess is that of the slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import series_queries as oracle

from timeveil.query import (
    Complex,
    PatternRange,
    PatternSimilarity,
    RangeCount,
    answer,
    estimate_patterns,
    estimate_ranges,
)

FEW = settings(max_examples=80, deadline=None)


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
def test_every_estimated_range_contains_the_truth_and_is_the_programs(data):
    """Coverage is complete, and the two-variable solution is that of a general solver."""
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
        for end, value in zip(("lo", "hi"), expected[p], strict=True):
            assert estimates[number][f"t{p}_{end}"] == pytest.approx(value, rel=1e-5, abs=1e-5 * scale)


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
def test_an_estimated_symbol_overlaps_its_envelope_as_much_as_any(data):
    """Of all symbols of the level, none has a range with more of the envelope in it."""
    case = data.draw(cases(customised=True, own=True))
    size = len(case.series[0])
    missing = [p for p in range(size) if p not in case.pattern]
    release, _ = oracle.release_of(case)
    if set(missing) - set(case.values):
        return
    found = estimate_patterns(release)
    assert found.column_names == [f"t{p}_{part}" for p in missing for part in ("symbol", "level")]
    if not missing:
        return
    number = data.draw(st.integers(0, release.table.num_rows - 1))
    row, estimates = release.table.to_pylist()[number], found.to_pylist()[number]
    p = data.draw(st.sampled_from(missing))
    level, known = estimates[f"t{p}_level"], _known(case, row)
    low, high = known[p][0]
    overlaps = []
    for mark in range(level):
        # a twin of the instant, without an envelope of its own, that has the symbol in question
        reach = math.sqrt(size - 1) + (case.center == "median")
        sides = _sides(known, size, case.center)
        under, over = (
            oracle.NORMAL.inv_cdf(m / level) if 0 < m < level else s * reach
            for m, s in ((mark, -1), (mark + 1, 1))
        )
        least = oracle.extreme(*sides, max(under, -reach), -1)
        most = oracle.extreme(*sides, min(over, reach), 1)
        overlaps.append(min(most, high) - max(least, low))
    chosen = oracle.LETTERS.index(estimates[f"t{p}_symbol"])
    scale = max(1.0, *(abs(x) for s in case.series for x in s))
    assert overlaps[chosen] >= max(overlaps) - 1e-5 * scale


def _sides(known, size, center):
    reach = math.sqrt(size - 1) + (center == "median")
    low, high, below, above = [], [], [], []
    for envelope, mark in known:
        least, most = envelope or (-math.inf, math.inf)
        low.append(least)
        high.append(most)
        below.append(max(oracle.NORMAL.inv_cdf(mark[0] / mark[1]), -reach) if mark and mark[0] else -reach)
        last = not mark or mark[0] + 1 == mark[1]
        above.append(reach if last else min(oracle.NORMAL.inv_cdf((mark[0] + 1) / mark[1]), reach))
    middle = np.median if center == "median" else np.mean
    return [*low, float(middle(low))], [*high, float(middle(high))], [*below, 0.0], [*above, 0.0]


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
