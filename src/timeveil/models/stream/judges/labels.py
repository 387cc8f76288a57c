"""What the labels of generalised groups contain, and what buckets and labels lose, in bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa

from timeveil.evidence.codes import Coded, encode, fold
from timeveil.evidence.conditions import EXACT, Alternatives
from timeveil.evidence.risk import Floats
from timeveil.models.stream.evidence import Evidence, number_of_each


def label_shares(evidence: Evidence, conditions: Alternatives, classes: pa.Table) -> Floats:
    """Per class of labels and marks its share that meets the conditions: expected, certain and possible."""
    share, marks = np.zeros((3, len(classes))), np.asarray(classes.column(-2))
    columns = dict(zip(conditions.labelled, classes.columns, strict=False))
    levels = {}
    for name, column in columns.items():
        cells, level_of = encode(column), evidence.level_of[name]
        at = encode(pa.array([level_of.get(text, EXACT) for text in cells.values.to_pylist()], pa.string()))
        levels[name] = Coded(at.codes[cells.codes], at.values)
    # Classes that have the same levels in all columns are asked together.
    combination, count = fold([(level.codes, level.size) for level in levels.values()], len(classes))
    for number in range(count):
        part = np.flatnonzero(combination == number)
        at_level = {name: level.values[int(level.codes[part[0]])].as_py() for name, level in levels.items()}
        labels = {name: column.take(pa.array(part)) for name, column in columns.items()}
        share[:, part] = conditions.shares(labels, marks[part], at_level)
    return share


def chances(evidence: Evidence, name: str) -> Callable[[int], Floats]:
    """A function of a value's code: of each published label, the share that `answer` expects to have it."""
    labels, values = evidence.labels[name].values, evidence.original_column(name).values
    ones = np.ones(len(labels), np.int64)
    classes = pa.table([labels, ones, ones], ["label", "mark", "rows"])

    @cache
    def chance(code: int) -> Floats:
        conditions = Alternatives(evidence.release, {name: values[code].as_py()}, [name])
        return np.asarray(label_shares(evidence, conditions, classes)[0])

    return chance


def contains(evidence: Evidence, name: str) -> Floats:
    """1 where a published label contains a value of the original, by the codes of both."""
    labels, contents = evidence.labels[name].values.to_pylist(), evidence.contents(name)
    matrix = np.zeros((len(labels), evidence.original_column(name).size))
    for row, text in enumerate(labels):
        matrix[row, list(contents.get(text, ()))] = 1.0
    return matrix


def bits_lost(evidence: Evidence) -> dict[str, float]:
    """What a published record loses on average, in bits, by column."""
    journeys, published = evidence.linked, evidence.linked.published
    if not (evidence.grouped and published.any()):
        return {}
    if evidence.bucketed:
        value = number_of_each(journeys.value.codes[published])
        bucket = [number_of_each(journeys.slot[published]), number_of_each(journeys.bucket[published])]
        (owner, _), (pair, _) = (fold(columns, len(value[0])) for columns in (bucket, [*bucket, value]))
        share = np.bincount(pair)[pair] / np.bincount(owner)[owner]
        return {evidence.sensitive_column: float(-np.log2(share).mean())}
    lost = {}
    for name, labels in evidence.labels.items():
        values = evidence.original_column(name)
        often = np.bincount(values.codes[journeys.complete], minlength=values.size)
        under = contains(evidence, name) @ often
        records = under[labels.codes[published]] / often[values.codes[published]]
        lost[name] = float(np.log2(records).mean())
    return lost
