"""A stream release against the records that it was made from, with the ledger.

Every original record is either withheld or published once, in its own slot or a later one within the
window. Every slot is l-eligible by the original values, and the published rows and value counts are those
of its records.
"""

from __future__ import annotations

import json

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.errors import InputError
from timeveil.evidence.codes import Coded, Integers, align, column_of, encode, fold_both
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import columns_of, promised
from timeveil.models.stream.judges.buckets import BUCKET, SLOT, bucketed, buckets_of, sensitive_column
from timeveil.models.stream.judges.journeys import Journeys, Mask, journeys_of
from timeveil.models.stream.judges.verify_packets import PACKET_PARAMETERS, check_packets


def check_records(release: Release, ledger: Ledger, findings: Findings) -> None:
    """Judge the release against the records that it was made from."""
    if not (_check_roles(release, ledger, findings) and _check_ledger(release, ledger, findings)):
        return
    try:
        journeys = journeys_of(release, ledger)
    except InputError as error:
        findings.refuse("ledger", error.message)
        return
    _check_origins(journeys, findings)
    _check_span(release, journeys, findings)
    _check_moves(release, journeys, findings)
    _check_people(ledger, journeys, findings)
    _check_eligible(promised(release, "l"), journeys, findings)
    check_packets(release, ledger, journeys, findings)
    try:
        _check_slots(release, journeys, findings)
        _check_conservation(release, journeys, findings)
        _check_rows(release, ledger, journeys, findings)
        if bucketed(release):
            _check_bucket_values(release, journeys, findings)
    except InputError as error:
        findings.refuse("row-values", error.message)


def _check_roles(release: Release, ledger: Ledger, findings: Findings) -> bool:
    findings.check("the published columns are those of the original, and no respondent or time is among them")
    roles, before = ledger.original.roles, len(findings.violations)
    published = [column["name"] for column in release.manifest["columns"]]
    if roles.respondent in published:
        findings.refuse("columns", "the respondent is among the published columns")
    for role, names in {"quasi": roles.quasi_columns, "keep": roles.keep}.items():
        if columns_of(release, role) != list(names):
            findings.refuse("columns", f"the {role} columns are not those of the original")
    if [sensitive_column(release)] != list(roles.sensitive):
        findings.refuse("columns", "the sensitive column is not that of the original")
    if ledger.model != "stream" or release.manifest["time"]["column"] != roles.time:
        findings.refuse("ledger", "the ledger is not that of this release")
    _check_parameters(release, ledger, findings)
    return len(findings.violations) == before


def _check_parameters(release: Release, ledger: Ledger, findings: Findings) -> None:
    findings.check("the stated parameters are those of the run")
    ours, theirs = ledger.facts.get("parameters", {}), release.manifest["parameters"]
    names = [*theirs, *(name for name in PACKET_PARAMETERS if name in ours and name not in theirs)]
    differ = [name for name in names if _plain(ours.get(name, ...)) != _plain(theirs.get(name, ...))]
    if differ:
        findings.refuse("parameters", f"the run was made with other parameters: {', '.join(differ)}")
    if json.dumps(ledger.facts.get("time")) != json.dumps(release.manifest["time"]):
        findings.refuse("parameters", "the stated time and slots are not those of the run")


def _plain(value: object) -> object:
    return list(value) if isinstance(value, list | tuple) else value


def _check_ledger(release: Release, ledger: Ledger, findings: Findings) -> bool:
    findings.check("the ledger notes every original row, in order")
    needed = {"row", "origin", SLOT, *([BUCKET] if bucketed(release) else [])}
    if not needed <= set(ledger.entries.schema.names):
        findings.refuse("ledger", "the ledger lacks a column of a stream's ledger")
        return False
    rows, numbers = ledger.original.rows, np.asarray(ledger.table.column("row"))
    if not np.array_equal(numbers, np.arange(rows)):
        findings.refuse(
            "ledger-rows",
            f"the ledger notes {len(numbers):,} rows, not the {rows:,} of the original in order",
        )
    return len(numbers) == rows


def _check_origins(journeys: Journeys, findings: Findings) -> None:
    findings.check("the ledger notes the slot of every complete record, and no other record is published")
    elsewhere = journeys.whole & (journeys.noted != journeys.origin)
    _refuse_some("origin", elsewhere, "with another origin noted", findings)
    incomplete = journeys.published & ~journeys.whole
    _refuse_some("incomplete-rows", incomplete, "without slot, value or respondent not withheld", findings)


def _check_span(release: Release, journeys: Journeys, findings: Findings) -> None:
    findings.check("the slots go from the first to the last of the records, and as far as they were delayed")
    counts, origin = release.manifest["counts"], journeys.origin[journeys.whole]
    labels = [None, None]
    if len(origin):
        ends = [int(origin.min()), int(origin.max()) + release.manifest["parameters"].get("jitter", 0)]
        labels = journeys.line.labels(ends).to_pylist()
    if labels != [counts["first_slot"], counts["last_slot"]]:
        findings.refuse("slot", "the first and the last slot are not those of the records")


def _check_moves(release: Release, journeys: Journeys, findings: Findings) -> None:
    parameters = release.manifest["parameters"]
    findings.check("no record was published before its slot")
    _refuse_some("moved-back", journeys.distance < 0, "published before its slot", findings)
    # A ledger is that of a whole table, in which no record comes late, whatever is done with those that do.
    reach = parameters["window"] + parameters.get("jitter", 0)
    findings.check(f"no record was published {reach} or more slots after its own")
    _refuse_some(
        "moved-too-far",
        journeys.distance >= reach,
        f"published {reach} or more slots after its own",
        findings,
    )


def _refuse_some(code: str, wrong: Mask, what: str, findings: Findings) -> None:
    number = int(wrong.sum())
    if number:
        findings.refuse(code, f"{counted(number, 'record')} {what}")


def _check_people(ledger: Ledger, journeys: Journeys, findings: Findings) -> None:
    if ledger.original.roles.respondent is None:
        return
    findings.check("nobody stands twice in a published slot")
    there = journeys.published
    _, often = np.unique(np.stack([journeys.slot[there], journeys.person[there]]), axis=1, return_counts=True)
    again = int((often - 1).sum())
    if again:
        findings.refuse(
            "person-twice", f"{counted(again, 'record')} of somebody who stands in the same slot already"
        )


def _check_eligible(l: int, journeys: Journeys, findings: Findings) -> None:
    findings.check(f"in no slot is a value held by more than 1 in {l} of the original records")
    there, value = journeys.published, journeys.value
    slots, slot = np.unique(journeys.slot[there], return_inverse=True)
    keys, often = np.unique(slot.ravel() * max(value.size, 1) + value.codes[there], return_counts=True)
    most = np.zeros(len(slots), dtype=np.int64)
    np.maximum.at(most, keys // max(value.size, 1), often)
    over = int((most * l > np.bincount(slot.ravel(), minlength=len(slots))).sum())
    if over:
        findings.refuse(
            "not-eligible", f"{counted(over, 'slot')} in which a value is held by more than 1 in {l} records"
        )


def _check_slots(release: Release, journeys: Journeys, findings: Findings) -> None:
    findings.check("every slot has as many records as the ledger places there")
    there = _released_slots(release, journeys)
    both, place = np.unique(np.concatenate([journeys.slot[journeys.published], there]), return_inverse=True)
    ours = int(journeys.published.sum())
    left = np.bincount(place.ravel()[:ours], minlength=len(both))
    right = np.bincount(place.ravel()[ours:], minlength=len(both))
    unequal = int((left != right).sum())
    if unequal:
        findings.refuse(
            "slot-records",
            f"{counted(unequal, 'slot')} with another number of records than the ledger places",
        )


def _released_slots(release: Release, journeys: Journeys) -> Integers:
    return journeys.line.places(column_of(release.parts["data"], SLOT))


def _check_conservation(release: Release, journeys: Journeys, findings: Findings) -> None:
    """Per value over all slots, published and withheld make the original; so per origin, by the ledger."""
    findings.check("per value, the published and the withheld records are the original ones")
    name = sensitive_column(release)
    if bucketed(release):
        entries = buckets_of(release, journeys.line)
        theirs, weight = entries.value, entries.often
    else:
        theirs = encode(column_of(release.parts["data"], name))
        weight = np.ones(len(theirs.codes), dtype=np.int64)
    ours, others = align(journeys.value, theirs)
    original = np.bincount(ours.codes, minlength=ours.size)
    withheld = np.bincount(ours.codes[~journeys.published], minlength=ours.size)
    published = np.bincount(others.codes, weights=weight, minlength=ours.size).astype(np.int64)
    unequal = int((published + withheld != original).sum())
    if unequal:
        findings.refuse(
            "conservation",
            f"{counted(unequal, 'value')} of which published and withheld records are not the original ones",
        )


def _check_bucket_values(release: Release, journeys: Journeys, findings: Findings) -> None:
    findings.check("the values of every bucket are those of its records")
    there, buckets = journeys.published, buckets_of(release, journeys.line)
    ours, theirs = align(_some(journeys.value, there), buckets.value)
    left, right, keys = fold_both(
        [
            _numbers(journeys.slot[there], buckets.slot[buckets.owner]),
            _numbers(journeys.bucket[there], buckets.number[buckets.owner]),
            (ours.codes, theirs.codes, ours.size),
        ]
    )
    often = np.bincount(right, weights=buckets.often, minlength=keys).astype(np.int64)
    unequal = int((np.bincount(left, minlength=keys) != often).sum())
    if unequal:
        findings.refuse(
            "bucket-values",
            f"{counted(unequal, 'value')} of a bucket with another count than its records have",
        )


def _check_rows(release: Release, ledger: Ledger, journeys: Journeys, findings: Findings) -> None:
    findings.check("the published rows are the original records that were not withheld, one for one")
    there, part = journeys.published, release.parts["data"]
    columns = [_numbers(journeys.slot[there], _released_slots(release, journeys))]
    if bucketed(release):
        theirs = records_bucket(release)
        columns.append(_numbers(journeys.bucket[there], theirs))
    for name in columns_of(release, "quasi", "keep", "sensitive"):
        ours, others = align(
            _some(encode(column_of(ledger.original.data, name)), there), encode(column_of(part, name))
        )
        columns.append((ours.codes, others.codes, ours.size))
    left, right, count = fold_both(columns)
    differing = np.bincount(left, minlength=count) - np.bincount(right, minlength=count)
    if differing.any():
        findings.refuse(
            "row-values",
            f"{counted(int(np.clip(-differing, 0, None).sum()), 'published row')} not in the original, "
            f"{counted(int(np.clip(differing, 0, None).sum()), 'original record')} not in the release",
        )


def records_bucket(release: Release) -> Integers:
    """The bucket of every published row."""
    return np.asarray(column_of(release.parts["data"], BUCKET).fill_null(-1)).astype(np.int64)


def _some(coded: Coded, mask: Mask) -> Coded:
    return Coded(coded.codes[mask], coded.values)


def _numbers(left: Integers, right: Integers) -> tuple[Integers, Integers, int]:
    """Two columns of numbers as codes under one numbering."""
    values, codes = np.unique(np.concatenate([left, right]), return_inverse=True)
    return codes.ravel()[: len(left)], codes.ravel()[len(left) :], len(values)
