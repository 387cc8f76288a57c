"""Quasi-identifiers beside series: whether all of a group show one label, the right one, and what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Coded, Integers, distinct_pairs
from timeveil.evidence.conditions import Alternatives
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.evidence.original import ABSENT, Floats

SENTENCES = {
    "group-labels": "{groups:group} whose rows do not show the same labels",
    "labels": "{values:value} of `{name}` published under a label that does not contain it",
    "levels": "{labels:label} of `{name}` listed in the manifest and not published, or listed twice",
}


def check_shown(evidence: Evidence, findings: Findings) -> None:
    """What a recipient sees: one label per group and column, and levels of labels that are published."""
    group = np.repeat(evidence.runs.group, evidence.runs.rows)
    for name in evidence.columns("quasi"):
        findings.check(f"all rows of a group show one label of `{name}`")
        labels = evidence.released_column(name)
        owner, _, _ = distinct_pairs(group, labels.codes, max(labels.size, 1))
        findings.expect_none("group-labels", groups=np.bincount(owner) > 1)
        listed = [text for texts in evidence.release.manifest["levels"][name].values() for text in texts]
        strangers = len(listed) - len(set(listed) & set(labels.values.to_pylist()))
        findings.expect_none("levels", labels=strangers, name=name)


def check_contents(evidence: Evidence, group: Integers, findings: Findings) -> None:
    """With the ledger: every series is under labels that contain its values."""
    inside, groups = np.flatnonzero(group != ABSENT), evidence.runs.group
    for name in evidence.columns("quasi"):
        findings.check(f"every label of `{name}` contains the values of its group")
        # The label of a group is that of any of its runs.
        labels, run = evidence.run_labels(name), np.zeros(int(groups.max(initial=0)) + 1, np.int64)
        run[groups] = np.arange(len(groups))
        shown = Coded(labels.codes[run[group[inside]]], labels.values)
        value = evidence.original_column(name).codes[evidence.series.row[inside]]
        findings.expect_none("labels", values=evidence.wrong_labels(name, value, shown), name=name)


def known_sides(evidence: Evidence) -> list[tuple[Floats, Floats, Floats]]:
    """Per quasi-identifier a number of each series' value, and of each run the lowest and highest that fit.

    Labels nest, so values can be numbered such that those of every label follow each other.
    """
    sides = []
    for name in evidence.columns("quasi"):
        values, labels = evidence.original_column(name), evidence.run_labels(name)
        contains = evidence.contains(name, labels.values) > 0
        # Wide labels first: values of one label stay together, and within it those of the next narrower.
        widest = np.argsort(-contains.sum(axis=1), kind="stable")
        rank = np.argsort(np.lexsort(contains[widest][::-1]))
        least, most = (
            np.array([[pick(rank[row], initial=end)] for row in contains], np.float64)
            for pick, end in ((np.min, len(rank)), (np.max, -1))
        )
        position = rank[values.codes[evidence.series.row], None].astype(np.float64)
        sides.append((position, least[labels.codes], most[labels.codes]))
    return sides


def bits_lost(evidence: Evidence) -> dict[str, float]:
    """What a published series loses on average, in bits, by quasi-identifier."""
    records, lost = evidence.records, {}
    for name in evidence.columns("quasi") if len(records.released) else ():
        value, labels = evidence.original_column(name).codes[records.series.row], evidence.run_labels(name)
        shown = Coded(labels.codes[records.run[records.released]], labels.values)
        lost[name] = evidence.bits_of(name, value[records.released], shown, value)
    return lost


def shares_where(evidence: Evidence, where: Any) -> Floats:
    """Per run the share of its series that meets conditions: expected, certain and possible."""
    conditions, runs = Alternatives(evidence.release, where, evidence.columns("quasi")), evidence.runs
    columns = {}
    for name in conditions.labelled:
        labels = evidence.run_labels(name)
        columns[name] = labels.values.take(pa.array(labels.codes))
    marks = np.full(len(runs.rows), (1 << len(conditions.sets)) - 1)
    names = [*conditions.labelled, "marks", "rows"]
    classes = pa.table([*columns.values(), pa.array(marks), pa.array(runs.rows)], names)
    return evidence.label_shares(conditions, classes)
