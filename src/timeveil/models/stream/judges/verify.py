"""Is every published slot l-diverse? (Wang et al. 2010, with the buckets of Xiao and Tao 2006)

Unlike a number of people, a recipient can see this in the tables. The ledger shows besides whether every
original record is withheld, or published once within the window. Whether the records of packets were drawn at
random cannot be checked from any outcome. A recipient cannot follow people who come back, and sees only that
buckets list each value once and how many counterfeits there are. Of generalised groups a recipient sees the
records and labels; the ledger shows the people, and whether each label is one of the original value's.
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Ints
from timeveil.domain.judgement import Verdict
from timeveil.errors import InputError
from timeveil.evidence import codes
from timeveil.evidence.checks import UNREADABLE, Findings
from timeveil.evidence.codes import Coded, Sides, align, column_of, distinct_pairs, encode, ranked
from timeveil.evidence.published import check_row_order, classes_of
from timeveil.models.stream.evidence import (
    Evidence,
    ineligible_slots,
    least_packet_sizes,
    number_of_pairs,
    whole_numbers,
)
from timeveil.models.stream.judges.manifest import SENTENCES, check_columns, check_shape, check_statements
from timeveil.models.stream.slots import NOWHERE


def check(evidence: Evidence) -> Verdict:
    """Every check of a stream, as far as each makes sense after the one before."""
    findings = Findings("recipient" if evidence.ledger is None else "with ledger", SENTENCES)
    if check_shape(evidence.release, findings) and check_columns(evidence.release, findings):
        check_statements(evidence, findings)
        evidence.progress("checking slots", 0.1)
        if _check_published(evidence, findings) and evidence.ledger is not None:
            evidence.progress("following records", 0.5)
            findings.open_ledger(evidence.release, evidence.private)
            _check_records(evidence, findings)
    return findings.verdict()


def _check_published(evidence: Evidence, findings: Findings) -> bool:
    """Check what a recipient sees: slots, buckets and values; False where slots cannot even be read."""
    try:
        evidence.line.numbers(pa.array([], pa.string()))
    except UNREADABLE:  # the definition is anyone's
        findings.expect("slot:rebuilt", False)
        return False
    release = evidence.release
    if evidence.bucketed:
        # No count is above the number of rows, so that sums of counts are exact.
        most = pc.max(column_of(release.parts["sensitive"], "count")).as_py() or 0
        if not findings.expect("value-counts:most", most <= release.manifest["counts"]["rows"]):
            return False
    _check_slots(evidence, findings)
    for table in release.parts:
        check_row_order(release, (evidence.unit,) if evidence.grouped else (), findings, table, within="slot")
    if evidence.bucketed:
        _check_buckets(evidence, findings)
    elif evidence.generalized:
        _check_groups(evidence, findings)
    else:
        # Every slot is checked as one bucket.
        classes = classes_of(release, ["slot", evidence.sensitive_column])
        rows, slot = np.asarray(classes["rows"]), encode(classes.column(0)).codes
        _check_row_count(rows, release.manifest["counts"]["rows"], findings)
        _check_values(slot, codes.encode_values(classes.column(1)), rows, evidence.l, "slot", findings)
    return True


def _check_slots(evidence: Evidence, findings: Findings) -> None:
    findings.check("every slot is one of the stated granularity, from the first to the last stated")
    findings.check("slots are in the order of time")
    counts, line = evidence.release.manifest["counts"], evidence.line
    first, last = (line.number(counts.get(name)) for name in ("first_slot", "last_slot"))
    stated = NOWHERE not in (first, last)
    for table in evidence.release.parts:
        numbers = line.numbers(evidence.slot_runs(table))
        slots = numbers[numbers != NOWHERE]
        if findings.expect_none("slot", slots=numbers == NOWHERE, table=table):
            findings.expect("slot-order", not (np.diff(numbers) <= 0).any(), table=table)
        if stated:
            findings.expect_none("slot:outside", slots=(slots < first) | (slots > last), table=table)
        if table == "data" and not stated:
            findings.expect("slot:stated", not (len(slots) or counts["slots"]))
    if stated:
        extent, number = last - first + 1, counts["slots"]  # empty slots count
        findings.expect("counts:slots", number == extent, stated=number, slots=max(extent, 0))


def _check_buckets(evidence: Evidence, findings: Findings) -> None:
    l, buckets, counts = evidence.l, evidence.buckets, evidence.release.manifest["counts"]
    _check_row_count(buckets.rows, counts["rows"], findings)
    findings.check("the two tables have the same buckets with the same numbers of records")
    in_data = buckets.rows > 0
    findings.expect_none("tables-disagree:apart", buckets=in_data != buckets.listed)
    # A record that returns is alone with counterfeits.
    alone = (buckets.rows == 1) & (buckets.size > 1) & (evidence.recurring == "invariant")
    unequal = in_data & buckets.listed & (buckets.rows != buckets.size) & ~alone
    findings.expect_none("tables-disagree:sizes", buckets=unequal)
    if evidence.recurring == "invariant":
        findings.check("every bucket lists each value once, and the counterfeits are as many as stated")
        findings.expect_none("signature:twice", values=buckets.often > 1)
        number, stated = int(buckets.counterfeits[alone].sum()), counts.get("counterfeits")
        findings.expect("counts:counterfeits", number == stated, counterfeits=number, stated=stated)
    number = int(buckets.listed.sum())
    findings.expect("counts:buckets", number == counts["buckets"], buckets=number, stated=counts["buckets"])
    findings.check("buckets are numbered from 0 within each slot")
    slot, numbers = buckets.slot[buckets.listed], buckets.number[buckets.listed]
    findings.expect_none("bucket", buckets=numbers != np.arange(len(slot)) - np.searchsorted(slot, slot))
    findings.check("every value of a bucket is listed once, with the number of records that have it")
    below = int((buckets.often < 1).sum())
    repeated = len(buckets.owner) - number_of_pairs(buckets.owner, buckets.value.codes)[1]
    findings.expect("value-counts", not (below or repeated), below=below, repeated=repeated)
    findings.check(f"every bucket has at least {l} records")
    size, rows = buckets.size[buckets.listed], buckets.rows[in_data & ~alone]
    small = max(int((size < l).sum()), int((rows < l).sum()))
    smallest = min(int(size.min(initial=l)), int(rows.min(initial=l)))
    findings.expect_none("bucket-size", buckets=small, l=l, smallest=smallest)
    _check_values(buckets.owner, buckets.value, buckets.often, l, "bucket", findings)


def _check_groups(evidence: Evidence, findings: Findings) -> None:
    """What the table shows: groups of k records with equal labels, and no value too frequent."""
    release, l, k = evidence.release, evidence.l, evidence.k
    quasi, counts = evidence.columns("quasi"), release.manifest["counts"]
    classes = classes_of(release, ["slot", "group", *quasi, evidence.sensitive_column])
    slot, number = evidence.line.numbers(classes.column(0)), whole_numbers(classes.column(1))
    owner, groups = number_of_pairs(slot, number)
    rows, value = np.asarray(classes["rows"]), codes.encode_values(classes.column(-2))
    _check_row_count(rows, counts["rows"], findings)
    findings.expect("counts:groups", groups == counts["groups"], groups=groups, stated=counts["groups"])
    findings.check("groups are numbered from 0 within each slot")
    first = np.zeros((2, groups), np.int64)
    first[:, owner] = slot, number
    in_slot = np.arange(groups) - np.searchsorted(first[0], first[0])
    findings.expect_none("group", groups=first[1] != in_slot)
    findings.check("all records of a group have the same labels")
    columns = [encode(classes.column(position + 2)) for position in range(len(quasi))]
    label, _ = codes.fold([(column.codes, column.size) for column in columns], len(slot))
    findings.expect_none("group-labels", groups=_different(owner, label) > 1)
    findings.check(f"every group has at least {k} records")
    size = np.bincount(owner, rows, groups).astype(np.int64)
    findings.expect_none("group-size", groups=size < k, k=k, smallest=int(size.min(initial=k)))
    _check_values(owner, value, rows, l, "group", findings)
    findings.check("the labels that the manifest lists are published, each at one level")
    for name, column in zip(quasi, columns, strict=True):
        listed = [text for texts in release.manifest["levels"].get(name, {}).values() for text in texts]
        strangers = len(listed) - len(set(listed) & set(column.values.to_pylist()))
        findings.expect_none("levels", labels=strangers, name=name)


def _check_row_count(rows: Ints, stated: int, findings: Findings) -> None:
    findings.check("row, slot and bucket counts are those of the manifest")
    findings.expect("row-count", rows.sum() == stated, rows=int(rows.sum()), stated=stated)


def _check_values(owner: Ints, value: Coded, often: Ints, l: int, group: str, findings: Findings) -> None:
    """Every record has a value, and none is too frequent; `often` records of group `owner` have `value`."""
    findings.check("every record has a sensitive value")
    # A missing value would set its record apart from those that have one.
    missing = np.asarray(value.values.is_null())[value.codes]
    findings.expect("value-missing", not missing.any(), records=int(often[missing].sum()))
    findings.check(f"no value is held by more than 1 in {l} records of a {group}")
    # A value that is listed twice is added up.
    frequent = ineligible_slots(owner, value.codes, l, often)
    findings.expect_none("value-too-frequent", groups=frequent, group=group, l=l)


def _check_records(evidence: Evidence, findings: Findings) -> None:
    if not _check_ledger(evidence, findings):
        return
    try:
        _ = evidence.journeys
    except InputError as error:
        findings.expect("ledger", False, fault=error.message)
        return
    _check_origins(evidence, findings)
    _check_moves(evidence, findings)
    _check_packets(evidence, findings)
    _check_recurring(evidence, findings)
    try:
        _check_rows(evidence, findings)
    except InputError as error:
        findings.expect("row-values:type", False, fault=error.message)


def _check_ledger(evidence: Evidence, findings: Findings) -> bool:
    """Whether the ledger is that of the release, so that its records can be compared."""
    findings.check("the published columns are those of the original, and no respondent or time is among them")
    ledger, manifest, before = evidence.private, evidence.release.manifest, len(findings.violations)
    published = [column["name"] for column in manifest["columns"]]
    findings.expect("columns:respondent", ledger.original.roles.respondent not in published)
    stated = json.dumps(manifest["time"])
    findings.expect("parameters:time", json.dumps(ledger.facts.get("time")) == stated)
    findings.check("the ledger lists every original row, in order")
    rows = ledger.original.rows
    if findings.expect_all(evidence.ledger_facts, listed=ledger.entries.num_rows, rows=rows):
        findings.expect("ledger-rows", np.array_equal(ledger.table.column("row"), np.arange(rows)))
    return len(findings.violations) == before


def _check_origins(evidence: Evidence, findings: Findings) -> None:
    findings.check("the ledger lists the slot of every complete record, and no other record is published")
    journeys, manifest = evidence.journeys, evidence.release.manifest
    counts, window = manifest["counts"], manifest["parameters"]["window"]
    findings.expect_none("origin", records=journeys.complete & (journeys.noted != journeys.origin))
    findings.expect_none("incomplete-rows", records=journeys.published & ~journeys.complete)
    findings.check("the slots go from the first to the last of the records, and as far as they were delayed")
    origin, labels = journeys.origin[journeys.complete], [None, None]
    if len(origin):
        ends = [int(origin.min()), int(origin.max()) + evidence.reach - window]
        labels = evidence.line.labels(ends).to_pylist()
    findings.expect("slot:ends", labels == [counts["first_slot"], counts["last_slot"]])


def _check_moves(evidence: Evidence, findings: Findings) -> None:
    journeys, published, l = evidence.journeys, evidence.journeys.published, evidence.l
    findings.check("no record was published before its slot")
    findings.expect_none("moved-back", records=journeys.distance < 0)
    reach = evidence.reach  # in a whole table, as a ledger is of, no record comes late
    findings.check(f"no record was published {reach} or more slots after its own")
    findings.expect_none("moved-too-far", records=journeys.distance >= reach, reach=reach)
    if evidence.private.original.roles.respondent is not None:
        findings.check("no person is twice in a published slot")
        pairs = np.stack([journeys.slot, journeys.person])[:, published]
        findings.expect_none("person-twice", records=pairs.shape[1] - np.unique(pairs, axis=1).shape[1])
    # Records that are alone with counterfeits are not hidden by each other.
    shared = published & ~evidence.alone
    findings.check(f"in no slot is a value held by more than 1 in {l} of the original records")
    over = ineligible_slots(journeys.slot[shared], journeys.value.codes[shared], l)
    findings.expect_none("not-eligible", slots=over, l=l)


def _check_packets(evidence: Evidence, findings: Findings) -> None:
    promise, journeys = evidence.true_slot, evidence.journeys
    if promise is None:
        return
    findings.check("every complete record is in a packet, and no other record is")
    packet, complete = evidence.packets, journeys.complete
    if packet is None:
        findings.expect("packet:missing", False)
        return
    findings.expect_none("packet", records=complete != (packet != -1))
    rows = np.flatnonzero(complete & (packet != -1))
    _, group = ranked(packet[rows])
    size = np.bincount(group)
    for code, fate, column in (
        ("packet-origin", "belong to one slot", journeys.origin),
        ("packet-fate", "are published in one slot, or all withheld", journeys.slot),
        ("packet-bucket", "are in one bucket", journeys.bucket),
    ):
        findings.check(f"all records of a packet {fate}")
        findings.expect_none(code, packets=_different(group, column[rows]) > 1)
    findings.check("all records of a packet have different values")
    different = _different(group, journeys.value.codes[rows])
    findings.expect_none("packet-values", packets=different < size)
    room = "as many as its slot's commonest value allows"
    findings.check(f"every packet has {promise} records or more, or {room}")
    least = np.zeros(len(packet), dtype=np.int64)
    # By the slot of origin, in which the adversary looks for the record.
    least[complete] = least_packet_sizes(journeys.origin[complete], journeys.value.codes[complete], promise)
    small = np.unique(group[size[group] < least[rows]])
    findings.expect_none("packet-size", packets=len(small), smallest=int(size[small].min(initial=promise)))


def _check_recurring(evidence: Evidence, findings: Findings) -> None:
    """Follow each person from one published slot to the next, as far apart as the promise reaches."""
    if evidence.recurring is None:
        return
    findings.check("every person is published once, or with the same values in every slot")
    if not findings.expect("respondent-missing", evidence.private.original.roles.respondent is not None):
        return
    journeys, horizon = evidence.journeys, evidence.release.manifest["guarantee"].get("forget_after")
    records = np.flatnonzero(journeys.published)
    records = records[np.lexsort((journeys.slot[records], journeys.person[records]))]
    person, slot = journeys.person[records], journeys.slot[records]
    is_repeat = ~codes.changes(person)
    near = is_repeat & (np.diff(slot, prepend=slot[:1]) <= (horizon or np.inf))
    if evidence.recurring == "withhold":
        findings.expect_none("person-again", records=near)
        return
    alone = evidence.alone[records]
    findings.expect_none("signature:first", records=alone & ~is_repeat)
    buckets = evidence.buckets
    # The values of each bucket as one text of bytes, in the order of their codes.
    order = np.lexsort((buckets.value.codes, buckets.owner))
    parts = np.split(buckets.value.codes[order], np.cumsum(np.bincount(buckets.owner))[:-1])
    texts = {number: part.tobytes() for number, part in enumerate(parts)}
    numbers = buckets.index(slot, journeys.bucket[records]).tolist()
    signature = np.array([texts.get(number, b"") for number in numbers], dtype=object)
    changed = (near | (is_repeat & alone)) & codes.changes(signature)
    findings.expect_none("signature", records=changed)


def _check_rows(evidence: Evidence, findings: Findings) -> None:
    journeys, published = evidence.journeys, evidence.journeys.published
    slot, original = journeys.slot[published], Coded(journeys.value.codes[published], journeys.value.values)
    findings.check("every slot has as many records as the ledger places there")
    slots = _numbers(slot, evidence.line.numbers(column_of(evidence.release.parts["data"], "slot")))
    findings.expect_none("slot-records", slots=_differences(*slots) != 0)
    findings.check("per value, the published and the withheld records are the original ones")
    if evidence.bucketed:
        values, often = evidence.buckets.value, evidence.buckets.often
    else:
        values, often = evidence.released_column(evidence.sensitive_column), None
    expected, released = align(original, values)
    # Positive where records lack a value of the release, negative where values lack a record: counterfeits.
    difference = _differences(expected.codes, released.codes, expected.size, often)
    findings.expect_none("conservation", values=difference > 0 if evidence.alone.any() else difference != 0)
    findings.check("the published rows are the original records that were not withheld, one for one")
    columns = [slots]
    if evidence.grouped:
        released_bucket = whole_numbers(column_of(evidence.release.parts["data"], evidence.unit))
        columns.append(_numbers(journeys.bucket[published], released_bucket))
    exact = () if evidence.generalized else ("quasi",)
    if evidence.generalized:
        _check_labels(evidence, findings)
    for name in evidence.columns(*exact, "keep", "sensitive"):
        column = evidence.original_column(name)
        before, after = align(Coded(column.codes[published], column.values), evidence.released_column(name))
        columns.append((before.codes, after.codes, before.size))
    surplus, missing = codes.differing(columns)
    findings.expect("row-values", not (surplus or missing), surplus=surplus, missing=missing)
    if evidence.bucketed:
        findings.check("the values of every bucket are those of its records")
        buckets = evidence.buckets
        columns = [
            _numbers(slot, buckets.slot[buckets.owner]),
            _numbers(journeys.bucket[published], buckets.number[buckets.owner]),
            (expected.codes, released.codes, expected.size),
        ]
        left, right, size = codes.fold_both(columns)
        difference = _differences(left, right, size, buckets.often)
        invented = np.zeros(size, dtype=bool)
        if evidence.recurring == "invariant":
            invented[right] = (buckets.counterfeits > 0)[buckets.owner]
        findings.expect_none("bucket-values", values=(difference > 0) | (difference < 0) & ~invented)


def _check_labels(evidence: Evidence, findings: Findings) -> None:
    """With the ledger: enough people in every group, and every record under the labels of its group."""
    journeys, rows = evidence.journeys, np.flatnonzero(evidence.journeys.published)
    if evidence.private.original.roles.respondent is not None:
        findings.check(f"every group has at least {evidence.k} different people")
        group, _ = number_of_pairs(journeys.slot[rows], journeys.bucket[rows])
        people = _different(group, journeys.person[rows])
        findings.expect_none("group-people", groups=people < evidence.k)
    findings.check("every record lies under the labels of its group")
    for name in evidence.columns("quasi"):
        values, labels = evidence.original_column(name), evidence.labels[name]
        # A record in no published group has no label, and is missed elsewhere.
        labelled = rows[labels.codes[rows] >= 0]
        label = Coded(labels.codes[labelled], labels.values)
        wrong = evidence.wrong_labels(name, values.codes[labelled], label)
        findings.expect_none("labels", values=wrong, name=name)


def _different(group: Ints, number: Ints) -> Ints:
    """How many different numbers each group has."""
    owner, _, _ = distinct_pairs(group, ranked(number)[1], len(number))
    return np.bincount(owner)


def _differences(left: Ints, right: Ints, size: int, weight: Ints | None = None) -> Ints:
    """Per code how many more there are on the left than on the right, where each has a weight."""
    right_counts = np.bincount(right, weights=weight, minlength=size).astype(np.int64)
    return np.bincount(left, minlength=size) - right_counts


def _numbers(left: Ints, right: Ints) -> Sides:
    values, index = ranked(np.concatenate([left, right]))
    return index[: len(left)], index[len(left) :], len(values)
