"""Guessing the sensitive values of a stream's people, and how certain a guess can be.

Published slot: the rows with the person's quasi-identifiers in the slot are equally likely to be theirs; each
gives its bucket's values, weighted by how many records of the bucket have them.

True slot: the adversary sees what happened to the person's record, and is assumed to know how the values of a
slot divide among the records that stayed, moved by each number of slots, or are missing. Nothing bounds this:
what must leave a slot is the value that was too common. With closed packets the adversary also knows who is
in the person's packet and every value outside it: each of its values is then equally likely.

Several slots: a person who always has the same value has one that all of their buckets contain. The chance of
each such value is the product of its shares in the buckets, relative to its share overall. Where the release
promises people the same values in every slot, buckets with the same values count once: a person's later
buckets have these values whichever is theirs.

Correlation: the published slot, where the values of a bucket are not divided equally among its records but by
what the release shows of who has which values. An outsider can learn that without knowing anyone: begin with
every value of a bucket equally shared by its records, count how often each quasi-identifier then comes with
each value, divide the values of every bucket again by these counts (naive Bayes), and repeat (expectation
maximisation).

Generalised groups are attacked like buckets: the adversary is assumed to know which group a person is in.
Labels show nobody's quasi-identifiers, so that correlation can only be learnt from what labels contain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from timeveil.domain.arrays import Floats, Ints
from timeveil.errors import RolesError
from timeveil.evidence.codes import distinct, distinct_pairs, ranked
from timeveil.evidence.risk import ColumnRisk, Exposure, Posterior, column_risks
from timeveil.models.stream.evidence import Evidence, number_of_pairs
from timeveil.models.stream.parameters import StreamAdversary
from timeveil.models.stream.slots import NOWHERE

SURE = 0.8  # a guess that is likelier than this is one that an outsider would act on
_EQUAL = 1e-9
_ROUNDS = 25
_BALANCES = 4  # a few rounds bring the shares of records and of values close to what is published
_PRIOR = 1.0  # records' worth of the overall frequencies, so that a value seen once proves nothing


@dataclass(frozen=True, slots=True, eq=False)
class StreamBreach(Exposure):
    """An attack on a stream release, and `before` the same on the original without the respondent.

    `after` is the chance that the adversary gives to each person's true value. `parts` divides it: by what
    happened to a record (`stayed`, `moved`, `missing`), or by whether a person always had the same value
    (`constant`) or not (`changing`), which misleads this adversary; of someone who learnt correlations, it
    has the chance that the best guess is right, for everyone (`guess`) and where they are more than 80 % sure
    (`sure`). `people` were attacked out of `everyone`. `true_slot` is the promise against someone who knows
    the true slot: at most 1 in this many, unless a value is held by more than 1 in this many of the slot's
    records; None if there is none. `columns` has what each kept or sensitive column reveals by itself.
    """

    adversary: StreamAdversary
    l: int
    people: int
    everyone: int
    before: Posterior
    after: Posterior
    parts: Mapping[str, Posterior]
    true_slot: int | None = None
    columns: Mapping[str, ColumnRisk] = field(default_factory=dict)

    @property
    def certain(self) -> float:
        """Share of people whose value is known for certain."""
        return self.after.certain

    def as_dict(self) -> dict[str, Any]:
        """The breach as plain data; what is about the true slot only where there is a promise."""
        bounds = {"l": self.l} if self.true_slot is None else {"l": self.l, "true_slot": self.true_slot}

        def above(posterior: Posterior) -> dict[str, float]:
            return {f"share_above_one_in_{name}": posterior.share_above(1 / n) for name, n in bounds.items()}

        return {
            "adversary": self.adversary.as_dict(),
            **bounds,
            "people": self.people,
            "everyone": self.everyone,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            **above(self.after),
            "parts": {name: {**part.as_dict(), **above(part)} for name, part in self.parts.items()},
            "columns": {name: risk.as_dict() for name, risk in self.columns.items()},
        }


Chances: TypeAlias = tuple[Posterior, Posterior, dict[str, Posterior]]
"""Before, after, and the parts of after."""


def attack(evidence: Evidence, adversary: StreamAdversary | None = None) -> StreamBreach:
    """Guess everyone's sensitive value; the ledger shows who is who and what is true."""
    evidence.progress("following records", 0.1)
    adversary, journeys = adversary or StreamAdversary(), evidence.linked
    if adversary.knows == "several-slots" and evidence.private.original.roles.respondent is None:
        message = "without a respondent nobody can be followed over several slots"
        hint = "name the {respondent} column when you publish the stream"
        raise RolesError(message, hint=hint, code="role-missing")
    scene = _Scene(evidence)
    evidence.progress("guessing values", 0.5)
    chances: Chances = getattr(scene, f"by_{adversary.knows.replace('-', '_')}")()
    evidence.progress("looking at columns", 0.9)
    everyone, people = len(distinct(journeys.person[journeys.complete])), round(chances[1].people)
    columns, true_slot = column_risks(evidence), evidence.true_slot
    return StreamBreach(adversary, evidence.l, people, everyone, *chances, true_slot, columns)


class _Scene:
    """The published records, each with the chance of its value in the original, `before`.

    `bucket` numbers their buckets or, without buckets, the slots and quasi-identifiers; `candidates` are the
    records of the slot with the same quasi-identifiers.
    """

    def __init__(self, evidence: Evidence) -> None:
        journeys, self.evidence, self.exact = evidence.linked, evidence, not evidence.grouped
        self.complete, self.values = np.flatnonzero(journeys.complete), journeys.value.size
        value, published = journeys.value.codes, journeys.published[self.complete]
        alike, _ = number_of_pairs(journeys.origin[self.complete], journeys.quasi[self.complete])
        self.original = within(alike, value[self.complete])
        self.rows = rows = self.complete[published]
        self.person, self.value = journeys.person[rows], value[rows]
        self.candidates, _ = number_of_pairs(journeys.slot[rows], journeys.quasi[rows])
        self.bucket = self.candidates
        if not self.exact:
            self.bucket, _ = number_of_pairs(journeys.slot[rows], journeys.bucket[rows])
        self.before = posterior(self.original[published], self.person)

    def by_published_slot(self) -> Chances:
        return self.before, posterior(self._through_buckets(), self.person), {}

    def by_true_slot(self) -> Chances:
        journeys, rows = self.evidence.linked, self.complete
        published, person = journeys.published[rows], journeys.person[rows]
        # How many slots later the record was published, which the adversary can see.
        fate = np.where(published, journeys.distance[rows], NOWHERE)
        alike, _ = number_of_pairs(journeys.origin[rows], fate)
        chance = within(alike, journeys.value.codes[rows])
        if self.evidence.true_slot is not None and self.evidence.packets is not None:
            _, packet = ranked(self.evidence.packets[rows])
            chance = 1.0 / np.bincount(packet)[packet]
        before, after = posterior(self.original, person), posterior(chance, person)
        parts = {"stayed": fate == 0, "moved": fate > 0, "missing": ~published}
        return before, after, {name: after.only(mask) for name, mask in parts.items()}

    def by_several_slots(self) -> Chances:
        owner, number, _ = distinct_pairs(self.person, self.bucket, int(self.bucket.max(initial=0)) + 1)
        people, buckets = np.unique(owner, return_counts=True)
        recurring = people[buckets > 1]
        rows, chosen = np.isin(self.person, recurring), np.isin(owner, recurring)
        # Of their published records: the value of each person, whether always, and the best guess before.
        index = np.searchsorted(recurring, self.person[rows])
        holder, value, _ = distinct_pairs(index, self.value[rows], self.values)
        constant = np.bincount(holder, minlength=len(recurring)) == 1
        true = value[np.searchsorted(holder, np.arange(len(recurring)))]
        best = np.zeros(len(recurring))
        np.maximum.at(best, index, self.before.chance[rows])
        case = np.searchsorted(recurring, owner[chosen])
        chance = self._in_all(case, number[chosen], np.where(constant, true, -1))
        after = Posterior(chance, np.ones(len(recurring)))
        parts = {"constant": after.only(constant), "changing": after.only(~constant)}
        return Posterior(best, after.weight), after, parts

    def by_correlation(self) -> Chances:
        if self.exact:  # values are beside the quasi-identifiers, and nothing is left to learn
            return self.by_published_slot()
        evidence, true, candidates = self.evidence, self.value, self.candidates
        record, value, _ = self._values_in(self.bucket)
        owner, entry, often = self.listed
        cell = np.searchsorted(owner * self.values + entry, self.bucket[record] * self.values + value)
        names = evidence.private.original.roles.quasi_columns
        columns = [evidence.original_column(name).codes[self.rows] for name in names]
        if evidence.generalized and columns:
            labels = [evidence.labels[name] for name in names]
            label_codes = [label.codes[self.rows] for label in labels]
            inside = [
                evidence.contains(name, label.values) for name, label in zip(names, labels, strict=True)
            ]
            generalised = list(zip(columns, label_codes, inside, strict=True))
            chance = shares_through_labels(record, value, often[cell], true, generalised)
        else:
            chance = learnt_shares(record, value, cell, often, [ranked(column)[1] for column in columns])
        # Rows with the person's quasi-identifiers are equally likely to be theirs.
        keys, index = np.unique(candidates[record] * self.values + value, return_inverse=True)
        owner = keys // max(self.values, 1)
        share = np.bincount(index.ravel(), chance, len(keys)) / np.bincount(candidates)[owner]
        after = share[np.searchsorted(keys, candidates * self.values + true)]
        best = np.zeros(int(candidates.max(initial=-1)) + 1)
        np.maximum.at(best, owner, share)
        # Of values that are equally likely, one is guessed.
        tied = np.bincount(owner, share >= best[owner] - _EQUAL)
        right = np.where(after >= best[candidates] - _EQUAL, 1.0 / tied[candidates], 0.0)
        guess = posterior(right, self.person)
        sure = guess.only(best[candidates] > SURE)
        return self.before, posterior(after, self.person), {"guess": guess, "sure": sure}

    def _through_buckets(self) -> Floats:
        """Per published record the chance of its value for someone who knows slot and quasi-identifiers."""
        candidates = self.candidates
        if self.exact:
            return within(candidates, self.value)
        owner, number, rows = distinct_pairs(candidates, self.bucket, int(self.bucket.max(initial=0)) + 1)
        # Each candidate row brings the values of its bucket; sum them per set of candidates and value.
        cell, value, share = self._values_in(number)
        keys, index = np.unique(owner[cell] * self.values + value, return_inverse=True)
        expected = np.bincount(index.ravel(), rows[cell] * share, len(keys))
        true = np.searchsorted(keys, candidates * self.values + self.value)
        return np.asarray(expected[true] / np.bincount(candidates)[candidates], dtype=np.float64)

    def _in_all(self, person: Ints, number: Ints, true: Ints) -> Floats:
        """Per recurring person the chance of their `true` value; 0 where that is -1, because it changes."""
        people, constant = len(true), true >= 0
        if self.evidence.recurring == "invariant":
            # Pairs of person and bucket, each set of values once.
            holder, listed, _ = self.listed
            texts = [part.tobytes() for part in np.split(listed, np.cumsum(np.bincount(holder))[:-1])]
            pairs = zip(person.tolist(), number.tolist(), strict=True)
            examples = {(owner, texts[n]): (owner, n) for owner, n in pairs}
            person, number = np.array([*examples.values()], np.int64).reshape(-1, 2).T
        case, value, share = self._values_in(number)
        overall = np.bincount(self.value, minlength=self.values)
        prior = overall / max(overall.sum(), 1)
        keys, index = np.unique(person[case] * self.values + value, return_inverse=True)
        owner = keys // max(self.values, 1)
        # Bayes in logarithms: the product over buckets of share / prior, times the prior once.
        logs = np.log(share / prior[value])
        score = np.bincount(index.ravel(), logs, len(keys)) + np.log(prior[keys % self.values])
        in_buckets = np.bincount(index.ravel(), minlength=len(keys))
        # A value that a bucket lacks is impossible.
        score[in_buckets < np.bincount(person, minlength=people)[owner]] = -np.inf
        top = np.full(people, -np.inf)
        np.maximum.at(top, owner, score)
        likely = np.exp(score - np.where(np.isfinite(top), top, 0.0)[owner])
        total = np.bincount(owner, likely, people)
        entry = np.where(constant, np.searchsorted(keys, np.arange(people) * self.values + true), 0)
        return np.where(constant, likely[entry] / np.where(constant, total, 1.0), 0.0)

    def _values_in(self, number: Ints) -> tuple[Ints, Ints, Floats]:
        """All values of the buckets `number`: which of `number` each belongs to, value, and share in it."""
        owner, value, often = self.listed
        size, length = np.bincount(owner, often), np.bincount(owner)
        begin = np.cumsum(length) - length
        case = np.repeat(np.arange(len(number)), length[number])
        step = np.arange(len(case)) - np.repeat(np.cumsum(length[number]) - length[number], length[number])
        entry = begin[number][case] + step
        return case, value[entry], (often / size[owner])[entry]

    @cached_property
    def listed(self) -> tuple[Ints, Ints, Ints]:
        """The values that buckets list, with how often, in order of bucket and value."""
        bucket, value = self.bucket, self.value
        if self.evidence.alone.any():
            # A counterfeit is in the bucket of the record that is alone with it.
            alone_with, invented = self.evidence.counterfeits
            position = np.searchsorted(self.rows, alone_with)
            bucket, value = np.append(bucket, bucket[position]), np.append(value, invented)
        return distinct_pairs(bucket, value, self.values)


def posterior(chance: Floats, person: Ints) -> Posterior:
    """The chances of records, so weighted that each person counts once."""
    return Posterior(chance, 1.0 / np.bincount(person)[person] if len(person) else np.zeros(0))


def within(group: Ints, value: Ints) -> Floats:
    """Per record the share of its group's records that have its value."""
    pair, _ = number_of_pairs(group, value)
    return np.asarray(np.bincount(pair)[pair] / np.bincount(group)[group])


def learnt_shares(record: Ints, value: Ints, cell: Ints, often: Ints, columns: Sequence[Ints]) -> Floats:
    """For pairs of a record and a value of its bucket: the chance that the record has it.

    `cell` numbers the buckets' values, of which `often` has the number of records; `columns` have the codes
    of each quasi-identifier by record. Pairs of a record follow each other. A bucket that lists more values
    than it has records has counterfeits, and is not brought back to what is published.
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


def shares_through_labels(
    record: Ints, value: Ints, often: Ints, true: Ints, columns: Sequence[tuple[Ints, Ints, Floats]]
) -> Floats:
    """The same where groups show everyone's value, beside labels instead of quasi-identifiers.

    Only the person's own quasi-identifiers are known. `often` is how many records of the group have the
    value, `true` the value of each record; `columns` have codes of quasi-identifiers and of labels by record,
    and which label contains which quasi-identifier. How often one comes with a value is learnt from what all
    labels contain; how common it is overall is taken to be known.
    """
    values = int(value.max(initial=-1)) + 1
    logs = np.log(often)
    for codes, label, inside in columns:
        cells = np.bincount(label * values + true, minlength=len(inside) * values)
        cells = cells.reshape(len(inside), values)
        overall = np.bincount(codes, minlength=inside.shape[1])[:, None] / max(len(codes), 1)
        likely = np.repeat(overall, values, axis=1)
        for _ in range(_ROUNDS):
            under = inside @ likely
            expected = likely * (inside.T @ (cells / np.maximum(under, 1e-300))) + _PRIOR * overall
            likely = expected / expected.sum(axis=0)
        under = np.maximum(inside @ likely, 1e-300)
        logs += np.log(likely[codes[record], value] / under[label[record], value])
    begins = np.flatnonzero(np.diff(record, prepend=-1))
    length = np.diff(np.append(begins, len(record)))
    chance = np.exp(logs - np.repeat(np.maximum.reduceat(logs, begins), length))
    return np.asarray(chance / np.repeat(np.add.reduceat(chance, begins), length))
