"""Bounds by solving for all data that have the published counts: beyond the promise.

The unknowns are how many people there are of each possible kind, one for every choice of published items; the
counts are sums of them. Everybody has one symbol at every instant: none of the published ones only where some
symbol is not published. The least and the most that a pattern which is just not published can have is a
linear program (HiGHS). With the counts of all its parts known, every group among its items follows from that
one number, so its bounds are known, too. Kinds are as many as all combinations: this is for small releases.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from timeveil.evidence.codes import Integers
from timeveil.models.patterns.judges.breach import BoundAttack
from timeveil.models.patterns.judges.completion import known_from
from timeveil.models.patterns.judges.counting import nexts
from timeveil.models.patterns.judges.family import Family

KINDS = 4_096
PATTERNS = 1_000
_CLOSE = 1e-6


def bound_attack(published: Family, k: int, seconds: float) -> BoundAttack | None:
    """Bound what is just not published; None where the release is too large."""
    known = known_from(published, structural=True)
    family = known.family
    kinds = _kinds(family)
    if kinds is None or family.number > PATTERNS:
        return None
    sets, items = nexts(family, family.instants + 1)
    wanted = [tuple(family.items_of(int(one)).tolist()) for one in np.flatnonzero(known.own < 0)]
    wanted += [
        (*family.items_of(int(one)).tolist(), int(item)) for one, item in zip(sets, items, strict=True)
    ]
    end, tried, pinned, exact = time.monotonic() + seconds, 0, 0, 0
    equal = _sparse([_holds(kinds, family.items_of(number).tolist()) for number in range(family.number)])
    for pattern in wanted:
        left = end - time.monotonic()
        found = _bounds(equal, family.support, _holds(kinds, list(pattern)), left) if left > 0 else None
        if found is None:
            break
        tried += 1
        low, high = _cells(family, pattern, *found)
        small = (low > 0) & (high < k)
        pinned += int(small.sum())
        exact += int((small & (low == high)).sum())
    return BoundAttack(len(wanted), tried, pinned, exact)


def _kinds(family: Family) -> np.ndarray[Any, Any] | None:
    """Every choice of published items, at most one of each instant, as lines of who has what.

    Of an instant of series whose symbols are all published, exactly one.
    """
    singles = family.levels[1][:, 0] if len(family.levels) > 1 else np.zeros(0, dtype=np.int64)
    _, counts = np.unique(singles // family.kinds, return_counts=True)
    whole = family.kinds if family.kinds > 1 else 2
    if math.prod(min(count + 1, whole) for count in counts.tolist()) > KINDS:
        return None
    lines = np.zeros((1, family.size), dtype=bool)
    for instant, count in zip(np.unique(singles // family.kinds), counts.tolist(), strict=True):
        parts = [lines] if count < whole else []
        for item in singles[singles // family.kinds == instant]:
            part = lines.copy()
            part[:, item] = True
            parts.append(part)
        lines = np.concatenate(parts)
    return lines


def _holds(kinds: np.ndarray[Any, Any], items: list[int]) -> np.ndarray[Any, Any]:
    return np.asarray(kinds[:, items].all(axis=1), dtype=np.float64)


def _sparse(lines: list[np.ndarray[Any, Any]]) -> Any:
    from scipy.sparse import csr_array  # noqa: PLC0415

    return csr_array(np.stack(lines))


def _bounds(
    equal: Any, support: Integers, goal: np.ndarray[Any, Any], seconds: float
) -> tuple[int, int] | None:
    """The least and the most people who can have a pattern; None if there was no time."""
    from scipy.optimize import linprog  # noqa: PLC0415

    ends = []
    for sign in (1, -1):
        solved = linprog(
            sign * goal,
            A_eq=equal,
            b_eq=support.astype(np.float64),
            bounds=(0, None),
            method="highs",
            options={"time_limit": max(seconds, 0.01)},
        )
        if not solved.success:
            return None
        ends.append(sign * solved.fun)
    return math.ceil(ends[0] - _CLOSE), math.floor(ends[1] + _CLOSE)


def _cells(family: Family, pattern: tuple[int, ...], least: int, most: int) -> tuple[Integers, Integers]:
    """The bounds of all groups among the items of a pattern, with those of the pattern itself at hand."""
    width = len(pattern)
    sums, signs = np.zeros(2**width, dtype=np.int64), np.zeros(2**width, dtype=np.int64)
    for number in range(2**width - 1):
        inside = [item for place, item in enumerate(pattern) if number >> place & 1]
        sums[number] = family.support[family.find(inside) or 0]
    signs[-1] = 1
    for table in (sums, signs):
        for place in range(width):
            halves = table.reshape(-1, 2, 2**place)
            halves[:, 0] -= halves[:, 1]
    return sums + np.minimum(signs * least, signs * most), sums + np.maximum(signs * least, signs * most)
