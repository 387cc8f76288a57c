"""A report promises what the threat models do, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from tests.unit.report.reports import MODELS, pair, told

import timeveil as tv
from timeveil.datasets import load_curves
from timeveil.models.patterns.judges.attack import BoundAttack, SolveAttack
from timeveil.models.patterns.words import beyond_the_promise
from timeveil.page.report import Prose, Report, Table
from timeveil.report import explain


def part(report: Report, heading: str) -> str:
    """The words of one section, tables aside."""
    [section] = [one for one in report.sections if one.heading == heading]
    return " ".join(line for block in section.blocks if isinstance(block, Prose) for line in block.sentences)


def attacks(report: Report) -> Table:
    [section] = [one for one in report.sections if one.heading == "Attacks"]
    table = section.blocks[0]
    assert isinstance(table, Table)
    return table


@pytest.mark.parametrize("private", [False, True])
def test_whoever_knows_some_values_of_series_is_promised_p(private: bool) -> None:
    """k is what envelopes alone hide; the pattern narrows it."""
    report = told("series", private=private)
    assert "1 in 6" not in str(report)
    guarantee = " ".join(report.as_dict()["summary"]) + part(report, "The promise")
    assert "at least 3 rows" in guarantee
    assert "Envelopes alone leave 6 rows or more, but that is not promised" in guarantee


def test_no_attack_on_series_is_promised_more_than_p() -> None:
    table = attacks(told("series", private=True))
    assert len(table.rows) == 3
    assert {row[1] for row in table.rows} == {"at most 1 in 3"}


def test_knowing_some_values_of_series_is_not_protected_by_k() -> None:
    [section] = [one for one in told("series", private=False).sections if "not protected" in one.heading]
    assert "Knowing some values" in str(section)


@pytest.mark.parametrize("private", [False, True])
def test_patterns_promise_no_more_than_groups_of_their_own_items(private: bool) -> None:
    """The difference of two counts of other patterns is no group, and may be small."""
    release, _ = pair("patterns")
    supports = sorted(set(release.table["support"].to_pylist()))
    assert any(0 < more - less < 8 for less, more in pairwise(supports))
    report = told("patterns", private=private)
    assert "in any way" not in str(report)
    assert "counts of patterns of these items" in part(report, "The promise")
    beyond = str(report.sections[-2])
    assert all(name in beyond for name in ("Bounds", "Other sums", "The method in reverse"))
    assert "Systems of equations" not in beyond


@pytest.mark.parametrize("structural", [True, False])
def test_patterns_of_series_name_what_equations_give(structural: bool) -> None:
    hours = [f"h{hour:02}" for hour in range(17, 20)]
    roles = tv.Roles(respondent="household", series=hours, drop="rest")
    release, ledger = tv.sanitize_patterns(
        load_curves(people=200), roles, k=5, min_support=0.2, symbols=3, structural=structural
    )
    if structural:
        assert "Solving the counts as a system of equations" in str(tv.report(release, ledger).sections[-2])
    beyond = str(tv.report(release).sections[-2])
    assert ("Systems of equations" in beyond) == structural
    assert ("they may compute smaller groups" in beyond) != structural


@pytest.mark.parametrize(
    ("named", "why", "limited"),
    [
        (None, "It is the finest granularity that keeps the promise.", False),
        (["month"], "No other granularity was allowed.", True),
        (["month", "year"], "It is the finest allowed granularity that keeps the promise.", True),
    ],
)
def test_the_least_general_of_those_allowed(named: list[str] | None, why: str, limited: bool) -> None:
    """Where granularities were named, a finer one may keep the promise, too."""
    rows = {"who": list("abc") * 6, "day": [f"2024-{n // 9 + 1:02}-{n // 3 + 1:02}" for n in range(18)]}
    pair = tv.generalize_time(
        pa.table(rows), tv.Roles(respondent="who", time="day"), k=3, granularities=named
    )
    for report in (tv.report(pair[0]), tv.report(*pair)):
        assert why in part(report, "What was done")
    allowed = f"Only {len(named or [])} granularit"
    assert (allowed in part(tv.report(pair[0]), "What was done")) == limited


def test_three_visits_are_tried_where_somebody_has_them() -> None:
    """Numbers are those of the attack, and nothing is promised."""
    release, ledger = pair("time")
    row = attacks(told("time", private=True)).rows[-1]
    breach = tv.attack(release, ledger, tv.Adversary(visits=3))
    assert str(row[0]).endswith("the time of 3 visits")
    assert row[1:4] == ("nothing", breach.people, breach.worst)
    rows = {"who": list("aabbcc"), "day": ["2024-01-01", "2024-01-02"] * 3}
    few = tv.generalize_time(pa.table(rows), tv.Roles(respondent="who", time="day"), k=3)
    assert [one[0] for one in attacks(tv.report(*few)).rows][-1] == "the time of 2 visits"


def test_a_report_on_series_says_how_many_questions_were_asked() -> None:
    said = " ".join(str(told("series", private=True)).split())
    assert "1,000 random questions of each kind" in said
    assert "`timeveil measure` asks 10,000 questions of each kind" in said


@pytest.mark.parametrize("model", MODELS)
def test_without_the_ledger_it_holds_as_far_as_can_be_seen(model: str) -> None:
    """Who stands where twice, and who is virtual, the custodian alone can check."""
    assert told(model, private=False).summary[0] == "The promise holds, as far as a recipient can see."
    assert told(model, private=True).summary[0] == "The promise holds."


@pytest.mark.parametrize("moved", [True, False])
def test_nobody_who_was_moved_is_not_safe_but_nobody(moved: bool) -> None:
    ill = ["flu", "flu", "flu", "cold"] if moved else ["flu", "cold", "flu", "cold"]
    rows = {"day": [1] * 4 + [2] * 4, "age": [30] * 8, "ill": [*ill, "cold", "cold", "flu", "cough"]}
    roles = tv.Roles(time="day", quasi=["age"], sensitive=["ill"])
    release, ledger = tv.publish_stream(pa.table(rows), roles, l=2, window=2, seed=1)
    [section] = [one for one in tv.report(release, ledger).sections if one.heading == "Attacks"]
    fates = section.blocks[-1]
    assert isinstance(fates, Table)
    found = {str(row[0]).strip(): tuple(row[1:]) for row in fates.rows}
    assert (found["moved"] == ("0", "–", "–", "–")) != moved
    assert all("–" not in row for row in found.values() if row[0] != "0")


@pytest.mark.parametrize("window", [1, 3])
def test_the_letter_of_a_stream_does_not_say_that_records_were_moved(window: int, tmp_path: Path) -> None:
    """That would be untrue of some, and of others more than is told."""
    rows = {"day": [1, 1, 2, 2], "age": [30] * 4, "ill": ["flu", "cold"] * 2}
    roles = tv.Roles(time="day", quasi=["age"], sensitive=["ill"])
    release, _ = tv.publish_stream(pa.table(rows), roles, l=2, window=window, seed=1)
    letter = " ".join((tv.write(release, tmp_path / "out") / "README.txt").read_text().split())
    assert ("records may have been moved" in letter) == (window > 1)
    assert "Some may have been withheld" in letter
    assert "were moved" not in letter
    assert "were withheld" not in letter


@pytest.mark.parametrize("pinned", [0, 2])
def test_small_groups_found_before_time_was_up_are_told(pinned: int) -> None:
    """A report says what `attack` found, to its end or not."""
    found = tv.attack(*pair("patterns"), tv.PatternAdversary(bounds=False))
    asked = tv.PatternAdversary()
    solved = SolveAttack(instants=2, possible=9, tried=4, small=1)
    breach = replace(found, adversary=asked, beyond=BoundAttack(9, 4, pinned, 0), solved=solved)
    told = beyond_the_promise(breach)
    assert told[-1].endswith("1 group of fewer than 8 people follows; a larger min_support leaves fewer.")
    assert len(told) == 1 + (pinned > 0)


def test_a_weaker_promise_is_not_called_broken_nor_fit_to_publish() -> None:
    """Of ten people five have a, four c: whoever knows that everybody has a symbol computes one with b."""
    values = [-1.0] * 5 + [0.0] + [1.0] * 4
    table = pa.table({"t0": values, "t1": [-v for v in values], "t2": [0.5] * 10, "t3": [-0.5] * 10})
    how = {"k": 2, "min_support": 3, "symbols": 3, "instants": ["t0"], "structural": False}
    release, ledger = tv.sanitize_patterns(table, tv.Roles(series=table.column_names), **how)
    said = str(tv.report(release, ledger))
    assert "beyond the promise" in said
    assert "above the bound" not in said
    assert "do not publish this release" in " ".join(said.split())


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_a_report_on_readings_whose_squares_are_beyond_numbers() -> None:
    values = [[sign * 1e300, 0.0, 1.0] for sign in (-1, 1)] * 5 + [[1.0, 1.0, 1.0]] * 5
    table = pa.table(
        {name: list(column) for name, column in zip("abc", zip(*values, strict=True), strict=True)}
    )
    release, ledger = tv.anonymize_series(table, tv.Roles(series=["a", "b", "c"]), k=5, p=5)
    assert tv.report(release).holds
    assert tv.report(release, ledger).holds


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("private", [False, True])
def test_items_of_a_template_are_apart_and_well_spaced(model: str, private: bool) -> None:
    """A tag at the end of a line neither joins two items nor leaves a blank before a full stop."""
    release, ledger = pair(model)
    explained = explain(release, ledger if private else None, verdict=tv.verify(release, ledger))
    texts = (*explained.sentences, *explained.limits)
    assert not [text for text in texts if "* " in text or ".\\n" in text or re.search(r"\s[.,;:)]", text)]
