"""What a publisher could do without moving anything: withhold more, or merge snapshots.

Both are worked out here from the original values alone, each with the least that keeps its slots
l-eligible: no value held by more than one in l records. Then both are put into buckets, as many to a slot as
the release itself has for as many records, so that what is compared is moving, not bucketing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from timeveil.evidence.codes import Integers, dense

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Original records by slot: `slot` and `value` per record, slots counted from 0 to `slots` - 1."""

    slot: Integers
    value: Integers
    slots: int
    values: int

    def counts(self) -> tuple[Integers, Integers, Integers]:
        """Each (slot, value) that occurs, in order, and how often."""
        keys, often = np.unique(self.slot * max(self.values, 1) + self.value, return_counts=True)
        return keys // max(self.values, 1), keys % max(self.values, 1), often

    def ineligible(self, l: int) -> int:
        """How many slots that have records are not l-eligible as they are."""
        slot, _, often = self.counts()
        most = np.zeros(self.slots, dtype=np.int64)
        np.maximum.at(most, slot, often)
        return int((most * l > np.bincount(self.slot, minlength=self.slots)).sum())


def suppress_only(snapshots: Snapshots, l: int, rng: np.random.Generator) -> Mask:
    """Which records stay if every slot withholds as few as it can, and which ones is drawn at random.

    The fewest are withheld by keeping at most L records of each value, with the largest L such that
    what is kept is at least l * L (Wang et al. 2010, §III).
    """
    slot, _, often = snapshots.counts()
    limit = np.zeros(snapshots.slots, dtype=np.int64)
    begins = np.searchsorted(slot, np.arange(snapshots.slots + 1))
    for place in range(snapshots.slots):
        limit[place] = largest_level(often[begins[place] : begins[place + 1]], l)
    order = np.lexsort((rng.random(len(snapshots.slot)), snapshots.value, snapshots.slot))
    cell, _ = dense(
        snapshots.slot * max(snapshots.values, 1) + snapshots.value,
        max(snapshots.slots * snapshots.values, 1),
    )
    rank = np.empty(len(order), dtype=np.int64)
    starts = np.searchsorted(cell[order], np.arange(len(often)))
    rank[order] = np.arange(len(order)) - starts[cell[order]]
    return rank < limit[snapshots.slot]


def largest_level(often: Integers, l: int) -> int:
    """The most records of one value that an l-eligible selection can hold.

    >>> largest_level(np.array([6, 3, 2, 1, 1]), 4), largest_level(np.array([9, 9]), 3)
    (2, 0)
    """
    low, high = 0, min(int(often.sum()) // l, int(often.max(initial=0)))
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(often, middle).sum() >= l * middle:
            low = middle
        else:
            high = middle - 1
    return low


def buckets_of(place: Integers, value: Integers, l: int, rng: np.random.Generator) -> Integers:
    """The bucket of each record; `place` is the slot or merge that it stands in, and must be l-eligible.

    n records make n // l buckets, as in Anatomy (Xiao and Tao 2006): records are dealt out by value, so a
    value comes into a bucket once at most and every bucket gets l records or more. Which record of a
    value comes where is drawn at random.

    >>> buckets_of(np.array([0, 0, 0, 0, 1, 1]), np.array([7, 7, 8, 9, 7, 8]), 2, np.random.default_rng(0))
    array([1, 0, 0, 1, 2, 2])
    """
    order = np.lexsort((rng.random(len(place)), value, place))
    _, begins, sizes = np.unique(place[order], return_index=True, return_counts=True)
    number = sizes // l
    rank = np.arange(len(order)) - np.repeat(begins, sizes)
    bucket = np.empty(len(order), dtype=np.int64)
    bucket[order] = np.repeat(np.cumsum(number) - number, sizes) + rank % np.repeat(number, sizes)
    return bucket


def once_each(slot: Integers, person: Integers, rng: np.random.Generator) -> Mask:
    """Which records stay if nobody stands twice in a slot; which one of somebody's does is drawn."""
    order = np.lexsort((rng.random(len(slot)), person, slot))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (np.diff(slot[order]) != 0) | (np.diff(person[order]) != 0)
    stays = np.empty(len(order), dtype=np.bool_)
    stays[order] = first
    return stays


def merged(snapshots: Snapshots, l: int) -> tuple[Integers, Integers]:
    """Merge slots with those that follow until they are l-eligible: where each merge begins, and ends.

    What is left at the end joins the merge before, or those before that. If not even everything
    together is eligible, there is no merge.
    """
    slot, value, often = snapshots.counts()
    begins = np.searchsorted(slot, np.arange(snapshots.slots + 1))
    total, done = np.zeros(snapshots.values, dtype=np.int64), [0]
    for place in range(snapshots.slots):
        here = slice(begins[place], begins[place + 1])
        total[value[here]] += often[here]
        if total.max(initial=0) * l <= total.sum():
            done.append(place + 1)
            total[:] = 0
    if done[-1] < snapshots.slots:
        while len(done) > 1 and total.max(initial=0) * l > total.sum():
            here = slice(begins[done[-2]], begins[done[-1]])
            np.add.at(total, value[here], often[here])
            done.pop()
        if total.max(initial=0) * l > total.sum():
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        done.append(snapshots.slots)
    return np.array(done[:-1], np.int64), np.array(done[1:], np.int64)
