"""Time since the first row of each person."""

from __future__ import annotations

import datetime as dt
import tomllib
from dataclasses import replace
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some

import timeveil as tv
from timeveil.judging import gather
from timeveil.models.events.words import Facts
from timeveil.report import explain

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
    with pytest.raises(tv.RolesError, match="no column `last`"):
        tv.generalize_time(table, ROLES, 2, origin="last")


BORN = tv.Roles(respondent="who", time="at", keep=["row"])
KINDS = st.sampled_from(["days", "clocks", "zoned"])


@given(
    visits=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 900)), min_size=2, max_size=20),
    kind=KINDS,
    written=st.sampled_from(["dates", "text", "clocks"]),
)
@settings(max_examples=some(20), deadline=None)
def test_every_row_is_in_the_granule_of_its_time_since_a_date(visits, kind, written):
    start = dt.datetime(2024, 3, 28) + dt.timedelta(minutes=90 if written == "clocks" else 0)
    born = [start - dt.timedelta(days=7 * who) for who, _ in visits]
    column = {"dates": [b.date() for b in born], "text": [f"{b:%d.%m.%Y}" for b in born], "clocks": born}[
        written
    ]
    table = rows_of(visits, kind).append_column("born", pa.array(column))
    how = {"zone": "Europe/Rome"} if kind == "zoned" else {}
    how |= {"origin": "born", "suppress": 0.9, "allow_loss": True}
    try:
        release, ledger = tv.generalize_time(table, BORN, 2, **how)
    except tv.InfeasibleError:
        return
    assert tv.verify(release, ledger)
    unit = "day" if kind == "days" or written != "clocks" else "minute"
    assert release.manifest["time"]["unit"] == unit
    assert release.manifest["parameters"]["origin"] == "born"
    assert "born" not in release.table.column_names
    original = table.to_pylist()
    for row in release.table.to_pylist():
        true, begins = original[row["row"]]["at"], born[row["row"]]
        if kind == "zoned":
            true = true.astimezone(ZoneInfo("Europe/Rome")).replace(tzinfo=None)
        if unit == "day":
            since = (getattr(true, "date", lambda: true)() - begins.date()).days  # noqa: B023 called at once
        else:
            since = (true - begins) // dt.timedelta(minutes=1)
        assert row["at_start"] is None or row["at_start"] <= since
        assert row["at_end"] is None or since < row["at_end"]


def by_birth(**more):
    table = rows_of([(who, hours) for who in range(6) for hours in (0, 24, 48)], "days")
    days = [dt.date(2024, 1, 1 + who // 2) for who in range(6) for _ in range(3)]
    return table.append_column("born", pa.array(more.pop("born", days))), {"origin": "born", **more}


def test_a_missing_origin_is_a_missing_time():
    days = [dt.date(2024, 1, 1)] * 15 + [None] * 3
    table, how = by_birth(born=days)
    with pytest.raises(tv.InputError, match="3 rows have no `born`"):
        tv.generalize_time(table, BORN, 2, **how)
    release, ledger = tv.generalize_time(table, BORN, 2, **how, nulls="withhold")
    assert release.manifest["counts"]["withheld"] == 3
    assert tv.verify(release, ledger)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"born": ["soon"] * 18}, tv.InputError, "not every value of `born`"),
        ({"origin": "row"}, tv.RolesError, "column `row` has more than one role"),
        ({"origin": "brn"}, tv.RolesError, "no column `brn`"),
    ],
)
def test_other_origins_are_refused(change, error, message):
    table, how = by_birth(**change)
    with pytest.raises(error, match=message):
        tv.generalize_time(table, tv.Roles(**ROLES_OF, drop="rest"), 2, **how)


def test_numbers_have_no_other_origin_and_a_relation_is_read_with_it():
    table, how = by_birth()
    numbers = rows_of([(1, 0), (2, 0)], "numbers").append_column("born", pa.array([dt.date(2024, 1, 1)] * 2))
    with pytest.raises(tv.ParameterError, match="whole numbers already"):
        tv.generalize_time(numbers, BORN, 2, unit="hour", **how)
    relation = tv.read(table, tv.Roles(**{**ROLES_OF, "drop": "rest"}))
    with pytest.raises(tv.RolesError, match="read without `born`"):
        tv.generalize_time(relation, relation.roles, 2, **how)
    relation = tv.read(table, tv.Roles(**ROLES_OF, event="born"))
    again, _ = tv.generalize_time(relation, relation.roles, 2, **how)
    assert again.table.equals(tv.generalize_time(table, BORN, 2, **how)[0].table)


ROLES_OF = {"respondent": "who", "time": "at", "keep": ["row"]}


@pytest.mark.parametrize("origin", ["first", "born"])
def test_a_time_that_is_not_since_the_origin_is_refused(origin, tmp_path):
    """Sabotage: ledgers whose calendar, or whose origin, is not that of the release."""
    table, how = by_birth(origin=origin)
    release, ledger = tv.generalize_time(table, tv.Roles(**ROLES_OF, drop="rest"), 2, **how)
    tv.write(ledger, tmp_path / "ledger")
    assert tv.verify(release, tv.open_ledger(tmp_path / "ledger"))
    data = ledger.original.table
    times = pc.add(data["at (calendar)"].cast(pa.int32()), pa.array(range(len(data)), pa.int32()))
    moved = data.set_column(
        data.column_names.index("at (calendar)"), "at (calendar)", times.cast(pa.date32())
    )
    for forged, statement in (
        (moved, "another time since the origin"),
        (data.drop_columns(["at (calendar)"]), "is not that of the original"),
    ):
        verdict = tv.verify(release, replace(ledger, original=replace(ledger.original, data=forged)))
        assert statement in " ".join(violation.message for violation in verdict.violations)
    stated = {**release.manifest["parameters"], "origin": "first" if origin == "born" else "born"}
    other = tv.Release(release.guarantee, {**release.manifest, "parameters": stated}, release.parts)
    assert not tv.verify(other, ledger)


def test_the_command_that_repeats_a_run_has_its_zone():
    table = rows_of([(who, hours) for who in range(6) for hours in (0, 24, 48)], "zoned")
    pair = tv.generalize_time(table, ROLES, 2, origin="first", zone="Europe/Rome")
    assert "--origin first --zone Europe/Rome" in Facts(gather(*pair)).command()
    numbers = rows_of([(who, hours) for who in range(6) for hours in (0, 24, 48)], "numbers")
    pair = tv.generalize_time(numbers, ROLES, 2, origin="first", unit="hour")
    assert "--origin first --unit hour" in Facts(gather(*pair)).command()


def test_readers_learn_what_times_are_counted_from(tmp_path):
    table, _ = by_birth()
    for origin, words in (
        ("first", "the first row of each person"),
        ("born", "`born`, which is not published"),
    ):
        pair = tv.generalize_time(table, tv.Roles(**ROLES_OF, drop="rest"), 2, origin=origin)
        text = (tv.write(pair[0], tmp_path / origin) / "README.txt").read_text()
        assert f"whole numbers of the unit day, counted from {words}." in " ".join(text.split())
        assert f"counted from {words}." in " ".join(explain(*pair).text().split())
