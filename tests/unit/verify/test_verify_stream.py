"""What `verify` says of a stream release, and that it says it without a value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracles import judges_stream as oracle

import timeveil as tv
from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.release import Deferred, Release
from timeveil.domain.stored import Stored
from timeveil.judging import verify

CANARY = "canary"


def record(person, step, ill):
    shown = {"zip": f"{CANARY}{person % 2}", "sex": "f", "ward": person}
    return {"person": f"{CANARY}{person}", "step": step, "ill": f"{CANARY}-{ill}", **shown}


@pytest.fixture
def case():
    """Two days of six records; of five with the same value on day 0 some move and some are withheld."""
    rows = [record(n, 0, "flu") for n in range(5)] + [record(5, 0, "tbc"), record(6, 0, "hiv")]
    rows += [record(10 + n, 1, ill) for n, ill in enumerate(["tbc", "hiv", "nor", "nor", "tbc", "hiv"])]
    return oracle.Case(rows, l=2, window=2)


@pytest.fixture
def pair(case):
    return oracle.build(case)


def edited(release: Release, **sections) -> Release:
    return replace(release, manifest={**release.manifest, **sections})


def tables(release: Release, **changed) -> Release:
    return replace(release, parts={**release.parts, **changed})


def found(release, ledger=None) -> dict[str, str]:
    verdict = verify(release, ledger)
    assert not verdict
    assert CANARY not in repr(verdict)
    return {v.code: v.message for v in verdict.violations}


def test_a_good_release_holds_in_both_scopes(pair):
    release, ledger = pair
    outside, inside = verify(release), verify(release, ledger)
    assert outside
    assert inside
    assert (outside.scope, inside.scope) == ("recipient", "with ledger")
    assert set(outside.checks) < set(inside.checks)
    assert "every bucket has at least 2 records" in outside.checks
    assert "no record was published 2 or more slots after its own" in inside.checks


def test_numbers_are_named(pair):
    """One value too frequent: the bucket, and how often is too often."""
    release, _ = pair
    entries = release.tables["sensitive"].to_pylist()
    entries[0]["count"] += 1
    del entries[1]
    table = pa.Table.from_pylist(entries, schema=release.tables["sensitive"].schema)
    assert found(tables(release, sensitive=table)) == {
        "value-too-frequent": "1 bucket in which a value is held by more than 1 in 2 records"
    }


@pytest.mark.parametrize("table", ["data", "sensitive"])
def test_extra_missing_turned_and_retyped_columns_are_refused(pair, table):
    release, _ = pair
    given = release.tables[table]
    extra = given.append_column("age", pa.array([1] * len(given)))
    assert found(tables(release, **{table: extra}))["columns"].endswith("does not list: age")
    assert "lacks columns" in found(tables(release, **{table: given.drop(["bucket"])}))["columns"]
    turned = given.select(given.column_names[::-1])
    assert "stated order" in found(tables(release, **{table: turned}))["columns"]
    place = given.schema.get_field_index("bucket")
    wide = given.set_column(place, "bucket", given["bucket"].cast(pa.int64()))
    assert found(tables(release, **{table: wide})) == {"columns": "column `bucket` is not of the stated type"}


def test_dictionary_columns_are_compared_by_value(pair):
    release, ledger = pair
    changed = {
        name: table.set_column(0, "slot", table["slot"].dictionary_encode())
        for name, table in release.tables.items()
    }
    assert verify(tables(release, **changed), ledger)


@pytest.mark.parametrize(
    ("section", "value", "code"),
    [
        ("model", "time", "manifest"),
        ("columns", None, "manifest"),
        ("columns", ["zip"], "manifest"),
        ("sensitive_columns", [], "manifest"),
        ("counts", {"rows": 12}, "manifest"),
        ("time", {"column": 3}, "manifest"),
        ("guarantee", {"name": "l-diversity", "l": 3}, "guarantee"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(pair, section, value, code):
    assert code in found(edited(pair[0], **{section: value}))


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("l", 3, "guarantee"),
        ("l", "2", "manifest"),
        ("window", 0, "manifest"),
        ("jitter", -1, "manifest"),
        ("window", 10**8, "manifest"),
        ("jitter", 10**8, "manifest"),
        ("buckets", "some", "manifest"),
        ("buckets", "none", "manifest"),
        ("first_window", CANARY, "manifest"),
        ("filler", CANARY, "manifest"),
        ("late", CANARY, "manifest"),
        ("nulls", CANARY, "manifest"),
        ("fill_empty", CANARY, "manifest"),
        ("slot", "week", "slot"),
        ("slot", None, "slot"),
        ("move_cost", CANARY, "manifest"),
        ("move_cost", [0, 1, {"a": CANARY}], "manifest"),
        ("move_cost", [0, 1, True], "manifest"),
        ("move_cost", [0, 1, float("nan")], "manifest"),
        ("move_cost", [], "manifest"),
        ("move_cost", [0, 1], "parameters"),
        ("move_cost", [0, 1, 2, 3], "parameters"),
        ("move_cost", [1, 2, 3], "parameters"),
        ("move_cost", [0, 1, 1], "parameters"),
        ("move_cost", [0, 0, 1], "parameters"),
        ("move_cost", [0, 2, 3], "parameters"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(pair, name, value, code):
    parameters = {**pair[0].manifest["parameters"], name: value}
    assert code in found(edited(pair[0], parameters=parameters))


@pytest.mark.parametrize("costs", ["quadratic", [0, 0.1, 0.2], [0, 1 / 3, 2 / 3], [0, 1, 3.5]])
def test_costs_that_meet_the_conditions_are_fine(pair, costs):
    assert verify(*stated(pair, move_cost=costs))


@pytest.mark.parametrize(
    "told",
    [
        {"zone": CANARY},
        {"unit": CANARY},
        {"unit": "day"},
        {"kind": "zoned"},
        {"kind": "zoned", "zone": CANARY},
        {"kind": "relative"},
        {"kind": "relative", "unit": CANARY},
    ],
)
def test_zone_and_unit_stand_only_where_the_time_has_them(pair, told):
    said = found(edited(pair[0], time={**pair[0].manifest["time"], **told}))
    assert "manifest" in said


def test_a_definition_has_no_room_for_notes(pair):
    time = pair[0].manifest["time"]
    definition = {**time["slot_definition"], "note": CANARY}
    assert "slot" in found(edited(pair[0], time={**time, "slot_definition": definition}))


@pytest.mark.parametrize(
    ("name", "value"), [("slot", "week"), ("slot_definition", {"name": "day"}), ("slot_definition", 7)]
)
def test_slots_need_a_calendar(pair, name, value):
    said = found(edited(pair[0], time={**pair[0].manifest["time"], name: value}))
    assert set(said) & {"slot", "manifest"}


def test_slots_of_another_calendar_are_refused(pair):
    release, _ = pair
    month = oracle.granularity("month").as_dict()
    said = found(
        edited(release, time={**release.manifest["time"], "slot": "month", "slot_definition": month})
    )
    assert said["slot"] == "2 slots of table `sensitive` not of the stated granularity"


def test_another_ledger_is_refused(pair):
    release, ledger = pair
    assert found(release, replace(ledger, model="time")) == {
        "ledger": "the ledger is not that of this release"
    }
    assert "ledger" in found(release, replace(ledger, entries=ledger.table.drop(["origin"])))
    assert "ledger-rows" in found(release, replace(ledger, entries=ledger.table.slice(1)))
    roles = replace(ledger.original.roles, keep=[], drop=["ward"])
    said = found(release, replace(ledger, original=replace(ledger.original, roles=roles)))
    assert said == {"columns": "the keep columns are not those of the original"}


def test_values_that_cannot_be_compared_with_the_originals_are_a_violation(pair):
    release, ledger = pair
    wards = pa.array([[ward] for ward in ledger.original.table["ward"].to_pylist()])
    table = ledger.original.table
    table = table.set_column(table.column_names.index("ward"), "ward", wards)
    other = replace(ledger, original=replace(ledger.original, data=table))
    assert "row-values" in found(release, other)


def test_the_respondent_must_not_be_published(pair):
    release, ledger = pair
    roles = replace(ledger.original.roles, respondent="zip", quasi=["person", "sex"])
    said = verify(release, replace(ledger, original=replace(ledger.original, roles=roles))).violations
    assert said[0].message == "the respondent is among the published columns"


@pytest.mark.parametrize("column", ["person", "ill", "step"])
def test_an_incomplete_row_must_be_withheld(case, pair, column):
    release, ledger = pair
    n = next(n for n, slot in enumerate(oracle.places(case)) if slot is not None)
    rows = [{**row, column: None} if m == n else row for m, row in enumerate(case.rows)]
    other = replace(ledger, original=oracle.relation(replace(case, rows=rows)))
    assert found(release, other)["incomplete-rows"] == (
        "1 record without slot, value or respondent not withheld"
    )


def stated(pair, **parameters):
    """Release and ledger of a run with other parameters."""
    release, ledger = pair
    changed = {**release.manifest["parameters"], **parameters}
    return edited(release, parameters=changed), replace(ledger, facts={**ledger.facts, "parameters": changed})


def test_a_whole_table_has_no_late_records(case, pair):
    """So the window bounds how late a record stands, whatever is said to be done with late ones."""
    n = next(n for n, slot in enumerate(oracle.places(case)) if slot == 1)
    rows = [{**row, "step": -9} if m == n else row for m, row in enumerate(case.rows)]
    origin = pa.array([oracle.label_of(case, row["step"]) for row in rows])

    def early(ledger):
        entries = ledger.table.set_column(1, "origin", origin)
        return replace(ledger, original=oracle.relation(replace(case, rows=rows)), entries=entries)

    for late in ("refuse", "move"):
        release, ledger = stated(pair, late=late)
        assert set(found(release, early(ledger))) == {"moved-too-far", "slot"}
    release, ledger = stated(pair, jitter=9)
    assert set(found(release, early(ledger))) == {"slot"}


def test_an_empty_release_holds():
    for buckets in ("anatomy", "none"):
        release, ledger = oracle.build(oracle.Case([], buckets=buckets))
        assert verify(release, ledger).violations == ()
        counts = {**release.manifest["counts"], "slots": 1}
        assert found(edited(release, counts=counts)) == {
            "slot": "the stated first or last slot is not of the stated granularity"
        }


def test_everything_withheld_holds(case):
    release, ledger = oracle.build(replace(case, l=9))
    assert release.table.num_rows == 0
    assert verify(release, ledger).violations == ()


def test_a_promise_of_another_model_is_refused(pair):
    release, _ = pair
    assert "manifest" in found(Release(KAnonymity(2), release.manifest, release.parts))


def test_tables_may_be_deferred_or_stored(pair, tmp_path):
    release, ledger = pair
    deferred = {name: Deferred(lambda t=table: t) for name, table in release.tables.items()}
    assert verify(replace(release, parts=deferred), ledger)
    stored = {}
    for name, table in {**release.tables, "entries": ledger.table, "original": ledger.original.table}.items():
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=3)
        stored[name] = Stored(tmp_path / f"{name}.parquet")
    private = replace(
        ledger, entries=stored["entries"], original=replace(ledger.original, data=stored["original"])
    )
    public = {name: stored[name] for name in release.parts}
    assert verify(replace(release, parts=public), private)


NANS = np.array([0x7FF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)


def of_numbers(case, pair, values, buckets):
    """The release with two numbers in the place of its text values, as far as a bucket has each once."""
    rows = [{**row, "ill": f"{n % 2}"} for n, row in enumerate(case.rows)]
    release, _ = oracle.build(replace(case, rows=rows, buckets=buckets))
    table, key = ("sensitive", "sensitive_columns") if buckets == "anatomy" else ("data", "columns")
    given = release.tables[table]
    place = given.schema.get_field_index("ill")
    chosen = values.take(pa.array([int(v) for v in given["ill"].to_pylist()]))
    columns = [{**c, "type": str(values.type)} if c["name"] == "ill" else c for c in release.manifest[key]]
    return edited(tables(release, **{table: given.set_column(place, "ill", chosen)}), **{key: columns})


@pytest.mark.parametrize("buckets", ["anatomy", "none"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()])
def test_two_zeros_are_one_value(case, pair, buckets, kind):
    zeros = pa.array(np.array([0.0, -0.0], kind.to_pandas_dtype()))
    assert verify(of_numbers(case, pair, pa.array(np.array([0.0, 1.0], kind.to_pandas_dtype())), buckets))
    assert "value-too-frequent" in found(of_numbers(case, pair, zeros, buckets))


@pytest.mark.parametrize("buckets", ["anatomy", "none"])
@pytest.mark.parametrize(
    "values",
    [
        pa.array(NANS),
        pa.array([None, 1.0]),
        pa.array([None, NANS[0]], from_pandas=False),
        pa.array([NANS[1], 1.0]),
    ],
)
def test_a_missing_value_is_no_value(case, pair, buckets, values):
    said = found(of_numbers(case, pair, values, buckets))
    assert said["value-missing"].endswith("without a sensitive value")
    if values.null_count + int(np.isnan(values.fill_null(0).to_numpy()).sum()) == 2:
        assert "value-too-frequent" in said


def test_a_missing_text_is_no_value_either(pair):
    release, _ = pair
    table = release.tables["sensitive"]
    ill = [None if value == f"{CANARY}-hiv" else value for value in table["ill"].to_pylist()]
    place = table.schema.get_field_index("ill")
    forged = tables(release, sensitive=table.set_column(place, "ill", pa.array(ill)))
    assert "value-missing" in found(forged)


def test_labels_need_not_sort_like_time():
    """Day 9 comes before day 10."""
    rows = [record(n, 14 + n // 4, "abcd"[n % 4]) for n in range(60)]
    release, ledger = oracle.build(oracle.Case(rows, axis=oracle.DAYS))
    assert verify(release, ledger).violations == ()


@pytest.mark.parametrize(("copy", "said"), [("ill", "sensitive column"), ("at", "time column")])
def test_a_column_that_goes_by_a_private_name_is_refused(pair, copy, said):
    release, _ = pair
    columns = [dict(c) for c in release.manifest["columns"]]
    at = next(n for n, column in enumerate(columns) if column["name"] == "zip")
    columns[at]["name"] = copy
    names = [copy if name == "zip" else name for name in release.table.column_names]
    forged = edited(tables(release, data=release.table.rename_columns(names)), columns=columns)
    assert said in found(forged)["columns"]


@pytest.mark.parametrize("kind", [pa.uint64(), pa.int64()])
def test_a_count_beyond_all_rows_is_refused(pair, kind):
    """However large, sums must not run over."""
    release, _ = pair
    table = release.tables["sensitive"]
    huge = pa.array([2**63 + 5 if kind == pa.uint64() else 2**62] * len(table), kind)
    place = table.schema.get_field_index("count")
    columns = [
        {**c, "type": str(kind)} if c["name"] == "count" else c for c in release.manifest["sensitive_columns"]
    ]
    forged = tables(release, sensitive=table.set_column(place, "count", huge))
    assert set(found(edited(forged, sensitive_columns=columns))) & {"columns", "value-counts"}


def test_a_bucket_number_beyond_all_is_refused(pair):
    release, _ = pair
    changed, told = {}, {}
    for name, key in {"data": "columns", "sensitive": "sensitive_columns"}.items():
        table = release.tables[name]
        place = table.schema.get_field_index("bucket")
        numbers = pa.array([2**63 + 7] * len(table), pa.uint64())
        changed[name] = table.set_column(place, "bucket", numbers)
        told[key] = [{**c, "type": "uint64"} if c["name"] == "bucket" else c for c in release.manifest[key]]
    assert "columns" in found(edited(tables(release, **changed), **told))


def test_a_description_of_the_slots_is_not_for_messages(pair):
    release, ledger = pair
    time = release.manifest["time"]
    wordy = {**time, "slot_definition": {**time["slot_definition"], "title": "seed 7"}}
    assert set(found(edited(release, time=wordy))) == {"slot"}
    own = {**time, "slot": "ward-day", "slot_definition": {**wordy["slot_definition"], "name": "ward-day"}}
    told = edited(release, time=own, parameters={**release.manifest["parameters"], "slot": "ward-day"})
    assert verify(told)
    assert "parameters" in found(told, ledger)


def test_the_time_and_its_span_are_those_of_the_run(pair):
    release, ledger = pair
    time, counts = release.manifest["time"], release.manifest["counts"]
    zoned = edited(release, time={**time, "kind": "zoned", "zone": "Europe/Berlin"})
    assert found(zoned, ledger)["parameters"] == "the stated time and slots are not those of the run"
    wider = edited(release, counts={**counts, "first_slot": "2020-02-28", "slots": counts["slots"] + 1})
    assert "slot" in found(wider, ledger)


def test_without_buckets_none_are_counted(case):
    release, _ = oracle.build(replace(case, buckets="none"))
    assert verify(release)
    assert "manifest" in found(edited(release, counts={**release.manifest["counts"], "buckets": 5}))


def test_a_ledger_of_another_kind_of_time_is_refused(case, pair):
    numbered = oracle.build(replace(case, axis=oracle.NUMBERS))[1]
    for judge in (tv.attack, tv.measure):
        with pytest.raises(tv.InputError) as refused:
            judge(pair[0], numbered)
        assert refused.value.code == "ledger-mismatch"
    assert "ledger" in found(pair[0], replace(numbered, facts=pair[1].facts))


def test_costs_that_rise_evenly_may_be_rounded():
    """0.3 less 0.2 is a little less than 0.1, in binary."""
    records = {
        "who": [str(n) for n in range(12)],
        "at": [n // 3 for n in range(12)],
        "ill": list("abcdefghabcd"),
    }
    roles = tv.Roles(respondent="who", time="at", sensitive=["ill"])
    costs = [0, 0.1, 0.2, 0.3]
    pair = tv.publish_stream(pa.table(records), roles, l=2, window=3, seed=1, move_cost=costs)
    assert verify(*pair).violations == ()
