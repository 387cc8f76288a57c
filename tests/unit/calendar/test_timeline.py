"""Observed base granules and what each granularity makes of them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import calendar as oracle

from timeveil.calendar.catalogue import CATALOGUE, resolve
from timeveil.calendar.definitions import boundaries, business_days, groups_of, terms
from timeveil.calendar.timeline import Ticks, Timeline, at_least, base_for
from timeveil.domain.relation import TimeAxis

c = CATALOGUE
SECOND = Ticks(1, 0, "second")
DATES = TimeAxis("civil", pa.date32())
TIMES = TimeAxis("civil", pa.timestamp("ms"))
DAYS = TimeAxis("relative", pa.int64(), unit="day")


def zoned(zone: str) -> TimeAxis:
    return TimeAxis("zoned", pa.timestamp("ms", tz=zone), zone=zone)


def seconds(*texts: str) -> np.ndarray:
    return np.array([oracle.seconds(dt.datetime.fromisoformat(text)) for text in texts], dtype=np.int64)


def days(*texts: str) -> np.ndarray:
    return seconds(*texts) // 86_400


DAY = Ticks(86_400, 0, "day")


def test_firsts_point_to_the_first_position_of_the_granule() -> None:
    line = Timeline(DATES, DAY, days("2005-12-30", "2006-01-01", "2006-01-02", "2006-01-08", "2006-02-01"))
    assert line.firsts(c["week"]).tolist() == [0, 0, 2, 2, 4]
    assert line.firsts(c["month"]).tolist() == [0, 1, 1, 1, 4]
    assert line.firsts(c["all"]).tolist() == [0] * 5
    assert line.firsts(c["week"]).dtype == np.int32
    assert len(line) == 5


def test_granules_have_the_type_of_the_column() -> None:
    line = Timeline(DATES, DAY, days("2005-12-30", "2006-01-02"))
    weeks = line.granules_of(c["week"])
    assert weeks.code.tolist() == [0, 1]
    assert weeks.label == ["2005-W52", "2006-W01"]
    assert weeks.start.to_pylist() == [dt.date(2005, 12, 26), dt.date(2006, 1, 2)]
    assert weeks.end.to_pylist() == [dt.date(2006, 1, 2), dt.date(2006, 1, 9)]
    timed = Timeline(TIMES, SECOND, seconds("2006-01-02 10:30")).granules_of(c["hour"])
    assert timed.start.type == timed.end.type == pa.timestamp("ms")
    assert timed.end.to_pylist() == [dt.datetime(2006, 1, 2, 11)]


def test_granules_without_bounds_have_nulls() -> None:
    line = Timeline(DATES, DAY, days("0001-01-01", "9999-12-31"))
    everything = line.granules_of(c["all"])
    assert (everything.start.to_pylist(), everything.end.to_pylist()) == ([None], [None])
    decades = line.granules_of(c["decade"])
    assert decades.start.to_pylist() == [None, dt.date(9990, 1, 1)]
    assert decades.end.to_pylist() == [dt.date(10, 1, 1), None]


WEEKEND = ("2006-01-05", "2006-01-07", "2006-01-08", "2006-01-09", "2006-01-28")


@pytest.mark.parametrize("gaps", ["error", "skip", "suppress"])
def test_positions_in_a_gap_get_minus_one(gaps: str) -> None:
    line = Timeline(DATES, DAY, days(*WEEKEND), gaps)
    assert line.firsts(c["business-day"]).tolist() == [0, -1, -1, 3, -1]
    month = line.granules_of(c["business-month"])
    assert month.code.tolist() == [0, -1, -1, 0, -1]
    assert month.start.to_pylist() == [dt.date(2006, 1, 2)]
    assert month.end.to_pylist() == [dt.date(2006, 2, 1)]


def test_a_gap_may_belong_to_the_next_granule() -> None:
    line = Timeline(DATES, DAY, days(*WEEKEND), "next")
    assert line.firsts(c["business-day"]).tolist() == [0, 1, 1, 1, 4]
    assert line.granules_of(c["business-day"]).label == ["2006-01-05", "2006-01-09", "2006-01-30"]
    wave = boundaries("wave", ["2006-01-06", "2006-01-08", "2006-01-20"])
    assert line.firsts(wave).tolist() == [0, 0, 2, 2, -1]
    term = terms("term", {"a": "01-06", "b": "01-08", "c": "02-01"}, gaps=["b"])
    assert line.granules_of(term).label == ["2005 c", "2006 a", "2006 c"]


def test_all_positions_in_gaps() -> None:
    line = Timeline(DATES, DAY, days("2006-01-07"))
    assert line.firsts(c["business-day"]).tolist() == [-1]
    assert line.granules_of(c["business-day"]).label == []
    zoned_line = Timeline(zoned("Europe/Rome"), SECOND, seconds("2006-01-07 12:00"))
    assert zoned_line.granules_of(c["business-day"]).label == []


@pytest.mark.parametrize("axis", [DATES, TIMES, zoned("Europe/Rome"), DAYS])
def test_an_empty_table_has_no_granules(axis: TimeAxis) -> None:
    line = Timeline(axis, SECOND, np.empty(0, dtype=np.int64))
    for g in resolve(None, axis):
        assert line.firsts(g).tolist() == []
        assert line.granules_of(g).label == []


def test_the_repeated_hour_is_two_granules() -> None:
    """Rome, 2006-10-29: at 03:00 the clocks go back to 02:00."""
    instants = seconds("2006-10-28 22:30", "2006-10-29 00:30", "2006-10-29 01:30", "2006-10-29 22:30")
    line = Timeline(zoned("Europe/Rome"), SECOND, instants)
    assert line.granules_of(c["hour"]).label == [
        "2006-10-29 00:00 to 01:00 +02:00",
        "2006-10-29 02:00 to 03:00 +02:00",
        "2006-10-29 02:00 to 03:00 +01:00",
        "2006-10-29 23:00 to 24:00 +01:00",
    ]
    day = line.granules_of(c["day"])
    assert day.label == ["2006-10-29"]
    start, end = day.start.cast(pa.int64())[0].as_py(), day.end.cast(pa.int64())[0].as_py()
    assert end - start == 25 * 3_600_000
    assert line.firsts(c["6-hours"]).tolist() == [0, 0, 0, 3]


def test_a_half_hour_shift_cuts_an_hour() -> None:
    """Lord Howe, 2024-04-07: at 02:00 the clocks go back to 01:30."""
    change = seconds("2024-04-06 15:00")[0]
    line = Timeline(zoned("Australia/Lord_Howe"), SECOND, change + np.array([-1, 0, 1_799, 1_800]))
    hours = line.granules_of(c["hour"])
    assert hours.code.tolist() == [0, 1, 1, 2]
    assert hours.label[:2] == ["2024-04-07 01:00 to 02:00 +11:00", "2024-04-07 01:00 to 02:00 +10:30"]
    bounds = list(
        zip(hours.start.cast(pa.int64()).to_pylist(), hours.end.cast(pa.int64()).to_pylist(), strict=True)
    )
    assert bounds[1] == (int(change) * 1_000, (int(change) + 1_800) * 1_000)


def test_a_day_that_did_not_happen_is_not_in_the_way() -> None:
    """Apia skipped 2011-12-30."""
    line = Timeline(zoned("Pacific/Apia"), SECOND, seconds("2011-12-30 09:59", "2011-12-30 10:00"))
    found = line.granules_of(c["day"])
    assert found.label == ["2011-12-29", "2011-12-31"]
    assert found.end.cast(pa.int64())[0] == found.start.cast(pa.int64())[1]


def test_years_1_and_9999_in_a_zone() -> None:
    line = Timeline(zoned("Europe/Rome"), SECOND, seconds("0001-01-01 00:30", "9999-12-31 20:00"))
    for g in (*resolve(None, line.axis), c["business-month"], c["academic-term"]):
        granules = line.granules_of(g)
        assert granules.start.type == line.axis.type
        assert len(granules.label) == (1 if g.name == "all" else 2)
    year = line.granules_of(c["year"])
    assert year.label == ["0001", "9999"]
    assert year.end.is_null().to_pylist() == [False, True]


def test_relative_bounds_are_in_the_columns_own_unit() -> None:
    day, week = resolve(["day", "week"], DAYS)
    line = Timeline(DAYS, DAY, np.array([-1, 0, 6, 7]))
    weeks = line.granules_of(week)
    assert weeks.label == ["week -1", "week 0", "week 1"]
    assert weeks.start.to_pylist() == [-7, 0, 7]
    assert weeks.end.to_pylist() == [0, 7, 14]
    assert line.firsts(day).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("names", "resolution", "expected"),
    [
        (["day", "month"], 1, "day"),
        (["hour", "month"], 1, "hour"),
        (["15-minutes"], 1, "15-minutes"),
        (["5-minutes", "15-minutes"], 1, "5-minutes"),
        (["second"], 1, "second"),
        (["second", "month"], 86_400, "day"),
        (["minute"], 900, "15-minutes"),
        (["all"], 1, "day"),
    ],
)
def test_the_base_is_the_coarsest_that_loses_nothing(
    names: list[str], resolution: int, expected: str
) -> None:
    assert base_for(TIMES, resolve(names, TIMES), 0, 10**9, resolution).name == expected


def test_odd_boundaries_need_a_finer_base() -> None:
    wave = boundaries("wave", ["2006-01-01 07:05", "2006-02-01"])
    assert base_for(TIMES, [wave], 0, 10**9).name == "5-minutes"
    assert base_for(TIMES, [groups_of("7-minutes", "minute", 7)], 0, 10**9).name == "minute"


def test_a_zone_is_counted_in_hours_of_its_own() -> None:
    low, high = seconds("2006-01-01", "2006-12-31").tolist()
    month = [c["month"]]
    assert base_for(zoned("Europe/Rome"), month, low, high) == Ticks(3_600, 0, "hour")
    assert base_for(zoned("Asia/Kolkata"), month, low, high) == Ticks(3_600, 1_800, "hour")
    assert base_for(zoned("Asia/Kathmandu"), month, low, high) == Ticks(3_600, 2_700, "hour")
    assert base_for(zoned("Australia/Lord_Howe"), month, low, high) == Ticks(1_800, 0, "30-minutes")
    assert base_for(zoned("Australia/Lord_Howe"), month, low, low + 86_400).name == "hour"
    assert (
        base_for(zoned("Europe/Rome"), month, *seconds("1800-01-01", "2000-01-01").tolist()).name == "second"
    )
    assert base_for(zoned("Asia/Kolkata"), month, low, high, 86_400) == Ticks(3_600, 0, "hour")


@pytest.mark.parametrize(
    ("unit", "names", "expected"),
    [
        ("day", ["week"], Ticks(604_800, 0, "week")),
        ("day", ["day", "week"], Ticks(86_400, 0, "day")),
        ("minute", ["hour"], Ticks(3_600, 0, "hour")),
        ("month", ["quarter"], Ticks(1, 0, "month")),
        ("month", ["year", "decade"], Ticks(12, 0, "year")),
    ],
)
def test_relative_time_has_a_base_of_its_own_family(unit: str, names: list[str], expected: Ticks) -> None:
    axis = TimeAxis("relative", pa.int64(), unit=unit)
    assert base_for(axis, resolve(names, axis), -100, 100) == expected


def test_what_is_finer_than_the_base_can_be_left_out() -> None:
    left = at_least(resolve(None, TIMES), DAY)
    assert left[0] is c["day"]
    wave = boundaries("wave", ["2006-01-01 07:00", "2006-01-01 08:00", "2006-02-01"])
    assert at_least([wave], DAY) == (wave,)


def test_the_next_granule_is_one_that_the_clocks_have_shown() -> None:
    """Berlin skipped 02:15 to 02:45 in spring, and Apia a whole Friday."""
    edges = ["2024-03-31 02:15", "2024-03-31 02:45", "2024-03-31 05:00"]
    wave = boundaries("wave", edges, ["skipped", "seen"])
    early = Timeline(zoned("Europe/Berlin"), SECOND, seconds("2024-03-31 00:00"), "next")
    granules = early.granules_of(wave)
    assert granules.label == ["seen"]
    assert granules.start.to_pylist() < granules.end.to_pylist()
    working = business_days("working", holidays=["2011-12-29"])
    holiday = Timeline(zoned("Pacific/Apia"), SECOND, seconds("2011-12-29 20:00"), "next")
    assert holiday.granules_of(working).label == ["2012-01-02"]
    assert early.firsts(boundaries("last", edges[:2])).tolist() == [-1]
