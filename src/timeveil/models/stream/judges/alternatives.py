"""What a publisher could do without moving records, and random window counts to compare the ways by.

Without moving, a publisher withholds more, or merges snapshots. Both are computed from the original values
alone, each with the least that keeps its slots l-eligible: no value held by more than 1 in l records. Both
are then put into buckets, as many per slot as the release has for as many records, so that moving is
compared, not bucketing.

A window is a random stretch of consecutive slots. It asks for the sensitive value of a random record, for one
of its quasi-identifiers, for both, or for neither, each in a quarter of the cases. Every way of publishing
answers as `answer` would: exactly where values are published exactly, and through the buckets where not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.evidence.codes import Integers, dense
from timeveil.evidence.risk import Floats
from timeveil.models.stream.evidence import Mask, commonest

_LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Original records by slot: `slot` and `value` per record, slots numbered from 0 to `slots` - 1."""

    slot: Integers
    value: Integers
    slots: int
    values: int

    def counts(self) -> tuple[Integers, Integers, Integers]:
        """Each (slot, value) that occurs, in order, with its count."""
        keys, often = np.unique(self.slot * max(self.values, 1) + self.value, return_counts=True)
        return keys // max(self.values, 1), keys % max(self.values, 1), often

    def ineligible(self, l: int) -> int:
        """The number of slots with records that are not l-eligible unchanged."""
        _, size, most = commonest(self.slot, self.value)
        return int((most * l > size).sum())


def suppress_only(snapshots: Snapshots, l: int, rng: np.random.Generator) -> Mask:
    """The records that stay if every slot withholds as few as it can, drawn at random.

    The fewest are withheld by keeping at most L records of each value, with the largest L such that at least
    l * L are kept (Wang et al. 2010, §III).
    """
    slot, _, often = snapshots.counts()
    begins = np.searchsorted(slot, np.arange(snapshots.slots + 1))
    limit = np.zeros(snapshots.slots, dtype=np.int64)
    for number in range(snapshots.slots):
        limit[number] = largest_level(often[begins[number] : begins[number + 1]], l)
    # Rank each record at random among those of its slot and value.
    order = np.lexsort((rng.random(len(snapshots.slot)), snapshots.value, snapshots.slot))
    cells = max(snapshots.slots * snapshots.values, 1)
    cell, _ = dense(snapshots.slot * max(snapshots.values, 1) + snapshots.value, cells)
    starts = np.searchsorted(cell[order], np.arange(len(often)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - starts[cell[order]]
    return rank < limit[snapshots.slot]


def largest_level(often: Integers, l: int) -> int:
    """The most records of one value that an l-eligible selection can hold, by bisection.

    >>> largest_level(np.array([6, 3, 2, 1, 1]), 4), largest_level(np.array([9, 9]), 3)
    (2, 0)
    """
    # A level L needs l * L records, and no level above the commonest value changes anything.
    low, high = 0, min(int(often.sum()) // l, int(often.max(initial=0)))
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(often, middle).sum() >= l * middle:
            low = middle
        else:
            high = middle - 1
    return low


def bucket_numbers(group: Integers, value: Integers, l: int, rng: np.random.Generator) -> Integers:
    """The bucket of each record; `group` is its slot or merge, which must be l-eligible.

    n records make n // l buckets, as in Anatomy (Xiao and Tao 2006): records are dealt out by value, so that
    a bucket holds a value at most once and has at least l records. Which record of a value goes where is
    drawn at random.

    >>> rng = np.random.default_rng(0)
    >>> bucket_numbers(np.array([0, 0, 0, 0, 1, 1]), np.array([7, 7, 8, 9, 7, 8]), 2, rng)
    array([1, 0, 0, 1, 2, 2])
    """
    order = np.lexsort((rng.random(len(group)), value, group))
    _, begins, sizes = np.unique(group[order], return_index=True, return_counts=True)
    number = sizes // l
    rank = np.arange(len(order)) - np.repeat(begins, sizes)
    bucket = np.empty(len(order), dtype=np.int64)
    # Dealt out in turn: the records of a value are neighbours, so they go to different buckets.
    bucket[order] = np.repeat(np.cumsum(number) - number, sizes) + rank % np.repeat(number, sizes)
    return bucket


def once_each(slot: Integers, person: Integers, rng: np.random.Generator) -> Mask:
    """The records that stay if no person is twice in a slot; which one of a person's stays is drawn."""
    order = np.lexsort((rng.random(len(slot)), person, slot))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (np.diff(slot[order]) != 0) | (np.diff(person[order]) != 0)
    stays = np.empty(len(order), dtype=np.bool_)
    stays[order] = first
    return stays


def merged(snapshots: Snapshots, l: int) -> tuple[Integers, Integers]:
    """Merge slots with those that follow until they are l-eligible: where each merge begins and ends.

    What remains at the end joins the merge before, or those before that. If not even all slots together are
    eligible, there is no merge.
    """
    slot, value, often = snapshots.counts()
    begins = np.searchsorted(slot, np.arange(snapshots.slots + 1))
    total, borders = np.zeros(snapshots.values, dtype=np.int64), [0]

    def eligible() -> bool:
        return bool(total.max(initial=0) * l <= total.sum())

    for number in range(snapshots.slots):
        entries = slice(begins[number], begins[number + 1])
        total[value[entries]] += often[entries]
        if eligible():
            borders.append(number + 1)
            total[:] = 0
    if borders[-1] < snapshots.slots:
        # Take back merges from the end until what remains is eligible together with them.
        while len(borders) > 1 and not eligible():
            entries = slice(begins[borders[-2]], begins[borders[-1]])
            np.add.at(total, value[entries], often[entries])
            borders.pop()
        if not eligible():
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        borders.append(snapshots.slots)
    return np.array(borders[:-1], np.int64), np.array(borders[1:], np.int64)


@dataclass(frozen=True, slots=True)
class Windows:
    """Slots [first, first + length); `value`, and `quasi` of `column`, are asked for; -1 for nothing."""

    length: int
    first: Integers
    value: Integers
    column: Integers
    quasi: Integers


@dataclass(frozen=True, slots=True)
class Publication:
    """One way to publish records, sorted by `begin`: each is shown in the slots [begin, end).

    `group` is the bucket that publishes its values, or -1 where each record shows its own.
    """

    begin: Integers
    end: Integers
    group: Integers
    value: Integers
    quasi: tuple[Integers, ...]


def publication(
    begin: Integers, end: Integers, group: Integers, value: Integers, quasi: tuple[Integers, ...]
) -> Publication:
    """The records, sorted."""
    order = np.lexsort((group, begin))
    columns = tuple(codes[order] for codes in quasi)
    return Publication(begin[order], end[order], group[order], value[order], columns)


def draw_windows(
    truth: Publication, slots: int, length: int, number: int, rng: np.random.Generator
) -> Windows:
    """Random windows of one length over slots 0 to `slots` - 1."""
    span, columns = min(length, slots), len(truth.quasi)
    first = rng.integers(0, slots - span + 1, number)
    record, question = rng.integers(0, len(truth.value), number), rng.integers(0, 4, number)
    column = rng.integers(0, columns, number) if columns else np.full(number, -1)
    column = np.where(question >= 2, column, -1)
    codes = np.full(number, -1)
    for index, values in enumerate(truth.quasi):
        codes = np.where(column == index, values[record], codes)
    value = np.where(question % 2 == 1, truth.value[record], -1)
    return Windows(span, first, value, column, codes)


def estimates(published: Publication, windows: Windows) -> Floats:
    """The estimate of each window count; records shown over several slots are spread evenly."""
    widest = int((published.end - published.begin).max(initial=1))
    # Records that can overlap a window are one range, as none is shown over more than `widest` slots.
    low = np.searchsorted(published.begin, windows.first - widest + 1, side="left")
    high = np.searchsorted(published.begin, windows.first + windows.length, side="left")
    return np.array(
        [_estimate(published, windows, case, slice(low[case], high[case])) for case in range(len(low))]
    )


def _estimate(published: Publication, windows: Windows, case: int, near: slice) -> float:
    begin, end = published.begin[near], published.end[near]
    first, last = windows.first[case], windows.first[case] + windows.length
    weight = np.clip(np.minimum(end, last) - np.maximum(begin, first), 0, None) / (end - begin)
    column, value = windows.column[case], windows.value[case]
    fits = weight * (published.quasi[column][near] == windows.quasi[case]) if column >= 0 else weight
    if value < 0:
        return float(fits.sum())
    group, holds = published.group[near], published.value[near] == value
    if not len(group) or group[0] < 0:
        return float(fits[holds].sum())
    # The range holds whole slots, and with them whole buckets: shares can be counted inside it.
    bucket = group - group.min()
    share = np.bincount(bucket, weights=holds) / np.maximum(np.bincount(bucket), 1)
    return float((fits * share[bucket]).sum())


def relative_errors(truth: Publication, published: Publication, windows: Windows, slots: int) -> Floats:
    """Each window's error; a count below 1 % of what such a window holds on average is taken as that."""
    true = estimates(truth, windows)
    least = max(1.0, _LEAST_SHARE * len(truth.value) * windows.length / max(slots, 1))
    return np.abs(estimates(published, windows) - true) / np.maximum(true, least)
