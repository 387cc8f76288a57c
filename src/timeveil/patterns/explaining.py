"""Channels in words: how anyone gets from a few counts to a few people. For the ledger only: it names items.

All who have I, less those who have I and one of the items that the few lack, plus those who have I and two of
them, and so on; what two items of one instant would add is left out, as nobody has both. A pattern of series
that is not published may follow: all without one of its symbols, less those with another in its place.
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

from timeveil.patterns.channels import Channels
from timeveil.patterns.family import Family
from timeveil.patterns.transactions import Sets, as_lists, chosen

TOLD = 1000
"""So many channels are kept in the ledger, the shortest ways to the smallest groups first."""
SHORT = 8
"""Of so many counts and fewer each is told; of more, how many there are."""


def told(channels: Channels, names: tuple[str, ...]) -> pa.Table:
    """Some channels: what a few people have, what they lack, how many they are, and how anyone knows."""
    family = channels.family
    lacks = _open(channels, family.kinds)
    order = np.lexsort([np.diff(channels.present[0]), channels.size, np.diff(lacks[0])])[:TOLD]
    have, lack, people = chosen(channels.present, order), chosen(lacks, order), channels.size[order]
    texts = [
        _sentence(family, _one(have, place), _one(lack, place), int(size), names)
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


def _sentence(family: Family, have: list[int], lack: list[int], people: int, names: tuple[str, ...]) -> str:
    by_instant = [list(same) for _, same in itertools.groupby(lack, key=lambda x: x // family.kinds)]
    terms = _terms(family, have, by_instant) if lack else _rest(family, have)
    what = " and ".join(names[x] for x in have) or "nothing"
    who = "1 person has" if people == 1 else f"{people} people have"
    without = f" without {' or '.join(names[x] for x in lack)}" if lack else ""
    number = np.prod([len(same) + 1 for same in by_instant], dtype=float) if lack else len(terms)
    said = f"from {number:,.0f} counts anyone can compute that exactly {who} {what}{without}"
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
