"""Is every published slot l-diverse? (Wang et al. 2010, with the buckets of Xiao and Tao 2006)

Unlike a number of people, this can be seen in the tables: a recipient can check that every bucket has l
records and that no value is held by more than 1 in l of them. With the ledger, `records` also checks that
every record moved forward and not too far, and that none was lost, added or changed.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.judgement import Verdict
from timeveil.errors import TimeveilError
from timeveil.evidence.checks import SHARED, Findings, check_row_order
from timeveil.evidence.codes import Coded, Integers, column_of, distinct_pairs, encode, encode_values
from timeveil.evidence.published import classes_of
from timeveil.models.stream.evidence import BUCKET, COUNT, SLOT, Buckets, Evidence
from timeveil.models.stream.judges.manifest import check_shape, check_statements, check_tables, expect_none
from timeveil.models.stream.judges.records import check_records
from timeveil.models.stream.slots import NOWHERE, SlotLine

SENTENCES = {
    **SHARED,
    "bucket": "{buckets:bucket} not numbered from 0 within its slot",
    "bucket-size": "{buckets:bucket} with fewer than {l} records; the smallest has {smallest}",
    "bucket-values": "{values:value} of a bucket with another count than among its records",
    "columns:buckets": "the buckets of table `{table}` are not whole numbers",
    "columns:copy": "the sensitive column is published a second time",
    "columns:counts": "the counts of table `sensitive` are not whole numbers",
    "columns:extra": "table `{table}` has columns that the manifest does not list: {names}",
    "columns:missing": "table `{table}` lacks columns that the manifest lists: {names}",
    "columns:names": "table `{table}` does not call slot, bucket or count by that name",
    "columns:order": "the columns of table `{table}` are not in the stated order",
    "columns:respondent": "the respondent is among the published columns",
    "columns:role": "the {role} columns are not those of the original",
    "columns:roles": "the roles of table `{table}` are not in the order {roles}",
    "columns:sensitive": "the sensitive column is not that of the original",
    "columns:slots": "the slots of table `{table}` are not {kind}",
    "columns:time": "the time column of the original is among the published columns",
    "columns:type": "column `{name}` is not of the stated type",
    "conservation": "{values:value} whose published and withheld records are not the original ones",
    "counts:buckets": "the tables have {buckets:bucket}; the manifest states {stated}",
    "counts:slots": "the manifest states {stated:slot}; from the first to the last there are {slots}",
    "guarantee:l": "`parameters.l` of the manifest is not the l of the guarantee",
    "guarantee:packets": "the manifest has parameters of packets, but not the promise that packets keep",
    "guarantee:true-slot": "`parameters.protect_slot` of the manifest is not the guarantee's `true_slot`",
    "incomplete-rows": "{records:record} without slot, value or respondent not withheld",
    "ledger": "{fault}",
    "ledger:columns": "the ledger lacks a column of a stream's ledger",
    "ledger:model": "the ledger is not that of this release",
    "ledger-rows": "the ledger lists {listed:row}, not the {rows} of the original in order",
    "manifest:buckets": "the manifest describes buckets that its parameters exclude, or the reverse",
    "manifest:clock": "the kind, zone, unit and slot of the time do not fit each other",
    "manifest:count": "`counts.buckets` of the manifest is missing",
    "manifest:no-buckets": "`counts.buckets` of the manifest is not 0, and there are no buckets",
    "moved-back": "{records:record} published before its slot",
    "moved-too-far": "{records:record} published {reach} or more slots after its own",
    "not-eligible": "{slots:slot} in which a value is held by more than 1 in {l} records",
    "origin": "{records:record} with another origin listed",
    "packet": "{records:record} without a packet, or in one although incomplete",
    "packet:missing": "the ledger lacks the packets that keep the promise",
    "packet-bucket": "{packets:packet} with records in several buckets",
    "packet-fate": "{packets:packet} with records that were not published in one slot or all withheld",
    "packet-origin": "{packets:packet} with records of several slots",
    "packet-size": "{packets:packet} with fewer records than its slot allows and the promise requires; "
    "the smallest has {smallest}",
    "packet-values": "{packets:packet} with a value more than once",
    "parameters:cost": "`parameters.move_cost` of the manifest is not a cost of moving records",
    "parameters:missing": "the parameters of packets are incomplete: {names}",
    "parameters:packets": "parameters that packets exclude: {names}",
    "parameters:run": "the run had other parameters: {names}",
    "parameters:spread": "`parameters.spread` of the manifest is not from 1 to below the window",
    "parameters:time": "the stated time and slots are not those of the run",
    "person-twice": "{records:record} of a person who is already in the same slot",
    "row-count": "the table has {rows:row}; the manifest states {stated}",
    "row-values": "{surplus:published row} not in the original, {missing:original record} not in the release",
    "row-values:type": "{fault}",
    "slot": "{slots:slot} of table `{table}` not of the stated granularity",
    "slot:definition": "the slot granularity and its definition have different names",
    "slot:ends": "the first and the last slot are not those of the records",
    "slot:outside": "{slots:slot} of table `{table}` before the first or after the last stated",
    "slot:parameter": "`parameters.slot` and `time.slot` of the manifest are not the same",
    "slot:rebuilt": "the stated slot granularity cannot be rebuilt from its definition",
    "slot:stated": "the stated first or last slot is not of the stated granularity",
    "slot:title": "a slot granularity of the catalogue has another title than in the catalogue",
    "slot-order": "the slots of table `{table}` are not in the order of time",
    "slot-records": "{slots:slot} with another number of records than the ledger places there",
    "tables": "the release has {tables:table}; {names} are stated",
    "tables-disagree:apart": "{buckets:bucket} in one table only",
    "tables-disagree:sizes": "{buckets:bucket} with another number of records than its values add up to",
    "value-counts": "{below:count} below 1, {repeated:value} listed more than once",
    "value-counts:most": "a value is counted more often than there are rows",
    "value-missing": "{records:record} without a sensitive value",
    "value-too-frequent:bucket": "{buckets:bucket} in which a value is held by more than 1 in {l} records",
    "value-too-frequent:slot": "{slots:slot} in which a value is held by more than 1 in {l} records",
}


def check(evidence: Evidence) -> Verdict:
    """Every check of a stream, as far as each makes sense after the one before."""
    findings = Findings("recipient" if evidence.ledger is None else "with ledger", SENTENCES)
    if check_shape(evidence.release, findings) and check_tables(evidence.release, findings):
        check_statements(evidence, findings)
        if _check_published(evidence, findings) and evidence.ledger is not None:
            findings.open_ledger()
            check_records(evidence, findings)
    return findings.verdict()


def _check_published(evidence: Evidence, findings: Findings) -> bool:
    """Check what a recipient sees: slots, buckets and values; False where slots cannot even be read."""
    try:
        evidence.line.numbers(pa.array([], pa.string()))
    except (TimeveilError, ArithmeticError, LookupError, TypeError, ValueError):  # the definition is anyone's
        findings.expect("slot:rebuilt", False)
        return False
    release = evidence.release
    if evidence.bucketed:
        # No count is above the number of rows, so that sums of counts are exact.
        most = pc.max(column_of(release.parts["sensitive"], COUNT)).as_py() or 0
        if not findings.expect("value-counts:most", most <= release.manifest["counts"]["rows"]):
            return False
    _check_slots(evidence, findings)
    for table in release.parts:
        check_row_order(release, (BUCKET,) if evidence.bucketed else (), findings, table, within=SLOT)
    if evidence.bucketed:
        _check_buckets(evidence, findings)
    else:
        _check_unbucketed(evidence, findings)
    return True


def _check_slots(evidence: Evidence, findings: Findings) -> None:
    """Slots of the stated granularity, from the first to the last stated, in order of time."""
    findings.check("every slot is one of the stated granularity, from the first to the last stated")
    findings.check("slots are in the order of time")
    counts, line = evidence.release.manifest["counts"], evidence.line
    first, last = (_stated_number(line, counts.get(name)) for name in ("first_slot", "last_slot"))
    stated = NOWHERE not in (first, last)
    for table in evidence.release.parts:
        numbers = line.numbers(evidence.slot_runs(table))
        slots = numbers[numbers != NOWHERE]
        if expect_none(findings, "slot", slots=numbers == NOWHERE, table=table):
            findings.expect("slot-order", not (np.diff(numbers) <= 0).any(), table=table)
        if stated:
            expect_none(findings, "slot:outside", slots=(slots < first) | (slots > last), table=table)
        if table == "data" and not stated:
            findings.expect("slot:stated", not (len(slots) or counts["slots"]))
    # Empty slots count.
    extent = last - first + 1
    if stated:
        number = counts["slots"]
        findings.expect("counts:slots", number == extent, stated=number, slots=max(extent, 0))


def _stated_number(line: SlotLine, slot: object) -> int:
    if line.granularity is None:
        return slot if isinstance(slot, int) and not isinstance(slot, bool) else NOWHERE
    return int(line.numbers(pa.array([slot], pa.string()))[0]) if isinstance(slot, str) else NOWHERE


def _check_row_count(rows: int, stated: int, findings: Findings) -> None:
    findings.check("row, slot and bucket counts are those of the manifest")
    findings.expect("row-count", rows == stated, rows=rows, stated=stated)


def _check_buckets(evidence: Evidence, findings: Findings) -> None:
    buckets, counts = evidence.buckets, evidence.release.manifest["counts"]
    _check_row_count(int(buckets.rows.sum()), counts["rows"], findings)
    findings.check("the two tables have the same buckets with the same numbers of records")
    in_data = buckets.rows > 0
    expect_none(findings, "tables-disagree:apart", buckets=in_data != buckets.listed)
    unequal = in_data & buckets.listed & (buckets.rows != buckets.size)
    expect_none(findings, "tables-disagree:sizes", buckets=unequal)
    number = int(buckets.listed.sum())
    findings.expect("counts:buckets", number == counts["buckets"], buckets=number, stated=counts["buckets"])
    findings.check("buckets are numbered from 0 within each slot")
    slot, numbers = buckets.slot[buckets.listed], buckets.number[buckets.listed]
    expect_none(findings, "bucket", buckets=numbers != np.arange(len(slot)) - np.searchsorted(slot, slot))
    _check_values(evidence.l, buckets, findings)


def _check_values(l: int, buckets: Buckets, findings: Findings) -> None:
    findings.check("every value of a bucket is listed once, with the number of records that have it")
    below = int((buckets.often < 1).sum())
    pairs = len(distinct_pairs(buckets.owner, buckets.value.codes, buckets.value.size)[0])
    repeated = len(buckets.owner) - pairs
    findings.expect("value-counts", not (below or repeated), below=below, repeated=repeated)
    _check_present(buckets.value, buckets.often, findings)
    findings.check(f"every bucket has at least {l} records")
    size, rows = buckets.size[buckets.listed], buckets.rows[buckets.rows > 0]
    small = max(int((size < l).sum()), int((rows < l).sum()))
    smallest = min(int(size.min(initial=l)), int(rows.min(initial=l)))
    expect_none(findings, "bucket-size", buckets=small, l=l, smallest=smallest)
    findings.check(f"no value is held by more than 1 in {l} records of a bucket")
    most = _most_frequent(buckets.owner, buckets.value, buckets.often, len(buckets.size))
    expect_none(findings, "value-too-frequent:bucket", buckets=most * l > buckets.size, l=l)


def _check_present(value: Coded, often: Integers, findings: Findings) -> None:
    """A missing value would set its record apart from those that have one."""
    findings.check("every record has a sensitive value")
    missing = np.asarray(value.values.is_null())[value.codes]
    findings.expect("value-missing", not missing.any(), records=int(often[missing].sum()))


def _most_frequent(owner: Integers, value: Coded, often: Integers, groups: int) -> Integers:
    """Per group the number of records with its most frequent value; one listed twice is added up."""
    pairs, index = np.unique(owner * max(value.size, 1) + value.codes, return_inverse=True)
    records = np.bincount(index.ravel(), weights=often, minlength=len(pairs)).astype(np.int64)
    most = np.zeros(groups, dtype=np.int64)
    np.maximum.at(most, pairs // max(value.size, 1), records)
    return most


def _check_unbucketed(evidence: Evidence, findings: Findings) -> None:
    """Without buckets: no value is held by more than 1 in l records of a slot."""
    l = evidence.l
    classes = classes_of(evidence.release, [SLOT, evidence.sensitive_column])
    rows, slot, value = (
        np.asarray(classes["rows"]),
        encode(classes.column(0)),
        encode_values(classes.column(1)),
    )
    _check_row_count(int(rows.sum()), evidence.release.manifest["counts"]["rows"], findings)
    _check_present(value, rows, findings)
    findings.check(f"no value is held by more than 1 in {l} records of a slot")
    total = np.bincount(slot.codes, weights=rows, minlength=slot.size)
    most = _most_frequent(slot.codes, value, rows, slot.size)
    expect_none(findings, "value-too-frequent:slot", slots=most * l > total, l=l)
