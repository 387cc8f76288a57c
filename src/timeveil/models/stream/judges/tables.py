"""What anyone who receives a stream release can check: its slots, its buckets and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.errors import TimeveilError
from timeveil.evidence.codes import Coded, Integers, column_of, distinct_pairs, encode, encode_values
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import classes_of, promised
from timeveil.evidence.row_order import check_row_order
from timeveil.models.stream.judges.buckets import (
    BUCKET,
    COUNT,
    SLOT,
    Buckets,
    bucketed,
    buckets_of,
    matched,
    records_of,
    sensitive_column,
    slot_runs,
)
from timeveil.models.stream.judges.slots import NOWHERE, SlotLine, line_of

_KEYS = {True: (BUCKET,), False: ()}


def check_slots_and_buckets(release: Release, findings: Findings) -> bool:
    """Judge the tables; False where the slots cannot even be read."""
    try:
        line = line_of(release)
        line.places(pa.array([], pa.string()))
    except (TimeveilError, ArithmeticError, LookupError, TypeError, ValueError):  # whatever it was made of
        findings.refuse("slot", "the stated slot granularity cannot be rebuilt from its definition")
        return False
    if bucketed(release) and not _check_counts(release, findings):
        return False
    _check_slots(release, line, findings)
    for table in release.parts:
        check_row_order(release, _KEYS[bucketed(release)], findings, table, within=SLOT)
    if bucketed(release):
        _check_buckets(release, line, findings)
    else:
        _check_eligible(release, findings)
    return True


def _check_counts(release: Release, findings: Findings) -> bool:
    """No value is counted more often than there are rows, so that sums of counts are exact."""
    most = pc.max(column_of(release.parts["sensitive"], COUNT)).as_py() or 0
    if most > release.manifest["counts"]["rows"]:
        findings.refuse("value-counts", "a value is counted more often than there are rows")
        return False
    return True


def _check_slots(release: Release, line: SlotLine, findings: Findings) -> None:
    """Slots of the stated granularity, from the first to the last that is stated, in order of time."""
    findings.check("every slot is one of the stated granularity, from the first to the last stated")
    findings.check("slots stand in the order of time")
    counts = release.manifest["counts"]
    first, last = (_stated_place(line, counts.get(name)) for name in ("first_slot", "last_slot"))
    for table in release.parts:
        runs = slot_runs(release, table)
        place = line.places(runs)
        lost = int((place == NOWHERE).sum())
        if lost:
            findings.refuse(
                "slot", f"{counted(lost, 'slot')} of table `{table}` not of the stated granularity"
            )
        elif (np.diff(place) <= 0).any():
            findings.refuse("slot-order", f"the slots of table `{table}` do not stand in the order of time")
        known = place[place != NOWHERE]
        outside = int(((known < first) | (known > last)).sum()) if NOWHERE not in (first, last) else 0
        if outside:
            findings.refuse(
                "slot", f"{counted(outside, 'slot')} of table `{table}` outside of the first and last stated"
            )
        if table == "data":
            _check_extent(counts, np.unique(known), first, last, findings)


def _check_extent(
    counts: Mapping[str, Any], found: Integers, first: int, last: int, findings: Findings
) -> None:
    """The stated number of slots is that from the first to the last, empty ones among them."""
    stated = counts["slots"]
    if NOWHERE in (first, last):
        if len(found) or stated:
            findings.refuse("slot", "the stated first or last slot is not one of the stated granularity")
        return
    if stated != last - first + 1:
        findings.refuse(
            "counts",
            f"the manifest states {counted(stated, 'slot')}; from the first to the last it is "
            f"{max(last - first + 1, 0):,}",
        )


def _stated_place(line: SlotLine, slot: object) -> int:
    if line.granularity is None:
        return slot if isinstance(slot, int) and not isinstance(slot, bool) else NOWHERE
    return int(line.places(pa.array([slot], pa.string()))[0]) if isinstance(slot, str) else NOWHERE


def _check_buckets(release: Release, line: SlotLine, findings: Findings) -> None:
    buckets, records = buckets_of(release, line), records_of(release, line)
    counts = release.manifest["counts"]
    _check_rows(int(records.rows.sum()), counts["rows"], findings)
    findings.check("the two tables have the same buckets with the same numbers of records")
    ours, theirs = matched(records, buckets)
    apart = len(records.slot) + len(buckets.slot) - len(ours) - len(theirs)
    if apart:
        findings.refuse("tables-disagree", f"{counted(apart, 'bucket')} in one table only")
    unequal = int((records.rows[ours] != buckets.size[theirs]).sum())
    if unequal:
        findings.refuse(
            "tables-disagree",
            f"{counted(unequal, 'bucket')} with another number of records than its values add up to",
        )
    if len(buckets.slot) != counts["buckets"]:
        findings.refuse(
            "counts",
            f"the tables have {counted(len(buckets.slot), 'bucket')} where the manifest states "
            f"{counts['buckets']:,}",
        )
    _check_numbering(buckets, findings)
    _check_values(promised(release, "l"), buckets, records.rows, findings)


def _check_rows(rows: int, stated: int, findings: Findings) -> None:
    findings.check("row, slot and bucket counts are those of the manifest")
    if rows != stated:
        findings.refuse("row-count", f"the table has {rows:,} rows where the manifest states {stated:,}")


def _check_numbering(buckets: Buckets, findings: Findings) -> None:
    findings.check("buckets are numbered from 0 within each slot")
    fresh = np.ones(len(buckets.slot), dtype=bool)
    fresh[1:] = buckets.slot[1:] != buckets.slot[:-1]
    start = np.flatnonzero(fresh)[np.cumsum(fresh) - 1] if len(fresh) else np.zeros(0, np.int64)
    wrong = int((buckets.number != np.arange(len(fresh)) - start).sum())
    if wrong:
        findings.refuse("bucket", f"{counted(wrong, 'bucket')} not numbered from 0 within its slot")


def _check_values(l: int, buckets: Buckets, rows: Integers, findings: Findings) -> None:
    findings.check("every value of a bucket is listed once, with how many records have it")
    empty = int((buckets.often < 1).sum())
    pairs = len(distinct_pairs(buckets.owner, buckets.value.codes, buckets.value.size)[0])
    if empty or pairs != len(buckets.owner):
        findings.refuse(
            "value-counts",
            f"{counted(empty, 'count')} below 1, {counted(len(buckets.owner) - pairs, 'value')} listed again",
        )
    _check_present(buckets.value, buckets.often, findings)
    findings.check(f"every bucket has at least {l} records")
    smallest = min(int(buckets.size.min(initial=l)), int(rows.min(initial=l)))
    small = max(int((buckets.size < l).sum()), int((rows < l).sum()))
    if small:
        findings.refuse(
            "bucket-size",
            f"{counted(small, 'bucket')} with fewer than {l} records; the smallest has {smallest}",
        )
    findings.check(f"no value stands for more than 1 in {l} records of a bucket")
    often = int((_most_frequent(buckets) * l > buckets.size).sum())
    if often:
        findings.refuse(
            "value-too-frequent",
            f"{counted(often, 'bucket')} in which a value stands for more than 1 in {l} records",
        )


def _check_present(value: Coded, often: Integers, findings: Findings) -> None:
    """A missing value is no value: whoever has none stands apart from those who have one."""
    findings.check("every record has a sensitive value")
    missing = np.asarray(value.values.is_null())[value.codes]
    records = int(often[missing].sum())
    if missing.any():
        findings.refuse("value-missing", f"{counted(records, 'record')} without a sensitive value")


def _most_frequent(buckets: Buckets) -> Integers:
    """Per bucket how many records have its most frequent value; one listed twice is added up."""
    keys = buckets.owner * max(buckets.value.size, 1) + buckets.value.codes
    pairs, place = np.unique(keys, return_inverse=True)
    records = np.bincount(place.ravel(), weights=buckets.often, minlength=len(pairs)).astype(np.int64)
    most = np.zeros(len(buckets.size), dtype=np.int64)
    np.maximum.at(most, pairs // max(buckets.value.size, 1), records)
    return most


def _check_eligible(release: Release, findings: Findings) -> None:
    """Without buckets: no value stands for more than one in l records of a slot."""
    l = promised(release, "l")
    found = classes_of(release, [SLOT, sensitive_column(release)])
    rows, slot, value = np.asarray(found["rows"]), encode(found.column(0)), encode_values(found.column(1))
    _check_rows(int(rows.sum()), release.manifest["counts"]["rows"], findings)
    _check_present(value, rows, findings)
    findings.check(f"no value stands for more than 1 in {l} records of a slot")
    total = np.bincount(slot.codes, weights=rows, minlength=slot.size)
    pairs, place = np.unique(slot.codes * max(value.size, 1) + value.codes, return_inverse=True)
    most = np.zeros(slot.size)
    np.maximum.at(most, pairs // max(value.size, 1), np.bincount(place.ravel(), weights=rows))
    often = int((most * l > total).sum())
    if often:
        findings.refuse(
            "value-too-frequent",
            f"{counted(often, 'slot')} in which a value stands for more than 1 in {l} records",
        )
