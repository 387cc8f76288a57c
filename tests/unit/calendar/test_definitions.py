"""Granularities of a user's own."""

from __future__ import annotations

import datetime as dt
import json
import tomllib

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import calendar as oracle

import timeveil as tv
from timeveil.calendar.catalogue import granularity
from timeveil.calendar.definitions import (
    boundaries,
    business_days,
    business_periods,
    day_parts,
    from_toml,
    groups_of,
    shifts,
    terms,
)
from timeveil.calendar.granularity import GAP, Granularity
from timeveil.calendar.order import is_finer_than
from timeveil.errors import ParameterError


def at(granularity: Granularity, text: str) -> str | None:
    index = granularity.index([oracle.seconds(dt.datetime.fromisoformat(text))])
    return None if index[0] == GAP else granularity.label(index)[0]


def test_boundaries_leave_gaps_outside() -> None:
    wave = boundaries(
        "wave", ["2020-03-01", dt.date(2020, 7, 1), dt.datetime(2021, 1, 1, 12)], ["one", "two"]
    )
    assert at(wave, "2020-02-29 23:59:59") is None
    assert at(wave, "2020-03-01") == "one"
    assert at(wave, "2021-01-01 11:59") == "two"
    assert at(wave, "2021-01-01 12:00") is None


def test_coded_boundaries_have_a_granule_at_either_end() -> None:
    coded = boundaries("wave", ["2020-03-01", "2020-07-01"], coded=True)
    assert not coded.has_gaps
    assert coded.label([0, 1, 2]) == [
        "before 2020-03-01",
        "2020-03-01 until 2020-07-01",
        "2020-07-01 or later",
    ]
    day = 86_400
    seconds = np.array([0, 18_322, 18_444]) * day
    assert coded.index(seconds).tolist() == [0, 1, 2]
    assert Granularity.from_dict(coded.as_dict()) == coded
    assert is_finer_than(granularity("day"), coded)
    assert not is_finer_than(coded, granularity("year"))
    assert not is_finer_than(granularity("week"), coded)  # 1 March 2020 was a Sunday
    far = boundaries("far", ["1234-05-06"], ["old", "new"], coded=True)
    assert is_finer_than(granularity("day"), far)
    assert not is_finer_than(granularity("month"), far)
    days = boundaries("phase", [0, 28], unit="day", coded=True)
    assert days.label([0, 1, 2]) == ["before week 0", "weeks 0 to 4", "week 4 or later"]


def test_times_are_top_and_bottom_coded() -> None:
    dates = [dt.date(2019, 1, 1) + dt.timedelta(days=97 * n) for n in range(20)]
    table = pa.table({"who": [n % 4 for n in range(20)], "day": dates, "row": list(range(20))})
    coded = boundaries("coded", ["2020-01-01", "2022-01-01"], coded=True)
    roles = tv.Roles(respondent="who", time="day", keep=["row"])
    release, ledger = tv.generalize_time(table, roles, 3, granularities=[coded])
    assert tv.verify(release, ledger)
    assert tv.verify(release)
    for row in release.table.to_pylist():
        when = dates[row["row"]]
        year = min(max(when.year, 2019), 2022)
        assert row["day"] == {2019: "before 2020-01-01", 2022: "2022-01-01 or later"}.get(
            year, "2020-01-01 until 2022-01-01"
        )
        assert (row["day_start"] is None) == (year == 2019)
        assert (row["day_end"] is None) == (year == 2022)


def test_boundaries_without_labels_are_named_by_their_edges() -> None:
    assert boundaries("w", ["2020-03-01", "2020-07-01"]).label([0]) == ["2020-03-01 until 2020-07-01"]
    timed = boundaries("w", ["2020-03-01 06:30", "2020-07-01"])
    assert timed.label([0]) == ["2020-03-01 06:30 until 2020-07-01 00:00"]


def test_groups_begin_at_their_anchor() -> None:
    fortnight = groups_of("fortnight", "week", 2, anchor="2006-01-04")
    assert at(fortnight, "2006-01-02") == "2006-01-02 to 2006-01-15"
    fiscal = groups_of("fiscal-year", "month", 12, anchor="2006-04-01")
    assert at(fiscal, "2006-03-31") == "2005-04 to 2006-03"
    assert at(groups_of("5-years", "year", 5), "2006-01-01") == "2005 to 2009"
    assert at(groups_of("10-minutes", "minute", 10), "2006-01-01 10:19") == "2006-01-01 10:10 to 10:20"
    assert at(groups_of("36-hours", "hour", 36), "1970-01-02 13:00") == "1970-01-02 12:00 to 1970-01-04 00:00"


def test_groups_of_uneven_granules_are_named_by_first_and_last() -> None:
    week = groups_of("business-week", "business-day", 5, anchor="2006-01-02")
    assert at(week, "2006-01-06") == "2006-01-02 to 2006-01-06"
    assert at(week, "2006-01-07") is None
    assert at(groups_of("same", "iso-year", 1), "2006-01-02") == "2006 (ISO)"


def test_day_parts_and_shifts_take_any_bounds() -> None:
    part = day_parts("day-part", {"night": "21:30", "day": dt.time(7, 0)})
    assert at(part, "2006-01-04 06:59") == "2006-01-03 night"
    assert (
        at(shifts("shift", {"a": "06:00", "b": "14:00", "c": "22:00"}), "2006-01-03 14:00") == "2006-01-03 b"
    )


def test_terms_may_leave_a_gap() -> None:
    term = terms("term", {"autumn": "09-15", "spring": "02-01", "break": "07-01"}, gaps=["break"])
    assert at(term, "2006-01-31") == "2005 autumn"
    assert at(term, "2006-02-01") == "2006 spring"
    assert at(term, "2006-08-01") is None
    spring = term.index([oracle.seconds(dt.datetime(2006, 3, 1))])
    assert term.end(spring)[0] == oracle.seconds(dt.datetime(2006, 7, 1))


def test_holidays_are_gaps() -> None:
    day = business_days(holidays=["2006-12-25", dt.date(2006, 12, 26), "2006-12-30"])
    assert at(day, "2006-12-22") == "2006-12-22"
    assert at(day, "2006-12-25") is None
    friday, wednesday = day.index([oracle.seconds(dt.datetime(2006, 12, d)) for d in (22, 27)])
    assert wednesday == friday + 1
    assert day.label([friday, wednesday]) == ["2006-12-22", "2006-12-27"]


def test_business_periods_take_the_working_days_of_another_granularity() -> None:
    week = business_periods("business-week", "week", days=["sunday", "monday"], holidays=["2006-01-02"])
    assert at(week, "2006-01-02") is None
    assert at(week, "2006-01-08") == "2006-W01 (working days)"
    index = week.index([oracle.seconds(dt.datetime(2006, 1, 8))])
    assert week.start(index)[0] == oracle.seconds(dt.datetime(2006, 1, 8))


JOB = """
[granularity.fortnight]
kind = "groups"
of = "week"
n = 2
anchor = 2006-01-02

[granularity.four-weeks]
kind = "groups"
of = "fortnight"
n = 2
title = "four weeks"

[granularity.day-part]
kind = "day-parts"
parts = { morning = "06:00", night = 22:00:00 }

[granularity.shift]
kind = "shifts"
parts = { a = "06:00", b = "18:00" }

[granularity.wave]
kind = "boundaries"
at = [2020-03-01, 2020-07-01T12:30:00, "2021-01-01"]
labels = ["first", "second"]

[granularity.phase]
kind = "boundaries"
at = [0, 7, 28]
unit = "day"

[granularity.academic-term]
kind = "terms"
starts = { autumn = "09-01", spring = "02-15", summer = "07-01" }
gaps = ["summer"]

[granularity.business-day]
kind = "business-days"
days = ["monday", "tuesday"]
holidays = [2006-12-25]

[granularity.business-quarter]
kind = "business-periods"
of = "quarter"
"""


def test_a_job_file_defines_every_kind() -> None:
    made = from_toml(tomllib.loads(JOB)["granularity"])
    assert [g.name for g in made][:3] == ["fortnight", "four-weeks", "day-part"]
    assert is_finer_than(made[0], made[1])
    assert made[1].title == "four weeks"
    for one in made:
        assert Granularity.from_dict(json.loads(json.dumps(one.as_dict()))) == one


def test_definitions_may_come_in_any_order() -> None:
    tables = {"b": {"kind": "groups", "of": "a", "n": 2}, "a": {"kind": "groups", "of": "day", "n": 3}}
    assert [g.name for g in from_toml(tables)] == ["b", "a"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "has no known `kind`"),
        ({"kind": "moons"}, "has no known `kind`"),
        ({"kind": ["groups"]}, "has no known `kind`"),
        (7, "is not a table"),
        ({"kind": "groups", "of": "week"}, "lacks `n`"),
        ({"kind": "groups", "of": "week", "n": 2, "ancor": 1}, "unknown key `ancor`"),
        ({"kind": "groups", "of": "moon", "n": 2}, "builds on `moon`, which is not a granularity"),
        ({"kind": "groups", "of": 3, "n": 2}, "builds on `3`, which is not a granularity"),
        ({"kind": "groups", "of": "week", "n": 0}, "groups 0 granules"),
        ({"kind": "groups", "of": "decade", "n": 5_000}, "groups 5000 granules"),
        ({"kind": "groups", "of": "day", "n": 10**30}, "too large for a time"),
        ({"kind": "groups", "of": "week", "n": 1.5}, "not a whole number"),
        ({"kind": "groups", "of": "all", "n": 2}, "one granule"),
        ({"kind": "groups", "of": "business-day", "n": 5, "anchor": "2006-01-07"}, "is in a gap"),
        ({"kind": "groups", "of": "x", "n": 2}, "in a circle"),
        ({"kind": "day-parts", "parts": {}}, "has no parts"),
        ({"kind": "day-parts", "parts": {"a": "25:00"}}, "does not start at a time of day"),
        ({"kind": "day-parts", "parts": {"a": "06:00", "b": "6:00"}}, "start together"),
        ({"kind": "day-parts", "parts": {" ": "06:00"}}, "label that is empty"),
        ({"kind": "terms", "starts": {"a": "02-29"}}, "every year has"),
        ({"kind": "terms", "starts": {"a": 9}}, "every year has"),
        ({"kind": "terms", "starts": {"a": "09-01"}, "gaps": ["b"]}, "do not fit its terms"),
        ({"kind": "terms", "starts": {"a": "09-01"}, "gaps": ["a"]}, "do not fit its terms"),
        ({"kind": "boundaries", "at": ["2006-01-01"]}, "at least two boundaries"),
        ({"kind": "boundaries", "at": ["2006-01-02", "2006-01-01"]}, "at least two boundaries"),
        ({"kind": "boundaries", "at": [], "coded": True}, "at least one boundary"),
        ({"kind": "boundaries", "at": ["2006-01-01"], "coded": 1}, "neither true nor false"),
        ({"kind": "boundaries", "at": ["2006-01-01"], "coded": True, "labels": ["a"]}, "1 labels for 2"),
        ({"kind": "boundaries", "at": "2006-01-02"}, "single value where a list belongs"),
        ({"kind": "boundaries", "at": ["2006-01-01", "soon"]}, "cannot be read"),
        ({"kind": "boundaries", "at": ["2006-01-01", 5]}, "not a date"),
        ({"kind": "boundaries", "at": ["2006-01-01", "2006-02-01T00:00:00+01:00"]}, "with a zone"),
        ({"kind": "boundaries", "at": [1, 2], "unit": "moon"}, "unknown unit"),
        ({"kind": "boundaries", "at": ["2006-01-01", "2007-01-01"], "labels": ["a", "b"]}, "2 labels for 1"),
        ({"kind": "boundaries", "at": [1, 2], "unit": "day", "labels": [3]}, "empty or not text"),
        ({"kind": "business-days", "days": ["moonday"]}, "unknown weekday"),
        ({"kind": "business-days", "holidays": "2006-12-25"}, "single value where a list belongs"),
        ({"kind": "business-periods", "of": "hour"}, "not made of whole days"),
        ({"kind": "business-days", "title": 3}, "title of `granularity.x` is not text"),
    ],
)
def test_a_bad_definition_is_refused_by_name(table: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words) as caught:
        from_toml({"x": table})
    assert caught.value.code == "bad-calendar"


@pytest.mark.parametrize("name", ["week", "ISO week", "Months", "all"])
def test_fixed_names_cannot_be_redefined(name: str) -> None:
    with pytest.raises(ParameterError, match="one fixed meaning"):
        groups_of(name, "day", 7)


def test_a_granularity_needs_a_name() -> None:
    with pytest.raises(ParameterError, match="has no name"):
        groups_of(" ", "day", 7)


def test_two_groups_cannot_have_the_same_label():
    """`a` and `b` together are called `a to b`, which is what the third is called."""
    edges = ["2020-01-01", "2020-02-01", "2020-03-01", "2020-04-01"]
    waves = boundaries("wave", edges, ["a", "b", "a to b"])
    with pytest.raises(ParameterError, match="two granules of `pair` have the same label") as caught:
        groups_of("pair", waves, 2)
    assert caught.value.code == "bad-calendar"
    good = groups_of("pair", boundaries("wave", edges, ["a", "b", "c"]), 2)
    described = good.as_dict()
    assert Granularity.from_dict(described) == good
    described["of"]["labels"] = ["a", "b", "a to b"]
    with pytest.raises(ParameterError, match="the same label"):
        Granularity.from_dict(described)
