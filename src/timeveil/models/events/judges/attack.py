"""Linking what is known of a person with the rows of a table.

The adversary knows a person's quasi-identifiers and some of their visits, each to within a tolerance.
Candidates are, on the original, everyone who has such a visit at each of the known times, and on the release
everyone who has a row in a class that each known visit may have been published in. Both sets are exact, and
count people, through the ledger. A blind guess is right with a chance of one in their number.

With one known visit, every visit of every person is tried. With several, one random choice of visits is tried
per person; where every candidate set would take too long, people are sampled. A withheld visit has no class:
the adversary uses the others, and without any the person is out of reach, with a chance of 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyarrow as pa

from timeveil.calendar.axis import instants
from timeveil.domain.arrays import Flags, Ints
from timeveil.errors import ParameterError
from timeveil.evidence.codes import Codes, all_zero, distinct, example_of, fold, narrow, ranked
from timeveil.evidence.risk import ColumnRisk, Exposure, Risk, column_risks
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.downcoding import Downcoding, downcoding
from timeveil.models.events.judges.measure import commonest_sensitive, largest_share
from timeveil.models.events.judges.protected import expanded, learned, promise_of
from timeveil.models.events.judges.repeated import group_of_rows, joint_labels
from timeveil.models.events.judges.search import searched
from timeveil.models.events.parameters import Adversary

# Rows to go through when several visits are known: a few seconds' work.
_BUDGET = 10_000_000
_SAMPLE = 2_000  # people who are tried to compare how many visits are known
_LOOKUPS_AT_ONCE = 2_000_000
_RANGES_AT_ONCE = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class Breach(Exposure):
    """An attack on the release, and `before` the same attack on the original.

    `people` were attacked out of `everyone`, in as many `releases` together. `largest_share` is the largest
    share of a group's rows that belongs to one person. `commonest_sensitive` has per sensitive column the
    share of the most common value within a group, `worst` and `mean` over groups: where it is 1, being one of
    k does not hide the value. `columns` has what each kept or sensitive column reveals by itself. `learned`
    has, per column with a promise, the chance to be right about a value that a person holds, by naming the
    one that most candidates hold; it is empty where times are known within a tolerance. `downcoding` has what
    the finer labels of a release at several steps undo of the coarser ones. `singled_out` has, by the number
    of visits that are known exactly, the share of people with a single candidate in the release.
    """

    ALSO: ClassVar = ("share_above_one_in_k",)

    adversary: Adversary
    k: int
    people: int
    everyone: int
    before: Risk
    after: Risk
    largest_share: float
    commonest_sensitive: Mapping[str, Mapping[str, float]]
    columns: Mapping[str, ColumnRisk] = field(default_factory=dict)
    learned: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    releases: int = 1
    downcoding: Downcoding | None = None
    singled_out: Mapping[str, float] = field(default_factory=dict)

    @property
    def pinned_before(self) -> float:
        """Share of people with a single candidate in the original."""
        return self.before.pinned

    @property
    def pinned_after(self) -> float:
        """Share of people with a single candidate in the release."""
        return self.after.pinned

    @property
    def share_above_one_in_k(self) -> float:
        """Share of people named correctly from the release with a chance above 1/k."""
        return self.share_above(1 / self.k)


def attack(evidence: Evidence, adversary: Adversary | None = None) -> Breach:
    """Try to find every person, in the original and in the release."""
    adversary = adversary or Adversary()
    repeated = bool(evidence.private.after)
    if (evidence.stepped or repeated) and adversary.tolerance:
        message = "`tolerance` applies to one release with one granularity for all rows only"
        raise ParameterError(message, hint="leave {tolerance} out: times are known exactly then")
    evidence.progress("looking at columns", 0.1)
    is_plain = adversary.visits == 1 and not adversary.tolerance and adversary.sample is None
    if is_plain and (stated := searched(evidence, _SAMPLE)):
        return Breach(adversary, k=evidence.k, **stated)
    for work in (largest_share, commonest_sensitive, column_risks):
        evidence.once(work)  # now, because visits take memory as well
    evidence.progress("reading visits", 0.3)
    scene = _Scene(evidence, adversary)
    evidence.progress("looking for people", 0.5)
    before, after, visits = _searched(scene, adversary)
    evidence.progress("looking at values", 0.8)
    reached, values = after.candidates > 0, {}
    if not adversary.tolerance and promise_of(evidence).protect:
        groups = group_of_rows(evidence)[scene.example[visits[reached]]]
        values = learned(evidence, groups, after.weight[reached])
    return Breach(
        adversary,
        k=evidence.k,
        people=round(float(before.weight.sum())),
        everyone=len(distinct(scene.person)),
        before=before,
        after=after,
        releases=1 + len(evidence.private.after),
        largest_share=evidence.once(largest_share),
        commonest_sensitive=evidence.once(commonest_sensitive),
        columns=evidence.once(column_risks),
        learned=values,
        downcoding=evidence.once(downcoding),
        singled_out=evidence.once(singled_out),
    )


def singled_out(evidence: Evidence) -> dict[str, float]:
    """The share of people with a single candidate in the release, if one, two or three visits are known."""
    known = (Adversary(visits=visits, sample=_SAMPLE) for visits in (1, 2, 3))
    scene = _Scene(evidence, Adversary())
    return {str(adversary.visits): _searched(scene, adversary)[1].pinned for adversary in known}


def _searched(scene: _Scene, adversary: Adversary) -> tuple[Risk, Risk, Ints]:
    """The risk before and after of those who are attacked, and a line with its known visits for each case."""
    targets, rng = distinct(scene.person), np.random.default_rng(adversary.seed)
    if adversary.sample is not None and adversary.sample < len(targets):
        targets = np.sort(rng.choice(targets, adversary.sample, replace=False))
    if adversary.visits > 1:
        return _several_visits(scene, targets, adversary, rng)
    case = np.flatnonzero(np.isin(scene.person, targets))
    # The visits of a person weigh 1 together, so that frequent visitors do not dominate the mean.
    weight = 1.0 / np.bincount(scene.person)[scene.person[case]] if len(case) else np.zeros(0)
    before = scene.original.in_each(*scene.in_original(case))
    after = np.where(scene.published[case], scene.released.in_each(*scene.in_release(case)), 0)
    return Risk(before, weight), Risk(after, weight), case[:, None]


class _Visits:
    """Every visit: distinct (quasi-identifiers, time, person) of the original, in this order.

    Per visit, `person` is whose it is, `published` marks those in the release, `example` is an original row.
    """

    def __init__(self, evidence: Evidence) -> None:
        published, people, granules = evidence.published, evidence.people, evidence.granules
        complete = np.flatnonzero(people.complete)
        quasi, person = evidence.folded(evidence.quasi)[complete], people.person[complete]
        self.moments, when = ranked(people.tick[complete])
        joint = evidence.once(joint_labels) if evidence.private.after else None
        # Rows of one visit that were published in different releases are looked up one by one.
        kind = all_zero(len(complete)) if joint is None else joint.label[joint.event[complete]]
        sizes = int(quasi.max(initial=0)) + 1, len(self.moments), people.people, int(kind.max(initial=0)) + 1
        quasi, when, person = map(narrow, (quasi, when, person), sizes)
        visit, visits = fold(zip((quasi, when, person, kind), sizes, strict=True), len(complete))
        example = example_of(visit, visits)
        self.published: Flags = np.zeros(visits, dtype=bool)
        self.published[visit[published[complete]]] = True
        self.example = narrow(complete[example], len(published))
        self.quasi, self.when, self.person = (column[example] for column in (quasi, when, person))
        del complete, quasi, when, kind, visit, example  # they take more memory than all that follows
        self.original = Crowd(self.quasi, self.when, self.person, len(self.moments))
        if joint is not None:
            # In all releases: an event is known by its joint label, which deleted events may share.
            self.label = joint.label[joint.event[self.example]]
            self.published = ~joint.absent[self.label]
            self.released = Crowd(joint.label, 0 * joint.label, joint.person, 1)
            return
        codes = evidence.label_code, evidence.granule
        if evidence.stepped:
            # Granules of several steps overlap: a known visit, to the instant, leads to one class.
            codes = group_of_rows(evidence), all_zero(len(published))
        self.label, granule = (narrow(code[self.example], len(published)) for code in codes)
        label, granule, person = (column[self.published] for column in (self.label, granule, self.person))
        self.released = Crowd(label, granule, person, len(granules.start))


class _Scene:
    """The visits, and what fits each of them as precisely as the adversary knows its time."""

    def __init__(self, evidence: Evidence, adversary: Adversary) -> None:
        self._visits = visits = evidence.once(_Visits)
        self.person, self.published, self.example = visits.person, visits.published, visits.example
        self.original, self.released = visits.original, visits.released
        people, granules, moments = evidence.people, evidence.granules, visits.moments
        tolerance = adversary.seconds
        if people.axis.kind == "relative" and tolerance:  # in units of the axis, which are several instants
            tolerance = int(instants(people.axis, pa.array([tolerance], pa.int64()))[0])
        # The moments and the granules that the adversary cannot tell from a visit's, first and past last.
        steps, limit = min(tolerance * people.per_instant, 2**62), np.iinfo(np.int64)
        earliest = np.maximum(moments, limit.min + steps) - steps
        latest = np.minimum(moments, limit.max - steps) + steps
        edges = np.arange(len(moments)), np.arange(1, len(moments) + 1)
        if steps:
            edges = np.searchsorted(moments, earliest), np.searchsorted(moments, latest, side="right")
        self._moments = [narrow(edge, len(moments) + 1) for edge in edges]
        # Granules begin and end on whole instants, so fractions do not matter.
        first = np.searchsorted(granules.end, earliest // people.per_instant, side="right")
        last = np.searchsorted(granules.reach, latest // people.per_instant, side="right")
        single = evidence.stepped or bool(evidence.private.after)
        sides = (0 * first, 0 * last + 1) if single else (first, last)
        self._granules = [narrow(side, len(granules.end) + 2) for side in sides]

    def in_original(self, visits: Ints) -> Codes:
        """The ranges of the crowd `original` whose people fit each of these visits."""
        when = self._visits.when[visits]
        return self.original.ranges(self._visits.quasi[visits], *(edge[when] for edge in self._moments))

    def in_release(self, visits: Ints) -> Codes:
        """The ranges of the crowd `released` whose people fit each of these visits."""
        when = self._visits.when[visits]
        return self.released.ranges(self._visits.label[visits], *(edge[when] for edge in self._granules))


def _several_visits(
    scene: _Scene, targets: Ints, adversary: Adversary, rng: np.random.Generator
) -> tuple[Risk, Risk, Ints]:
    visits = _draw(scene, targets, adversary.visits, rng)
    published = scene.published[visits]
    # A withheld visit is replaced by a published one of the same person, which adds no knowledge.
    usable = np.where(published, visits, visits[np.arange(len(visits)), published.argmax(axis=1)][:, None])
    reached = np.asarray(published.any(axis=1))
    before, after = scene.in_original(visits), scene.in_release(usable)
    if adversary.sample is None:
        cost = np.sum([(last - first).min(axis=1) for first, last in (before, after)], axis=0)
        if cost.sum() > _BUDGET:  # as many random people as the budget allows
            order = rng.permutation(len(cost))
            chosen = np.sort(order[: max(1, int(np.searchsorted(np.cumsum(cost[order]), _BUDGET)))])
            before, after = before[:, chosen], after[:, chosen]
            reached, usable = reached[chosen], usable[chosen]
    weight = np.ones(len(reached))
    fits = np.where(reached, scene.released.in_all(*after), 0)
    return Risk(scene.original.in_all(*before), weight), Risk(fits, weight), usable


def _draw(scene: _Scene, targets: Ints, number: int, rng: np.random.Generator) -> Ints:
    """Per target `number` random visits, the last one repeated where a person has fewer."""
    chance, rows = rng.random(len(scene.person)), np.flatnonzero(np.isin(scene.person, targets))
    order = rows[np.lexsort((chance[rows], scene.person[rows]))]
    begins, ends = (np.searchsorted(scene.person[order], targets, side) for side in ("left", "right"))
    # A repeated visit adds no knowledge, so people with fewer visits need no case of their own.
    visits: Ints = order[begins[:, None] + np.minimum(np.arange(number), (ends - begins - 1)[:, None])]
    return visits


# Which people fit? Exact sets of people in ranges of sorted rows.


class Crowd:
    """People sorted by (key, when); a key is what is known of a person.

    Everyone who fits a piece of knowledge is in one range, from `first` to before `last`.
    """

    def __init__(self, key: Codes, when: Codes, person: Codes, ticks: int) -> None:
        self._ticks, self._people = ticks + 1, int(person.max(initial=0)) + 1
        self._keys, self._person = self._at(key, when), person
        if (self._keys[1:] < self._keys[:-1]).any():
            order = np.argsort(self._keys, kind="stable")
            self._keys, self._person = self._keys[order], person[order]

    def _at(self, key: Codes, when: Codes) -> Ints:
        return key.astype(np.int64) * self._ticks + when

    def ranges(self, key: Codes, low: Codes, high: Codes) -> Codes:
        """The rows of people with this key at a time in [low, high): first, and past last."""
        bounds = (np.searchsorted(self._keys, self._at(key, edge)) for edge in (low, high))
        return np.maximum.accumulate([narrow(bound, len(self._keys) + 1) for bound in bounds])

    def in_each(self, first: Codes, last: Codes) -> Ints:
        """The number of different people in each range.

        Ranges may be in any order, but none may be strictly inside another; ranges of one tolerance never
        are. Some are counted at a time, among the rows from the first to the last that they have.
        """
        order = np.lexsort((last, first))
        people = np.empty(len(first), dtype=np.int64)
        for low in range(0, len(order), _RANGES_AT_ONCE):
            batch = order[low : low + _RANGES_AT_ONCE]
            begin, ranges = int(first[batch[0]]), (first[batch], last[batch])
            person = self._person[begin : int(ranges[1].max())]
            people[batch] = people_in_ranges(person, *(bound - begin for bound in ranges))
        return people

    def in_all(self, first: Codes, last: Codes) -> Ints:
        """The number of different people who are in every range of a case (a line of the arrays is a case).

        Each person in the shortest range of a case is looked up in the others, so that a case costs as many
        look-ups as its shortest range has rows.
        """
        cost, people = (last - first).min(axis=1), np.zeros(len(first), np.int64)
        batches = np.flatnonzero(np.diff((np.cumsum(cost) - cost) // _LOOKUPS_AT_ONCE, prepend=-1))
        for low, high in pairwise([*batches.tolist(), len(first)]):
            people[low:high] = self._in_all(first[low:high], last[low:high], cost[low:high])
        return people

    def _in_all(self, first: Codes, last: Codes, cost: Codes) -> Ints:
        shortest = first[np.arange(len(first)), (last - first).argmin(axis=1)]
        case, row = expanded(shortest, shortest + cost)
        pairs = distinct(case * self._people + self._person[row])
        case, person = pairs // self._people, pairs % self._people
        for column in range(first.shape[1]):
            begins = person * len(self._keys)
            following = self._rows[np.searchsorted(self._rows, begins + first[case, column])]
            inside = following < begins + last[case, column]
            case, person = case[inside], person[inside]
        return np.bincount(case, minlength=len(first))

    @cached_property
    def _rows(self) -> Ints:
        """Every (person, row), sorted, and one past all of them."""
        pairs = self._person.astype(np.int64) * len(self._keys) + np.arange(len(self._keys))
        return np.append(np.sort(pairs), np.iinfo(np.int64).max)


def people_in_ranges(person: Codes, first: Codes, last: Codes) -> Ints:
    """The number of different people in each range; neither bound ever decreases from range to range.

    A row is in a run of consecutive ranges. Of a person's runs, taken in row order, only the part beyond the
    run before adds to the count, so that each range counts a person once.

    >>> people_in_ranges(np.array([7, 8, 7]), np.array([0, 0, 2]), np.array([2, 3, 3])).tolist()
    [2, 2, 1]
    """
    rows = len(person)
    # Per row the first range that ends after it, and one past the last that begins at or before it.
    opening, closing = (np.cumsum(np.bincount(bound, minlength=rows)[:rows]) for bound in (last, first))
    # Person and row in one word: a sort of words is many times faster than a stable one of rows.
    bits = rows.bit_length()
    words = np.sort(person.astype(np.int64) << bits | np.arange(rows))
    order, owner = words & ((1 << bits) - 1), words >> bits
    opening, closing = opening[order], closing[order]
    repeated = np.flatnonzero(owner[1:] == owner[:-1]) + 1
    opening[repeated] = np.maximum(opening[repeated], closing[repeated - 1])
    adds = opening < closing
    change = np.bincount(opening[adds], minlength=len(first) + 1).astype(np.int64)
    change -= np.bincount(closing[adds], minlength=len(first) + 1)
    return np.cumsum(change)[: len(first)]
