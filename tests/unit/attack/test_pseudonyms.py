"""Columns that tie the rows of one person together."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import timeveil as tv
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.measure import tying_columns
from timeveil.models.events.words import Facts
from timeveil.report import explain

ROLES = tv.Roles(respondent="who", time="when", keep=["case"], sensitive=["result"])


def published(people, cases, results):
    table = pa.table(
        {
            "who": people,
            "when": [dt.date(2024, 1, 1)] * len(people),
            "case": pa.array(cases, pa.string()),
            "result": results,
        }
    )
    return tv.generalize_time(table, ROLES, 2)


def test_a_kept_case_number_is_found_and_told():
    """Each person's rows carry one number of their own: all rows are tied, and the run says so."""
    release, ledger = published(["a", "a", "b", "b", "c"], ["1", "1", "2", "2", "3"], list("xxyyx"))
    exposed = Facts(Evidence(release, ledger)).exposure
    assert exposed["tied_rows"] == {"case": 4 / 5, "result": 2 / 5}
    text = explain(release, ledger).text()
    assert "`case` acts like a second name: 80 %" in text


def test_values_that_several_people_have_tie_nothing():
    """Nor do values that occur once, nor nulls."""
    release, ledger = published(["a", "a", "b", "b"], ["1", "2", None, None], ["x", "y", "x", "y"])
    exposed = Facts(Evidence(release, ledger)).exposure
    assert exposed["tied_rows"] == {"case": 0.0, "result": 0.0}
    assert "second name" not in explain(release, ledger).text()


def test_ids_that_differ_in_case_are_told():
    """They count as different people, so the custodian must know; other blanks are refused on reading."""
    release, ledger = published(["P1", "p1", "Q2", "q2"], list("1234"), ["x"] * 4)
    exposed = Facts(Evidence(release, ledger)).exposure
    assert exposed["similar_ids"] == 2
    assert "2 ids differ from another only in case or blanks" in explain(release, ledger).text()


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.sampled_from("12345")), min_size=2, max_size=20)
)
def test_the_share_is_that_of_a_plain_count(rows):
    """Rows whose value only their person has, more than once."""
    if len({who for who, _ in rows}) < 2:
        return
    release, ledger = published([r[0] for r in rows], [r[1] for r in rows], ["x"] * len(rows))
    owners: dict[str, list[str]] = {}
    for who, case in rows:
        if case is not None:
            owners.setdefault(case, []).append(who)
    tied = sum(len(who) for who in owners.values() if len(set(who)) == 1 and len(who) > 1)
    assert tying_columns(Evidence(release, ledger))["case"] == tied / len(rows)
