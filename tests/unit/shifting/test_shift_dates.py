"""Dates shifted by a secret number of days per person: what stays, what is measured, what is refused."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some

import timeveil as tv

ROLES = tv.Roles(respondent="who", time=["came", "left"], quasi=["sex"], keep=["row"])
DAY = dt.date(2024, 2, 20)


def visits(rows):
    """A table of (person, day, nights, sex)."""
    table = [
        {"who": who, "came": DAY + dt.timedelta(came), "left": DAY + dt.timedelta(came + nights), "sex": sex}
        for who, came, nights, sex in rows
    ]
    return pa.Table.from_pylist([{**row, "row": number} for number, row in enumerate(table)])


def alone(true, shifted, key, possible, *, all_known):
    """The share of people whose visits nobody else has, moved by one possible shift: tried one by one."""
    of = {name: row["who"] for row in key.to_pylist() for name in [row["pseudonym"]]}
    moved, original = {}, {}
    for row in shifted.to_pylist():
        moved.setdefault(of[row["who"]], set()).add(
            (row["came"], (row["left"] - row["came"]).days, row["sex"])
        )
    for row in true.to_pylist():
        original.setdefault(row["who"], set()).add(
            (row["came"], (row["left"] - row["came"]).days, row["sex"])
        )
    single = 0
    for known in original.values():
        candidates = 0
        for theirs in moved.values():
            shifts = ({(day + dt.timedelta(by), *more) for day, *more in known} for by in possible)
            same = (len(theirs) == len(known) or not all_known) and any(shift <= theirs for shift in shifts)
            candidates += same
        single += candidates == 1
    return single / len(original)


@given(
    rows=st.dictionaries(
        st.integers(0, 6),
        st.lists(
            st.tuples(st.integers(0, 12), st.integers(0, 2), st.sampled_from("fm")), min_size=1, max_size=3
        ),
        min_size=1,
    ),
    preserve=st.sampled_from([None, "weekday", "season"]),
    seed=st.integers(0, 99),
)
@settings(max_examples=some(30), deadline=None)
def test_people_who_are_singled_out_are_those_of_brute_force(rows, preserve, seed):
    """Nobody has more than three visits, so that whoever knows three knows all, except how many there are."""
    table = visits([(who, *visit) for who, stays in rows.items() for visit in stays])
    shifted = tv.shift_dates(table, ROLES, within=20, preserve=preserve, seed=seed)
    possible = [by for by in range(-20, 21) if by and (preserve != "weekday" or by % 7 == 0)]
    days = {row["who"]: row["days"] for row in shifted.key.to_pylist()}
    assert set(days.values()) <= set(possible)
    risk, tried = shifted.risk["singled_out"], (table, shifted.table, shifted.key, possible)
    assert risk["3"] == pytest.approx(alone(*tried, all_known=False))
    assert risk["all"] == pytest.approx(alone(*tried, all_known=True))
    # Every date of a person moved by the one number of days of the key, and nothing else changed.
    by_row = {row["row"]: row for row in shifted.table.to_pylist()}
    names = {row["who"]: row["pseudonym"] for row in shifted.key.to_pylist()}
    assert len(set(names.values())) == len(names)
    for row in table.to_pylist():
        moved, step = by_row[row["row"]], dt.timedelta(days[row["who"]])
        assert (moved["came"] - row["came"], moved["left"] - row["left"]) == (step, step)
        assert (moved["who"], moved["sex"]) == (names[row["who"]], row["sex"])


def test_two_visits_of_a_year_are_found_by_their_interval():
    """Ten people a day apart, each with an interval that nobody else has."""
    table = visits([(who, came, 0, "f") for who in range(10) for came in (who, who + 100 + who)])
    risk = tv.shift_dates(table, ROLES, seed=1).risk["singled_out"]
    assert risk["1"] == 0
    assert risk["2"] == risk["3"] == risk["all"] == 1


def test_weekdays_and_clocks_stay_and_shifts_are_secret():
    rome = ZoneInfo("Europe/Rome")
    times = [dt.datetime(2024, 3, 20, 8, 30, tzinfo=rome) + dt.timedelta(days=n) for n in range(40)]
    table = pa.table(
        {"who": [n % 20 for n in range(40)], "came": pa.array(times, pa.timestamp("ms", "Europe/Rome"))}
    )
    roles = tv.Roles(respondent="who", time="came")
    shifted = tv.shift_dates(table, roles, preserve="weekday", zone="Europe/Rome")
    clocks = {time.astimezone(rome).strftime("%H:%M") for time in shifted.table["came"].to_pylist()}
    assert clocks == {"08:30"}
    assert 0 <= shifted.risk["unique_profile"] <= 1
    assert shifted.manifest["guarantee"] is None
    assert "nothing is promised" in shifted.manifest["statement"]
    again = tv.shift_dates(table, roles, preserve="weekday", zone="Europe/Rome")
    assert again.key != shifted.key
    assert repr(shifted) == "<Shifted 40 rows, promises nothing>"


def test_rows_come_in_no_order_of_the_input():
    rows = [(who, came, 1, "f") for who in range(6) for came in (who, 9)]
    forward = tv.shift_dates(visits(rows), ROLES, seed=3)
    names = forward.table["who"].to_pylist()
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (visits([(1, 0, 1, "f")]), {"within": 0}, "from 1 to 36,500"),
        (visits([(1, 0, 1, "f")]), {"within": 5, "preserve": "weekday"}, "no shift within 5 days"),
        (visits([(1, 0, 1, "f")]), {"preserve": "month"}, "weekday"),
        (visits([(1, 0, 1, "f")]), {"accept_risk": ["born"]}, "not passed on"),
        (pa.table({"who": [1], "came": [3]}), {"unit": "day"}, "no dates to shift"),
        (pa.table({"who": [1, 1], "came": [dt.date.min, dt.date.max]}), {}, "years 1 to 9999"),
        (pa.table({"who": [1], "came": [DAY], "born": ["04.03.1958"]}), {}, "`born` reads as a time"),
        (pa.table({"who": [None], "came": [DAY]}), {}, "null"),
    ],
)
def test_what_cannot_be_shifted_is_refused(table, options, message):
    roles = ROLES
    if "left" not in table.column_names:
        roles = tv.Roles(
            respondent="who", time="came", keep=[name for name in table.column_names if name == "born"]
        )
    with pytest.raises(tv.TimeveilError, match=message) as caught:
        tv.shift_dates(table, roles, **{"seed": 4, **options})
    assert caught.value.hint


def test_a_row_without_a_time_is_refused_or_left_out():
    table = pa.table({"who": ["a", "b", None], "came": [DAY, None, DAY]})
    roles = tv.Roles(respondent="who", time="came")
    with pytest.raises(tv.InputError, match="null"):
        tv.shift_dates(table, roles)
    shifted = tv.shift_dates(table, roles, nulls="withhold")
    assert shifted.manifest["counts"] == {"rows": 1, "people": 1, "withheld": 2}
    assert shifted.key["who"].to_pylist() == ["a"]
