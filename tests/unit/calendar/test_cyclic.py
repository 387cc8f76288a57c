"""Columns derived from the time."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import calendar as oracle

from timeveil.calendar.axis import CYCLIC, derive, hour_of_day, month_of_year, weekday
from timeveil.errors import ParameterError

MOMENTS = [dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(2006, 1, 3, 10, 30)]


@pytest.mark.parametrize(
    ("derived", "expected"),
    [
        (weekday, [f"{at:%A}" for at in MOMENTS]),
        (hour_of_day, [f"{at:%H}" for at in MOMENTS]),
        (month_of_year, [f"{at:%B}" for at in MOMENTS]),
    ],
)
def test_derived_values_agree_with_datetime(derived: object, expected: list[str]) -> None:
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
