"""Generalised columns whose labels are of several levels: what each contains and hides."""

from functools import cached_property

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Floats, Ints
from timeveil.evidence.codes import Coded, distinct_pairs, encode, fold, mismatch
from timeveil.evidence.conditions import EXACT, Alternatives, period_of, share_of
from timeveil.evidence.published import Evidence
from timeveil.reading.columns import without_nan
from timeveil.reading.table import moments

STAR = "*"  # the label of every value


class LabelledEvidence(Evidence):
    """A release with generalised columns; its ledger has a mapping for each, a row per value."""

    @cached_property
    def level_of(self) -> dict[str, dict[str, str]]:
        """Per generalised column the level of each published label; what is not listed is a value."""
        stated = self.release.manifest.get("levels", {})
        return {name: {t: level for level, texts in stated[name].items() for t in texts} for name in stated}

    def texts(self, name: str) -> list[str | None]:
        """The values of a quasi-identifier as text, by code; numbers that are none are missing."""
        values = without_nan(pa.chunked_array([self.original_column(name).values]))
        texts: list[str | None] = values.cast(pa.string()).to_pylist()
        return texts

    def contents(self, name: str) -> dict[str | None, set[int]]:
        """By text of a label, the codes of the values that the run published under it."""
        mapping, texts = self.private.mappings.get(name), self.texts(name)
        if mapping is None or "value" not in mapping.column_names:
            raise mismatch(f"the ledger lacks the mapping of column `{name}`")
        contents: dict[str | None, set[int]] = {STAR: set(range(len(texts)))}
        spelt = mapping["value"].cast(pa.string()).to_pylist()
        levels = [dict(zip(spelt, mapping[c].to_pylist(), strict=True)) for c in mapping.column_names[1:]]
        for code, text in enumerate(texts):
            for label in {text, *(level.get(text) for level in levels)}:
                contents.setdefault(label, set()).add(code)
        return contents

    def contains(self, name: str, labels: pa.Array) -> Floats:
        """1 where a label contains a value of the original, by the codes of both."""
        contents = self.contents(name)
        matrix = np.zeros((len(labels), self.original_column(name).size))
        for row, text in enumerate(labels.to_pylist()):
            matrix[row, list(contents.get(text, ()))] = 1.0
        return matrix

    def wrong_labels(self, name: str, value: Ints, labels: Coded) -> int:
        """How many pairs of a value and the label it is published with do not fit, by mapping or by words."""
        pairs = distinct_pairs(value, labels.codes, max(labels.size, 1))
        texts, contents, wrong = self.texts(name), self.contents(name), 0
        dates = moments(self.original_column(name).values)
        # dates as calendar labels read them; other values as they are
        days = texts if dates is None else dates[0].astype("M8[s]").astype(str).tolist()
        for code, label in zip(*(column.tolist() for column in pairs[:2]), strict=True):
            text = labels.values[label].as_py()
            level = self.level_of[name].get(text, EXACT)
            meaning = days[code] if period_of(level) and texts[code] is not None else texts[code]
            wrong += code not in contents.get(text, ()) or not share_of(level, text, meaning)[-1]
        return wrong

    def bits_of(self, name: str, value: Ints, labels: Coded, everyone: Ints) -> float:
        """What rows lose on average, in bits: of everyone under their label, those with their value."""
        often = np.bincount(everyone, minlength=self.original_column(name).size)
        under = self.contains(name, labels.values) @ often
        return float(np.log2(under[labels.codes] / often[value]).mean())

    def label_shares(self, conditions: Alternatives, classes: pa.Table) -> Floats:
        """Per class of labels and marks its share that meets conditions: expected, certain, possible."""
        share, marks = np.zeros((3, len(classes))), np.asarray(classes.column(-2))
        columns = dict(zip(conditions.labelled, classes.columns, strict=False))
        levels = {}
        for name, column in columns.items():
            cells, level_of = encode(column), self.level_of[name]
            stated = [level_of.get(text, EXACT) for text in cells.values.to_pylist()]
            at = encode(pa.array(stated, pa.string()))
            levels[name] = Coded(at.codes[cells.codes], at.values)
        # Classes that have the same levels in all columns are asked together.
        combination, count = fold([(level.codes, level.size) for level in levels.values()], len(classes))
        for number in range(count):
            part = np.flatnonzero(combination == number)
            at_level = {n: level.values[int(level.codes[part[0]])].as_py() for n, level in levels.items()}
            labels = {name: column.take(pa.array(part)) for name, column in columns.items()}
            share[:, part] = conditions.shares(labels, marks[part], at_level)
        return share
