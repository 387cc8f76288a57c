"""What leaving people or patterns out would have cost, to compare raised counts with.

Both are worked out here from the original rows alone, simply and slowly. Leaving people out: all who are in
a small group go, counts are taken again, patterns that too few are left of go, until no small group is left.
Leaving patterns out: those at the far end of each small group go, with all that hold them, until none is. One
that is not there but follows, as everybody has one symbol at every instant, ends with one that it is next to.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from timeveil.models.patterns.judges.cells import Channels, channels_of
from timeveil.models.patterns.judges.completion import Known, known_from
from timeveil.models.patterns.judges.counting import Baskets, supports
from timeveil.models.patterns.judges.family import Family

MOST_PATTERNS, MOST_ROWS, MOST_CHANNELS, MOST_ROUNDS = 20_000, 300_000, 30_000, 200
Mask = npt.NDArray[np.bool_]


def without_people(
    before: Family, rows: Baskets, least: int, k: int, *, structural: bool
) -> tuple[Family, int] | None:
    """The patterns left, and how many people were left out; None where that takes too long."""
    family, left = before, rows
    if before.number > MOST_PATTERNS or rows.rows > MOST_ROWS:
        return None
    for _ in range(MOST_ROUNDS):
        known = known_from(family, structural=structural).family
        channels = channels_of(known, k, structural=structural)
        if not len(channels):
            return family, rows.rows - left.rows
        if len(channels) > MOST_CHANNELS:
            return None
        left = left.chosen(~_inside(channels, left, known.size))
        counts = supports(family, left)
        keep = counts >= least
        keep[0] = True
        family = _only(family.with_support(counts), keep)
    return None


def without_patterns(before: Family, k: int, *, structural: bool) -> Family | None:
    """The patterns left; None where that takes too long."""
    family = before
    if before.number > MOST_PATTERNS:
        return None
    for _ in range(MOST_ROUNDS):
        known = known_from(family, structural=structural)
        channels = channels_of(known.family, k, structural=structural)
        if not len(channels):
            return family
        if len(channels) > MOST_CHANNELS:
            return None
        family = _only(family, ~_held(family, _ends(family, known, channels)))
    return None


def _inside(channels: Channels, rows: Baskets, size: int) -> Mask:
    """Who is in one of these groups."""
    has = np.zeros((rows.rows, size + 1), dtype=bool)
    row = np.repeat(np.arange(rows.rows), np.diff(rows.starts))
    known = (rows.items >= 0) & (rows.items < size)
    has[row[known], rows.items[known]] = True
    columns = np.ascontiguousarray(has.T)
    inside: Mask = np.zeros(rows.rows, dtype=bool)
    for present, absent in zip(channels.present, channels.absent, strict=True):
        mine = columns[present[present >= 0]].all(axis=0)
        mine &= ~columns[absent].any(axis=0)  # -1 is the last line, which nobody has
        inside |= mine
    return inside


def _ends(family: Family, known: Known, channels: Channels) -> Mask:
    """The sets of a group's present items and one absent item of each instant."""
    marked: Mask = np.zeros(family.number, dtype=bool)
    for present, absent in zip(channels.present, channels.absent, strict=True):
        sets = [[item for item in present.tolist() if item >= 0]]
        items = np.sort(absent[absent >= 0])
        for instant in np.unique(items // family.kinds):
            choices = items[items // family.kinds == instant].tolist()
            sets = [[*one, choice] for one in sets for choice in choices]
        for one in sets:
            number = known.family.find(one)
            if number:
                marked[_published(known, number)] = True
    return marked


def _published(known: Known, number: int) -> int:
    """A published set that is next to this one, by as few changes of one symbol as can be."""
    family, seen, near = known.family, {number}, [number]
    while not any(known.own[one] >= 0 for one in near):
        wider = {other for one in near for other in _beside(family, family.items_of(one).tolist())} - seen
        seen, near = seen | wider, sorted(wider)
    return int(
        known.own[min((one for one in near if known.own[one] >= 0), key=lambda one: family.support[one])]
    )


def _beside(family: Family, items: list[int]) -> Iterator[int]:
    """The sets of a family that have another symbol in place of one."""
    for item in items:
        rest, first = [other for other in items if other != item], item - item % family.kinds
        for symbol in range(first, first + family.kinds):
            if symbol != item and (number := family.find([*rest, symbol])) is not None:
                yield number


def _held(family: Family, marked: Mask) -> Mask:
    """Those sets, and all that hold one of them."""
    held = marked.copy()
    for length, drop in enumerate(family.drops):
        start = int(family.offsets[length])
        held[start : start + len(drop)] |= held[drop].any(axis=1)
    return held


def _only(family: Family, keep: Mask) -> Family:
    """Some sets of a family, with every part of theirs."""
    levels = [
        level[keep[family.offsets[length] : family.offsets[length + 1]]]
        for length, level in enumerate(family.levels)
    ]
    while len(levels) > 1 and not len(levels[-1]):
        levels.pop()
    return Family(tuple(levels), family.support[keep], family.size, family.kinds)
