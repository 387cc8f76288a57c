"""Guessing the sensitive values of a stream's people, and how sure a guess can be.

Published slot: the rows that share the person's quasi-identifiers in the slot are equally likely to be
theirs; each gives its bucket's values, by how many records of the bucket have them. Buckets hold no value
more often than one in l, so neither does any mixture of them.

True slot: the adversary sees what became of the person's record, and is taken to know how the values of
a slot divide among those that stayed, moved by so many slots, or are missing. For the paper's method that is
no more than the histograms of the slots, from which the method decides. Nothing bounds this: what must leave
a slot is what there was too much of (see the threat model).

True slot, closed packets: the adversary is taken to know even more, who is in the person's packet and every
value outside of it. Each of the packet's values, which are all different, is then equally likely.

Several slots: whoever has the same value every time must have one that all of their buckets have. The
chance of each such value is the product of its shares in the buckets, relative to its share overall.
"""

from __future__ import annotations

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.errors import RolesError
from timeveil.evidence.codes import Integers, distinct, distinct_pairs, fold
from timeveil.evidence.published import mismatch, promised
from timeveil.evidence.risk import Floats, Posterior
from timeveil.models.stream.judges.adversary import StreamAdversary
from timeveil.models.stream.judges.breach import StreamBreach
from timeveil.models.stream.judges.buckets import bucketed
from timeveil.models.stream.judges.journeys import Journeys, follow
from timeveil.models.stream.judges.query_packets import packets_of, true_slot_promise
from timeveil.models.stream.judges.slots import NOWHERE


def attack_stream(release: Release, ledger: Ledger, adversary: StreamAdversary) -> StreamBreach:
    """Guess everyone's sensitive value; the ledger tells who is who and what is true."""
    journeys = follow(release, ledger)
    promise = true_slot_promise(release)
    packet = None if promise is None else packets_of(ledger)
    if promise is not None and packet is None:
        raise mismatch("the ledger lacks the packets that the release promises")
    scene = _Scene(journeys, packet, exact=not bucketed(release))
    match adversary.knows:
        case "published-slot":
            before, after, parts = scene.by_published_slot()
        case "true-slot":
            before, after, parts = scene.by_true_slot()
        case _:
            if ledger.original.roles.respondent is None:
                raise RolesError(
                    "without a respondent nobody can be followed over several slots",
                    hint="publish the stream with the respondent's role named",
                    code="role-missing",
                )
            before, after, parts = scene.by_several_slots()
    everyone = len(distinct(journeys.person[journeys.whole]))
    people = round(after.people)
    return StreamBreach(adversary, promised(release, "l"), people, everyone, before, after, parts, promise)


Found = tuple[Posterior, Posterior, dict[str, Posterior]]


class _Scene:
    """Records with slot and value; `mixture` numbers the published rows that could be a person's."""

    def __init__(self, journeys: Journeys, packet: Integers | None, *, exact: bool) -> None:
        rows = np.flatnonzero(journeys.whole)
        self.person, self.value = journeys.person[rows], journeys.value.codes[rows]
        self.values = journeys.value.size
        self.known, self.origin = journeys.known[rows], journeys.origin[rows]
        self.slot, self.bucket = journeys.slot[rows], journeys.bucket[rows]
        self.published, self.exact = journeys.published[rows], exact
        self.packet = None if packet is None else packet[rows]
        self.raw = within(self._groups(self.origin, self.known), self.value, self.values)

    def by_published_slot(self) -> Found:
        there = self.published
        chance = self._from_buckets()
        return self._posterior(self.raw[there], there), self._posterior(chance, there), {}

    def by_true_slot(self) -> Found:
        everyone = np.ones(len(self.value), dtype=bool)
        fate = np.where(self.published, self.slot - self.origin, NOWHERE)
        if self.packet is None:
            chance = within(self._groups(self.origin, fate), self.value, self.values)
        else:
            chance = one_in_each(self.packet)
        after = self._posterior(chance, everyone)
        parts = {"stayed": fate == 0, "moved": fate > 0, "missing": ~self.published}
        return (
            self._posterior(self.raw, everyone),
            after,
            {name: after.only(mask) for name, mask in parts.items()},
        )

    def by_several_slots(self) -> Found:
        there = np.flatnonzero(self.published)
        group = self._bucket_of_each()
        seen, number, _ = distinct_pairs(self.person[there], group, int(group.max(initial=0)) + 1)
        who, often = np.unique(seen, return_counts=True)
        again = who[often > 1]
        chosen = np.isin(seen, again)
        person = np.searchsorted(again, seen[chosen])
        chance = self._in_all(person, number[chosen], group, again)
        ones = np.ones(len(again))
        after, constant = Posterior(chance, ones), self._values_of(again)[1]
        parts = {"constant": after.only(constant), "changing": after.only(~constant)}
        best = np.zeros(len(again))
        member = np.isin(self.person[there], again)
        place = np.searchsorted(again, self.person[there][member])
        np.maximum.at(best, place, self.raw[there][member])
        return Posterior(best, ones), after, parts

    def _from_buckets(self) -> Floats:
        """Per published record the chance of its value for whoever knows slot and quasi-identifiers."""
        there = self.published
        classes = self._groups(self.slot[there], self.known[there])
        if self.exact:
            return within(classes, self.value[there], self.values)
        group = self._bucket_of_each()
        owner, bucket, rows = distinct_pairs(classes, group, int(group.max(initial=0)) + 1)
        begin, length, value, share = self._signatures(group)
        entry, cell = _spread(begin[bucket], length[bucket])
        keys, place = np.unique(owner[cell] * self.values + value[entry], return_inverse=True)
        expected = np.bincount(place.ravel(), weights=rows[cell] * share[entry], minlength=len(keys))
        found = np.searchsorted(keys, classes * self.values + self.value[there])
        return np.asarray(expected[found] / np.bincount(classes)[classes], dtype=np.float64)

    def _in_all(self, person: Integers, bucket: Integers, group: Integers, again: Integers) -> Floats:
        """Per recurring person the chance of their one value; 0 where it changes from slot to slot."""
        begin, length, value, share = self._signatures(group)
        entry, case = _spread(begin[bucket], length[bucket])
        overall = np.bincount(self.value[self.published], minlength=self.values)
        prior = overall / max(overall.sum(), 1)
        keys, place = np.unique(person[case] * self.values + value[entry], return_inverse=True)
        place, times = place.ravel(), np.bincount(person, minlength=len(again))
        logs = np.log(share[entry] / prior[value[entry]])
        score = np.bincount(place, weights=logs, minlength=len(keys)) + np.log(prior[keys % self.values])
        owner = keys // max(self.values, 1)
        score[np.bincount(place, minlength=len(keys)) < times[owner]] = -np.inf
        top = np.full(len(again), -np.inf)
        np.maximum.at(top, owner, score)
        likely = np.exp(score - np.where(np.isfinite(top), top, 0.0)[owner])
        total = np.bincount(owner, weights=likely, minlength=len(again))
        true, constant = self._values_of(again)
        found = np.searchsorted(keys, np.arange(len(again)) * self.values + true)
        return np.where(constant, likely[np.where(constant, found, 0)] / np.where(constant, total, 1.0), 0.0)

    def _values_of(self, again: Integers) -> tuple[Integers, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """A published value of each person, and whether it is the only one."""
        there = np.flatnonzero(self.published & np.isin(self.person, again))
        owner, value, _ = distinct_pairs(
            np.searchsorted(again, self.person[there]), self.value[there], self.values
        )
        first = np.searchsorted(owner, np.arange(len(again)))
        return value[first], np.bincount(owner, minlength=len(again)) == 1

    def _bucket_of_each(self) -> Integers:
        """Per published record its bucket; without buckets, those of its slot with its quasi-identifiers."""
        there = self.published
        second = self.known[there] if self.exact else self.bucket[there]
        return self._groups(self.slot[there], second)

    def _signatures(self, group: Integers) -> tuple[Integers, Integers, Integers, Floats]:
        """Per bucket where its values begin and how many there are; all values with their shares."""
        owner, value, often = distinct_pairs(group, self.value[self.published], self.values)
        size, length = np.bincount(group), np.bincount(owner)
        return np.cumsum(length) - length, length, value, often / size[owner]

    def _posterior(self, chance: Floats, there: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Posterior:
        who = self.person[there]
        return Posterior(chance, 1.0 / np.bincount(who)[who] if len(who) else np.zeros(0))

    def _groups(self, first: Integers, second: Integers) -> Integers:
        columns = []
        for numbers in (first, second):
            values, codes = np.unique(numbers, return_inverse=True)
            columns.append((codes.ravel(), len(values)))
        return fold(columns, len(first))[0]


def within(group: Integers, value: Integers, values: int) -> Floats:
    """Per record the share of its group's records that have its value.

    >>> within(np.array([0, 0, 0, 1]), np.array([5, 5, 7, 7]), 8).round(2).tolist()
    [0.67, 0.67, 0.33, 1.0]
    """
    keys, place, often = np.unique(group * values + value, return_inverse=True, return_counts=True)
    return np.asarray(often[place.ravel()] / np.bincount(group)[group] if len(keys) else np.zeros(0))


def one_in_each(packet: Integers) -> Floats:
    """Per record 1 in as many as its packet has.

    >>> one_in_each(np.array([7, 4, 4, 7])).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    _, place, size = np.unique(packet, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / size[place.ravel()], dtype=np.float64)


def _spread(begin: Integers, length: Integers) -> tuple[Integers, Integers]:
    """Every position of the ranges [begin, begin + length), and the range each belongs to."""
    case = np.repeat(np.arange(len(begin)), length)
    step = np.arange(len(case)) - np.repeat(np.cumsum(length) - length, length)
    return begin[case] + step, case
