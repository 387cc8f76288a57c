"""Generalised groups: whether they keep the promise, what their labels contain, and what is lost, in bits.

A recipient can count the records of a group and of each of its values, and see that its labels are the same
in all rows. With the ledger, people are counted, and every label must be one of the original value's, by the
mapping of the run and by what the label says of itself.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Floats, Ints
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Coded, distinct_pairs, encode, encode_values, fold
from timeveil.evidence.conditions import Alternatives
from timeveil.evidence.published import classes_of
from timeveil.models.stream.evidence import Evidence, number_of_pairs, whole_numbers


def check_groups(evidence: Evidence, findings: Findings) -> None:
    """What the table shows: groups of k records with equal labels, and no value too frequent."""
    release, l, k = evidence.release, evidence.l, evidence.k
    quasi, counts = evidence.columns("quasi"), release.manifest["counts"]
    classes = classes_of(release, ["slot", "group", *quasi, evidence.sensitive_column])
    slot, number = evidence.line.numbers(classes.column(0)), whole_numbers(classes.column(1))
    owner, groups = number_of_pairs(slot, number)
    rows, value = np.asarray(classes["rows"]), encode_values(classes.column(-2))
    check_row_count(rows, counts["rows"], findings)
    findings.expect("counts:groups", groups == counts["groups"], groups=groups, stated=counts["groups"])
    findings.check("groups are numbered from 0 within each slot")
    first = np.zeros((2, groups), np.int64)
    first[:, owner] = slot, number
    in_slot = np.arange(groups) - np.searchsorted(first[0], first[0])
    findings.expect_none("group", groups=first[1] != in_slot)
    findings.check("all records of a group have the same labels")
    columns = [encode(classes.column(position + 2)) for position in range(len(quasi))]
    label, labels = fold([(column.codes, column.size) for column in columns], len(slot))
    owners, _, _ = distinct_pairs(owner, label, labels)
    findings.expect_none("group-labels", groups=np.bincount(owners, minlength=groups) > 1)
    findings.check(f"every group has at least {k} records")
    size = np.bincount(owner, rows, groups).astype(np.int64)
    findings.expect_none("group-size", groups=size < k, k=k, smallest=int(size.min(initial=k)))
    check_values(owner, value, rows, size, l, "group", findings)
    findings.check("the labels that the manifest lists are published, each at one level")
    for name, column in zip(quasi, columns, strict=True):
        listed = [text for texts in release.manifest["levels"].get(name, {}).values() for text in texts]
        strangers = len(listed) - len(set(listed) & set(column.values.to_pylist()))
        findings.expect_none("levels", labels=strangers, name=name)


def check_row_count(rows: Ints, stated: int, findings: Findings) -> None:
    """As many rows as the manifest states."""
    findings.check("row, slot and bucket counts are those of the manifest")
    findings.expect("row-count", rows.sum() == stated, rows=int(rows.sum()), stated=stated)


def check_values(
    owner: Ints, value: Coded, often: Ints, size: Ints, l: int, group: str, findings: Findings
) -> None:
    """Every record has a value, and none is too frequent; `often` records of group `owner` have `value`."""
    findings.check("every record has a sensitive value")
    # A missing value would set its record apart from those that have one.
    missing = np.asarray(value.values.is_null())[value.codes]
    findings.expect("value-missing", not missing.any(), records=int(often[missing].sum()))
    findings.check(f"no value is held by more than 1 in {l} records of a {group}")
    pairs, index = np.unique(owner * max(value.size, 1) + value.codes, return_inverse=True)
    # A value that is listed twice is added up.
    records = np.bincount(index.ravel(), weights=often, minlength=len(pairs)).astype(np.int64)
    most = np.zeros(len(size), dtype=np.int64)
    np.maximum.at(most, pairs // max(value.size, 1), records)
    findings.expect_none("value-too-frequent", groups=most * l > size, group=group, l=l)


def check_labels(evidence: Evidence, findings: Findings) -> None:
    """With the ledger: enough people in every group, and every record under the labels of its group."""
    journeys, rows = evidence.journeys, np.flatnonzero(evidence.journeys.published)
    if evidence.private.original.roles.respondent is not None:
        findings.check(f"every group has at least {evidence.k} different people")
        group, groups = number_of_pairs(journeys.slot[rows], journeys.bucket[rows])
        owner, _, _ = distinct_pairs(group, journeys.person[rows], int(journeys.person.max(initial=0)) + 1)
        findings.expect_none("group-people", groups=np.bincount(owner, minlength=groups) < evidence.k)
    findings.check("every record lies under the labels of its group")
    for name in evidence.columns("quasi"):
        values, labels = evidence.original_column(name), evidence.labels[name]
        # A record in no published group has no label, and is missed elsewhere.
        labelled = rows[labels.codes[rows] >= 0]
        label = Coded(labels.codes[labelled], labels.values)
        wrong = evidence.wrong_labels(name, values.codes[labelled], label)
        findings.expect_none("labels", values=wrong, name=name)


def chances(evidence: Evidence, name: str) -> Callable[[int], Floats]:
    """A function of a value's code: of each published label, the share that `answer` expects to have it."""
    labels, values = evidence.labels[name].values, evidence.original_column(name).values
    ones = np.ones(len(labels), np.int64)
    classes = pa.table([labels, ones, ones], ["label", "mark", "rows"])

    @cache
    def chance(code: int) -> Floats:
        conditions = Alternatives(evidence.release, {name: values[code].as_py()}, [name])
        return np.asarray(evidence.label_shares(conditions, classes)[0])

    return chance


def bits_lost(evidence: Evidence) -> dict[str, float]:
    """What a published record loses on average, in bits, by column."""
    journeys, published = evidence.linked, evidence.linked.published
    if not (evidence.grouped and published.any()):
        return {}
    if evidence.bucketed:
        bucket, _ = number_of_pairs(journeys.slot[published], journeys.bucket[published])
        pair, _ = number_of_pairs(bucket, journeys.value.codes[published])
        share = np.bincount(pair)[pair] / np.bincount(bucket)[bucket]
        return {evidence.sensitive_column: float(-np.log2(share).mean())}
    lost = {}
    for name, labels in evidence.labels.items():
        value, label = evidence.original_column(name).codes, Coded(labels.codes[published], labels.values)
        lost[name] = evidence.bits_of(name, value[published], label, value[journeys.complete])
    return lost
