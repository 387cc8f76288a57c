"""Slots by label, by time and by date."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeveil.calendar.catalogue import CATALOGUE, available, granularity
from timeveil.calendar.definitions import boundaries, groups_of
from timeveil.domain.relation import TimeAxis
from timeveil.errors import ParameterError
from timeveil.models.stream.judges.query import slot_number
from timeveil.models.stream.slots import NOWHERE, SlotLine

CIVIL = TimeAxis("civil", pa.timestamp("ms"))
DATES = TimeAxis("civil", pa.date32())
ROME = TimeAxis("zoned", pa.timestamp("ms", "Europe/Rome"), zone="Europe/Rome")
HOURS = TimeAxis("relative", pa.int64(), unit="hour")
MONTHS = TimeAxis("relative", pa.int64(), unit="month")
NUMBERS = SlotLine(None, TimeAxis("relative", pa.int64()))


@pytest.mark.parametrize("name", sorted(CATALOGUE))
@settings(max_examples=30, deadline=None)
@given(moment=st.integers(-62_000_000_000, 200_000_000_000), span=st.integers(0, 40))
def test_every_label_of_the_catalogue_is_found_again(name, moment, span):
    """Alone, and in a run of slots that follow each other."""
    grain = CATALOGUE[name]
    first = int(grain.rule.following(np.array([moment]))[0])
    places = np.arange(first, first + (0 if name == "all" else span) + 1)
    labels = pa.array(grain.label(places), pa.string())
    line = SlotLine(grain, CIVIL)
    assert line.numbers(labels).tolist() == places.tolist()
    assert line.numbers(labels.take(pa.array([len(labels) // 2]))).tolist() == [places[len(labels) // 2]]


@pytest.mark.parametrize("axis", [HOURS, MONTHS], ids=["hours", "months"])
def test_every_label_of_relative_time_is_found_again(axis):
    for grain in available(axis).values():
        places = np.arange(-5, 6) if grain.name != "all" else np.array([0])
        labels = pa.array(grain.label(places), pa.string())
        assert SlotLine(grain, axis).numbers(labels).tolist() == places.tolist()


def test_labels_of_calendars_of_ones_own_are_found_again():
    terms = boundaries("terms", ["2024-01-15", "2024-04-02", "2024-09-01"], labels=["winter", "summer"])
    pairs = groups_of("two-days", granularity("day"), 2)
    assert SlotLine(terms, DATES).numbers(pa.array(["summer", "winter", "autumn"])).tolist() == [
        1,
        0,
        NOWHERE,
    ]
    labels = pa.array(pairs.label(np.arange(9_000, 9_009)))
    assert SlotLine(pairs, DATES).numbers(labels).tolist() == list(range(9_000, 9_009))


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("day", "soon"),
        ("day", ""),
        ("day", "2024-02-30"),
        ("day", "2024-03"),
        ("day", "2024-03-01 "),
        ("week", "2024-W54"),
        ("second", "2024"),
        ("hour", "2024-03-01 08:00"),
        ("hour", "2024-03-01 99:00 to 10:00"),
        ("month", "2024-13"),
    ],
)
def test_what_is_no_label_is_nowhere(name, label):
    line = SlotLine(granularity(name), CIVIL)
    assert line.numbers(pa.array([label, None], pa.string())).tolist() == [NOWHERE, NOWHERE]


def test_numbers_are_their_own_places():
    assert NUMBERS.numbers(pa.array([-3, None, 8])).tolist() == [-3, NOWHERE, 8]
    assert NUMBERS.labels([4, 5]).to_pylist() == [4, 5]
    assert NUMBERS.origins(pa.chunked_array([[7, None]])).tolist() == [7, NOWHERE]
    assert NUMBERS.holding(9) == 9


def test_an_original_time_lies_in_its_slot():
    weeks = SlotLine(granularity("week"), DATES)
    days = pa.chunked_array([[dt.date(2024, 3, 31), dt.date(2024, 4, 1), None]])
    assert weeks.labels(weeks.origins(days)[:2]).to_pylist() == ["2024-W13", "2024-W14"]
    assert weeks.origins(days)[2] == NOWHERE


def test_a_slot_is_one_stretch_where_clocks_go_back():
    """02:50 comes twice; the quarter from 02:00 to 02:15 does not open again."""
    quarters = SlotLine(granularity("15-minutes"), ROME)
    utc = [
        dt.datetime(2024, 10, 27, *hm, tzinfo=dt.UTC) for hm in ((0, 10), (0, 50), (1, 10), (1, 50), (2, 5))
    ]
    places = quarters.origins(pa.chunked_array([pa.array(utc, ROME.type)]))
    assert (np.diff(places) >= 0).all()
    assert quarters.labels(places).to_pylist() == [
        "2024-10-27 02:00 to 02:15",
        "2024-10-27 02:45 to 03:00",
        "2024-10-27 02:45 to 03:00",
        "2024-10-27 02:45 to 03:00",
        "2024-10-27 03:00 to 03:15",
    ]


def test_a_bound_may_be_a_label_a_date_or_a_time():
    weeks, hours = SlotLine(granularity("week"), DATES), SlotLine(granularity("hour"), ROME)
    monday = slot_number(weeks, "2024-W14")
    assert slot_number(weeks, dt.date(2024, 4, 1)) == slot_number(weeks, "2024-04-07") == monday
    assert slot_number(weeks, "2024-04-08") == monday + 1
    noon = slot_number(hours, "2024-07-01T12:30")
    assert slot_number(hours, dt.datetime(2024, 7, 1, 10, 5, tzinfo=dt.UTC)) == noon
    assert slot_number(hours, "2024-07-01 12:00 to 13:00") == noon
    assert slot_number(NUMBERS, 3) == 3


def test_a_date_in_a_gap_means_the_slot_after_it_and_after_the_last_there_is_none():
    working = SlotLine(granularity("business-day"), DATES)
    assert slot_number(working, "2024-04-06") == slot_number(working, "2024-04-08")
    terms = SlotLine(boundaries("terms", ["2024-01-15", "2024-04-02"]), DATES)
    assert slot_number(terms, "2030-01-01") > 2**60


@pytest.mark.parametrize("slot", ["soon", 3.5, True])
def test_a_bound_that_is_no_slot_is_refused_without_its_value(slot):
    for line in (SlotLine(granularity("day"), DATES), NUMBERS):
        with pytest.raises(ParameterError) as caught:
            slot_number(line, slot)
        assert caught.value.code == "bad-time"
        assert "soon" not in str(caught.value)
