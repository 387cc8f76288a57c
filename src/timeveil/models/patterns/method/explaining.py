"""Channels in words: how anyone gets from a few counts to a few people. For the ledger only: it names items.

All who have I, less those who have I and one of the items that the few lack, plus those who have I and two of
them, and so on; two items of one instant add nothing, as nobody has both. A pattern of series that is not
published may follow: all without one of its symbols, less those with another in its place.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from timeveil.models.patterns.method.channels import Channels
from timeveil.models.patterns.method.family import Family

EXAMPLES = 1000
"""Groups that the ledger explains, those with the shortest sums and the fewest people first."""
SUMMANDS = 8
"""A sum of more counts than this is described by their number."""


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
    """Example groups: what a few people have, what they lack, how many they are, and how anyone knows."""
    groups, least = channels.groups, int(channels.published.support.min())
    order = np.lexsort([groups.present.lengths, groups.size, groups.absent.lengths])[:EXAMPLES]
    present, absent, people = groups.present.take(order), groups.absent.take(order), groups.size[order]
    texts = [
        _sentence(channels.family, *group, names, least)
        for group in zip(present.each(), absent.each(), people.tolist(), strict=True)
    ]
    return pa.table(
        {
            "present": present.as_lists(names),
            "absent": absent.as_lists(names),
            "people": pa.array(people, pa.int64()),
            "text": pa.array(texts, pa.string()),
        }
    )


def _sentence(
    family: Family, present: list[int], absent: list[int], people: int, names: tuple[str, ...], least: int
) -> str:
    by_instant = [list(symbols) for _, symbols in itertools.groupby(absent, key=lambda x: x // family.kinds)]
    terms = _terms(family, present, by_instant) if absent else _difference(family, present)
    counts = np.prod([len(symbols) + 1.0 for symbols in by_instant]) if absent else len(terms)
    derived = sum(count < least for _, count in terms)
    aside = f", {derived} of which follow{'' if derived > 1 else 's'} from others," if derived else ""
    who = "1 person has" if people == 1 else f"{people} people have"
    what = " and ".join(names[x] for x in present) or "nothing"
    without = f" without {' or '.join(names[x] for x in absent)}" if absent else ""
    sentence = f"from {counts:,.0f} counts{aside} anyone can compute that exactly {who} {what}{without}"
    if not 0 < len(terms) <= SUMMANDS:
        return sentence
    sums = "".join(f"{sign}{count}" for sign, count in terms)
    return f"{sentence}: {sums.removeprefix(' + ')} = {people}"


def _terms(family: Family, present: list[int], absent: list[list[int]]) -> list[tuple[str, int]]:
    """What is added and subtracted; nothing if it is too much to write down."""
    if 2 ** sum(map(len, absent)) > 64 * SUMMANDS:
        return []
    choices = itertools.chain.from_iterable(
        itertools.product(*instants)
        for size in range(len(absent) + 1)
        for instants in itertools.combinations(absent, size)
    )
    return [
        (" - " if len(choice) % 2 else " + ", int(family.support[family.node([*present, *choice])]))
        for choice in choices
    ]


def _difference(family: Family, present: list[int]) -> list[tuple[str, int]]:
    """What a pattern follows from: all without one of its symbols, less those with another in its place."""
    for item in present:
        others, first = [x for x in present if x != item], item - item % family.kinds
        nodes = [family.node([*others, x]) for x in range(first, first + family.kinds) if x != item]
        if min(nodes) >= 0:
            less = [(" - ", int(family.support[node])) for node in nodes]
            return [(" + ", int(family.support[family.node(others)])), *less]
    return []
