"""Time since the first row of each person."""

from __future__ import annotations

import datetime as dt
import tomllib

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some

import timeveil as tv

ROLES = tv.Roles(respondent="who", time="at", keep=["row"])
GROWING = '[granularity.growing]\nkind = "boundaries"\nunit = "day"\nat = [0, 1, 2, 4, 8, 16, 32, 64]\n'


def rows_of(visits, kind):
    start = dt.datetime(2024, 3, 30, 23, 30)
    times = [start + dt.timedelta(hours=hours) for _, hours in visits]
    at = {
        "days": [time.date() for time in times],
        "clocks": times,
        "zoned": [time.replace(tzinfo=dt.UTC) for time in times],
        "numbers": [hours for _, hours in visits],
    }[kind]
    return pa.table({"who": [who for who, _ in visits], "at": at, "row": list(range(len(visits)))})


@given(
    visits=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 900)), min_size=2, max_size=20),
    kind=st.sampled_from(["days", "clocks", "zoned", "numbers"]),
    engine=st.sampled_from(["memory", "memory", "duckdb"]),
)
@settings(max_examples=some(20), deadline=None)
def test_every_row_is_in_the_granule_of_its_time_since_the_first(visits, kind, engine):
    table = rows_of(visits, kind)
    how = {"zone": "Europe/Rome"} if kind == "zoned" else {"unit": "hour"} if kind == "numbers" else {}
    try:
        release, ledger = tv.generalize_time(
            table, ROLES, 2, origin="first", suppress=0.9, allow_loss=True, engine=engine, **how
        )
    except tv.InfeasibleError:
        return
    assert tv.verify(release, ledger)
    read = tv.read(table, ROLES, **how)
    again, _ = tv.generalize_time(
        read, ROLES, 2, origin="first", suppress=0.9, allow_loss=True, engine=engine
    )
    assert again.table.equals(release.table)
    unit = {"days": "day", "numbers": "hour"}.get(kind, "minute")
    assert release.manifest["time"]["unit"] == unit
    assert release.manifest["parameters"]["origin"] == "first"
    original = table.to_pylist()
    for row in release.table.to_pylist():
        true = original[row["row"]]
        since = true["at"] - min(other["at"] for other in original if other["who"] == true["who"])
        if kind != "numbers":
            since = since // dt.timedelta(**{f"{unit}s": 1})
        assert row["at_start"] is None or row["at_start"] <= since
        assert row["at_end"] is None or since < row["at_end"]


def test_intervals_may_grow_with_the_time():
    table = rows_of([(who, hours) for who in range(4) for hours in (0, 30, 24 * 10, 24 * 40)], "days")
    definitions = tomllib.loads(GROWING)["granularity"]
    release, ledger = tv.generalize_time(
        table, ROLES, 4, origin="first", definitions=definitions, granularities=["growing"]
    )
    assert tv.verify(release, ledger)
    spans = {(row["at_start"], row["at_end"]) for row in release.table.to_pylist()}
    assert spans == {(0, 1), (2, 4), (8, 16), (32, 64)}


def test_an_origin_and_durations_are_not_published_together():
    table = rows_of([(1, 0), (2, 0)], "days").append_column("left", pa.array([dt.date(2024, 4, 1)] * 2))
    roles = tv.Roles(respondent="who", time=["at", "left"], keep=["row"])
    with pytest.raises(tv.RolesError, match="cannot be published together"):
        tv.generalize_time(table, roles, 2, origin="first")
    with pytest.raises(tv.ParameterError, match="origin"):
        tv.generalize_time(table, ROLES, 2, origin="last")
