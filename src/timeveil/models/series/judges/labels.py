"""Quasi-identifiers beside series, their labels and what these leave; what all series of a person show."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Coded, Integers, distinct_pairs
from timeveil.evidence.conditions import Alternatives
from timeveil.evidence.published import columns_of
from timeveil.evidence.risk import Posterior
from timeveil.models.series.evidence import ABSENT, Evidence, Floats

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
        labelled = Coded(labels.codes[run[group[inside]]], labels.values)
        value = evidence.original_column(name).codes[evidence.series.row[inside]]
        findings.expect_none("labels", values=evidence.wrong_labels(name, value, labelled), name=name)


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
        labelled = Coded(labels.codes[records.run[records.released]], labels.values)
        lost[name] = evidence.bits_of(name, value[records.released], labelled, value)
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


def owned_rows(evidence: Evidence) -> Callable[[Integers, Integers], Integers]:
    """A function of pairs of a series and a run: how many rows of the run are the same person's."""
    records, column = evidence.records, evidence.private.original.roles.respondent
    people = evidence.original_column(str(column))
    person, size = people.codes[records.series.row].astype(np.int64), max(people.size, 1)
    inside = records.released
    keys = np.sort(records.run[inside] * size + person[inside])

    def rows_of(series: Integers, run: Integers) -> Integers:
        key = run * size + person[series]
        return np.searchsorted(keys, key, "right") - np.searchsorted(keys, key)

    return rows_of


def told_together(evidence: Evidence) -> dict[str, Posterior]:
    """Per sensitive column the chance of each person's true value to someone who knows all their series.

    Every series leads to its cell, and the chance of a value is the product of its shares in these cells.
    Only people with one value in all their series count, and columns that were not changed for l.
    """
    stated, records = evidence.release.manifest["series"], evidence.records
    if not stated.get("several"):
        return {}
    inside, rows = records.released, records.published.rows
    column = evidence.original_column(str(evidence.private.original.roles.respondent))
    _, person = np.unique(column.codes[records.series.row[inside]], return_inverse=True)
    run, posteriors = records.run[inside], dict[str, Posterior]()
    for name in columns_of(evidence.release, "sensitive"):
        if name in stated["perturbed"]:
            continue
        values = evidence.original_column(name)
        code, size = values.codes[records.series.row[inside]].astype(np.int64), max(values.size, 1)
        cell, value, count = distinct_pairs(run, code, size)
        begins = np.searchsorted(cell, np.arange(len(rows) + 1))
        # Every series with every value of its cell.
        many = np.diff(begins)[run]
        series = np.repeat(np.arange(len(run)), many)
        entry = np.arange(len(series)) - np.repeat(np.cumsum(many) - many - begins[run], many)
        key, number = np.unique(person[series] * size + value[entry], return_inverse=True)
        likely = np.bincount(number, weights=np.log(count[entry] / rows[run[series]]))
        # Values that are in all cells of the person; the others are ruled out.
        common = np.bincount(number) == np.bincount(person)[key // size]
        key, likely = key[common], np.exp(likely[common])
        total, least = np.bincount(key // size, weights=likely, minlength=1), np.full(person.max() + 1, size)
        np.minimum.at(least, person, code)
        constant = np.bincount(person, weights=code != least[person]) == 0
        true = np.isin(key, np.arange(len(least)) * size + least) & constant[key // size]
        posteriors[name] = Posterior(likely[true] / total[key[true] // size], np.ones(int(true.sum())))
    return posteriors
