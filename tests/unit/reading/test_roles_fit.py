"""Roles held against the columns of a table, derived columns, and nulls."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from timeveil.domain.roles import Derived, Roles
from timeveil.errors import InputError, ParameterError, RolesError
from timeveil.reading import read

TABLE = pa.table(
    {
        "patient": [1, 2],
        "taken_at": [dt.date(2024, 2, 29), dt.date(2024, 3, 1)],
        "zip": ["a", "b"],
        "result": ["canary7391", "canary7391"],
        "ward": ["x", "y"],
    }
)


def refused(code: str, table=TABLE, kind=RolesError, nulls="error", **roles):
    given = {"respondent": "patient", "time": "taken_at", "quasi": ["zip"], "drop": "rest"} | roles
    with pytest.raises(kind) as caught:
        read(table, Roles(**given), nulls=nulls)
    assert caught.value.code == code
    assert "canary7391" not in str(caught.value)
    return caught.value


def test_only_role_columns_come_in_in_role_order():
    """What was left out is on record."""
    roles = Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"], drop=["ward"])
    relation = read(TABLE, roles)
    assert relation.table.column_names == ["patient", "taken_at", "zip", "result"]
    assert relation.dropped == relation.roles.drop == ("ward",)
    rest = read(TABLE, Roles(respondent="patient", time="taken_at", drop="rest"))
    assert rest.dropped == rest.roles.drop == ("zip", "result", "ward")


def test_a_column_without_a_role_is_refused_by_name():
    """It is never published silently, nor left out silently."""
    error = refused("column-without-role", drop=["ward"])
    assert error.message == "column `result` has no role"
    assert "drop" in error.hint
    assert refused("column-without-role", drop=[]).facts == {"columns": ["result", "ward"]}


def test_a_missing_column_is_refused_with_near_names():
    """In any role, and in drop."""
    assert "`zip`" in refused("column-missing", quasi=["zpi"]).hint
    assert "`taken_at`" in refused("column-missing", time="taken").hint
    assert "`ward`" in refused("column-missing", drop=["result", "Ward"]).hint
    assert "`patient`" in refused("column-missing", keep=["qqqqqq"]).hint


def test_roles_that_are_needed_are_asked_for():
    """A person and a time, unless the data are series or baskets."""
    assert "`respondent`" in refused("role-missing", respondent=None).message
    assert "`time`" in refused("role-missing", time=None).message
    refused("role-missing", time=None, quasi=[Derived("weekday")])
    assert read(TABLE, Roles(respondent="patient", item="zip", drop="rest")).axis is None
    assert read(TABLE, Roles(series=["zip", "ward"], drop="rest")).table.column_names == ["zip", "ward"]
    refused("role-missing", time=None, series=["ward"], quasi=[Derived("weekday")])
    refused("empty-name", time="")


@pytest.mark.parametrize("name", ["taken_at_start", "taken_at_end", "taken_at_weekday"])
@pytest.mark.parametrize("role", ["quasi", "keep", "sensitive"])
def test_names_that_the_release_needs_must_be_free(name, role):
    """Start, end and derived columns have names of their own."""
    table = TABLE.append_column(name, pa.array([1, 2]))
    roles = {"quasi": [Derived("weekday")], "drop": "rest"}
    roles[role] = [*roles.get(role, []), name]
    assert f"`{name}`" in refused("column-clash", table, **roles).message


def test_start_and_end_are_free_once_dropped():
    """A dropped column is not published; a derived one would still be taken for it."""
    table = TABLE.append_column("taken_at_start", pa.array([1, 2])).append_column(
        "taken_at_weekday", pa.array([1, 2])
    )
    assert read(table, Roles(respondent="patient", time="taken_at", drop="rest")).rows == 2
    refused("column-clash", table, quasi=[Derived("weekday")])


def test_the_same_derived_column_twice_is_a_clash():
    """Once is enough."""
    refused("column-clash", quasi=[Derived("weekday"), Derived("weekday")])


@pytest.mark.parametrize("stored", [False, True])
def test_derived_columns_are_made(stored):
    """As text, named after the time column, behind the others."""
    roles = Roles(
        respondent="patient",
        time="taken_at",
        quasi=[Derived("weekday"), "zip", Derived("month-of-year")],
        drop="rest",
    )
    relation = read(TABLE, roles, stored=stored)
    assert relation.roles.quasi == ("taken_at_weekday", "zip", "taken_at_month-of-year")
    assert relation.table.column_names == [
        "patient",
        "taken_at",
        "zip",
        "taken_at_weekday",
        "taken_at_month-of-year",
    ]
    assert relation.table["taken_at_weekday"].to_pylist() == ["Thursday", "Friday"]
    assert relation.table["taken_at_month-of-year"].to_pylist() == ["February", "March"]


@pytest.mark.parametrize("stored", [False, True])
def test_derived_columns_follow_the_clocks_of_the_zone(stored):
    """And are null where the time is."""
    times = pa.array(["2024-02-29T23:30:00Z", None, "2024-02-29T22:30:00Z"])
    table = pa.table({"patient": [1, 2, 3], "at": times})
    roles = Roles(respondent="patient", time="at", quasi=[Derived("weekday"), Derived("hour-of-day")])
    rows = read(table, roles, zone="Europe/Berlin", nulls="withhold", stored=stored).table
    assert rows["at_weekday"].to_pylist() == ["Friday", None, "Thursday"]
    assert rows["at_hour-of-day"].to_pylist() == ["00", None, "23"]


def test_derived_columns_need_a_calendar():
    """Relative time has no weekdays, and no one knows a moon."""
    table = pa.table({"patient": [1], "at": [1]})
    with pytest.raises(RolesError) as caught:
        read(table, Roles(respondent="patient", time="at", quasi=[Derived("weekday")]), unit="day")
    assert caught.value.code == "bad-parameter"
    refused("bad-parameter", kind=ParameterError, quasi=[Derived("moon")])


def test_nulls_in_time_and_respondent_are_errors_unless_withheld():
    """Nulls elsewhere are values of their own."""
    table = pa.table(
        {"patient": [1, None, None], "taken_at": pa.array(["2024-01-01", "", None]), "zip": [None, "a", "b"]}
    )
    error = refused("nulls", table, InputError)
    assert error.facts == {"column": "taken_at", "count": 2, "row": 2}
    assert "withhold" in error.hint
    people = table.set_column(1, "taken_at", pa.array(["2024-01-01"] * 3))
    assert refused("nulls", people, InputError).facts == {"column": "patient", "count": 2, "row": 2}
    kept = read(table, Roles(respondent="patient", time="taken_at", quasi=["zip"]), nulls="withhold")
    assert kept.rows == 3
    assert kept.table["taken_at"].null_count == 2
    refused("bad-parameter", kind=ParameterError, nulls="skip")


@pytest.mark.parametrize("name", ["taken_at_start", "taken_at_end", "taken_at_weekday"])
def test_the_respondent_cannot_have_a_name_that_the_release_needs(name):
    """Its name would stand in the release, over other values."""
    table = TABLE.rename_columns([name if n == "patient" else n for n in TABLE.column_names])
    roles = Roles(respondent=name, time="taken_at", quasi=[Derived("weekday")], drop="rest")
    with pytest.raises(RolesError) as caught:
        read(table, roles)
    assert caught.value.code == "column-clash"


@pytest.mark.parametrize("line", ["2024-01-01,canary-age,canary-ill", "2024-01-01,canary,canary"])
def test_a_missing_header_is_not_repeated(tmp_path, line):
    """The first line of a file without a header is somebody's record."""
    (tmp_path / "x.csv").write_text(f"{line}\n2024-01-02,30,flu\n")
    roles = Roles(time="day", quasi=["age"], sensitive=["ill"], drop="rest")
    with pytest.raises(RolesError) as refused:
        read(tmp_path / "x.csv", roles, needs=("time", "sensitive"))
    assert "canary" not in str(refused.value) + str(refused.value.facts)
    assert refused.value.message == "the table has 3 columns, and none is called `day`, `age`, `ill`"
    assert "is the header missing?" in refused.value.hint


def test_names_in_other_letters_are_told_even_if_none_fits(tmp_path):
    (tmp_path / "x.csv").write_text("Day,canary-age\n2024-01-02,30\n")
    with pytest.raises(RolesError) as refused:
        read(tmp_path / "x.csv", Roles(time="day", drop="rest"), needs=("time",))
    assert refused.value.hint == "did you mean `Day`?"
