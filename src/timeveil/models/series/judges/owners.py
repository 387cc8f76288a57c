"""Whose rows are whose where people have several series, and what these show together."""

from __future__ import annotations

import numpy as np

from timeveil.evidence.codes import Integers, distinct_pairs
from timeveil.evidence.published import columns_of
from timeveil.evidence.risk import Posterior
from timeveil.models.series.evidence import Evidence


class Owners:
    """How many rows of a run belong to the person of a series, where people have several."""

    def __init__(self, evidence: Evidence) -> None:
        records, column = evidence.records, evidence.private.original.roles.respondent
        people = evidence.original_column(str(column))
        self._person, self._size = people.codes[records.series.row].astype(np.int64), max(people.size, 1)
        inside = records.released
        self._keys = np.sort(records.run[inside] * self._size + self._person[inside])

    def rows_of(self, series: Integers, run: Integers) -> Integers:
        """Per pair of a series and a run, the rows of the run that are the same person's."""
        key = run * self._size + self._person[series]
        return np.searchsorted(self._keys, key, "right") - np.searchsorted(self._keys, key)


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
