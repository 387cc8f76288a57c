"""Offsets of a zone over the years."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.oracles import calendar as oracle

from timeveil.calendar.axis import check_zone, offsets
from timeveil.calendar.civil import FIRST, LAST
from timeveil.errors import ParameterError

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
    with pytest.raises(ParameterError, match="not in the time zone database") as caught:
        check_zone(zone)
    assert caught.value.code == "bad-parameter"
    assert caught.value.__cause__ is None
