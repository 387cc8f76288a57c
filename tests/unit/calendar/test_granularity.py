"""Granules of the catalogue: index, bounds and labels."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from tests.oracles import calendar as oracle

from timeveil.calendar.catalogue import CATALOGUE, granularity
from timeveil.calendar.civil import FIRST, LAST
from timeveil.calendar.granularity import GAP, Granularity
from timeveil.errors import ParameterError


def second(text: str) -> int:
    return oracle.seconds(dt.datetime.fromisoformat(text))


def label_at(name: str, text: str) -> str:
    found = granularity(name)
    return found.label(found.index([second(text)]))[0]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("second", "2006-01-03 10:37:05"),
        ("minute", "2006-01-03 10:37"),
        ("5-minutes", "2006-01-03 10:35 to 10:40"),
        ("15-minutes", "2006-01-03 10:30 to 10:45"),
        ("30-minutes", "2006-01-03 10:30 to 11:00"),
        ("hour", "2006-01-03 10:00 to 11:00"),
        ("6-hours", "2006-01-03 06:00 to 12:00"),
        ("day", "2006-01-03"),
        ("week", "2006-W01"),
        ("week-sunday", "2006-week 1"),
        ("month", "2006-01"),
        ("quarter", "2006-Q1"),
        ("half-year", "2006-H1"),
        ("year", "2006"),
        ("iso-year", "2006 (ISO)"),
        ("decade", "2000s"),
        ("all", "all"),
        ("business-day", "2006-01-03"),
        ("business-month", "2006-01 (working days)"),
        ("day-part", "2006-01-03 morning"),
        ("shift", "2006-01-03 early"),
        ("academic-term", "2005 autumn"),
    ],
)
def test_labels_say_which_granule_it_is(name: str, label: str) -> None:
    assert label_at(name, "2006-01-03 10:37:05") == label


def test_new_year_2006_belongs_to_two_different_weeks() -> None:
    """2006-01-01 is in the last ISO week of 2005 and in the first Sunday week of 2006."""
    assert label_at("week", "2006-01-01") == "2005-W52"
    assert label_at("week-sunday", "2006-01-01") == "2006-week 1"
    assert label_at("iso-year", "2006-01-01") == "2005 (ISO)"


def test_iso_weeks_agree_with_datetime_at_every_year_end() -> None:
    week, iso_year = granularity("week"), granularity("iso-year")
    days = [
        dt.datetime(year, month, day)
        for year in range(1, 10_000, 3)
        for month, days in ((1, (1, 2, 3, 4)), (12, (28, 29, 30, 31)))
        for day in days
    ]
    index = [oracle.seconds(day) for day in days]
    expected = [day.isocalendar() for day in days]
    assert week.label(week.index(index)) == [f"{iso.year:04}-W{iso.week:02}" for iso in expected]
    assert iso_year.index(index).tolist() == [iso.year for iso in expected]


@pytest.mark.parametrize("year", [1900, 2000, 2023, 2024, 2100])
def test_february_ends_when_it_does(year: int) -> None:
    month = granularity("month")
    end = month.end(month.index([second(f"{year}-02-15")]))
    assert end[0] == second(f"{year}-03-01")


@pytest.mark.parametrize("name", sorted(oracle.MAKERS))
@pytest.mark.parametrize("bound", [FIRST, LAST])
def test_the_first_and_the_last_second_have_granules(name: str, bound: int) -> None:
    found = granularity(name)
    index = found.index([bound])
    if index[0] == GAP:
        return
    assert found.start(index)[0] <= bound < found.end(index)[0]
    assert found.label(index)[0]


def test_years_1_and_9999_have_labels() -> None:
    assert label_at("year", "0001-01-01") == "0001"
    assert label_at("decade", "0001-01-01") == "0000s"
    assert label_at("week", "0001-01-01") == "0001-W01"
    assert label_at("week", "9999-12-31 23:59:59") == "9999-W52"
    assert label_at("hour", "9999-12-31 23:59:59") == "9999-12-31 23:00 to 24:00"


def test_times_before_1970_floor() -> None:
    assert label_at("hour", "1969-12-31 23:59:59") == "1969-12-31 23:00 to 24:00"
    assert label_at("day", "1901-03-01 00:00:01") == "1901-03-01"


def test_the_night_belongs_to_the_day_it_starts_on() -> None:
    part = granularity("day-part")
    evening, morning = part.index([second("2006-01-03 22:00"), second("2006-01-04 05:59:59")])
    assert evening == morning
    assert part.label([evening]) == ["2006-01-03 night"]
    assert (part.end([evening]) - part.start([evening]))[0] == 8 * 3_600


def test_weekends_are_gaps() -> None:
    saturday = [second("2006-01-07 12:00")]
    assert granularity("business-day").index(saturday)[0] == GAP
    assert granularity("business-month").index(saturday)[0] == GAP
    assert CATALOGUE["business-day"].has_gaps
    assert not CATALOGUE["day"].has_gaps


def test_business_days_are_numbered_without_holes() -> None:
    day = granularity("business-day")
    friday, monday = day.index([second("2006-01-06"), second("2006-01-09")])
    assert monday == friday + 1


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_granularity_survives_the_manifest(name: str) -> None:
    import json

    described = json.loads(json.dumps(CATALOGUE[name].as_dict()))
    assert Granularity.from_dict(described) == CATALOGUE[name]


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"name": "x", "title": "x"},
        {"name": "x", "title": "x", "kind": "moons"},
        {"name": "", "title": "x", "kind": "everything"},
        {"name": "x", "title": "x", "kind": "steps", "width": 0, "phase": 0, "clock": "civil"},
        {"name": "x", "title": "x", "kind": "steps", "width": "7", "phase": 0, "clock": "civil"},
        {"name": "x", "title": "x", "kind": "steps", "width": 7, "phase": 0, "clock": "lunar"},
        {"name": "x", "title": "x", "kind": "steps", "width": 7},
        {"name": "x", "title": "x", "kind": "months", "length": True, "phase": 0},
        {"name": "x", "title": "x", "kind": "months", "length": 1, "phase": 0, "extra": 1},
        {"name": "x", "title": "x", "kind": "groups", "of": {"kind": "everything"}, "n": -2, "anchor": 0},
        {"name": "x", "title": "x", "kind": "groups", "of": 7, "n": 2, "anchor": 0},
        {
            "name": "x",
            "title": "x",
            "kind": "working-periods",
            "of": {"kind": "iso-years"},
            "days": {"kind": "iso-years"},
        },
        {
            "name": "x",
            "title": "x",
            "kind": "boundaries",
            "at": ["2006-01-01"],
            "labels": [],
            "clock": "civil",
        },
        {"name": "x", "title": "x", "kind": "day-parts", "parts": {"a": 7}},
        ["name"],
    ],
)
def test_a_damaged_definition_is_refused(damaged: dict[str, object]) -> None:
    with pytest.raises(ParameterError) as caught:
        Granularity.from_dict(damaged)
    assert caught.value.code == "bad-calendar"


def test_index_takes_whole_arrays() -> None:
    day = granularity("day")
    assert np.array_equal(day.index(np.arange(-2, 2) * 86_400), [-2, -1, 0, 1])
