"""Time columns as whole numbers and back."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from timeveil.calendar.axis import civil, instants, published
from timeveil.calendar.civil import AFTER, BEFORE, FIRST, LAST
from timeveil.domain.relation import TimeAxis
from timeveil.errors import InputError

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
