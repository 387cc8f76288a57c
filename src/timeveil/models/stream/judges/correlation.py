"""What goes with what, learnt from a release alone: naive Bayes over its two tables.

A bucket hides which of its records has which value. But over many buckets it shows that some values come with
some quasi-identifiers more often than others, and an outsider can learn that without knowing anyone: begin
with every value of a bucket equally shared by its records, count how often each quasi-identifier then comes
with each value, divide the values of every bucket again by these counts, and repeat (expectation
maximisation). The shares of a bucket's records and of its values are brought back to what is published after
every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from timeveil.evidence.codes import Integers
from timeveil.evidence.risk import Floats

_ROUNDS = 25
_BALANCES = 4  # a few rounds bring the shares of records and of values close to what is published
_PRIOR = 1.0  # records' worth of the overall frequencies, so that a value seen once proves nothing


def learnt_shares(
    record: Integers, value: Integers, cell: Integers, often: Integers, columns: Sequence[Integers]
) -> Floats:
    """For pairs of a record and a value of its bucket: the chance that the record has it.

    `cell` numbers the buckets' values, of which `often` has the number of records; `columns` have the codes
    of each quasi-identifier by record. Pairs of a record follow each other. A bucket that lists more values
    than it has records has counterfeits, and is not brought back to what is published.

    >>> record, value = np.repeat(np.arange(4), 2), np.tile([0, 1], 4)
    >>> cell, sex = np.array([0, 1, 0, 1, 2, 3, 2, 3]), np.array([0, 1, 0, 1])
    >>> learnt_shares(record, value, cell, np.ones(4, int), [sex]).round(1).tolist()
    [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    """
    begins = np.flatnonzero(np.diff(record, prepend=-1))
    length = np.diff(np.append(begins, len(record)))
    values = int(value.max(initial=-1)) + 1
    full = np.repeat(np.add.reduceat(often[cell], begins), length) == np.bincount(cell)[cell]

    def balanced(chance: Floats) -> Floats:
        for _ in range(_BALANCES):
            share = (often / np.maximum(np.bincount(cell, chance, len(often)), 1e-300))[cell]
            chance = chance * np.where(full, share, 1.0)
            chance = chance / np.repeat(np.maximum(np.add.reduceat(chance, begins), 1e-300), length)
        return chance

    keys = [codes[record] * values + value for codes in columns]
    overall = [np.bincount(codes) / max(len(codes), 1) for codes in columns]
    prior = often[cell].astype(float)
    chance = balanced(prior)
    for _ in range(_ROUNDS):
        holders, logs = np.bincount(value, chance, values) + _PRIOR, np.log(prior)
        for key, share in zip(keys, overall, strict=True):
            together = np.bincount(key, chance, len(share) * values).reshape(len(share), values)
            logs += np.log((together + _PRIOR * share[:, None]) / holders).ravel()[key]
        # The most likely value of each record first, so that no number is too small.
        top = np.repeat(np.maximum.reduceat(logs, begins), length)
        chance = balanced(np.exp(logs - top))
    return chance


class Shown(NamedTuple):
    """A generalised column: codes of values and labels by record, and which label contains which value."""

    value: Integers
    label: Integers
    contains: Floats


def shares_through_labels(
    record: Integers, value: Integers, often: Integers, true: Integers, columns: Sequence[Shown]
) -> Floats:
    """The same where groups show everyone's value, beside labels instead of quasi-identifiers.

    Only the person's own quasi-identifiers are known. `often` is how many records of the group have the
    value, `true` the value of each record. How often a quasi-identifier comes with a value is learnt from
    what all labels contain; how common it is overall is taken to be known.

    >>> person, labels = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 2])
    >>> sexes = Shown(person, labels, np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> pairs, values, true = np.repeat(np.arange(4), 2), np.tile([0, 1], 4), np.array([0, 1, 0, 1])
    >>> shares_through_labels(pairs, values, np.ones(8, int), true, [sexes])[:2].round(1).tolist()
    [0.7, 0.3]
    """
    values = int(value.max(initial=-1)) + 1
    logs = np.log(often)
    for codes, label, contains in columns:
        cells = np.bincount(label * values + true, minlength=len(contains) * values).reshape(-1, values)
        overall = np.bincount(codes, minlength=contains.shape[1])[:, None] / max(len(codes), 1)
        likely = np.repeat(overall, values, axis=1)
        for _ in range(_ROUNDS):
            under = contains @ likely
            expected = likely * (contains.T @ (cells / np.maximum(under, 1e-300))) + _PRIOR * overall
            likely = expected / expected.sum(axis=0)
        under = np.maximum(contains @ likely, 1e-300)
        logs += np.log(likely[codes[record], value] / under[label[record], value])
    begins = np.flatnonzero(np.diff(record, prepend=-1))
    length = np.diff(np.append(begins, len(record)))
    chance = np.exp(logs - np.repeat(np.maximum.reduceat(logs, begins), length))
    return np.asarray(chance / np.repeat(np.add.reduceat(chance, begins), length))
