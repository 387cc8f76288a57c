"""Slow, obvious twins of the series methods: the tree by hand, recycling by hand, groups by hand.

Patterns are tuples found by counting breakpoints below a z-normalised value; nothing is hashed or packed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from statistics import NormalDist, fmean, median
from typing import Any

import numpy as np

Pattern = tuple[int, ...]
Leaf = tuple[tuple[int, ...], int, bool]
"""Members, level, and whether they are fewer than p."""


def normalised(series: Sequence[float], center: str = "mean") -> list[float]:
    mean = fmean(series)
    deviation = (sum((x - mean) ** 2 for x in series) / len(series)) ** 0.5
    if min(series) == max(series) or deviation == 0:
        return [0.0] * len(series)
    middle = mean if center == "mean" else median(series)
    return [0.0 if abs(z) < 1e-12 else z for z in ((x - middle) / deviation for x in series)]


@cache
def borders(level: int) -> tuple[float, ...]:
    return tuple(NormalDist().inv_cdf(j / level) for j in range(1, level))


def pattern(series: Sequence[float], level: int, center: str = "mean") -> Pattern:
    """One symbol per instant; a value on a breakpoint, but for rounding, goes up."""
    return tuple(sum(border <= z + 1e-10 for border in borders(level)) for z in normalised(series, center))


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine distance of the vectors of all differences (eq. 3)."""
    a = [x - y for x, y in combinations(one, 2)]
    b = [x - y for x, y in combinations(other, 2)]
    length = (sum(x * x for x in a) * sum(x * x for x in b)) ** 0.5
    if length == 0:
        return 0.0 if any(a) == any(b) else 1.0
    return 1 - sum(x * y for x, y in zip(a, b, strict=True)) / length


def reconstructed(symbols: Pattern, level: int) -> list[float]:
    return [NormalDist().inv_cdf((s + 0.5) / level) for s in symbols]


class Patterns:
    """The pattern of each series at each level, looked up."""

    def __init__(self, matrix: Sequence[Sequence[float]], max_level: int, center: str = "mean") -> None:
        self.max_level = max_level
        self.at = [[pattern(series, level, center) for level in range(1, max_level + 1)] for series in matrix]

    def __call__(self, row: int, level: int) -> Pattern:
        return self.at[row][level - 1]

    def same(self, rows: Sequence[int], level: int) -> bool:
        return len({self(row, level) for row in rows}) == 1

    def highest(self, rows: Sequence[int], least: int) -> int:
        return max(level for level in range(least, self.max_level + 1) if self.same(rows, level))

    def by(self, rows: Sequence[int], level: int) -> dict[Pattern, list[int]]:
        found: dict[Pattern, list[int]] = {}
        for row in rows:
            found.setdefault(self(row, level), []).append(row)
        return found


def tree(patterns: Patterns, rows: Sequence[int], p: int, level: int = 1) -> set[Leaf]:
    """Leaves of Algorithm 1 as corrected."""
    whole = tuple(sorted(rows))
    if len(rows) < p:
        return {(whole, level, True)}
    if level == patterns.max_level:
        return {(whole, level, False)}
    if len(rows) < 2 * p:
        return {(whole, patterns.highest(rows, level), False)}
    children = list(patterns.by(rows, level + 1).values())
    large = [child for child in children if len(child) >= p]
    small = [child for child in children if len(child) < p]
    if not large:
        return {(whole, level, False)}
    leaves: set[Leaf] = set()
    scattered = sorted(row for child in small for row in child)
    if len(scattered) >= p:
        leaves.add((tuple(scattered), patterns.highest(scattered, level), False))
    else:
        leaves |= {(tuple(child), level + 1, True) for child in small}
    for child in large:
        leaves |= tree(patterns, child, p, level + 1)
    return leaves


def recycled(patterns: Patterns, leaves: set[Leaf], p: int) -> dict[tuple[int, Pattern], set[int]]:
    """Members of each pattern of at least p series, by level and pattern."""
    kept: dict[tuple[int, Pattern], set[int]] = {}
    for members, level, bad in leaves:
        if not bad:
            kept.setdefault((level, patterns(members[0], level)), set()).update(members)
    alone = sorted(row for members, _, bad in leaves if bad for row in members)
    level = max((level for _, level, bad in leaves if bad), default=0)
    while len(alone) >= p:
        for symbols, members in patterns.by(alone, level).items():
            if len(members) >= p:
                kept.setdefault((level, symbols), set()).update(members)
                alone = [row for row in alone if row not in members]
        level -= 1
    return kept


def joined(patterns: Patterns, leaves: set[Leaf], p: int) -> dict[tuple[int, ...], tuple[int, Pattern]]:
    """Naive's post-processing: final members of each leaf with its level and pattern."""
    good = sorted([list(members), level] for members, level, bad in leaves if not bad)
    ends = [(members, level, patterns(members[0], level)) for members, level in good]
    waiting = sorted(((len(m), m, level) for m, level, bad in leaves if bad), key=lambda leaf: leaf[0:2])
    for _, members, level in waiting:
        shape = reconstructed(patterns(members[0], level), level)
        far = [round(distance(shape, reconstructed(symbols, high)), 9) for _, high, symbols in ends]
        best = min(range(len(ends)), key=lambda i: (far[i], len(ends[i][0])))
        ends[best][0].extend(members)
    return {tuple(sorted(members)): (level, symbols) for members, level, symbols in ends}


def width(rows: Sequence[Sequence[float]]) -> float:
    """Root mean square width of the envelope of some series (eq. 2)."""
    spans = [max(column) - min(column) for column in zip(*rows, strict=True)]
    return float((sum(span * span for span in spans) / len(spans)) ** 0.5)


def formed(subgroups: Sequence[Sequence[Sequence[float]]], k: int) -> list[set[int]]:
    """Groups of subgroups by steps 1 to 5 of §5.3.3, value loss in totals."""

    def loss(members: Sequence[int]) -> float:
        rows = [row for s in members for row in subgroups[s]]
        return len(rows) * width(rows)

    groups = [[s] for s, rows in enumerate(subgroups) if len(rows) >= k]
    free = [s for s, rows in enumerate(subgroups) if len(rows) < k]
    while sum(len(subgroups[s]) for s in free) >= k:
        group = [min(free, key=lambda s: loss([s]))]
        free.remove(group[0])
        while sum(len(subgroups[s]) for s in group) < k:
            nearest = min(free, key=lambda s: loss([*group, s]))
            group.append(nearest)
            free.remove(nearest)
        groups.append(group)
    for s in free:
        best = min(groups, key=lambda group: loss([*group, s]) - loss(group))
        best.append(s)
    return [set(group) for group in groups]


def formed_clearly(low: Any, high: Any, size: Any, k: int) -> Any:
    """The same on envelopes and sizes, looking at all subgroups in every step; returns the group of each."""
    group = np.full(len(size), -1)
    large = np.flatnonzero(size >= k)
    group[large] = np.arange(len(large))
    groups = [(low[s], high[s], int(size[s])) for s in large]
    while size[group < 0].sum() >= k:
        bottom, top, count = np.full(low.shape[1], np.inf), np.full(low.shape[1], -np.inf), 0
        while count < k:
            free = np.flatnonzero(group < 0)
            nearest = free[np.argmin((count + size[free]) * _united(low[free], high[free], bottom, top))]
            group[nearest] = len(groups)
            bottom, top = np.minimum(low[nearest], bottom), np.maximum(high[nearest], top)
            count += int(size[nearest])
        groups.append((bottom, top, count))
    for s in np.flatnonzero(group < 0):
        grown = [
            (count + size[s]) * _united(low[s], high[s], bottom, top)
            - count * _united(bottom, top, bottom, top)
            for bottom, top, count in groups
        ]
        best = int(np.argmin(grown))
        bottom, top, count = groups[best]
        groups[best] = (np.minimum(bottom, low[s]), np.maximum(top, high[s]), count + int(size[s]))
        group[s] = best
    return group


def _united(low: Any, high: Any, bottom: Any, top: Any) -> Any:
    return np.sqrt(np.square(np.maximum(high, top) - np.minimum(low, bottom)).mean(axis=-1))


def stepped_mean(values: Sequence[float], low: float, high: float) -> float | None:
    """The mean of a group as it may be published, by fractions: a step of its envelope, no outer one."""
    if low == high:
        return low
    return stepped(shares_above(values, low, high), len(values), low, high)


def shares_above(values: Sequence[float], low: float, high: float) -> Fraction:
    """How far above the low end all values are together, in widths of the envelope."""
    width = Fraction(high) - Fraction(low)
    return sum(((Fraction(value) - Fraction(low)) / width for value in values), Fraction())


def stepped(shares: Fraction, size: int, low: float, high: float) -> float | None:
    """The mean of so many values as it may be published."""
    step = int((shares + Fraction(1, 2)) // 1)
    return low + (high - low) * (step / size) if 2 <= step <= size - 2 else None


def most_that_can_differ(often: Mapping[object, int], l: int) -> int:
    """The most rows of which none has a value of more than one in l, by trying every number of rows.

    >>> most_that_can_differ({"a": 5, "b": 2}, 2), most_that_can_differ({"a": 5}, 2)
    (4, 0)
    """
    for rows in range(sum(often.values()), 0, -1):
        if sum(min(count, rows // l) for count in often.values()) >= rows:
            return rows
    return 0
