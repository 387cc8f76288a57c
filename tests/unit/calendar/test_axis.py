"""Time columns as whole numbers and back, the clocks of zones, and columns derived from the time."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import calendar as oracle

from timeveil.calendar.axis import (
    CYCLIC,
    civil,
    derive,
    hour_of_day,
    instants,
    month_of_year,
    offsets,
    published,
    weekday,
)
from timeveil.calendar.civil import AFTER, BEFORE, FIRST, LAST, check_zone
from timeveil.domain.relation import TimeAxis
from timeveil.domain.roles import Derived
from timeveil.errors import InputError, ParameterError

DATES = TimeAxis("civil", pa.date32())
TIMES = TimeAxis("civil", pa.timestamp("ms"))


def test_dates_are_midnights() -> None:
    column = pa.chunked_array([[dt.date(1969, 12, 31)], [dt.date(1, 1, 1)]], pa.date32())
    assert instants(DATES, column).tolist() == [-86_400, FIRST]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_fractions_of_a_second_are_cut_off(unit: str) -> None:
    moment = dt.datetime(1969, 12, 31, 23, 59, 58, 0 if unit == "s" else 999_000)
    assert instants(TIMES, pa.array([moment], pa.timestamp(unit))).tolist() == [-2]


def test_zoned_times_are_utc_seconds() -> None:
    axis = TimeAxis("zoned", pa.timestamp("ms", tz="Asia/Kolkata"), zone="Asia/Kolkata")
    column = pa.array([1_000], pa.timestamp("ms", tz="Asia/Kolkata"))
    assert instants(axis, column).tolist() == [1]
    assert civil(axis, instants(axis, column)).tolist() == [19_801]


@pytest.mark.parametrize(("unit", "size"), [("minute", 60), ("week", 604_800), ("month", 1), ("year", 12)])
def test_offsets_are_counted_in_the_smallest_unit(unit: str, size: int) -> None:
    axis = TimeAxis("relative", pa.int64(), unit=unit)
    assert instants(axis, pa.array([-2, 3])).tolist() == [-2 * size, 3 * size]
    assert published(axis, np.array([-2 * size, 3 * size])).to_pylist() == [-2, 3]


def test_nulls_are_refused() -> None:
    with pytest.raises(InputError, match="has 1 nulls") as caught:
        instants(TIMES, pa.array([None], pa.timestamp("ms")))
    assert caught.value.code == "nulls"


def test_civil_time_is_as_it_is() -> None:
    assert civil(TIMES, np.array([5])).tolist() == [5]


def test_an_empty_column_has_no_instants() -> None:
    axis = TimeAxis("zoned", pa.timestamp("ms", tz="Europe/Rome"), zone="Europe/Rome")
    none = instants(axis, pa.array([], pa.timestamp("ms", tz="Europe/Rome")))
    assert civil(axis, none).tolist() == []


def test_bounds_outside_the_years_1_to_9999_are_null() -> None:
    bounds = np.array([BEFORE, FIRST - 1, FIRST, LAST, LAST + 1, AFTER])
    assert published(TIMES, bounds).is_null().to_pylist() == [True, True, False, False, True, True]
    assert published(TIMES, bounds).to_pylist()[2:4] == [
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59),
    ]
    relative = TimeAxis("relative", pa.int64(), unit="day")
    assert published(relative, np.array([BEFORE, 0, AFTER])).to_pylist() == [None, 0, None]


def test_a_date_bound_within_a_day_is_that_day_or_the_next() -> None:
    noon = np.array([43_200, 86_400])
    assert published(DATES, noon).to_pylist() == [dt.date(1970, 1, 1), dt.date(1970, 1, 2)]
    assert published(DATES, noon, round_up=True).to_pylist() == [dt.date(1970, 1, 2), dt.date(1970, 1, 2)]


MOMENTS = [dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(2006, 1, 3, 10, 30)]


@pytest.mark.parametrize(
    ("derived", "expected"),
    [
        (weekday, [f"{at:%A}" for at in MOMENTS]),
        (hour_of_day, [f"{at:%H}" for at in MOMENTS]),
        (month_of_year, [f"{at:%B}" for at in MOMENTS]),
    ],
)
def test_derived_values_agree_with_datetime(derived: Derived, expected: list[str]) -> None:
    values = derive(derived.name, np.array([oracle.seconds(at) for at in MOMENTS]))
    assert values.type == pa.string()
    assert values.to_pylist() == expected


def test_each_has_its_values_in_order() -> None:
    assert {name: len(values) for name, values in CYCLIC.items()} == {
        "weekday": 7,
        "hour-of-day": 24,
        "month-of-year": 12,
    }


def test_an_unknown_one_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot be derived"):
        derive("moon-phase", np.array([0]))


ROME_AUTUMN = oracle.seconds(dt.datetime(2006, 10, 29, 1))
"""In UTC: Rome's clocks go from 03:00 back to 02:00."""


@pytest.mark.parametrize(
    "zone",
    [
        "Europe/Rome",
        "America/New_York",
        "Australia/Lord_Howe",
        "Asia/Kolkata",
        "Africa/Casablanca",
        "Pacific/Apia",
    ],
)
def test_the_wall_clock_agrees_with_zoneinfo(zone: str) -> None:
    tz = ZoneInfo(zone)
    instants = np.arange(
        oracle.seconds(dt.datetime(1880, 1, 1)), oracle.seconds(dt.datetime(2120, 1, 1)), 1_000_003
    )
    shown = [
        oracle.seconds(dt.datetime.fromtimestamp(second, tz).replace(tzinfo=None))
        for second in instants.tolist()
    ]
    assert offsets(zone, int(instants[0]), int(instants[-1])).civil(instants).tolist() == shown


def test_changes_are_found_to_the_second() -> None:
    found = offsets("Europe/Rome", ROME_AUTUMN - 86_400, ROME_AUTUMN + 86_400)
    assert found.seconds.tolist() == [7_200, 3_600]
    assert found.begins[1] == ROME_AUTUMN


def test_far_future_years_repeat_the_rules() -> None:
    march = oracle.seconds(dt.datetime(9998, 6, 1))
    assert offsets("Europe/Rome", march, march).seconds[-1] == 7_200
    assert offsets("Europe/Rome", LAST, LAST).seconds[-1] == 3_600
    years = offsets(
        "Europe/Rome", oracle.seconds(dt.datetime(2490, 1, 1)), oracle.seconds(dt.datetime(2510, 1, 1))
    )
    assert len(years.seconds) == 41


def test_before_there_were_zones_local_mean_time_held() -> None:
    assert offsets("Europe/Rome", FIRST, FIRST).seconds.tolist() == [2_996]


def test_settled_time_never_goes_back() -> None:
    found = offsets("Europe/Rome", ROME_AUTUMN - 86_400, ROME_AUTUMN + 86_400)
    instants = np.arange(ROME_AUTUMN - 7_200, ROME_AUTUMN + 7_200, 60)
    settled = found.settled(instants)
    assert np.all(np.diff(settled) >= 0)
    assert np.array_equal(settled[:120], found.civil(instants)[:120])
    assert np.array_equal(settled[-60:], found.civil(instants)[-60:])


def test_clocks_that_go_back_across_midnight_keep_days_whole() -> None:
    """In Goose Bay the clocks went from 00:01 back to 23:01 of the day before."""
    change = oracle.seconds(dt.datetime(2006, 10, 29, 3, 1))
    found = offsets("America/Goose_Bay", change - 86_400, change + 86_400)
    assert found.begins.tolist().count(change) == 1
    days = found.settled(np.arange(change - 7_200, change + 7_200, 30)) // 86_400
    assert np.all(np.diff(days) >= 0)
    assert len(np.unique(days)) == 2


def test_the_first_instant_of_a_civil_time() -> None:
    spring = oracle.seconds(dt.datetime(2006, 3, 26, 1))
    found = offsets("Europe/Rome", spring - 86_400, spring + 86_400)
    skipped, after = (
        oracle.seconds(dt.datetime(2006, 3, 26, 2, 30)),
        oracle.seconds(dt.datetime(2006, 3, 26, 3)),
    )
    assert found.first_instant(np.array([skipped, after])).tolist() == [spring, spring]
    autumn = offsets("Europe/Rome", ROME_AUTUMN - 86_400, ROME_AUTUMN + 86_400)
    twice = oracle.seconds(dt.datetime(2006, 10, 29, 2, 30))
    assert autumn.first_instant(np.array([twice])).tolist() == [ROME_AUTUMN - 1_800]


@pytest.mark.parametrize("zone", ["", None, "Mars/Base", "../etc/passwd", "/etc/passwd", "Europe", "a\0b"])
def test_a_zone_that_does_not_exist_is_refused(zone: str | None) -> None:
    with pytest.raises(ParameterError, match="not a time zone of the IANA database") as caught:
        check_zone(zone)
    assert caught.value.code == "bad-parameter"
    assert caught.value.__cause__ is None
