"""Questions about patterns: what they take, what they refuse, and that the truth is where they say."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from dataclasses import replace
from statistics import NormalDist, fmean, pstdev

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import channels as oracle

import timeveil as tv
from timeveil.judging import answer
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.judges.query import PatternSupport, RuleConfidence, TopPatterns
from timeveil.models.patterns.words import confidence_lines, support_lines, top_lines
from timeveil.models.series.judges.query import RangeCount

A = pa.table({"has": [list(row) for row in ("ab", "abcd", "ad", "ad", "bcd")]})
METHODS = ("additive", "tight", "clone", "suppressive", "itemset")


def example_a(method="additive", **how):
    return tv.sanitize_patterns(
        A, tv.Roles(item="has"), k=2, min_support=2, method=method, **how, allow_loss=True
    )[0]


def test_supports_of_example_a():
    release = example_a()
    assert answer(release, PatternSupport(["b", "a"])) == tv.Estimate(4.0, low=2.0, high=4.0)
    assert answer(release, PatternSupport(["b"])) == tv.Estimate(7.0, low=3.0, high=7.0)
    assert answer(release, PatternSupport([])) == tv.Estimate(5.0, low=5.0, high=5.0)  # n' less the virtual
    assert answer(release, PatternSupport(["a", "c"])) == tv.Estimate(0.5, low=0.0, high=1.0)
    assert answer(release, PatternSupport(["never seen"])) == tv.Estimate(0.5, low=0.0, high=1.0)
    assert answer(example_a("itemset"), PatternSupport(["b"])) == tv.Estimate(3.0, low=3.0, high=3.0)
    assert answer(example_a("suppressive"), PatternSupport(["a"])) == tv.Estimate(3.0, low=3.0, high=math.inf)
    assert answer(example_a("suppressive"), PatternSupport(["b"])).high == math.inf


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("published", ["frequent", "closed"])
@pytest.mark.parametrize("kind", ["baskets", "series"])
def test_the_truth_is_within_the_bounds(method, published, kind):
    chance = random.Random(f"{method}{published}{kind}")  # noqa: S311
    asked = 0
    for _ in range(3):
        if kind == "baskets":
            rows = oracle.baskets(chance, 20, 4)
            table, roles, how = pa.table({"has": [sorted(row) for row in rows]}), tv.Roles(item="has"), {}
        else:
            rng = np.random.default_rng(chance.randrange(99))
            matrix = rng.normal(size=(60, 3)).cumsum(axis=1)
            table = pa.table({f"t{n}": matrix[:, n] for n in range(3)})
            roles, how = tv.Roles(series=table.column_names), {"symbols": 2}
            z = (matrix - matrix.mean(axis=1, keepdims=True)) / matrix.std(axis=1, keepdims=True)
            rows = [frozenset(f"t{n}={'ab'[int(v >= 0)]}" for n, v in enumerate(row)) for row in z]
        longest = chance.choice([None, 2])
        try:
            release, _ = tv.sanitize_patterns(
                table, roles, k=3, min_support=4, method=method, published=published, max_len=longest, **how
            )
        except (tv.InputError, tv.InfeasibleError):
            continue
        items = sorted({item for row in rows for item in row})
        for wanted in oracle.subsets(items):
            truth, found = oracle.support(rows, wanted), answer(release, PatternSupport(sorted(wanted)))
            assert found.low <= truth <= found.high
            assert found.low <= found.value <= found.high
            for then in chance.sample(items, 1):
                rule = answer(release, RuleConfidence(sorted(wanted), [then]))
                asked += 1
                assert 0 <= rule.low <= rule.value <= rule.high <= 1
                if truth:
                    assert (
                        rule.low - 1e-12 <= oracle.support(rows, wanted | {then}) / truth <= rule.high + 1e-12
                    )
    assert asked


@pytest.mark.parametrize("published", ["frequent", "closed"])
def test_closed_patterns_tell_the_same_supports(published):
    chance = random.Random(8)  # noqa: S311
    for _ in range(20):
        case = oracle.Case(oracle.baskets(chance, 16, 4), k=2, least=3, published=published)
        release = oracle.release_of(case)
        for s, n in case.told.items():
            assert answer(release, PatternSupport(sorted(s))).value == (n if s else n - len(case.virtual))


def test_rules_use_that_who_was_added_to_the_rule_was_added_to_its_base():
    found = answer(example_a(), RuleConfidence(["a"], ["b"]))  # ab 4 of a 6, with 4 virtual people
    assert found == tv.Estimate(4 / 6, low=(4 - 2) / (6 - 2), high=1.0)
    alone = answer(example_a(), RuleConfidence([], ["b"]))  # of 5 people exactly
    assert (alone.low, alone.high) == (3 / 5, 1.0)


def test_two_symbols_of_one_instant_are_nobody():
    case = oracle.Case(oracle.series(random.Random(1), 40, 2, 3), k=2, least=4, symbols=3)  # noqa: S311
    release = oracle.release_of(case)
    assert answer(release, PatternSupport(["t0=a", "t0=b"])) == tv.Estimate(0.0, low=0.0, high=0.0)
    assert answer(release, RuleConfidence(["t0=a"], ["t0=b"])).high == 0.0


def test_top_patterns_are_those_with_most_people():
    release = example_a()
    top = answer(release, TopPatterns(3))
    assert top.to_pylist() == [
        {"pattern": ["b"], "support": 7, "low": 3.0, "high": 7.0},
        {"pattern": ["a"], "support": 6, "low": 2.0, "high": 6.0},
        {"pattern": ["d"], "support": 6, "low": 2.0, "high": 6.0},
    ]
    assert answer(release, TopPatterns(2, longer_than=1))["pattern"].to_pylist() == [["a", "b"], ["b", "d"]]
    assert answer(release, TopPatterns(5, longer_than=3)).num_rows == 0
    assert top_lines(answer(release, TopPatterns(5, longer_than=3)), Evidence(release).patterns) == [
        "no pattern is that long"
    ]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: PatternSupport("a"), "must be a list"),
        (lambda: PatternSupport([1]), "must be a list"),
        (lambda: RuleConfidence(["a"], []), "says nothing"),
        (lambda: TopPatterns(0), "`number`"),
        (lambda: TopPatterns(True), "`number`"),
        (lambda: TopPatterns(3, longer_than=-1), "`longer_than`"),
    ],
)
def test_what_is_no_question_is_refused(ask, said):
    with pytest.raises(tv.ParameterError, match=said):
        ask()


@pytest.mark.parametrize("item", ["t9=a", "t0=z", "t0", "a"])
def test_an_item_of_no_instant_is_refused_without_telling_it(item):
    case = oracle.Case(oracle.series(random.Random(1), 40, 2, 3), k=2, least=4, symbols=3)  # noqa: S311
    with pytest.raises(tv.ParameterError) as caught:
        answer(oracle.release_of(case), PatternSupport([item]))
    assert caught.value.code == "not-published"
    assert f"`{item}`" not in str(caught.value)


def test_a_question_of_another_kind_is_refused():
    with pytest.raises(tv.ParameterError, match="this release cannot answer"):
        answer(example_a(), RangeCount({"t0": (0, 1)}))


def test_a_damaged_table_is_said_to_be():
    release = example_a()
    for data in (release.table.slice(1), release.table.take(pa.array(range(10, -1, -1)))):
        with pytest.raises(tv.BundleError, match="does not hold patterns"):
            answer(tv.Release(release.guarantee, release.manifest, {"data": data}), PatternSupport(["a"]))


def test_words_tell_the_values_that_a_symbol_stands_for():
    rng = np.random.default_rng(0)
    walks = rng.normal(size=(300, 3)).cumsum(axis=1)
    table = pa.table({f"t{n}": walks[:, n] for n in range(3)})
    release, _ = tv.sanitize_patterns(
        table, tv.Roles(series=table.column_names), k=3, min_support=30, symbols=4
    )
    known = Evidence(release).patterns
    found = answer(release, PatternSupport(["t0=a", "t2=d"]))
    words = support_lines(found, known, ["t0=a", "t1=b", "t2=d"])
    assert words[0].startswith(f"{found.value:,.0f} people")
    assert words[2:] == [
        "in deviations of a series from its mean, with 4 symbols:",
        "  a:  below -0.674",
        "  b:  -0.674 to 0",
        "  d:  0.674 and above",
    ]
    rule = answer(release, RuleConfidence(["t0=a"], ["t2=d"]))
    assert confidence_lines(rule, known, ["t0=a"])[0].startswith(f"{100 * rule.value:.3g} % of them")
    assert support_lines(answer(release, PatternSupport([])), known, [])[0] == "300 people exactly"


def test_an_item_that_no_pattern_has_is_said_to_be_unknown():
    release = example_a()
    assert answer(release, PatternSupport(["a", "never seen"])).unknown == ("never seen",)
    assert answer(release, RuleConfidence(["never seen"], ["a"])).unknown == ("never seen",)
    lines = support_lines(answer(release, PatternSupport(["x"])), Evidence(release).patterns, ["x"])
    assert lines == ["not published: 1 person at most", "no published pattern contains `x`"]


@pytest.fixture(scope="module")
def walks():
    values = np.random.default_rng(4).normal(size=(400, 4)).cumsum(axis=1)
    return pa.table({f"t{n}": values[:, n] for n in range(4)}), values


def own_letters(values, symbols):
    """The letter of each person at each instant, from the person's own numbers."""
    borders = [NormalDist().inv_cdf(n / symbols) for n in range(1, symbols)]
    letters = []
    for series in values.tolist():
        middle, deviation = fmean(series), pstdev(series)
        letters.append(["abcdef"[bisect_right(borders, (x - middle) / deviation)] for x in series])
    return letters


def test_patterns_of_a_series_release_have_no_bounds(walks):
    """Its letters were cut anew from coarser ones: what people have by their own is another number."""
    table, values = walks
    roles = tv.Roles(series=table.column_names)
    curves, _ = tv.anonymize_series(table, roles, k=20, p=10, effort=0)
    coarse, ledger = tv.sanitize_patterns(curves, k=10, min_support=40, symbols=6)
    exact, _ = tv.sanitize_patterns(table, roles, k=10, min_support=40, symbols=6)
    assert coarse.manifest["patterns"]["origin"] == "series release"
    assert exact.manifest["patterns"]["origin"] == "table"
    assert tv.verify(coarse, ledger)
    letters, far = own_letters(values, 6), 0
    for release in (coarse, exact):
        for row in answer(release, TopPatterns(50)).to_pylist():
            items = [item.split("=") for item in row["pattern"]]
            truth = sum(all(own[int(t[1:])] == letter for t, letter in items) for own in letters)
            count = answer(release, PatternSupport(row["pattern"]))
            assert count.low <= truth <= count.high
            assert row["low"] <= truth <= row["high"]
            far += release is coarse and abs(truth - row["support"]) > 20
    assert far > 5  # taken for people's own letters, these counts would be wrong
    rule = answer(coarse, RuleConfidence(["t0=a"], ["t1=b"]))
    assert (rule.low, rule.high) == (0.0, 1.0)
    assert answer(coarse, PatternSupport(["t0=a", "t0=b"])) == tv.Estimate(0.0, low=0, high=0)


def test_the_origin_of_letters_is_said_wherever_counts_are(walks):
    table, _ = walks
    roles = tv.Roles(series=table.column_names)
    release, ledger = tv.sanitize_patterns(
        tv.anonymize_series(table, roles, k=20, p=10, effort=0)[0], k=10, min_support=40, symbols=4
    )
    patterns = Evidence(release).patterns
    item = patterns.names_of(1)
    for lines in (
        support_lines(answer(release, PatternSupport(item)), patterns, item),
        confidence_lines(answer(release, RuleConfidence([], item)), patterns, item),
        top_lines(answer(release, TopPatterns(3)), patterns),
    ):
        assert any("symbols are those of a series release" in line for line in lines)
        assert not any("exactly" in line for line in lines)
    assert "Coarser symbols" in tv.report(release, ledger).text()
    silent = {name: value for name, value in release.manifest["patterns"].items() if name != "origin"}
    old = replace(release, manifest={**release.manifest, "patterns": silent})
    assert tv.verify(old, ledger)
    assert answer(old, PatternSupport(item)).high == math.inf
    wrong = replace(release, manifest={**release.manifest, "patterns": {**silent, "origin": "table"}})
    assert tv.verify(wrong)
    assert [violation.code for violation in tv.verify(wrong, ledger).violations] == ["statements"]
