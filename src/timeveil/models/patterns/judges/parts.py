"""All parts of some sets, with the counts that follow from the sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from timeveil.evidence.codes import Integers
from timeveil.models.patterns.judges.family import Family

MOST = 6_000_000
_ROOM = 1 << 27


class TooManySetsError(Exception):
    """More parts than can be looked at."""


def in_order(levels: Sequence[Integers]) -> tuple[int, int]:
    """How many lines are the same as the one before, and how many come before it.

    >>> in_order([np.zeros((1, 0), int), np.array([[0], [2], [2], [1]])])
    (1, 1)
    """
    twice = turned = 0
    for level in levels:
        before, after = level[:-1], level[1:]
        apart = before != after
        place = apart.argmax(axis=1) if level.shape[1] else np.zeros(len(before), dtype=np.int64)
        some = apart.any(axis=1)
        line = np.flatnonzero(some)
        twice += int((~some).sum())
        turned += int((before[line, place[line]] > after[line, place[line]]).sum())
    return twice, turned


def all_parts(family: Family) -> tuple[Family, Integers]:
    """A family with all parts of its sets, and which of them its own are.

    A part that is no set of the family has as many people as the commonest set that holds it.

    >>> from timeveil.models.patterns.judges.family import family_of
    >>> whole, shown = all_parts(family_of([[], [0, 1]], [5, 3], size=2))
    >>> whole.support.tolist(), shown.tolist()
    ([5, 3, 3, 3], [0, 3])
    """
    size, total = family.size, 0
    if 2.0 ** (len(family.levels) - 1) > MOST:  # the parts of the longest alone
        raise TooManySetsError
    longer, people = family.levels[-1][:0, :0], np.zeros(0, dtype=np.int64)
    levels: list[Integers] = []
    supports: list[Integers] = []
    shown: list[Integers] = []
    for length in range(len(family.levels) - 1, -1, -1):
        level = family.levels[length]
        start = int(family.offsets[length])
        if len(longer) * longer.shape[1] ** 2 > _ROOM:
            raise TooManySetsError
        lines, counts = [level], [family.support[start : start + len(level)]]
        for place in range(longer.shape[1]):
            lines.append(np.delete(longer, place, axis=1))
            counts.append(people)
        longer, people, where = _merged(np.concatenate(lines), np.concatenate(counts), len(level), size)
        total += len(longer)
        if total > MOST:
            raise TooManySetsError
        levels.append(longer)
        supports.append(people)
        shown.append(where)
    levels.reverse()
    supports.reverse()
    whole = Family(tuple(levels), np.concatenate(supports), size, family.kinds)
    shown.reverse()
    return whole, np.concatenate([one + start for one, start in zip(shown, whole.offsets, strict=False)])


def _merged(lines: Integers, counts: Integers, own: int, size: int) -> tuple[Integers, Integers, Integers]:
    """Each line once, in order, with the largest of its counts; and where the first `own` lines went."""
    key = np.zeros(len(lines), dtype=np.int64)
    for place in range(lines.shape[1]):
        key = np.unique(key * size + lines[:, place], return_inverse=True)[1].ravel()
    _, first, where = np.unique(key, return_index=True, return_inverse=True)
    people = np.full(len(first), -1, dtype=np.int64)
    np.maximum.at(people, where.ravel(), counts)
    return lines[first], people, where.ravel()[:own]
