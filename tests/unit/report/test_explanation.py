"""Runs in sentences."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.domain.judgement import Verdict, Violation
from timeveil.domain.roles import Roles
from timeveil.errors import InfeasibleError
from timeveil.models.events import words
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.method import generalize_time
from timeveil.models.events.words import Facts
from timeveil.report import Explanation, explain

ROLES = Roles(respondent="who", time="day", quasi=("zip",), sensitive=("result",), drop="rest")


def visits(**other: list[Any]) -> pa.Table:
    days = ["01-01", "01-02", "01-03", "01-08", "01-09", "01-10", "02-05", "02-06", "02-07", "02-20"]
    columns: dict[str, list[Any]] = {
        "who": list("abcabcabca"),
        "day": [f"2024-{day}" for day in days],
        "zip": ["10"] * 10,
        "result": ["ok"] * 9 + ["bad"],
        "name": ["x"] * 10,
    }
    return pa.table({**columns, **other})


def said(table: pa.Table | None = None, roles: Roles = ROLES, k: int = 3, **more: Any) -> Explanation:
    return explain(*generalize_time(visits() if table is None else table, roles, k, **more))


def sentence(explanation: Explanation, part: str) -> str:
    (found,) = (text for text in explanation.sentences if part in text)
    return found


def test_the_whole() -> None:
    assert said(granularities=["day", "week", "month", "year"]).sentences == (
        "Read 10 rows about 3 people, with times to the `day`.",
        "Considered 4 granularities and tried 4.",
        "Chose `month`: 2 groups, the smallest with 3 people. It is the finest allowed granularity that "
        "keeps the promise.",
        "`year` would also work but is coarser than needed. `week` would leave 1 row in 1 group below "
        "3 people (`--suppress 0.1` would allow it).",
        "Quasi-identifiers besides the time: `zip` is published unchanged.",
        "Removed `who`, which identifies people, and `name`. No row was withheld.",
        "A row loses 4.9 bits of information, and would lose 3.6 with `--recode tiling`, 3.6 with "
        "`--recode refined` and 3.6 with `--recode local`. Two or three known visits would never leave a "
        "single candidate.",
        "The times have no time zone and are used as written.",
    )


def test_a_few_rows_in_the_way_are_told_with_what_would_allow_it() -> None:
    many = pa.concat_tables([visits(), *(visits().slice(0, 9) for _ in range(9))])
    assert (
        "`week` would leave 1 row in 1 group below 3 people (`--suppress 0.011` would allow it)"
        in sentence(said(many, granularities=["week", "month"]), "would leave")
    )
    assert said(many, granularities=["week", "month"], suppress=0.011).facts["granularity"] == "week"


def test_what_would_allow_it_is_a_share_of_the_rows_with_a_person() -> None:
    nobody = visits(who=pa.nulls(10, pa.string()))
    many = pa.concat_tables([visits(), nobody, *(visits().slice(0, 9) for _ in range(9))])
    needed = {"granularities": ["week", "month"], "nulls": "withhold"}
    assert "(`--suppress 0.011` would allow it)" in sentence(said(many, **needed), "would leave")
    assert said(many, suppress=0.011, **needed).facts["granularity"] == "week"


def test_why_this_one() -> None:
    both = {"granularities": ["week", "week-sunday", "month"], "suppress": 0.5}
    table = visits(day=[f"2024-01-{day:02}" for day in (1, 2, 3, 7, 7, 7, 9, 10, 11, 28)])
    assert "It was requested by name." in sentence(said(choose="year"), "Chose")
    assert "it has the most groups" in sentence(said(table, **both), "Chose")
    assert "by the paper's measure" in sentence(said(table, choose="generality", **both), "Chose")
    assert "would work as well" in sentence(said(table, **both), "as well")


def test_the_paper_skips_what_need_not_be_tried() -> None:
    explanation = said(choose="generality", granularities=["day", "week", "month", "quarter", "year"])
    assert "did not have to be tried because a finer one already works" in sentence(explanation, "tried")


def test_granularities_left_out_are_told() -> None:
    assert "finer than the data" not in sentence(said(), "tried")
    text = sentence(said(visits(day=[f"2024-01-{day:02} 00:00" for day in range(1, 11)])), "tried")
    assert "`hour` and `6-hours` are finer than the data" in text
    assert "group the data like another granularity" in text
    skipped = said(granularities=["business-day", "month"], table=visits(), gaps="skip")
    assert "skipped" not in sentence(skipped, "tried")
    weekend = visits(day=["2024-01-06"] * 9 + ["2024-01-08"])
    assert "`business-day` was skipped because rows fall into its gaps" in sentence(
        said(weekend, granularities=["business-day", "month"], gaps="skip"), "tried"
    )


def test_rows_in_gaps_that_moved_on() -> None:
    weekend = visits(day=["2024-01-06"] * 9 + ["2024-01-08"])
    explanation = said(weekend, granularities=["business-month"], gaps="next")
    assert "Moved 9 rows from gaps of the calendar to the next granule." in explanation.sentences


def test_generalised_quasi_identifiers() -> None:
    table = visits(zip=["10", "11"] * 5)
    explanation = said(table, hierarchies={"zip": "prefixes:1"}, granularities=["month"])
    assert sentence(explanation, "Quasi-") == (
        "Quasi-identifiers besides the time: `zip` is generalised to `first 1`."
    )
    assert "each with 3 combinations of levels" in sentence(explanation, "tried")
    every = visits(zip=[f"{n}" for n in range(10)])
    assert "`zip` is generalised to a single value" in sentence(
        said(every, hierarchies={"zip": "suppression"}, granularities=["month"]), "Quasi-"
    )


def test_no_quasi_identifier() -> None:
    roles = Roles(respondent="who", time="day", drop="rest")
    assert "The time is the only quasi-identifier." in said(roles=roles).sentences


def test_nothing_came_in() -> None:
    explanation = said(visits().slice(0, 0))
    assert explanation.sentences[:2] == (
        "Read 0 rows about 0 people.",
        "No row has both a person and a time, so there is no granularity to choose.",
    )


def test_nothing_but_rows_without_a_person() -> None:
    table = visits(who=pa.nulls(10, pa.string()))
    assert "Withheld 10 rows (100 %), all without a person or a time." in sentence(
        said(table, nulls="withhold", allow_loss=True), "Removed"
    )


def test_a_verdict_is_told_as_it_is() -> None:
    pair = generalize_time(visits(), ROLES, 3)
    good = explain(*pair, verdict=Verdict("with ledger", ("a", "b")))
    assert good.sentences[-1] == (
        "Verified with the ledger, by separate code: 2 checks passed, and one on the files as written."
    )
    bad = explain(*pair, verdict=Verdict("recipient", ("a",), (Violation("x", "y"),)))
    assert bad.sentences[-1].startswith("Verified as a recipient can")
    assert bad.sentences[-1].endswith(": 1 check found 1 violation.")


def test_what_is_not_protected() -> None:
    pair = generalize_time(visits(), ROLES, 3, granularities=["month"])
    assert Facts(Evidence(*pair)).exposure == {
        "largest_share": pytest.approx(0.5),
        "commonest_sensitive": {"result": 1.0},
        "tied_rows": {"result": 0.0},
        "similar_ids": 0,
        "withheld_by": {},
        "singled_out": {},
    }
    assert explain(*pair).limits[:2] == (
        "One person has up to 50 % of the rows of a group. The promise counts people: a row picked at random "
        "from that group belongs to that person with a chance above 1 in 3.",
        "In the worst group, 100 % of the rows have the same `result`, so it is known for everyone in that "
        "group.",
    )
    assert explain(*pair).limits[2].startswith("Nor does it cover: several visits, other columns,")


def test_large_tables_are_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "CHEAP_ROWS", 9)
    pair = generalize_time(visits(), ROLES, 3)
    assert Facts(Evidence(*pair)).exposure is None
    assert explain(*pair).limits[0].startswith("The chance of 1 in 3 is for a guess among people.")
    assert explain(*pair).limits[0].endswith("`timeveil attack` has the numbers.")


@pytest.mark.parametrize("width", range(50, 70))
def test_lines_are_not_longer_than_asked_for_and_names_stay_whole(width: int) -> None:
    lines = said().text(width).splitlines()
    assert max(map(len, lines)) <= width
    assert not any(line.endswith("-") for line in lines)


def test_the_same_as_data() -> None:
    explanation = said()
    told = explanation.as_dict()
    assert tuple(told["sentences"]) == explanation.sentences
    assert told["dropped"] == ["name"]
    assert "reproduce" not in told


def drawn(seed: int) -> tuple[pa.Table, random.Random]:
    draw = random.Random(seed)  # noqa: S311
    rows = draw.randint(12, 40)
    columns = {
        "who": [f"p{draw.randrange(12)}" for _ in range(rows)],
        "day": [f"2024-0{draw.randint(1, 4)}-{draw.randint(1, 28):02}" for _ in range(rows)],
        "zip": [draw.choice(["10", "11", "20", "21"]) for _ in range(rows)],
    }
    return pa.table(columns), draw


def test_a_coarser_choice_is_compared_with_what_is_listed() -> None:
    """Where rows are withheld, the most groups may be left by a combination that is not among the finest."""
    empty = coarser = 0
    for seed in range(60):
        table, draw = drawn(seed)
        options = {
            "suppress": draw.choice([0.1, 0.25]),
            "choose": draw.choice(["groups", "generality"]),
            "granularities": draw.choice([None, ["day", "month"]]),
        }
        roles = Roles(respondent="who", time="day", quasi=["zip"])
        try:
            pair = generalize_time(table, roles, 3, hierarchies={"zip": "prefixes:1,0"}, **options)
        except InfeasibleError:
            continue
        manifest, text = pair[0].manifest, " ".join(explain(*pair).sentences)
        assert "although would" not in text
        chosen = manifest["granularity"], manifest["levels"]
        nodes = [(node["granularity"], node["levels"]) for node in manifest["nodes"]]
        is_coarser = len(nodes) > 1 and chosen not in nodes
        assert ("The chosen combination is not one of them" in text) == is_coarser
        coarser += is_coarser
        empty += "although another combination of levels and time would be finer" in text
    assert empty
    assert coarser


@pytest.mark.parametrize(("gone", "chance"), [(0, False), (3, True)])
def test_a_chance_above_one_in_k_is_stated_where_there_is_one(gone: int, chance: bool) -> None:
    """Of two people with as many rows in a group, a row is each one's with a chance of 1 in 2."""
    who = ["ann", "bob"] * 4 + ["cy", "dan"] * 4
    days = ["2024-01-02"] * 8 + ["2024-02-02"] * 8
    table = pa.table({"who": who[gone:], "day": days[gone:]})
    text = " ".join(explain(*generalize_time(table, Roles(respondent="who", time="day"), 2)).limits)
    assert ("with a chance above 1 in 2" in text) == chance


def test_the_letter_says_why_rows_were_withheld(tmp_path: Path) -> None:
    days = ["2024-01-02"] * 9 + ["2024-01-06", "2024-01-09", None]
    table = pa.table({"who": [f"p{number}" for number in range(12)], "day": days})
    options = {"nulls": "withhold", "gaps": "suppress", "choose": "business-day", "suppress": 0.2}
    release, _ = generalize_time(table, Roles(respondent="who", time="day"), 2, **options)
    text = " ".join((tv.write(release, tmp_path / "out") / "README.txt").read_text("utf-8").split())
    reasons = "1 to keep the promise, 1 outside the calendar, 1 without a person or a time."
    assert f"3 rows of the original were withheld: {reasons}" in text
    release, _ = generalize_time(table.slice(0, 9), Roles(respondent="who", time="day"), 2)
    text = " ".join((tv.write(release, tmp_path / "whole") / "README.txt").read_text("utf-8").split())
    assert "0 rows of the original were withheld." in text
