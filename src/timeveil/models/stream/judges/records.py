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
    ineligible_slots,
    least_packet_sizes,
    number_of_each,
    whole_numbers,
)
from timeveil.models.stream.judges.manifest import PACKET_PARAMETERS, expect_none, reach


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
    _check_packets(evidence, findings)
    try:
        _check_published(evidence, findings)
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
    expect_none(findings, "origin", records=journeys.complete & (journeys.noted != journeys.origin))
    expect_none(findings, "incomplete-rows", records=journeys.published & ~journeys.complete)
    findings.check("the slots go from the first to the last of the records, and as far as they were delayed")
    origin, (counts, parameters) = (
        journeys.origin[journeys.complete],
        (manifest["counts"], manifest["parameters"]),
    )
    labels = [None, None]
    if len(origin):
        ends = [int(origin.min()), int(origin.max()) + reach(parameters) - parameters["window"]]
        labels = journeys.line.labels(ends).to_pylist()
    findings.expect("slot:ends", labels == [counts["first_slot"], counts["last_slot"]])


def _check_moves(evidence: Evidence, findings: Findings) -> None:
    """Records moved forward and not too far; nobody is twice in a slot, and no value too often."""
    journeys, published, l = evidence.journeys, evidence.journeys.published, evidence.l
    findings.check("no record was published before its slot")
    expect_none(findings, "moved-back", records=journeys.distance < 0)
    # A ledger is that of a whole table, in which no record comes late, whatever `late` says.
    furthest = reach(evidence.release.manifest["parameters"])
    findings.check(f"no record was published {furthest} or more slots after its own")
    expect_none(findings, "moved-too-far", records=journeys.distance >= furthest, reach=furthest)
    if evidence.private.original.roles.respondent is not None:
        findings.check("no person is twice in a published slot")
        pairs = np.stack([journeys.slot, journeys.person])[:, published]
        expect_none(findings, "person-twice", records=pairs.shape[1] - np.unique(pairs, axis=1).shape[1])
    findings.check(f"in no slot is a value held by more than 1 in {l} of the original records")
    over = ineligible_slots(journeys.slot[published], journeys.value.codes[published], l)
    expect_none(findings, "not-eligible", slots=over, l=l)


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
    expect_none(findings, "packet", records=complete != (packet != NO_PACKET))
    rows = np.flatnonzero(complete & (packet != NO_PACKET))
    group, packets = number_of_each(packet[rows])
    size = np.bincount(group)
    for code, fate, column in (
        ("packet-origin", "belong to one slot", journeys.origin),
        ("packet-fate", "are published in one slot, or all withheld", journeys.slot),
        ("packet-bucket", "are in one bucket", journeys.bucket),
    ):
        findings.check(f"all records of a packet {fate}")
        # Compare each record with one of its packet.
        example = np.zeros(packets, dtype=np.int64)
        example[group] = column[rows]
        expect_none(findings, code, packets=len(np.unique(group[column[rows] != example[group]])))
    findings.check("all records of a packet have different values")
    owner, _, _ = distinct_pairs(group, journeys.value.codes[rows], journeys.value.size)
    expect_none(findings, "packet-values", packets=np.bincount(owner, minlength=packets) < size)
    findings.check(
        f"every packet has {promise} records or more, or as many as its slot's commonest value allows"
    )
    least = np.zeros(len(packet), dtype=np.int64)
    # By the slot of origin, in which the adversary looks for the record.
    least[complete] = least_packet_sizes(journeys.origin[complete], journeys.value.codes[complete], promise)
    small = np.unique(group[size[group] < least[rows]])
    smallest = int(size[small].min(initial=promise))
    expect_none(findings, "packet-size", packets=len(small), smallest=smallest)


def _check_published(evidence: Evidence, findings: Findings) -> None:
    """The published rows and values are those of the records that the ledger places there."""
    journeys, published = evidence.journeys, evidence.journeys.published
    slot, original = journeys.slot[published], Coded(journeys.value.codes[published], journeys.value.values)
    findings.check("every slot has as many records as the ledger places there")
    slots = _numbers(slot, evidence.released_slot)
    expect_none(findings, "slot-records", slots=_differences(*slots) != 0)
    findings.check("per value, the published and the withheld records are the original ones")
    values, weight = evidence.released_values
    expected, released = align(original, values)
    unequal = _differences(expected.codes, released.codes, expected.size, weight) != 0
    expect_none(findings, "conservation", values=unequal)
    findings.check("the published rows are the original records that were not withheld, one for one")
    columns = [slots]
    if evidence.bucketed:
        released_bucket = whole_numbers(column_of(evidence.release.parts["data"], BUCKET))
        columns.append(_numbers(journeys.bucket[published], released_bucket))
    for name in evidence.columns("quasi", "keep", "sensitive"):
        column = evidence.original(name)
        before, after = align(Coded(column.codes[published], column.values), evidence.released(name))
        columns.append((before.codes, after.codes, before.size))
    difference = _differences(*fold_both(columns))
    surplus, missing = int(np.clip(-difference, 0, None).sum()), int(np.clip(difference, 0, None).sum())
    findings.expect("row-values", not difference.any(), surplus=surplus, missing=missing)
    if evidence.bucketed:
        findings.check("the values of every bucket are those of its records")
        buckets = evidence.buckets
        columns = [
            _numbers(slot, buckets.slot[buckets.owner]),
            _numbers(journeys.bucket[published], buckets.number[buckets.owner]),
            (expected.codes, released.codes, expected.size),
        ]
        unequal = _differences(*fold_both(columns), buckets.often) != 0
        expect_none(findings, "bucket-values", values=unequal)


def _differences(left: Integers, right: Integers, codes: int, weight: Integers | None = None) -> Integers:
    """Per code how many more there are on the left than on the right, where each has a weight."""
    right_counts = np.bincount(right, weights=weight, minlength=codes).astype(np.int64)
    return np.bincount(left, minlength=codes) - right_counts


def _numbers(left: Integers, right: Integers) -> tuple[Integers, Integers, int]:
    """Two columns of numbers as codes under one numbering."""
    codes, count = number_of_each(np.concatenate([left, right]))
    return codes[: len(left)], codes[len(left) :], count
