"""Runs of the stream publisher in sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from timeveil.datasets import daily_cases
from timeveil.domain.judgement import Verdict, Violation
from timeveil.domain.roles import Roles
from timeveil.domain.run import Run
from timeveil.folder import write
from timeveil.judging import attack
from timeveil.models.stream import words
from timeveil.models.stream.method import publish_stream
from timeveil.models.stream.parameters import StreamAdversary, StreamParameters
from timeveil.models.stream.words import attack_summary
from timeveil.page.wording import share
from timeveil.report import Explanation, explain

ROLES = Roles(time="day", quasi=["age"], sensitive=["ill"], drop="rest")


def cases(**other: list[Any]) -> pa.Table:
    columns: dict[str, list[Any]] = {
        "day": [1, 1, 1, 1, 2, 2, 4, 4, 4],
        "age": [10, 20, 30, 40, 50, 60, 70, 80, 90],
        "ill": ["a", "a", "a", "b", "b", "c", "a", "b", "c"],
        "name": ["x"] * 9,
    }
    return pa.table({**columns, **other})


def said(table: pa.Table | None = None, roles: Roles = ROLES, **more: Any) -> Explanation:
    options = {"l": 2, "window": 3, "seed": 1, **more}
    return explain(*publish_stream(cases() if table is None else table, roles, **options, allow_loss=True))


@pytest.mark.parametrize(
    ("values", "promise", "cure"),
    [
        ("aaab", 2, "The value is too common for any l: choose another sensitive column"),
        ("aaabcd", 4, "Choose an l of at most 2."),
        ("aaaabc", 3, "The value is too common for any l"),
        ("aabcde", 4, "Choose an l of at most 3."),
    ],
)
def test_a_value_too_common_names_an_l_that_helps(values: str, promise: int, cure: str) -> None:
    table = pa.table({"day": [1] * len(values), "age": [1] * len(values), "ill": list(values)})
    [warning] = said(table, l=promise).facts["warnings"]
    assert cure in warning


def test_a_jitter_longer_than_the_stream_is_told() -> None:
    assert said(jitter=3).facts["warnings"] == []
    [warning] = [warning for warning in said(jitter=4).facts["warnings"] if "jitter" in warning]
    assert warning.startswith("a jitter of 4 is at least as long as the 4 slots that records came in")


def test_the_whole() -> None:
    assert said().sentences == (
        "Read 9 records in 4 numbered slots, with 3 values of `ill`; the commonest makes up 44.4 % of all "
        "records.",
        "In no bucket may a value be held by more than 1 in 2 records. The window is 3 slots, so a record "
        "may be published up to 2 slots late.",
        "1 of 3 slots with records could not be published as they were.",
        "Published 9 records in 4 buckets.",
        "Moved 2 records (22.2 %) to a later slot, by 1 slot on average and 1 at most.",
        "No record was withheld.",
        "Removed `name`.",
        "Whole numbers in the time column are slots.",
    )


def test_what_is_withheld_has_reasons() -> None:
    roles = Roles(respondent="name", time="day", quasi=["age"], sensitive=["ill"])
    table = cases(ill=["a", "a", "a", "b", None, "c", "a", "b", "c"])
    told = said(table, roles, nulls="withhold")
    (sentence,) = (text for text in told.sentences if text.startswith("Withheld"))
    assert "because the person already has a record in that slot" in sentence
    assert ", 1 without a time, a person or a value" in sentence
    assert "Removed `name`." in told.sentences


def test_without_buckets_it_is_not_finished() -> None:
    told = said(buckets="none")
    assert any("before it leaves your organisation" in sentence for sentence in told.sentences)
    assert any("In no slot may a value" in sentence for sentence in told.sentences)


def test_a_window_of_one_moves_nothing() -> None:
    told = said(window=1)
    assert any("in its own slot only" in sentence for sentence in told.sentences)
    assert "No record was moved." in told.sentences
    assert told.facts["warnings"] == [
        "2 records (22.2 %) had to be withheld although no value is above 1 in 2 overall: values arrive too "
        "unevenly for a window of 1. Choose a larger window."
    ]


def test_a_value_that_is_too_common() -> None:
    told = said(cases(ill=["a"] * 6 + ["b", "c", "d"]))
    assert told.facts["warnings"][0].startswith(
        "one sensitive value makes up 66.7 % of all records, more than 1"
    )
    assert told.sentences[-1] == f"Warning: {told.facts['warnings'][0]}"


@pytest.mark.parametrize(
    ("times", "options", "sentence"),
    [
        (["2024-01-01"] * 4 + ["2024-01-02"] * 5, {}, "The times have no time zone and are used as written."),
        (["2024-01-01T10:00+01:00"] * 9, {"zone": "UTC"}, "Times were read in the time zone UTC."),
        (
            [1] * 9,
            {"unit": "hour"},
            "Times are whole numbers of the unit hour, counted from a start that is not published.",
        ),
    ],
)
def test_clocks(times: list[Any], options: dict[str, Any], sentence: str) -> None:
    assert sentence in said(cases(day=times), **options).sentences


def test_what_is_not_protected_comes_with_numbers_where_they_are_cheap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = said()
    assert "for moved records" in told.limits[0]
    assert told.facts["true_slot_known"]["adversary"] == {"knows": "true-slot"}
    monkeypatch.setattr(words, "CHEAP_ROWS", 8)
    told = said()
    assert "mean chance" not in told.limits[0]
    assert "true_slot_known" not in told.facts


def test_the_verdict_is_told_and_the_seed_is_not() -> None:
    release, ledger = publish_stream(cases(), ROLES, l=2, window=3, seed=987654)
    run = Run(StreamParameters, "cases.csv", ROLES, {"l": 2, "window": 3, "seed": 987654}, out="out")
    bad = Verdict("recipient", ("one", "two"), (Violation("x", "y"),))
    told = explain(release, ledger, verdict=bad, run=run)
    assert told.sentences[-1].endswith("separate code: 2 checks found 1 violation.")
    assert "987654" not in told.text() + str(told.as_dict()) + repr(run)


def test_people_are_whole_and_shared_between_lines() -> None:
    """Somebody with a record that stayed and one that was moved stands half on each line."""
    table = daily_cases(days=60, seed=7)
    roles = Roles(respondent="person", time="day", quasi=["sex"], sensitive=["diagnosis"], drop="rest")
    release, ledger = publish_stream(table, roles, l=2, window=7, seed=1, allow_loss=True)
    lines = attack_summary(attack(release, ledger, StreamAdversary("true-slot")), release).lines()
    numbers = [line.split("  ")[-4:] for line in lines[3:8]]
    assert not any("." in cells[0] for cells in numbers if "%" not in cells[0])
    assert (
        "A person with records on several of these lines is split between them; counts are rounded." in lines
    )


def test_following_people_leads_with_those_who_keep_their_value() -> None:
    table = daily_cases(days=60, seed=7)
    roles = Roles(respondent="person", time="day", quasi=["sex"], sensitive=["diagnosis"], drop="rest")
    release, ledger = publish_stream(table, roles, l=2, window=7, seed=1, allow_loss=True)
    breach = attack(release, ledger, StreamAdversary("several-slots"))
    text = "\n".join(attack_summary(breach, release).lines())
    assert f"{breach.everyone - breach.people:,} people" in text
    assert "are in at most one published slot, so there is nothing to follow." in text
    assert f"Of {round(breach.parts['constant'].people):,} people with the same value every time" in text
    assert "of the people is told" not in text


def test_a_plain_run_shows_what_is_learnt_beyond_the_promise(tmp_path: Path) -> None:
    roles = Roles(respondent="person", time="day", quasi=["district"], sensitive=["diagnosis"], drop="rest")
    release, ledger = publish_stream(daily_cases(days=40, seed=3), roles, l=3, window=5, seed=1)
    several = attack(release, ledger, StreamAdversary("several-slots"))
    true_slot = attack(release, ledger, StreamAdversary("true-slot"))
    explanation = explain(release, ledger)
    limits = " ".join(" ".join(explanation.limits).split())
    above = share(several.share_above(1 / 3))
    assert (
        f"Here, {several.people:,} people are in several slots; the values of {above} of them are" in limits
    )
    assert f"known with a chance above 1 in 3, with a mean chance of {share(several.mean)}." in limits
    assert f"mean chance of {share(true_slot.parts['moved'].mean)} for moved records" in limits
    assert "`--protect-slot 2` bounds this chance at 1 in 2 wherever no value takes more than half" in limits
    assert explanation.facts["several_slots_known"] == several.as_dict()
    public = (write(release, tmp_path / "out") / "README.txt").read_text()
    assert "Here, " not in public
    assert "--protect-slot" not in public


def test_an_l_of_2_is_too_small_to_protect_the_slot() -> None:
    assert "`--protect-slot 2`, with an l of at least 3, bounds" in " ".join(said().limits)


def test_several_records_of_a_person_in_a_slot_are_told() -> None:
    table = cases(who=["a", "a", "a", "b", "c", "d", "e", "e", "e"])
    roles = Roles(respondent="who", time="day", quasi=["age"], sensitive=["ill"], drop="rest")
    release, ledger = publish_stream(table, roles, l=2, window=1, seed=1, allow_loss=True)
    [warning] = [one for one in explain(release, ledger).facts["warnings"] if "each person once" in one]
    assert warning.startswith(f"{ledger.facts['duplicates']} record")
    assert "Provide one record per person and slot." in warning
