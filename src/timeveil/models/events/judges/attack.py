"""Linking what is known of a person with the rows of a table.

The adversary knows a person's quasi-identifiers and some of their visits, each to within a tolerance. On the
original, everyone who has such a visit at each of the known times is a candidate. On the release, everyone
who has a row in a class that each known visit may have been published in. Both sets are exact, and people are
counted, through the ledger. By picking one candidate at random, the adversary names the right person with a
chance of one in their number.

With one known visit, every visit of every person is tried and each person counts once: `mean` and `pinned`
are what to expect when any one visit is known, and `worst` is over all visits. With several, one random
choice of visits is tried per person; a person who has fewer is known by all of them. Where going through
every candidate set would take too long, people are sampled.

A withheld visit is in no class. The adversary then uses the other known visits; if none is left, the person
is out of reach, with a chance of 0.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from timeveil.calendar.axis import instants
from timeveil.domain.judgement import as_dict
from timeveil.domain.parameter import Parameter, Range
from timeveil.domain.relation import TimeAxis
from timeveil.domain.wording import counted
from timeveil.evidence.codes import Integers, distinct, fold
from timeveil.evidence.risk import Risk
from timeveil.models.events.evidence import Evidence, Mask
from timeveil.models.events.judges.candidates import Crowd
from timeveil.models.events.judges.exposure import commonest_sensitive, largest_share

# Rows to go through when several visits are known: a few seconds' work.
_BUDGET = 10_000_000
_PARAMETERS = (
    Parameter("visits", "whole", "number of known visits", range=Range(1), example=1),
    Parameter("tolerance", "whole", "how far off known times may be, in seconds", range=Range(0), example=0),
    Parameter("seed", "whole", "seed of random choices", range=Range(0), example=0),
    Parameter("sample", "whole", "number of people to attack", range=Range(1), example=100, optional=True),
)
_SIZES = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True, slots=True)
class Adversary:
    """Knows a person's quasi-identifiers and `visits` of their times, each to within `tolerance`.

    `tolerance` is a number of seconds or a `timedelta`; on relative time, a number of the release's unit.
    `sample` attacks that many people, drawn with `seed`; None attacks everyone.

    >>> Adversary(visits=2, tolerance=3600).as_dict()
    {'visits': 2, 'tolerance': 3600, 'seed': 0, 'sample': None}
    """

    visits: int = 1
    tolerance: int | dt.timedelta = 0
    seed: int = 0
    sample: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.tolerance, dt.timedelta):
            object.__setattr__(self, "tolerance", self.tolerance // dt.timedelta(seconds=1))
        for declared in _PARAMETERS:
            object.__setattr__(self, declared.name, declared.check(getattr(self, declared.name)))

    @property
    def seconds(self) -> int:
        """The tolerance as a number."""
        tolerance = self.tolerance
        return int(tolerance.total_seconds() if isinstance(tolerance, dt.timedelta) else tolerance)

    def reach(self, axis: TimeAxis) -> int:
        """The tolerance in instants of an axis."""
        if axis.kind != "relative" or not self.tolerance:
            return self.seconds
        return int(instants(axis, pa.array([self.seconds], pa.int64()))[0])

    def within(self, unit: str = "second") -> str:
        """The tolerance in words, after a blank; nothing if times are known exactly.

        `unit` is that of the tolerance: seconds, or on relative time the release's unit.

        >>> Adversary(tolerance=1800).within(), Adversary(tolerance=1).within("week"), Adversary().within()
        (' to within 30 minutes', ' to within 1 week', '')
        """
        if not self.tolerance:
            return ""
        sizes = _SIZES if unit == "second" else ((1, unit),)
        size, name = next(entry for entry in sizes if self.seconds % entry[0] == 0)
        return f" to within {counted(self.seconds // size, name)}"

    as_dict = as_dict


@dataclass(frozen=True, slots=True, eq=False)
class Breach:
    """An attack on the release, and `before` the same attack on the original.

    `people` were attacked out of `everyone`. `largest_share` is the largest share of a group's rows that
    belongs to one person. `commonest_sensitive` has per sensitive column the share of the most common value
    within a group, `worst` and `mean` over groups: where it is 1, being one of k does not hide the value.
    """

    KEYS: ClassVar = (
        *("adversary", "k", "people", "everyone", "before", "after"),
        *("share_above_one_in_k", "largest_share", "commonest_sensitive"),
    )

    adversary: Adversary
    k: int
    people: int
    everyone: int
    before: Risk
    after: Risk
    largest_share: float
    commonest_sensitive: Mapping[str, Mapping[str, float]]

    @property
    def worst(self) -> float:
        """The highest chance of naming the right person from the release."""
        return self.after.worst

    @property
    def mean(self) -> float:
        """The chance of naming the right person from the release, averaged over people."""
        return self.after.mean

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

    def share_above(self, threshold: float) -> float:
        """Share of people named correctly from the release with a chance above `threshold`."""
        return self.after.share_above(threshold)

    as_dict = as_dict


def attack(evidence: Evidence, adversary: Adversary | None = None) -> Breach:
    """Try to find every person, in the original and in the release."""
    adversary = adversary or Adversary()
    scene = _Scene(evidence, adversary)
    everyone = distinct(scene.person)
    rng = np.random.default_rng(adversary.seed)
    targets = everyone
    if adversary.sample is not None and adversary.sample < len(everyone):
        targets = np.sort(rng.choice(everyone, adversary.sample, replace=False))
    if adversary.visits == 1:
        before, after = _one_visit(scene, targets)
    else:
        before, after = _several_visits(scene, targets, adversary, rng)
    return Breach(
        adversary,
        k=evidence.k,
        people=round(float(before.weight.sum())),
        everyone=len(everyone),
        before=before,
        after=after,
        largest_share=largest_share(evidence),
        commonest_sensitive=commonest_sensitive(evidence),
    )


class _Scene:
    """Every visit: distinct (quasi-identifiers, time, person) of the original, in this order.

    Per visit, `row` is one of its rows, `when` indexes `moments`, and `published` marks those in the
    release. The order is what makes looking them up fast.
    """

    def __init__(self, evidence: Evidence, adversary: Adversary) -> None:
        linked = evidence.linked
        self.linked, self.tolerance = linked, adversary.reach(linked.people.axis)
        complete = np.flatnonzero(linked.people.complete)
        quasi, person = linked.quasi[complete], linked.people.person[complete]
        self.moments, when = np.unique(linked.people.moment[complete], return_inverse=True)
        sizes = (int(quasi.max(initial=0)) + 1, len(self.moments), linked.people.people)
        visit, visits = fold(list(zip((quasi, when.ravel(), person), sizes, strict=True)), len(complete))
        example = np.zeros(visits, dtype=np.int64)
        example[visit] = np.arange(len(complete))
        self.published: Mask = np.zeros(visits, dtype=bool)
        self.published[visit[linked.published[complete]]] = True
        self.row, self.person, self.when = complete[example], person[example], when.ravel()[example]

    @cached_property
    def original(self) -> Crowd:
        """People by original quasi-identifiers and time."""
        return Crowd(self.linked.quasi[self.row], self.when, self.person, len(self.moments))

    @cached_property
    def released(self) -> Crowd:
        """People by published quasi-identifiers and granule."""
        row, granules = self.row[self.published], len(self.linked.granules.start)
        return Crowd(self.linked.labels[row], self.linked.granule[row], self.person[self.published], granules)

    def in_original(self, visit: Integers) -> tuple[Integers, Integers]:
        """The range of `original` whose people fit each visit."""
        when, quasi = self.when[visit], self.linked.quasi[self.row[visit]]
        low = np.searchsorted(self.moments, self.moments - self.tolerance, side="left")[when]
        high = np.searchsorted(self.moments, self.moments + self.tolerance, side="right")[when]
        return self.original.ranges(quasi, low, high)

    def in_release(self, visit: Integers) -> tuple[Integers, Integers]:
        """The range of `released` whose people are in a class that each visit may be published in."""
        when, labels, granules = self.when[visit], self.linked.labels[self.row[visit]], self.linked.granules
        low = np.searchsorted(granules.end, self.moments - self.tolerance, side="right")[when]
        high = np.searchsorted(granules.reach, self.moments + self.tolerance, side="right")[when]
        return self.released.ranges(labels, low, high)


def _one_visit(scene: _Scene, targets: Integers) -> tuple[Risk, Risk]:
    case = np.flatnonzero(np.isin(scene.person, targets))
    # The visits of a person weigh 1 together, so that frequent visitors do not dominate the mean.
    weight = 1.0 / np.bincount(scene.person)[scene.person[case]] if len(case) else np.zeros(0)
    before = scene.original.in_each(*scene.in_original(case))
    after = np.where(scene.published[case], scene.released.in_each(*scene.in_release(case)), 0)
    return Risk(before, weight), Risk(after, weight)


def _several_visits(
    scene: _Scene, targets: Integers, adversary: Adversary, rng: np.random.Generator
) -> tuple[Risk, Risk]:
    visits = _draw(scene, targets, adversary.visits, rng)
    published = scene.published[visits]
    # A withheld visit is replaced by a published one of the same person, which adds no knowledge.
    usable = np.where(published, visits, visits[np.arange(len(visits)), published.argmax(axis=1)][:, None])
    reached = np.asarray(published.any(axis=1))
    before, after = _ranges(scene.in_original, visits), _ranges(scene.in_release, usable)
    if adversary.sample is None:
        cost = sum((last - first).min(axis=1, initial=2**62) for first, last in (before, after))
        chosen = _affordable(np.asarray(cost), rng)
        before, after = (before[0][chosen], before[1][chosen]), (after[0][chosen], after[1][chosen])
        reached = reached[chosen]
    weight = np.ones(len(reached))
    fits = np.where(reached, scene.released.in_all(*after), 0)
    return Risk(scene.original.in_all(*before), weight), Risk(fits, weight)


def _draw(scene: _Scene, targets: Integers, number: int, rng: np.random.Generator) -> Integers:
    """Per target `number` random visits, the last one repeated where a person has fewer."""
    order = np.lexsort((rng.random(len(scene.person)), scene.person))
    begins = np.searchsorted(scene.person[order], targets, side="left")
    ends = np.searchsorted(scene.person[order], targets, side="right")
    # A repeated visit adds no knowledge, so people with fewer visits need no case of their own.
    step = np.minimum(np.arange(number)[None, :], (ends - begins - 1)[:, None])
    visits: Integers = order[begins[:, None] + step]
    return visits


def _affordable(cost: Integers, rng: np.random.Generator) -> Integers:
    """Everyone, or as many random people as the budget allows."""
    if cost.sum() <= _BUDGET:
        return np.arange(len(cost))
    order = rng.permutation(len(cost))
    return np.sort(order[: max(1, int(np.searchsorted(np.cumsum(cost[order]), _BUDGET)))])


def _ranges(
    find: Callable[[Integers], tuple[Integers, Integers]], visits: Integers
) -> tuple[Integers, Integers]:
    first, last = find(visits.ravel())
    return first.reshape(visits.shape), last.reshape(visits.shape)
