"""The risk of a table before anything is done."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.oracles import judges as oracle

from timeveil.errors import ParameterError
from timeveil.models.events.judges.profile import profile


def relation(*rows, axis=oracle.DATES):
    full = [{"person": p, "at": at, "zip": z, "sex": "f", "ward": 1, "result": "x"} for p, at, z in rows]
    return oracle.relation(oracle.Case(full, 2, axis))


MONDAY, TUESDAY = dt.date(2024, 4, 1), dt.date(2024, 4, 2)


def test_rows_of_one_person_do_not_make_a_crowd():
    """Five rows a day look like k = 5 to a tool that counts rows; they are one person's."""
    found = profile(relation(*[("ann", MONDAY, "1")] * 5, *[("bob", TUESDAY, "1")] * 5), k=2)
    assert found.as_it_stands.smallest_group == 1
    assert found.as_it_stands.claimed_by_rows == 5
    assert found.as_it_stands.people_unique == found.people == 2
    assert not found.already_anonymous
    week = next(level for level in found.granularities if level.granularity == "week")
    assert (week.smallest_group, week.people_below_k, week.rows_below_k) == (2, 0, 0)


def test_a_table_can_be_anonymous_already():
    found = profile(relation(("ann", MONDAY, "1"), ("bob", MONDAY, "1")), k=2)
    assert found.already_anonymous
    assert found.as_dict()["already_anonymous"] is True
    assert json.dumps(found.as_dict())


def test_shares_and_rows_per_person():
    found = profile(relation(("ann", MONDAY, "1"), ("bob", MONDAY, "1"), ("ann", TUESDAY, "1")), k=2)
    assert found.as_it_stands.share_below_k == 0.5
    assert found.rows_per_person == {
        "min": 1,
        "median": 1.5,
        "mean": 1.5,
        "p90": pytest.approx(1.9),
        "max": 2,
    }


def test_times_within_a_second_are_told_apart_as_the_table_stands():
    at = dt.datetime(2024, 4, 1, 9, 0, 0)
    found = profile(
        relation(("ann", at, "1"), ("bob", at.replace(microsecond=5_000), "1"), axis=oracle.CIVIL), k=2
    )
    assert not found.already_anonymous
    assert found.granularities[0].smallest_group == 2


def test_dates_are_not_judged_by_the_hour():
    assert profile(relation(("ann", MONDAY, "1")), k=2).granularities[0].granularity == "day"


def test_named_granularities_and_gaps():
    saturday = dt.date(2024, 4, 6)
    found = profile(relation(("ann", MONDAY, "1"), ("bob", saturday, "1")), 2, ["business-day"])
    assert [level.rows_in_gaps for level in found.granularities] == [1]
    with pytest.raises(ParameterError, match="not a granularity"):
        profile(relation(("ann", MONDAY, "1")), 2, ["fortnite"])


def test_rows_without_person_or_time_are_counted_apart():
    found = profile(relation(("ann", MONDAY, "1"), (None, MONDAY, "1"), ("bob", None, "1")), k=2)
    assert (found.rows, found.rows_incomplete, found.people) == (3, 2, 1)


def test_a_missing_quasi_identifier_is_a_class_of_its_own():
    found = profile(relation(("ann", MONDAY, None), ("bob", MONDAY, "1")), k=2)
    assert found.as_it_stands.groups == 2


def test_an_empty_table_has_no_risk():
    found = profile(relation(), k=2)
    assert (found.rows, found.people, found.already_anonymous) == (0, 0, True)
    assert found.rows_per_person["max"] == 0


@pytest.mark.parametrize("k", [1, 0, -3, "a", True])
def test_k_is_checked(k):
    with pytest.raises(ParameterError):
        profile(relation(), k)


def test_numbers_and_dictionaries_as_quasi_identifiers():
    table = relation(("ann", MONDAY, "1"), ("bob", MONDAY, "1"))
    coded = table.table.set_column(2, "zip", table.table["zip"].dictionary_encode())
    coded = coded.set_column(3, "sex", pa.array([1.5, float("nan")]))
    assert profile(replace(table, data=coded), k=2).as_it_stands.groups == 2
