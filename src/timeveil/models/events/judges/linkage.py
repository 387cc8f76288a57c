"""Linking what is known of a person with the rows of a table.

The adversary knows a person's quasi-identifiers and some of their visits, each to within a tolerance. On the
original, whoever has such a visit at each of the known times is a candidate. On the release, whoever
has a row in a class that each known visit may have been published in. Both sets are exact, and both
are counted in people, through the ledger. Choosing one of the candidates blindly, the adversary names the
right person with a chance of one in their number.

With one known visit, every visit of every person is tried and each person counts once: `mean` and
`pinned` are what to expect when any one visit is known, and `worst` is over all visits. With several, one
random choice of visits is tried per person; who has fewer is known by all of them. Where going through
every candidate set would take too long, people are sampled.

A visit that was withheld is in no class. The adversary then goes by the other known visits; if none is
left, the person is out of reach, with a chance of 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.breach import Breach, Risk
from timeveil.evidence.codes import Integers, distinct, fold
from timeveil.evidence.published import promised
from timeveil.models.events.judges.adversary import Adversary
from timeveil.models.events.judges.candidates import Crowd
from timeveil.models.events.judges.homogeneity import commonest_sensitive, largest_share
from timeveil.models.events.judges.linked import Linked, link

# Rows to go through when several visits are known: a few seconds' work.
_BUDGET = 10_000_000


def attack_times(release: Release, ledger: Ledger, adversary: Adversary) -> Breach:
    """Try to find everyone, on the original and on the release; the ledger tells who is who."""
    linked = link(release, ledger)
    visits = _visits(linked)
    rng = np.random.default_rng(adversary.seed)
    targets = visits.people
    if adversary.sample is not None and adversary.sample < len(targets):
        targets = np.sort(rng.choice(targets, adversary.sample, replace=False))
    scene = _Scene(linked, visits, adversary.reach(linked.people.axis))
    if adversary.visits == 1:
        before, after = _one_visit(scene, targets)
    else:
        before, after = _several_visits(scene, targets, adversary, rng)
    attacked = round(float(before.weight.sum()))
    sensitive = commonest_sensitive(release, ledger, linked)
    return Breach(
        adversary,
        promised(release, "k"),
        attacked,
        len(visits.people),
        before,
        after,
        largest_share(linked),
        sensitive,
    )


@dataclass(frozen=True, slots=True)
class _Visits:
    """Distinct (quasi-identifiers, time, person) of the original, in this order.

    `row` is one row of each and `when` the place of its time among all `moments`. Being in order is
    what makes looking them up fast.
    """

    row: Integers
    person: Integers
    when: Integers
    moments: Integers
    published: npt.NDArray[np.bool_]

    @property
    def people(self) -> Integers:
        return distinct(self.person)


def _visits(linked: Linked) -> _Visits:
    whole = np.flatnonzero(linked.people.whole)
    known, person = linked.known[whole], linked.people.person[whole]
    moments, when = np.unique(linked.people.moment[whole], return_inverse=True)
    sizes = (int(known.max(initial=0)) + 1, len(moments), linked.people.people)
    visit, visits = fold(list(zip((known, when.ravel(), person), sizes, strict=True)), len(whole))
    example = np.zeros(visits, dtype=np.int64)
    example[visit] = np.arange(len(whole))
    published = np.zeros(visits, dtype=bool)
    published[visit[linked.published[whole]]] = True
    return _Visits(whole[example], person[example], when.ravel()[example], moments, published)


class _Scene:
    """Both tables, sorted for the question who may have been there."""

    def __init__(self, linked: Linked, visits: _Visits, tolerance: int) -> None:
        self.visits, self._linked, self._tolerance = visits, linked, tolerance
        self.original = Crowd(linked.known[visits.row], visits.when, visits.person, len(visits.moments))
        row, person = visits.row[visits.published], visits.person[visits.published]
        self.released = Crowd(linked.shown[row], linked.place[row], person, len(linked.granules.start))

    def in_original(self, visit: Integers) -> tuple[Integers, Integers]:
        """Where in `original` those stand who fit a visit."""
        row = self.visits.row[visit]
        moments, when = self.visits.moments, self.visits.when[visit]
        low = np.searchsorted(moments, moments - self._tolerance, side="left")[when]
        high = np.searchsorted(moments, moments + self._tolerance, side="right")[when]
        return self.original.ranges(self._linked.known[row], low, high)

    def in_release(self, visit: Integers) -> tuple[Integers, Integers]:
        """Where in `released` those stand whose class a visit may have been published in."""
        row, granules = self.visits.row[visit], self._linked.granules
        moments, when = self.visits.moments, self.visits.when[visit]
        low = np.searchsorted(granules.end, moments - self._tolerance, side="right")[when]
        high = np.searchsorted(granules.reach, moments + self._tolerance, side="right")[when]
        return self.released.ranges(self._linked.shown[row], low, high)


def _one_visit(scene: _Scene, targets: Integers) -> tuple[Risk, Risk]:
    visits = scene.visits
    case = np.flatnonzero(np.isin(visits.person, targets))
    weight = 1.0 / np.bincount(visits.person)[visits.person[case]] if len(case) else np.zeros(0)
    before = scene.original.in_each(*scene.in_original(case))
    after = np.where(visits.published[case], scene.released.in_each(*scene.in_release(case)), 0)
    return Risk(before, weight), Risk(after, weight)


def _several_visits(
    scene: _Scene, targets: Integers, adversary: Adversary, rng: np.random.Generator
) -> tuple[Risk, Risk]:
    known = _draw(scene.visits, targets, adversary.visits, rng)
    published = scene.visits.published[known]
    usable = np.where(published, known, known[np.arange(len(known)), published.argmax(axis=1)][:, None])
    reached = np.asarray(published.any(axis=1))
    before = _shaped(scene.in_original, known)
    after = _shaped(scene.in_release, usable)
    if adversary.sample is None:
        cost = sum((last - first).min(axis=1, initial=2**62) for first, last in (before, after))
        chosen = _affordable(np.asarray(cost), rng)
        before, after = (before[0][chosen], before[1][chosen]), (after[0][chosen], after[1][chosen])
        reached = reached[chosen]
    weight = np.ones(len(reached))
    fits = np.where(reached, scene.released.in_all(*after), 0)
    return Risk(scene.original.in_all(*before), weight), Risk(fits, weight)


def _draw(visits: _Visits, targets: Integers, number: int, rng: np.random.Generator) -> Integers:
    """Per target `number` visits at random, one of them repeated where there are fewer."""
    order = np.lexsort((rng.random(len(visits.person)), visits.person))
    begins = np.searchsorted(visits.person[order], targets, side="left")
    ends = np.searchsorted(visits.person[order], targets, side="right")
    step = np.minimum(np.arange(number)[None, :], (ends - begins - 1)[:, None])
    drawn: Integers = order[begins[:, None] + step]
    return drawn


def _affordable(cost: Integers, rng: np.random.Generator) -> Integers:
    """Everyone, or as many at random as the budget allows."""
    if cost.sum() <= _BUDGET:
        return np.arange(len(cost))
    order = rng.permutation(len(cost))
    return np.sort(order[: max(1, int(np.searchsorted(np.cumsum(cost[order]), _BUDGET)))])


def _shaped(
    ranges: Callable[[Integers], tuple[Integers, Integers]], cases: Integers
) -> tuple[Integers, Integers]:
    first, last = ranges(cases.ravel())
    return first.reshape(cases.shape), last.reshape(cases.shape)
