"""Channels in words: how anyone gets from a few counts to a few people. For the ledger only: it names items.

All who have I, less those who have I and one of the items that the few lack, plus those who have I and two of
them, and so on; two items of one instant add nothing, as nobody has both. A pattern of series that is not
published may follow: all without one of its symbols, less those with another in its place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from timeveil.models.patterns.method.channels import Channels
from timeveil.models.patterns.method.family import Family

EXAMPLES = 1000
"""Groups that the ledger explains, those with the shortest sums and the fewest people first."""
SUMMANDS = 8
"""A sum of more counts than this is not written down."""


class LedgerTables(Mapping[str, pa.Table]):
    """The ledger's tables: `virtual`, and `channels`, which explains groups when it is first asked for."""

    def __init__(self, virtual: pa.Table, channels: Channels, names: tuple[str, ...]) -> None:
        self._virtual, self._found, self._names = virtual, channels, names

    @cached_property
    def _channels(self) -> pa.Table:
        return explained(self._found, self._names)

    def __getitem__(self, name: str) -> pa.Table:
        if name == "channels":
            return self._channels
        return {"virtual": self._virtual}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("virtual", "channels"))

    def __len__(self) -> int:
        return 2


def explained(channels: Channels, names: tuple[str, ...]) -> pa.Table:
    """Example groups: what a few people have, what they lack, how many they are, and how anyone knows.

    Sums of published counts come before sums of counts that themselves follow from others.
    """
    groups, least = channels.groups, int(channels.published.support.min())
    order = np.lexsort([groups.present.lengths, groups.size, groups.absent.lengths])[:EXAMPLES]
    chosen = [groups.present.take(order), groups.absent.take(order)]
    sums = [
        _terms(channels.family, present, absent)
        for present, absent in zip(*(sets.each() for sets in chosen), strict=True)
    ]
    derived = np.array([sum(count < least for _, count in terms) for terms in sums], np.int64)
    ahead = np.argsort(derived > 0, kind="stable")
    present, absent = (sets.take(ahead) for sets in chosen)
    people = groups.size[order[ahead]]
    texts = [
        _sentence([names[x] for x in has], [names[x] for x in lacks], size, sums[index], derived[index])
        for has, lacks, size, index in zip(present.each(), absent.each(), people.tolist(), ahead, strict=True)
    ]
    return pa.table(
        {
            "present": present.as_lists(names),
            "absent": absent.as_lists(names),
            "people": pa.array(people, pa.int64()),
            "text": pa.array(texts, pa.string()),
        }
    )


Term = tuple[str, int]
"""A sign and a count."""


def _sentence(present: list[str], absent: list[str], people: int, terms: list[Term], derived: int) -> str:
    aside = f", {derived} of which follow{'' if derived > 1 else 's'} from others," if derived else ""
    who = "1 person has" if people == 1 else f"{people} people have"
    without = f" without {' or '.join(absent)}" if absent else ""
    counts = f"from {len(terms)} counts{aside}" if terms else f"from more than {SUMMANDS} counts"
    sentence = f"{counts} anyone can compute that exactly {who} {' and '.join(present) or 'nothing'}{without}"
    if not terms:
        return sentence
    sums = "".join(f"{sign}{count}" for sign, count in terms)
    return f"{sentence}: {sums.removeprefix(' + ')} = {people}"


def _terms(family: Family, present: list[int], absent: list[int]) -> list[Term]:
    """What is added and subtracted; nothing if it is too much to write down."""
    if not absent:
        return _difference(family, present)
    by_instant = [list(symbols) for _, symbols in itertools.groupby(absent, key=lambda x: x // family.kinds)]
    if math.prod(len(symbols) + 1 for symbols in by_instant) > SUMMANDS:
        return []
    # Inclusion and exclusion: an item of each of some instants; an odd number of them is subtracted.
    choices = itertools.chain.from_iterable(
        itertools.product(*instants)
        for size in range(len(by_instant) + 1)
        for instants in itertools.combinations(by_instant, size)
    )
    return [
        (" - " if len(choice) % 2 else " + ", int(family.support[family.node([*present, *choice])]))
        for choice in choices
    ]


def _difference(family: Family, present: list[int]) -> list[Term]:
    """What a pattern follows from: all without one of its symbols, less those with another in its place."""
    for item in present if family.kinds <= SUMMANDS else ():
        remaining, first = [x for x in present if x != item], item - item % family.kinds
        nodes = [family.node([*remaining, x]) for x in range(first, first + family.kinds) if x != item]
        if min(nodes) >= 0:
            less = [(" - ", int(family.support[node])) for node in nodes]
            return [(" + ", int(family.support[family.node(remaining)])), *less]
    return []
