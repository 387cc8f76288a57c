"""What `verify` says, and that it says it without a value."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.oracles import judges as oracle

from timeveil.datasets import clinic_visits
from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.release import Deferred, Release, canonical
from timeveil.domain.roles import Roles
from timeveil.domain.stored import Stored
from timeveil.evidence.checks import Findings
from timeveil.evidence.published import check_row_order
from timeveil.judging import attack, measure, verify
from timeveil.models.events.method import generalize_time

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
    assert any("a recipient cannot count people" in check for check in outside.checks)
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
        "people-below-k": "4 groups with fewer than 3 people; the smallest has 2 people",
        "smallest-group": "the smallest group has 2 people; the manifest states 3",
    }


def test_columns_out_of_order_or_of_another_type_are_refused(pair):
    release, _ = pair
    turned = release.table.select(release.table.column_names[::-1])
    assert found(published(release, turned))["columns"] == "the columns are not in the stated order"
    ward = release.table.set_column(2, "ward", release.table["ward"].cast(pa.int32()))
    assert found(published(release, ward))["columns"] == "column `ward` is not of the stated type"


@pytest.mark.parametrize("name", ["zip", "result", "at", "at_start", "at_end"])
def test_a_table_without_a_stated_column_is_refused(pair, name):
    release, _ = pair
    assert found(published(release, release.table.drop([name]))) == {
        "columns": f"the table lacks columns that the manifest lists: {name}"
    }


def test_values_that_cannot_be_compared_with_the_originals_are_a_violation(pair):
    release, ledger = pair
    table = ledger.original.table
    wards = pa.array([[ward] for ward in table["ward"].to_pylist()])
    data = table.set_column(table.column_names.index("ward"), "ward", wards)
    said = found(release, replace(ledger, original=replace(ledger.original, data=data)))
    assert said == {"row-values": "column `ward` cannot be compared with the original's"}


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
        ("candidates", ["week"], "manifest"),
        ("candidates", {1: {}}, "manifest"),
        ("counts", {"rows": 12}, "manifest"),
        ("time", {"column": 3}, "manifest"),
        ("guarantee", {"name": "k-anonymity", "k": 2}, "guarantee"),
        ("parameters", {"k": 3}, "manifest"),
        ("granularity", "month", "candidates"),
        ("candidates", {}, "candidates"),
        ("candidates", {"week": {"feasible": False}}, "manifest"),
        ("frontier", ["month"], "candidates"),
        ("levels", {"ward": {"level": 1, "name": "wards"}}, "columns"),
        ("granularity_definition", {"name": "week"}, "granule"),
        ("granularity_definition", {"name": "week", "title": "", "kind": []}, "granule"),
        ("granularity_definition", {"name": "month"}, "candidates"),
        ("time", {"column": "at", "kind": "xx", "zone": None, "unit": None}, "manifest"),
        ("time", {"column": "at", "kind": "relative", "zone": None, "unit": "day"}, "columns"),
        ("time", {"column": "at", "kind": "relative", "zone": None, "unit": "moon"}, "columns"),
        ("time", {"column": "at", "kind": "zoned", "zone": "Europe/Rome", "unit": None}, "columns"),
        ("time", {"column": "at", "kind": "civil", "zone": CANARY, "unit": None}, "columns"),
        ("frontier", [{}], "manifest"),
        ("people", [CANARY], "manifest"),
        ("tool", CANARY, "manifest"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(pair, section, value, code):
    assert code in found(edited(pair[0], **{section: value}))


@pytest.mark.parametrize("role", ["note", "respondent", [], None, "start"])
def test_a_column_of_an_unknown_role_is_refused(pair, role):
    """With the ledger and without: what no role accounts for may be a second name of a person."""
    release, ledger = pair
    ids = pa.array([f"{CANARY}{n}" for n in range(release.table.num_rows)])
    columns = [{"name": "foo", "role": role, "type": "string"}, *release.manifest["columns"]]
    spoilt = published(edited(release, columns=columns), release.table.add_column(0, "foo", ids))
    assert found(spoilt)
    assert found(spoilt, ledger)


def test_with_the_ledger_every_published_column_is_accounted_for(pair):
    """A column that calls itself kept is not of the original's roles."""
    release, ledger = pair
    numbers = pa.array(range(release.table.num_rows))
    columns = list(release.manifest["columns"])
    columns.insert(3, {"name": "foo", "role": "keep", "type": "int64"})
    spoilt = published(edited(release, columns=columns), release.table.add_column(3, "foo", numbers))
    assert found(spoilt, ledger)["columns"] == "the keep columns are not those of the original"


def section(release: Release, name: str, key: str, **changes) -> Release:
    """The release with something in one entry of a section changed."""
    entries = release.manifest[name]
    return edited(release, **{name: {**entries, key: {**entries[key], **changes}}})


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("columns", lambda m: [{**m["columns"][0], "ids": [CANARY]}, *m["columns"][1:]]),
        ("counts", lambda m: {**m["counts"], CANARY: 1}),
        ("parameters", lambda m: {**m["parameters"], "ids": [CANARY]}),
        ("time", lambda m: {**m["time"], "note": CANARY}),
        ("levels", lambda m: {"zip": {"level": 1, "name": "x", "values": [CANARY]}}),
        ("candidates", lambda m: {"week": {**m["candidates"]["week"], "aliases": 5}}),
        ("candidates", lambda m: {"week": {**m["candidates"]["week"], "aliases": [[]]}}),
        ("candidates", lambda m: {"week": {**m["candidates"]["week"], "people": CANARY}}),
        ("guarantee", lambda m: {**m["guarantee"], "of": CANARY}),
        ("nodes", lambda m: [{"granularity": "week"}]),
    ],
)
def test_a_key_too_many_is_refused_and_not_repeated(pair, name, spoil):
    release, _ = pair
    assert set(found(edited(release, **{name: spoil(release.manifest)}))) == {"manifest"}


def test_the_share_that_may_be_withheld_fits_the_candidates(pair):
    """With a larger share the day would be feasible, too, and the manifest says that it is not."""
    release, _ = pair
    week = release.manifest["candidates"]["week"]
    day = {
        **week,
        "rows_below_k": 9,
        "smallest_group": 1,
        "groups_below_k": 5,
        "groups": 6,
        "feasible": False,
    }
    parameters = {**release.manifest["parameters"], "suppress": 0.1}
    honest = edited(release, candidates={"day": day, "week": week}, parameters=parameters)
    assert verify(honest)
    assert set(found(edited(honest, parameters={**parameters, "suppress": 0.9}))) == {"candidates"}


def test_a_frontier_is_there_and_feasible(pair):
    release, _ = pair
    assert set(found(edited(release, frontier=[]))) == {"candidates"}
    assert set(found(edited(release, nodes=[]))) == {"candidates"}
    tally = {k: v for k, v in release.manifest["candidates"]["week"].items() if type(v) is int}
    node = {"levels": {}, "granularity": "week", **tally}
    assert verify(edited(release, nodes=[node]))
    assert set(found(edited(release, nodes=[{**node, "granularity": "day"}]))) == {"candidates"}
    candidates = dict.fromkeys(("week", "month"), release.manifest["candidates"]["week"])
    assert verify(edited(release, candidates=candidates, nodes=[node]))
    more = edited(release, candidates=candidates, nodes=[node], frontier=["week", "month"])
    assert set(found(more)) == {"candidates"}


def test_another_calendar_than_stated_is_refused(pair):
    """The labels are weeks; the definition says months."""
    release, _ = pair
    month = oracle.granularity("month").as_dict()
    numbers = release.manifest["candidates"]["week"]
    said = found(
        edited(
            release,
            granularity="month",
            granularity_definition=month,
            candidates={"month": numbers},
            frontier=["month"],
        )
    )
    assert said == {"granule": "2 labels of 2 not a granule of the stated granularity with its start and end"}


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


def test_a_value_of_withheld_rows_alone_needs_no_mapping(case):
    """Rows without a person are never counted, so the method did not see their values."""
    lost = {**case.rows[0], "person": None, "zip": f"{CANARY}-of-nobody"}
    release, ledger = oracle.build(replace(case, rows=[*case.rows, lost], general_zip=True))
    mapping = ledger.mappings["zip"]
    seen = mapping.filter(pc.not_equal(mapping["value"], lost["zip"]))
    assert len(seen) < len(mapping)
    short = replace(ledger, mappings={"zip": seen})
    assert verify(release, short)
    assert measure(release, short).rows == release.table.num_rows
    assert attack(release, short).worst <= 1 / 3


def test_a_kept_row_outside_of_every_granule_is_refused(case):
    release, ledger = oracle.build(case)
    rows = [{**row, "at": dt.datetime(1999, 1, 1)} if n == 0 else row for n, row in enumerate(case.rows)]
    table = oracle.relation(replace(case, rows=rows)).table
    said = found(release, replace(ledger, original=replace(ledger.original, data=table)))
    assert said["no-class"] == "1 row not withheld, but in no published granule"


def test_a_missing_quasi_identifier_is_a_value_of_its_own():
    zips = ["a"] * 3 + [None] * 3 + ["b"] * 3
    table = pa.table({"who": range(9), "at": ["2024-01-01"] * 9, "zip": zips})
    release, ledger = generalize_time(table, Roles(respondent="who", time="at", quasi=["zip"]), 3)
    assert release.manifest["counts"]["groups"] == 3
    assert verify(release)
    assert verify(release, ledger)


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


@pytest.mark.parametrize("at_once", [0, 1, 3, 1_000_000])
def test_a_recipient_reads_a_batch_at_a_time(pair, monkeypatch, at_once):
    """However many combinations are counted before they are added up."""
    monkeypatch.setattr("timeveil.evidence.published._PARTIAL_ROWS", at_once)
    release, _ = pair
    pieces = replace(release, parts={"data": OneBatchAtATime(release.table)})
    assert verify(pieces)
    assert found(edited(pieces, counts={**release.manifest["counts"], "groups": 3}))["counts"] == (
        "the table has 4 groups; the manifest states 3"
    )


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


def test_order_is_checked_across_batches(pair):
    """The last row of a batch stands before the first of the next."""
    release, _ = pair
    table = release.table
    halves = pa.concat_tables([table.slice(6), table.slice(0, 6)])
    spoilt = replace(release, parts={"data": OneBatchAtATime(halves)})
    assert found(spoilt) == {"row-order": "1 row not in the order that follows from the values"}


KINDS = {
    "text": pa.array(["a", "é", "\U0001f600", None]),
    "float": pa.array([-3.0, 0.5, float("inf"), None]),
    "half": pa.array([-3.0, 0.5, 1.0, None], pa.float16()),
    "decimal": pa.array([Decimal("-2.00"), Decimal("1.50"), Decimal("10.00"), None], pa.decimal128(20, 2)),
    "unsigned": pa.array([0, 1, 2**64 - 1, None], pa.uint64()),
    "flag": pa.array([False, False, True, None]),
    "clock": pa.array([dt.time(1), dt.time(2), dt.time(13), None], pa.time32("ms")),
    "instant": pa.array([-5, 0, 7, None], pa.timestamp("ms", tz="Europe/Rome")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_every_type_have_an_order(kind):
    """What the method's own sort makes is accepted, and its reverse is not."""
    table = pa.table({"v": KINDS[kind], "n": [1, 2, 3, 4]})
    assert kind == "half" or canonical(table, by=["v"]).equals(table)
    for rows, wrong in ((table, 0), (table.take([3, 2, 1, 0]), 3)):
        findings = Findings("recipient")
        check_row_order(Release(KAnonymity(2), {}, {"data": rows}), ["v"], findings)
        assert len(findings.violations) == bool(wrong)
        assert all(v.message.startswith(f"{wrong} rows not in") for v in findings.violations)


@pytest.mark.parametrize("day", [dt.date(1, 1, 3), dt.date(9999, 12, 31)])
def test_a_week_that_begins_or_ends_beyond_the_calendar_is_one(day):
    table = pa.table({"who": ["a", "b"], "at": [day, day]})
    release, ledger = generalize_time(table, Roles(respondent="who", time="at"), 2, choose="week-sunday")
    line = release.table.to_pylist()[0]
    assert [line["at_start"], line["at_end"]].count(None) == 1
    assert verify(release, ledger).violations == ()


def test_a_row_in_a_gap_belongs_nowhere_if_the_manifest_counts_none():
    """Rows of a weekend would go to Monday, but this release says that there were none."""
    friday, saturday, monday = (dt.date(2024, 3, day) for day in (1, 2, 4))
    table = pa.table({"who": list("abcabc"), "at": [friday] * 3 + [monday] * 3})
    release, ledger = generalize_time(
        table, Roles(respondent="who", time="at"), 3, choose="business-day", gaps="next"
    )
    assert verify(release, ledger).violations == ()
    at = pa.array([friday] * 3 + [monday] * 2 + [saturday])
    original = replace(ledger.original, data=ledger.original.table.set_column(1, "at", at))
    said = found(release, replace(ledger, original=original))
    assert said["no-class"] == "1 row not withheld, but in no published granule"


def test_a_granularity_without_a_single_group_does_not_work():
    """Everybody came at the weekend: by business day, nothing would be published."""
    table = pa.table({"who": list("abcd"), "at": [dt.date(2024, 3, 2)] * 4})
    roles, options = Roles(respondent="who", time="at"), {"gaps": "suppress", "suppress": 0.5}
    release, ledger = generalize_time(table, roles, 3, granularities=["business-day", "week"], **options)
    none = release.manifest["candidates"]["business-day"]
    assert (none["groups"], none["rows_in_gaps"], none["feasible"]) == (0, 4, False)
    assert verify(release, ledger).violations == ()
    assert set(found(section(release, "candidates", "business-day", feasible=True))) == {"candidates"}


def test_a_label_may_be_spelt_like_its_only_value_and_like_no_other():
    zips = pa.table({"value": list("abcd"), "1": ["ab", "ab", "c", "x"]})
    people = {"who": [f"p{n}" for n in range(12)], "at": [dt.date(2024, 3, 1)] * 12, "zip": list("abcd") * 3}
    roles = Roles(respondent="who", time="at", quasi=["zip"])
    pair = generalize_time(pa.table(people), roles, 3, hierarchies={"zip": zips}, levels={"zip": 1})
    assert pair[0].manifest["distinct_labels"] == ["zip"]
    assert verify(*pair).violations == ()


@pytest.mark.parametrize("gaps", ["error", "suppress", "next"])
def test_what_is_counted_some_groups_at_a_time_is_the_same(
    monkeypatch: pytest.MonkeyPatch, gaps: str
) -> None:
    """Of one group at a time, of some, and of all at once; with gaps in the middle of granules, too."""
    visits = clinic_visits(rows=600, seed=3)
    roles = Roles(
        respondent="patient", time="taken_at", quasi=["zip", "exam"], sensitive=["result"], drop="rest"
    )
    names = ["hour", "business-day", "day", "week", "month", "business-month", "quarter", "year", "all"]
    names = names if gaps != "error" else [name for name in names if "business" not in name]
    release, ledger = generalize_time(visits, roles, 3, granularities=names, gaps=gaps, suppress=0.99)
    candidates = release.manifest["candidates"]
    short = {**candidates["year"], "group_total": candidates["year"]["group_total"] - 1}
    false = edited(release, candidates={**candidates, "year": short})
    result = release.table["result"].combine_chunks()
    column = release.table.column_names.index("result")
    changed = published(release, release.table.set_column(column, "result", result[::-1]))
    for size in (1, 40, 1 << 20):
        monkeypatch.setattr("timeveil.models.events.judges.recount._PART_ROWS", size)
        monkeypatch.setattr("timeveil.evidence.codes._ROWS_AT_ONCE", size)
        assert verify(release, ledger)
        assert set(found(false, ledger)) == {"candidates"}
        assert "rows not in the original" in found(changed, ledger)["row-values"]


def test_an_expectation_that_fails_is_a_violation_with_its_sentence():
    findings = Findings("recipient", sentences={"counts:rows": "{rows:row}; {stated} stated"})
    assert findings.expect("counts:rows", True, rows=6, stated=6)
    assert not findings.expect("counts:rows", False, rows=5, stated=6)
    (violation,) = findings.verdict().violations
    assert (violation.code, violation.message) == ("counts", "5 rows; 6 stated")
