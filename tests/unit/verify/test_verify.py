"""What `verify` says, and that it says it without a value."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracles import judges as oracle

from timeveil.model.release import Deferred, Release
from timeveil.model.stored import Stored
from timeveil.verify import verify

CANARY = "canary"


@pytest.fixture
def case():
    """Six people on two days by week, in two places; one person alone is withheld."""
    days = [dt.datetime(2024, 4, 2, 9), dt.datetime(2024, 4, 12, 15)]
    rows = [
        {
            "person": f"{CANARY}{p}",
            "at": at,
            "zip": f"{CANARY}{z}",
            "sex": "f",
            "ward": p,
            "result": f"{CANARY}!",
        }
        for p in range(3)
        for at in days
        for z in range(2)
    ]
    alone = {
        "person": f"{CANARY}9",
        "at": days[0],
        "zip": f"{CANARY}9",
        "sex": "m",
        "ward": 1,
        "result": CANARY,
    }
    return oracle.Case([*rows, alone], 3)


@pytest.fixture
def pair(case):
    return oracle.build(case)


def edited(release: Release, **sections) -> Release:
    return replace(release, manifest={**release.manifest, **sections})


def published(release: Release, table: pa.Table) -> Release:
    return replace(release, parts={"data": table})


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
    assert any("people cannot be counted from the outside" in check for check in outside.checks)
    assert set(outside.checks) < set(inside.checks)


def test_too_few_people_are_named_by_their_number(pair):
    """The recipient cannot see it; whoever has the ledger can."""
    release, ledger = pair
    people = pa.array(p.replace("2", "1") for p in ledger.original.table["person"].to_pylist())
    merged = replace(
        ledger, original=replace(ledger.original, data=ledger.original.table.set_column(0, "person", people))
    )
    assert verify(release)
    assert found(release, merged) == {
        "people-below-k": "4 groups hold fewer than 3 people; the smallest holds 2",
        "smallest-group": "the smallest group holds 2 people where the manifest states 3",
    }


def test_one_group_too_small_is_said_in_the_singular(case, pair):
    release, ledger = pair
    first = next(n for n, row in enumerate(case.rows) if row["person"] == f"{CANARY}0")
    people = [f"{CANARY}1" if n == first else row["person"] for n, row in enumerate(case.rows)]
    table = ledger.original.table.set_column(0, "person", pa.array(people))
    said = found(release, replace(ledger, original=replace(ledger.original, data=table)))
    assert said["people-below-k"] == "1 group holds fewer than 3 people; the smallest holds 2"


def test_an_extra_column_is_named(pair):
    release, _ = pair
    extra = release.table.append_column("age", pa.array([1] * release.table.num_rows))
    assert found(published(release, extra)) == {
        "columns": "the table has columns the manifest does not state: age"
    }


def test_a_missing_column_is_named(pair):
    release, _ = pair
    assert (
        "lacks columns the manifest states: sex"
        in found(published(release, release.table.drop(["sex"])))["columns"]
    )


def test_columns_out_of_order_or_of_another_type_are_refused(pair):
    release, _ = pair
    turned = release.table.select(release.table.column_names[::-1])
    assert found(published(release, turned))["columns"] == "the columns do not stand in the stated order"
    ward = release.table.set_column(2, "ward", release.table["ward"].cast(pa.int32()))
    assert found(published(release, ward))["columns"] == "column `ward` is not of the stated type"


def test_dictionary_and_large_strings_are_strings(pair):
    release, ledger = pair
    table = release.table.set_column(0, "zip", release.table["zip"].dictionary_encode())
    table = table.set_column(4, "at", table["at"].cast(pa.large_string()))
    assert verify(published(release, table), ledger)


def test_the_respondent_must_not_be_published(pair):
    """Not even as a column that the manifest calls kept."""
    release, ledger = pair
    roles = replace(ledger.original.roles, respondent="ward", keep=["person"])
    swapped = replace(ledger, original=replace(ledger.original, roles=roles))
    said = verify(release, swapped).violations
    assert [v.code for v in said] == ["columns", "columns"]
    assert said[0].message == "the respondent is among the published columns"


def test_a_second_table_is_refused(pair):
    release, _ = pair
    two = replace(release, parts={**release.parts, "more": release.table})
    assert found(two) == {"tables": "the release has 2 tables, not `data` alone"}
    assert "tables" in found(replace(release, parts={}))


@pytest.mark.parametrize(
    ("section", "value", "code"),
    [
        ("model", "stream", "manifest"),
        ("columns", None, "manifest"),
        ("columns", ["zip"], "manifest"),
        ("candidates", {"week": 1}, "manifest"),
        ("counts", {"rows": 12}, "manifest"),
        ("time", {"column": 3}, "manifest"),
        ("guarantee", {"name": "k-anonymity", "k": 2}, "guarantee"),
        ("parameters", {"k": 2}, "guarantee"),
        ("granularity", "month", "candidates"),
        ("candidates", {}, "candidates"),
        ("candidates", {"week": {"feasible": False}}, "candidates"),
        ("frontier", ["month"], "candidates"),
        ("levels", {"ward": {"level": 1}}, "columns"),
        ("granularity_definition", {"name": "week"}, "granule"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(pair, section, value, code):
    assert code in found(edited(pair[0], **{section: value}))


def test_an_alias_of_a_candidate_may_be_chosen(pair):
    release, _ = pair
    assert verify(edited(release, candidates={"day": {"aliases": ["week"]}}, frontier=["day"]))


def test_another_calendar_than_stated_is_refused(pair):
    """The labels are weeks; the definition says months."""
    release, _ = pair
    month = oracle.granularity("month").as_dict()
    said = found(
        edited(
            release, granularity="month", granularity_definition=month, candidates={"month": {}}, frontier=[]
        )
    )
    assert said == {"granule": "2 labels of 2 not a granule of the stated granularity with its start and end"}


@pytest.mark.parametrize("name", ["rows", "groups", "smallest_group", "withheld", "rows_read"])
def test_counts_are_numbers(pair, name):
    release, _ = pair
    counts = {**release.manifest["counts"], name: True}
    assert found(edited(release, counts=counts)) == {
        "manifest": f"`counts.{name}` of the manifest is not a number of 0 or more"
    }


def test_an_impossible_smallest_group_is_refused_from_outside(pair):
    release, _ = pair
    for stated, words in ((2, "states a group of 2 where k is 3"), (4, "but one has 3 rows")):
        counts = {**release.manifest["counts"], "smallest_group": stated}
        assert words in found(edited(release, counts=counts))["smallest-group"]


def test_a_ledger_of_something_else_is_refused(pair):
    release, ledger = pair
    assert "ledger" in found(release, replace(ledger, model="stream"))
    assert "ledger" in found(release, replace(ledger, entries=ledger.table.drop(["group"])))
    assert "ledger-rows" in found(release, replace(ledger, entries=ledger.table.slice(1)))
    numbers = ledger.original.table.set_column(3, "sex", pa.array(range(ledger.original.rows)))
    other = replace(ledger, original=replace(ledger.original, data=numbers))
    assert set(found(release, other)) & {"ledger", "class-rows"}


def test_a_mapping_that_lacks_a_value_is_refused(case):
    release, ledger = oracle.build(replace(case, general_zip=True))
    assert verify(release, ledger)
    short = replace(ledger, mappings={"zip": ledger.mappings["zip"].slice(1)})
    assert found(release, short) == {"ledger": "the ledger's mapping of column `zip` lacks 1 of its values"}


def test_a_row_without_a_person_must_be_withheld(case):
    release, ledger = oracle.build(case)
    rows = [{**row, "person": None} if n == 0 else row for n, row in enumerate(case.rows)]
    table = oracle.relation(replace(case, rows=rows)).table
    said = found(release, replace(ledger, original=replace(ledger.original, data=table)))
    assert said["incomplete-rows"] == "1 row without person or time not withheld"


def test_a_kept_row_outside_of_every_granule_is_refused(case):
    release, ledger = oracle.build(case)
    rows = [{**row, "at": dt.datetime(1999, 1, 1)} if n == 0 else row for n, row in enumerate(case.rows)]
    table = oracle.relation(replace(case, rows=rows)).table
    said = found(release, replace(ledger, original=replace(ledger.original, data=table)))
    assert said["no-class"] == "1 row not withheld, but in no published granule"


def test_an_empty_release_holds():
    release, ledger = oracle.build(oracle.Case([], 5))
    assert verify(release)
    assert verify(release, ledger)


def test_everything_withheld_holds(case):
    release, ledger = oracle.build(replace(case, k=9))
    assert release.table.num_rows == 0
    assert verify(release, ledger)


class OneBatchAtATime:
    """A table that can only be read in pieces."""

    def __init__(self, table: pa.Table) -> None:
        self.schema = table.schema
        self._table = table

    def to_batches(self):
        return iter(self._table.to_batches(max_chunksize=2))

    def read(self):
        raise AssertionError("the whole table was read")


def test_a_recipient_reads_a_batch_at_a_time(pair):
    release, _ = pair
    assert verify(replace(release, parts={"data": OneBatchAtATime(release.table)}))


def test_tables_may_be_deferred_or_stored(pair, tmp_path):
    release, ledger = pair
    assert verify(replace(release, parts={"data": Deferred(lambda: release.table)}), ledger)
    pq.write_table(release.table, tmp_path / "data.parquet", row_group_size=3)
    pq.write_table(ledger.table, tmp_path / "ledger.parquet")
    pq.write_table(ledger.original.table, tmp_path / "original.parquet")
    stored = replace(
        ledger,
        entries=Stored(tmp_path / "ledger.parquet"),
        original=replace(ledger.original, data=Stored(tmp_path / "original.parquet")),
    )
    assert verify(replace(release, parts={"data": Stored(tmp_path / "data.parquet")}), stored)
