"""Ways to publish a stream without moving records: withhold, merge slots, and put records into buckets."""

from __future__ import annotations

import numpy as np

from timeveil.evidence.codes import Integers, distinct_pairs, ranked
from timeveil.models.stream.evidence import Mask


def random_ranks(rng: np.random.Generator, *columns: Integers, groups: int | None = None) -> Integers:
    """The rank of each record among those that are equal in the first `groups` columns, else in all.

    Records are ranked by the other columns, and where they are equal in all of them at random.
    """
    order = np.lexsort((rng.random(len(columns[0])), *reversed(columns)))
    first, position = np.arange(len(order)) == 0, np.arange(len(order))
    for column in columns[:groups]:
        first[1:] |= np.diff(column[order]) != 0
    ranks = np.empty(len(order), dtype=np.int64)
    # Less the position of the latest record that is the first of its group.
    ranks[order] = position - np.maximum.accumulate(np.where(first, position, 0))
    return ranks


def suppress_only(slot: Integers, value: Integers, l: int, rng: np.random.Generator) -> Mask:
    """The records that stay if every slot withholds as few as it can, drawn at random.

    The fewest are withheld by keeping at most L records of each value, with the largest L such that at least
    l * L are kept (Wang et al. 2010, §III).
    """
    slots, index = ranked(slot)
    owner, _, often = distinct_pairs(index, value, int(value.max(initial=0)) + 1)
    counts = np.split(often, np.searchsorted(owner, np.arange(1, len(slots))))
    limit = np.array([largest_level(part, l) for part in counts], np.int64)
    return random_ranks(rng, slot, value) < limit[index]


def largest_level(often: Integers, l: int) -> int:
    """The most records of one value that an l-eligible selection can hold.

    >>> largest_level(np.array([6, 3, 2, 1, 1]), 4), largest_level(np.array([9, 9]), 3)
    (2, 0)
    """
    # Level L adds a record of each value that occurs L times or more, and needs l * L records in all. Ever
    # fewer are added, so that the levels with enough records are the first ones: their number is the largest.
    added = np.bincount(often)[:0:-1].cumsum()[::-1]
    return int(np.count_nonzero(added.cumsum() >= l * np.arange(1, len(added) + 1)))


def bucket_numbers(group: Integers, value: Integers, l: int, rng: np.random.Generator) -> Integers:
    """The bucket of each record; `group` is its slot or merge, which must be l-eligible.

    n records make n // l buckets, as in Anatomy (Xiao and Tao 2006): records are dealt out by value, so that
    a bucket holds a value at most once and has at least l records. Which record of a value goes where is
    drawn at random.

    >>> rng = np.random.default_rng(0)
    >>> bucket_numbers(np.array([0, 0, 0, 0, 1, 1]), np.array([7, 7, 8, 9, 7, 8]), 2, rng)
    array([1, 0, 0, 1, 2, 2])
    """
    _, index = ranked(group)
    number = np.bincount(index) // l
    # Dealt out in turn: the records of a value are neighbours, so they go to different buckets.
    turn = random_ranks(rng, group, value, groups=1) % number[index]
    return np.asarray((np.cumsum(number) - number)[index] + turn)


def merged(slot: Integers, value: Integers, l: int) -> tuple[Integers, Integers]:
    """Merge slots with those that follow until they are l-eligible: where each merge begins and ends.

    What remains at the end joins the merge before, or those before that. If not even all slots together are
    eligible, there is no merge.
    """
    slots, values = int(slot.max(initial=-1)) + 1, int(value.max(initial=-1)) + 1
    owner, kind, often = distinct_pairs(slot, value, values)
    begins = np.searchsorted(owner, np.arange(slots + 1))
    total, borders = np.zeros(values, dtype=np.int64), [0]

    def is_eligible() -> bool:
        return bool(total.max(initial=0) * l <= total.sum())

    for number in range(slots):
        entries = slice(begins[number], begins[number + 1])
        total[kind[entries]] += often[entries]
        if is_eligible():
            borders.append(number + 1)
            total[:] = 0
    if borders[-1] < slots:
        # Take back merges from the end until what remains is eligible together with them.
        while len(borders) > 1 and not is_eligible():
            entries = slice(begins[borders[-2]], begins[borders[-1]])
            np.add.at(total, kind[entries], often[entries])
            borders.pop()
        borders = [*borders, slots] if is_eligible() else []
    return np.array(borders[:-1], np.int64), np.array(borders[1:], np.int64)
