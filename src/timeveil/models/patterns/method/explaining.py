"""Channels in words: how anyone gets from a few counts to a few people. For the ledger only: it names items.

All who have I, less those who have I and one of the items that the few lack, plus those who have I and two of
them, and so on; what two items of one instant would add is left out, as nobody has both. A pattern of series
that is not published may follow: all without one of its symbols, less those with another in its place.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from timeveil.models.patterns.method.channels import Channels
from timeveil.models.patterns.method.family import Family
from timeveil.models.patterns.method.transactions import Ints, Sets, as_lists, chosen

TOLD = 1000
"""So many groups are kept in the ledger, the shortest ways to the smallest groups first."""
SHORT = 8
"""Of so many counts and fewer each is told; of more, how many there are."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Small groups, each once however many boxes it follows from: what they have, lack, and how many."""

    present: Sets
    absent: Sets
    size: Ints

    def __len__(self) -> int:
        return len(self.size)


def groups_of(channels: Channels) -> Groups:
    """The groups that channels are about."""
    from timeveil.models.patterns.kernels.virtual import as_bits  # noqa: PLC0415

    lacks = _open(channels, channels.family.kinds)
    used, places = np.unique(np.concatenate([channels.present[1], lacks[1]]), return_inverse=True)
    width, cut = max(1, -(-len(used) // 64)), len(channels.present[1])
    bits = [
        as_bits(bounds, items, width)
        for (bounds, _), items in zip((channels.present, lacks), np.split(places, [cut]), strict=True)
    ]
    order = np.lexsort(np.concatenate(bits, axis=1).T)
    same = np.ones(len(order), np.bool_)
    same[:1] = False
    for words in bits:
        same[1:] &= (words[order[1:]] == words[order[:-1]]).all(axis=1)
    first = np.sort(order[~same])
    return Groups(chosen(channels.present, first), chosen(lacks, first), channels.size[first])


def told(groups: Groups, channels: Channels, names: tuple[str, ...]) -> pa.Table:
    """Some groups: what a few people have, what they lack, how many they are, and how anyone knows."""
    family, least = channels.family, int(channels.published.support.min())
    order = np.lexsort([np.diff(groups.present[0]), groups.size, np.diff(groups.absent[0])])[:TOLD]
    have, lack, people = chosen(groups.present, order), chosen(groups.absent, order), groups.size[order]
    texts = [
        _sentence(family, _one(have, place), _one(lack, place), int(size), names, least)
        for place, size in enumerate(people)
    ]
    return pa.table(
        {
            "present": as_lists(have, names),
            "absent": as_lists(lack, names),
            "people": pa.array(people, pa.int64()),
            "text": pa.array(texts, pa.string()),
        }
    )


def _open(channels: Channels, kinds: int) -> Sets:
    """What the few lack at instants of which they have nothing; the rest of it goes without saying."""
    most = int(max(channels.present[1].max(initial=0), channels.absent[1].max(initial=0))) // kinds + 1
    owner = np.repeat(np.arange(len(channels)), np.diff(channels.present[0]))
    held = owner * most + channels.present[1] // kinds
    owner = np.repeat(np.arange(len(channels)), np.diff(channels.absent[0]))
    free = ~np.isin(owner * most + channels.absent[1] // kinds, held)
    lengths = np.bincount(owner[free], minlength=len(channels))
    return np.concatenate([[0], np.cumsum(lengths)]), channels.absent[1][free]


def _one(sets: Sets, place: int) -> list[int]:
    bounds, members = sets
    found: list[int] = members[bounds[place] : bounds[place + 1]].tolist()
    return found


def _sentence(
    family: Family, have: list[int], lack: list[int], people: int, names: tuple[str, ...], least: int
) -> str:
    by_instant = [list(same) for _, same in itertools.groupby(lack, key=lambda x: x // family.kinds)]
    terms = _terms(family, have, by_instant) if lack else _rest(family, have)
    what = " and ".join(names[x] for x in have) or "nothing"
    who = "1 person has" if people == 1 else f"{people} people have"
    without = f" without {' or '.join(names[x] for x in lack)}" if lack else ""
    number = np.prod([len(same) + 1 for same in by_instant], dtype=float) if lack else len(terms)
    follow = sum(count < least for _, count in terms)
    some = f", {follow} of which follow{'' if follow > 1 else 's'} from others," if follow else ""
    said = f"from {number:,.0f} counts{some} anyone can compute that exactly {who} {what}{without}"
    if not 0 < len(terms) <= SHORT:
        return said
    sums = "".join(f"{sign}{count}" for sign, count in terms)
    return f"{said}: {sums.removeprefix(' + ')} = {people}"


def _terms(family: Family, have: list[int], lack: list[list[int]]) -> list[tuple[str, int]]:
    """What is added and subtracted; nothing if it is too much to tell."""
    if 2 ** sum(map(len, lack)) > 64 * SHORT:
        return []
    return [
        (" - " if len(way) % 2 else " + ", int(family.support[family.node(sorted([*have, *way]))]))
        for way in _ways(lack)
    ]


def _rest(family: Family, have: list[int]) -> list[tuple[str, int]]:
    """What a pattern follows from: all without one of its symbols, less those with another in its place."""
    for place, item in enumerate(have):
        before, after, first = have[:place], have[place + 1 :], item - item % family.kinds
        others = [x for x in range(first, first + family.kinds) if x != item]
        nodes = [family.node([*before, x, *after]) for x in others]
        if min(nodes) >= 0:
            less = [(" - ", int(family.support[node])) for node in nodes]
            return [(" + ", int(family.support[family.node([*before, *after])])), *less]
    return []


def _ways(by_instant: list[list[int]]) -> itertools.chain[tuple[int, ...]]:
    """All ways to take at most one item of each instant, fewest first."""
    return itertools.chain.from_iterable(
        itertools.product(*some)
        for size in range(len(by_instant) + 1)
        for some in itertools.combinations(by_instant, size)
    )
