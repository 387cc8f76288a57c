"""Columns of one table whose types differ from release to release."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import timeveil as tv

ROLES = tv.Roles(respondent="who", time="day", quasi=["zip"], event="ref")
LARGE = 2**60


def visits(refs: pa.Array) -> pa.Table:
    return pa.table({"who": list("abcd"), "day": [dt.date(2024, 1, 1)] * 4, "zip": ["1"] * 4, "ref": refs})


def test_whole_numbers_that_no_float_equals_are_refused_without_a_value() -> None:
    """As text they would be compared exactly; as floats two events could become one."""
    _, ledger = tv.generalize_time(visits(pa.array([LARGE + i for i in range(4)])), ROLES, k=2)
    with pytest.raises(tv.InputError, match="events cannot be recognised") as caught:
        tv.generalize_time(visits(pa.array([0.5, 1.5, 2.5, 3.5])), ROLES, k=2, after=[ledger])
    assert str(LARGE)[:6] not in str(caught.value)
    assert caught.value.__cause__ is None
