"""A stream release against the records that it was made from, with the ledger.

Every original record is either withheld or published once, in its own slot or a later one within the window.
Every slot is l-eligible by the original values, and the published rows and value counts are those of its
records.

Where the release makes a promise to anyone who knows the true slot, records are in packets. A packet is
closed if its records belong to one slot, are published in one slot or all withheld, share one bucket, and
have different values. It is large enough if it has as many records as promised or, where a slot's commonest
value leaves no room for that, floor(records of the slot / records of that value). Whether records were drawn
at random cannot be checked from any outcome.
"""

from __future__ import annotations

import json

import numpy as np

from timeveil.errors import InputError
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Coded, Integers, align, column_of, distinct_pairs, fold_both
from timeveil.models.stream.evidence import (
    BUCKET,
    NO_PACKET,
    Evidence,
    Mask,
    commonest,
    least_packet_sizes,
    whole_numbers,
)
from timeveil.models.stream.judges.manifest import PACKET_PARAMETERS


def check_records(evidence: Evidence, findings: Findings) -> None:
    """Check the release against the records that it was made from."""
    if not (_check_roles(evidence, findings) and _check_listed(evidence, findings)):
        return
    try:
        _ = evidence.journeys
    except InputError as error:
        findings.expect("ledger", False, fault=error.message)
        return
    _check_origins(evidence, findings)
    _check_moves(evidence, findings)
    _check_people(evidence, findings)
    _check_eligible(evidence, findings)
    _check_packets(evidence, findings)
    try:
        _check_slots(evidence, findings)
        _check_conservation(evidence, findings)
        _check_rows(evidence, findings)
        if evidence.bucketed:
            _check_bucket_values(evidence, findings)
    except InputError as error:
        findings.expect("row-values:type", False, fault=error.message)


def _check_roles(evidence: Evidence, findings: Findings) -> bool:
    findings.check("the published columns are those of the original, and no respondent or time is among them")
    ledger, manifest, before = evidence.private, evidence.release.manifest, len(findings.violations)
    roles, published = ledger.original.roles, [column["name"] for column in manifest["columns"]]
    findings.expect("columns:respondent", roles.respondent not in published)
    for role, names in {"quasi": roles.quasi_columns, "keep": roles.keep}.items():
        findings.expect("columns:role", evidence.columns(role) == list(names), role=role)
    findings.expect("columns:sensitive", [evidence.sensitive_column] == list(roles.sensitive))
    same_time = ledger.model == "stream" and manifest["time"]["column"] == roles.time
    findings.expect("ledger:model", same_time)
    findings.check("the stated parameters are those of the run")
    run, stated = ledger.facts.get("parameters", {}), manifest["parameters"]
    names = [*stated, *(name for name in PACKET_PARAMETERS if name in run and name not in stated)]
    wrong = [name for name in names if _plain(run.get(name, ...)) != _plain(stated.get(name, ...))]
    findings.expect("parameters:run", not wrong, names=", ".join(wrong))
    same_clock = json.dumps(ledger.facts.get("time")) == json.dumps(manifest["time"])
    findings.expect("parameters:time", same_clock)
    return len(findings.violations) == before


def _plain(value: object) -> object:
    return list(value) if isinstance(value, list | tuple) else value


def _check_listed(evidence: Evidence, findings: Findings) -> bool:
    findings.check("the ledger lists every original row, in order")
    if not findings.expect("ledger:columns", not evidence.lacks_ledger_column):
        return False
    rows, listed = evidence.private.original.rows, np.asarray(evidence.private.table.column("row"))
    findings.expect("ledger-rows", np.array_equal(listed, np.arange(rows)), listed=len(listed), rows=rows)
    return len(listed) == rows


def _check_origins(evidence: Evidence, findings: Findings) -> None:
    findings.check("the ledger lists the slot of every complete record, and no other record is published")
    journeys, manifest = evidence.journeys, evidence.release.manifest
    _expect_none("origin", journeys.complete & (journeys.noted != journeys.origin), findings)
    _expect_none("incomplete-rows", journeys.published & ~journeys.complete, findings)
    findings.check("the slots go from the first to the last of the records, and as far as they were delayed")
    origin, counts = journeys.origin[journeys.complete], manifest["counts"]
    labels = [None, None]
    if len(origin):
        ends = [int(origin.min()), int(origin.max()) + manifest["parameters"].get("jitter", 0)]
        labels = journeys.line.labels(ends).to_pylist()
    findings.expect("slot:ends", labels == [counts["first_slot"], counts["last_slot"]])


def _check_moves(evidence: Evidence, findings: Findings) -> None:
    distance, parameters = evidence.journeys.distance, evidence.release.manifest["parameters"]
    findings.check("no record was published before its slot")
    _expect_none("moved-back", distance < 0, findings)
    # A ledger is that of a whole table, in which no record comes late, whatever `late` says.
    reach = parameters["window"] + parameters.get("jitter", 0)
    findings.check(f"no record was published {reach} or more slots after its own")
    _expect_none("moved-too-far", distance >= reach, findings, reach=reach)


def _expect_none(code: str, wrong: Mask, findings: Findings, **numbers: int) -> None:
    count = int(wrong.sum())
    findings.expect(code, not count, records=count, **numbers)


def _check_people(evidence: Evidence, findings: Findings) -> None:
    if evidence.private.original.roles.respondent is None:
        return
    findings.check("no person is twice in a published slot")
    journeys = evidence.journeys
    pairs = np.stack([journeys.slot, journeys.person])[:, journeys.published]
    repeated = pairs.shape[1] - np.unique(pairs, axis=1).shape[1]
    findings.expect("person-twice", not repeated, records=repeated)


def _check_eligible(evidence: Evidence, findings: Findings) -> None:
    l, journeys = evidence.l, evidence.journeys
    findings.check(f"in no slot is a value held by more than 1 in {l} of the original records")
    published = journeys.published
    _, size, most = commonest(journeys.slot[published], journeys.value.codes[published])
    over = int((most * l > size).sum())
    findings.expect("not-eligible", not over, slots=over, l=l)


def _check_packets(evidence: Evidence, findings: Findings) -> None:
    """Every complete record is in a packet that is closed and large enough for its slot."""
    promise, journeys = evidence.true_slot, evidence.journeys
    if promise is None:
        return
    findings.check("every complete record is in a packet, and no other record is")
    packet, complete = evidence.packets, journeys.complete
    if packet is None:
        findings.expect("packet:missing", False)
        return
    _expect_none("packet", complete != (packet != NO_PACKET), findings)
    rows = np.flatnonzero(complete & (packet != NO_PACKET))
    _, index = np.unique(packet[rows], return_inverse=True)
    group, size = index.ravel(), np.bincount(index.ravel())
    for code, fate, column in (
        ("packet-origin", "belong to one slot", journeys.origin),
        ("packet-fate", "are published in one slot, or all withheld", journeys.slot),
        ("packet-bucket", "are in one bucket", journeys.bucket),
    ):
        findings.check(f"all records of a packet {fate}")
        # Compare each record with one of its packet.
        example = np.zeros(len(size), dtype=np.int64)
        example[group] = column[rows]
        apart = len(np.unique(group[column[rows] != example[group]]))
        findings.expect(code, not apart, packets=apart)
    findings.check("all records of a packet have different values")
    owner, _, _ = distinct_pairs(group, journeys.value.codes[rows], journeys.value.size)
    repeated = int((np.bincount(owner, minlength=len(size)) < size).sum())
    findings.expect("packet-values", not repeated, packets=repeated)
    findings.check(
        f"every packet has {promise} records or more, or as many as its slot's commonest value allows"
    )
    least = np.zeros(len(packet), dtype=np.int64)
    # By the slot of origin, in which the adversary looks for the record.
    least[complete] = least_packet_sizes(journeys.origin[complete], journeys.value.codes[complete], promise)
    small = np.unique(group[size[group] < least[rows]])
    smallest = int(size[small].min(initial=promise))
    findings.expect("packet-size", not len(small), packets=len(small), smallest=smallest)


def _check_slots(evidence: Evidence, findings: Findings) -> None:
    findings.check("every slot has as many records as the ledger places there")
    placed = evidence.journeys.slot[evidence.journeys.published]
    left, right, slots = _numbers(placed, evidence.released_slot)
    unequal = int((np.bincount(left, minlength=slots) != np.bincount(right, minlength=slots)).sum())
    findings.expect("slot-records", not unequal, slots=unequal)


def _check_conservation(evidence: Evidence, findings: Findings) -> None:
    """Per value over all slots, published and withheld records are the original ones."""
    findings.check("per value, the published and the withheld records are the original ones")
    if evidence.bucketed:
        released, weight = evidence.buckets.value, evidence.buckets.often
    else:
        released = evidence.released(evidence.sensitive_column)
        weight = np.ones(len(released.codes), dtype=np.int64)
    original, released = align(evidence.journeys.value, released)
    withheld = original.codes[~evidence.journeys.published]
    published = np.bincount(released.codes, weights=weight, minlength=original.size).astype(np.int64)
    expected = np.bincount(original.codes, minlength=original.size)
    expected -= np.bincount(withheld, minlength=original.size)
    unequal = int((published != expected).sum())
    findings.expect("conservation", not unequal, values=unequal)


def _check_rows(evidence: Evidence, findings: Findings) -> None:
    findings.check("the published rows are the original records that were not withheld, one for one")
    journeys, published = evidence.journeys, evidence.journeys.published
    columns = [_numbers(journeys.slot[published], evidence.released_slot)]
    if evidence.bucketed:
        released_bucket = whole_numbers(column_of(evidence.release.parts["data"], BUCKET))
        columns.append(_numbers(journeys.bucket[published], released_bucket))
    for name in evidence.columns("quasi", "keep", "sensitive"):
        original, released = align(_only(evidence.original(name), published), evidence.released(name))
        columns.append((original.codes, released.codes, original.size))
    left, right, count = fold_both(columns)
    difference = np.bincount(left, minlength=count) - np.bincount(right, minlength=count)
    surplus, missing = int(np.clip(-difference, 0, None).sum()), int(np.clip(difference, 0, None).sum())
    findings.expect("row-values", not difference.any(), surplus=surplus, missing=missing)


def _check_bucket_values(evidence: Evidence, findings: Findings) -> None:
    findings.check("the values of every bucket are those of its records")
    journeys, buckets, published = evidence.journeys, evidence.buckets, evidence.journeys.published
    original, released = align(_only(journeys.value, published), buckets.value)
    left, right, keys = fold_both(
        [
            _numbers(journeys.slot[published], buckets.slot[buckets.owner]),
            _numbers(journeys.bucket[published], buckets.number[buckets.owner]),
            (original.codes, released.codes, original.size),
        ]
    )
    often = np.bincount(right, weights=buckets.often, minlength=keys).astype(np.int64)
    unequal = int((np.bincount(left, minlength=keys) != often).sum())
    findings.expect("bucket-values", not unequal, values=unequal)


def _only(coded: Coded, mask: Mask) -> Coded:
    return Coded(coded.codes[mask], coded.values)


def _numbers(left: Integers, right: Integers) -> tuple[Integers, Integers, int]:
    """Two columns of numbers as codes under one numbering."""
    values, codes = np.unique(np.concatenate([left, right]), return_inverse=True)
    return codes.ravel()[: len(left)], codes.ravel()[len(left) :], len(values)
