"""Several times in a row: the first is published as a granule, the others as durations since it."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some

import timeveil as tv

START = dt.datetime(2024, 3, 30, 22)
STAY = "admitted_to_discharged"
ROLES = tv.Roles(respondent="who", time=["admitted", "discharged"], keep=["ward"])


def stays(kind, rows):
    """A table of (person, hours until admission, hours of the stay), and its durations counted one by one."""
    table, durations = [], []
    for number, (who, wait, length) in enumerate(rows):
        admitted = START + dt.timedelta(hours=wait, minutes=17)
        discharged = None if length is None else admitted + dt.timedelta(hours=length, minutes=50)
        hours = None if length is None else length
        if kind == "zoned":
            admitted = admitted.replace(tzinfo=dt.UTC)
            discharged = discharged and discharged.replace(tzinfo=dt.UTC)
        if kind in ("dates", "text", "until a date"):
            days = discharged and (discharged.date() - admitted.date()).days
            admitted = admitted if kind == "until a date" else admitted.date()
            discharged, hours = discharged and discharged.date(), days
        if kind == "text":
            admitted, discharged = (day and day.strftime("%d.%m.%Y") for day in (admitted, discharged))
        if kind == "numbers":
            admitted, discharged = wait, None if length is None else wait + length
        table.append({"who": who, "admitted": admitted, "discharged": discharged, "ward": number})
        durations.append(hours)
    return pa.Table.from_pylist(table), durations


KINDS = {
    "dates": "day",
    "text": "day",
    "until a date": "day",
    "clocks": "hour",
    "zoned": "hour",
    "numbers": "hour",
}
EVERYONE = [(who, 3 * who, 20 * (who % 3) - 4) for who in range(12)]


def published(table, kind, **options):
    how = {"zone": "Europe/Rome"} if kind == "zoned" else {"unit": "hour"} if kind == "numbers" else {}
    return tv.generalize_time(table, ROLES, 2, **how, **{"allow_loss": True, "suppress": 0.9, **options})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_second_time_is_published_as_a_duration_alone(kind, engine, tmp_path):
    table, durations = stays(kind, [*EVERYONE, (3, 5, 44)])
    release, ledger = published(
        table, kind, engine=engine, granularities=["all"], hierarchies={STAY: "suppression"}, levels={STAY: 0}
    )
    assert release.manifest["durations"] == {STAY: KINDS[kind]}
    assert release.table.column_names == [STAY, "ward", "admitted", "admitted_start", "admitted_end"]
    shown = {row["ward"]: row[STAY] for row in release.table.to_pylist()}
    assert shown
    assert all(durations[ward] == length for ward, length in shown.items())
    assert ledger.original.table[STAY].to_pylist() == durations
    folder = tv.write(release, tmp_path / "out")
    assert tv.verify(tv.open_release(folder), tv.open_ledger(tv.write(ledger, tmp_path / "ledger")))


@given(
    kind=st.sampled_from(sorted(KINDS)),
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 200), st.integers(-50, 3_000)), max_size=25),
    recode=st.sampled_from(["global", "local"]),
)
@settings(max_examples=some(25), deadline=None)
def test_every_duration_is_in_its_label_and_shared_by_k(kind, rows, recode):
    """By default the intervals grow with the duration; counted anew from the raw times."""
    table, durations = stays(kind, rows or EVERYONE)
    try:
        release, ledger = published(table, kind, recode=recode)
    except tv.InfeasibleError:
        return
    assert tv.verify(release, ledger)
    people, groups = table["who"].to_pylist(), {}
    for row in release.table.to_pylist():
        label, length = row[STAY], durations[row["ward"]]
        if isinstance(label, str) and label.startswith("["):
            low, high = map(int, label[1:-1].split(", "))
            assert low <= length < high
        else:
            assert label == "*" or int(label) == length
        key = label, row["admitted_start"], row["admitted_end"], row.get("admitted_step")
        groups.setdefault(key, set()).add(people[row["ward"]])
    assert all(len(group) >= 2 for group in groups.values())


@pytest.mark.parametrize("stored", [False, True])
def test_a_row_without_one_of_its_times_is_refused_or_withheld(stored, tmp_path):
    table, _ = stays("text", [*EVERYONE, (1, 2, None)])
    source = table
    if stored:
        source = tmp_path / "stays.csv"
        pyarrow.csv.write_csv(table, source)
    how = {"engine": "duckdb"} if stored else {}
    with pytest.raises(tv.InputError, match="`discharged` has 1 null, the first in data row 13"):
        published(source, "text", **how)
    release, ledger = published(source, "text", nulls="withhold", granularities=["all"], **how)
    assert release.manifest["counts"]["withheld"] >= 1
    assert 12 not in release.table["ward"].to_pylist()
    assert tv.verify(release, ledger)


def test_a_list_of_times_is_a_time_and_what_it_lasts_until():
    assert tv.Roles(respondent="who", time="admitted", until=["discharged"], keep=["ward"]) == ROLES
    assert ROLES.quasi_columns == (STAY,)
    with pytest.raises(tv.RolesError, match="more than one role"):
        tv.Roles(respondent="who", time=["admitted", "admitted"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"discharged": ["soon"] * 12}, "not a time"),
        ({"discharged": list(range(12))}, "no unit is set"),
        ({STAY: [1] * 12}, f"needs the name `{STAY}`"),
    ],
)
def test_what_is_no_second_time_is_refused(columns, message):
    table, _ = stays("dates", EVERYONE)
    for name, values in columns.items():
        table = table.drop_columns(name) if name in table.column_names else table
        table = table.append_column(name, pa.array(values))
    with pytest.raises(tv.TimeveilError, match=message):
        tv.generalize_time(table, replace(ROLES, keep=["ward", *({STAY} & {*columns})]), 2)


def test_other_models_take_one_time():
    table, _ = stays("dates", EVERYONE)
    roles = tv.Roles(respondent="who", time=["admitted", "discharged"], sensitive=["ward"])
    with pytest.raises(tv.RolesError, match="derived from the time"):
        tv.publish_stream(table, roles, l=2, window=2)


def forged(ledger, name, row, value):
    data = ledger.original.table
    values = data[name].to_pylist()
    values[row] = value
    at = data.schema.get_field_index(name)
    other = data.set_column(at, data.schema.field(at), pa.array(values, data.schema.field(at).type))
    return replace(ledger, original=replace(ledger.original, data=other))


def test_durations_are_counted_again_from_the_times():
    table, durations = stays("dates", EVERYONE)
    release, ledger = published(table, "dates", granularities=["all"], suppress=0.0)
    assert tv.verify(release, ledger)
    assert not durations[0]
    later = forged(ledger, "discharged", 0, dt.date(2024, 5, 1))
    verdict = tv.verify(release, later)
    assert "1 row with another duration" in str(verdict.violations[0].message)
    assert {violation.code for violation in verdict.violations} == {"durations"}
    wrong = forged(ledger, STAY, 0, 5)
    assert "durations" in {violation.code for violation in tv.verify(release, wrong).violations}
    for stated in ({STAY: "hour"}, {}):
        other = replace(release, manifest={**release.manifest, "durations": stated})
        assert "durations" in {violation.code for violation in tv.verify(other, ledger).violations}
    other = replace(release, manifest={**release.manifest, "durations": {"ward": "day"}})
    verdict = tv.verify(other)
    assert [v.message for v in verdict.violations] == [
        "a stated duration is not a quasi-identifier of the release"
    ]
