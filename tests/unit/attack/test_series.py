"""Adversaries of series: what they may know, and how what they find is told."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import judges_series as oracle

import timeveil as tv
from timeveil.errors import ParameterError
from timeveil.judging import attack
from timeveil.models.events.parameters import Adversary
from timeveil.models.series.judges.attack import Boxes
from timeveil.models.series.parameters import SeriesAdversary
from timeveil.models.series.words import attack_summary
from timeveil.models.series.words.pictures import attack_picture


@pytest.fixture(scope="module")
def pair():
    rows = oracle.people(random.Random(5), 60, 6)  # noqa: S311
    return oracle.build(oracle.Case(rows, k=6, p=3, method="kapra"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": 0},
        {"values": True},
        {"values": 1.5},
        {"values": "t0"},
        {"values": None},
        {"values": []},
        {"tolerance": -1.0},
        {"tolerance": float("nan")},
        {"tolerance": float("inf")},
        {"sample": 0},
        {"seed": -1},
    ],
)
def test_an_adversary_knows_something_sensible(wrong):
    with pytest.raises(ParameterError) as caught:
        SeriesAdversary(**wrong)
    assert caught.value.code == "bad-parameter"


def test_instants_must_be_there(pair):
    with pytest.raises(ParameterError, match="no instant `t99`"):
        attack(*pair, SeriesAdversary(["t0", "t99"]))


def test_another_models_adversary_is_refused(pair):
    with pytest.raises(ParameterError, match="`Adversary` cannot attack a release of"):
        attack(*pair, Adversary())


def test_instants_are_drawn_with_the_seed(pair):
    first, again, other = (attack(*pair, SeriesAdversary(2, seed=seed)) for seed in (1, 1, 2))
    assert first.after.candidates.tolist() == again.after.candidates.tolist()
    assert first.after.candidates.tolist() != other.after.candidates.tolist()


def test_more_knowledge_never_leaves_more_candidates(pair):
    def rows(*given, **named):
        return attack(*pair, SeriesAdversary(*given, **named)).after.candidates

    assert (rows(["t0", "t1"]) <= rows(["t0"])).all()
    assert (rows("all", pattern=True) <= rows("all")).all()
    assert (rows("all") <= rows("all", 2.0)).all()


def test_who_knows_all_values_exactly_knows_the_pattern(pair):
    instants = pair[0].manifest["series"]["instants"]
    both = attack(*pair, SeriesAdversary("all", pattern=True))
    for values in ("all", instants, len(instants), 99):
        breach = attack(*pair, SeriesAdversary(values))
        assert breach.after.candidates.tolist() == both.after.candidates.tolist()
        assert breach.adversary.pattern
        assert "and the pattern" in attack_summary(breach, pair[0]).lines()[0]
        assert values == instants or "all instants" in attack_summary(breach, pair[0]).lines()[0]
    for less in (SeriesAdversary(instants[1:]), SeriesAdversary("all", 0.5)):
        assert not attack(*pair, less).adversary.pattern


def test_numbers_that_rounding_brings_back_do_not_count_as_different():
    rows = [{**row, "income": n % 2} for n, row in enumerate(oracle.people(random.Random(5), 60, 6))]  # noqa: S311
    release, ledger = oracle.build(oracle.Case(rows, k=6, p=3, method="kapra"))
    place = release.table.column_names.index("income")
    moved = release.table["income"].to_numpy() + np.random.default_rng(1).uniform(-0.04, 0.04, 60)
    table = release.table.set_column(place, "income", pa.array(moved))
    series = {**release.manifest["series"], "perturbed": ["income"]}
    changed = replace(release, parts={"data": table}, manifest={**release.manifest, "series": series})
    assert len(np.unique(moved)) == 60
    plain, snapped = attack(release, ledger), attack(changed, ledger)
    assert snapped.homogeneous == plain.homogeneous
    assert snapped.told["income"].chance.tolist() == plain.told["income"].chance.tolist()


@pytest.mark.parametrize(("different", "least", "most"), [(10**6, 0.8, 1.0), (40, 0.1, 0.6)])
def test_counting_finds_numbers_that_were_changed(different, least, most):
    """Many of a kind have no bill, so their cells have too many zeros; recounted a cell at a time."""
    rng, people = np.random.default_rng(4), 240
    load = np.sort(rng.random(people)) * 100
    none = (load < 50) & (rng.random(people) < 0.6)
    bill = np.where(none, 0, rng.integers(1, different, people))
    table = pa.table(
        {"who": [f"p{number}" for number in range(people)], "a": load, "b": load**2, "bill": bill}
    )
    roles = tv.Roles(respondent="who", series=["a", "b"], sensitive=["bill"])
    release, ledger = tv.anonymize_series(table, roles, k=12, p=12, l=3, seed=1)
    entries = ledger.entries.to_pydict()
    true, shown = defaultdict(Counter), defaultdict(Counter)
    for row, group in zip(entries["row"], entries["group"], strict=True):
        true[group][bill[row].item()] += 1
    for row in release.table.to_pylist():
        shown[row["group"]][row["bill"]] += 1
    often, tried, right = sum(shown.values(), Counter()), 0, 0
    for group, cell in shown.items():
        commonest = max(often[value] for value in cell)
        top = [value for value in cell if often[value] == commonest]
        if any(cell[value] == cell.total() // 3 for value in top):
            for value in cell.keys() - top:
                if often[value] > 1:
                    tried, right = tried + cell[value], right + max(cell[value] - true[group][value], 0)
    copies = tv.attack(release, ledger).copies["bill"]
    assert (copies.people, copies.mean) == (tried, pytest.approx(right / tried))
    assert least < copies.mean <= most
    assert tried > 20


def test_a_sample_is_drawn(pair):
    breach = attack(*pair, SeriesAdversary(pattern=True, sample=7))
    assert (breach.people, breach.everyone) == (7, 60)
    assert "7 people of 60 were attacked, drawn at random." in attack_summary(breach, pair[0]).lines()


def test_the_report_says_what_was_found_and_what_is_not_protected(pair):
    breach = attack(*pair)
    lines = attack_summary(breach, pair[0]).lines()
    assert lines[0] == "An outsider knows the values of all instants and the pattern -> what they find"
    assert any("names nobody with a chance above 1 in 3" in line for line in lines)
    assert any("the same `income`" in line for line in lines)


def test_the_report_says_that_values_alone_are_not_all_one_can_use(pair):
    said = " ".join(attack_summary(attack(*pair, SeriesAdversary(["t0"])), pair[0]).lines())
    assert "Values were compared with envelopes alone." in said
    assert "what is promised is 1 in 3." in said
    assert "envelopes alone" not in " ".join(attack_summary(attack(*pair), pair[0]).lines())


def test_the_report_says_that_a_bet_may_be_lost():
    case = oracle.Case(oracle.people(random.Random(5), 60, 6), k=6, p=3, method="naive")  # noqa: S311
    release, ledger = oracle.build(case)
    said = " ".join(attack_summary(attack(release, ledger), release).lines())
    assert "bets on the nearest" in said
    assert "all but one who share a pattern" in said


def test_the_picture_is_sound(pair):
    drawn = attack_picture(attack(*pair, SeriesAdversary(["t0"], 0.5))).svg()
    assert ET.fromstring(drawn).tag.endswith("svg")  # noqa: S314
    assert "P = 3" in drawn
    assert "the values of 1 instant to within 0.5" in drawn


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_pairs_are_those_of_every_pair_tried(seed):
    """Large enough that people are halved, with the same and with different instants known."""
    rng = np.random.default_rng(seed)
    low = rng.normal(size=(900, 3)).round(1)
    high = low + rng.exponential(0.5, size=low.shape).round(1)
    point = rng.normal(size=(700, 3)).round(1)
    known = rng.random(point.shape) < (1.0 if seed == 0 else 0.5)
    meet = ((low <= point[:, None] + 0.1) & (high >= point[:, None] - 0.1)) | ~known[:, None]
    wanted = {tuple(pair) for pair in np.argwhere(meet.all(axis=2)).tolist()}
    found, seen = set(), set()
    for person, box in Boxes(low, high, point - 0.1, point + 0.1, known).fits(np.arange(700)):
        assert not seen & set(person.tolist())
        seen |= set(person.tolist())
        begins = np.flatnonzero(np.diff(person, prepend=-1))
        assert len(begins) == len(set(person.tolist()))
        found |= set(zip(person.tolist(), box.tolist(), strict=True))
    assert found == wanted


@pytest.mark.parametrize("pattern", [False, True])
@pytest.mark.parametrize("known", [["t0"], ["t1", "t3"], "all"])
def test_exact_matches_are_counted_as_boxes_would_be(known, pattern):
    """What is known exactly, and the same of everybody, is looked up; nearly exactly it comes to the same."""
    matrix = np.random.default_rng(3).integers(0, 3, (300, 4)) / 2
    names = [f"t{n}" for n in range(4)]
    table = pa.table({name: matrix[:, place] for place, name in enumerate(names)})
    pair = tv.anonymize_series(table, tv.Roles(series=names), k=4, p=2)
    exact = attack(*pair, SeriesAdversary(known, 0.0, pattern))
    nearly = attack(*pair, SeriesAdversary(known, 1e-12, pattern or known == "all"))
    assert exact.before.candidates.tolist() == nearly.before.candidates.tolist()
