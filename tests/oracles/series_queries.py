"""A slow, obvious way to publish series and to answer questions about them: one series at a time.

`release_of` knows nothing of the methods. Series are dealt into groups and blocks at random; a block is
published with, at each instant, the highest level at which its members have one symbol (level 1 always will
do), or with somebody's pattern where `own` is false.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.optimize import linprog

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles

NORMAL = statistics.NormalDist()
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Case:
    """Series as lists, and how they are to be published; `values` and `pattern` are places of instants."""

    series: list[list[float]]
    k: int = 4
    p: int = 2
    suppressed: int = 0
    center: str = "mean"
    each: bool = False
    own: bool = True
    values: tuple[int, ...] | None = None
    pattern: tuple[int, ...] | None = None
    most: int = 6
    digits: int | None = None
    seed: int = 0


def z_of(series, center="mean"):
    """Centre 0, deviation 1; all 0 where every value is the same."""
    if min(series) == max(series):
        return [0.0] * len(series)
    mean = math.fsum(series) / len(series)
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in series) / len(series))
    middle = mean if center == "mean" else statistics.median(series)
    found = [(x - middle) / deviation for x in series]
    return [0.0 if abs(z) < 1e-12 else z for z in found]


def symbol(z, level):
    """The number of borders at or below z."""
    return sum(NORMAL.inv_cdf(b / level) <= z + 1e-12 for b in range(1, level))


def outward(low, high, digits):
    """Bounds of few significant digits around others."""
    if digits is None:
        return low, high

    def down(x):
        if x == 0:
            return 0.0
        step = 10.0 ** (math.floor(math.log10(abs(x))) - digits + 1)
        return math.floor(x / step) * step - step * 1e-6

    return down(low), -down(-high)


def release_of(case: Case) -> tuple[Release, Ledger]:
    """Publish a case."""
    names = [f"t{place}" for place in range(len(case.series[0]))]
    values = tuple(range(len(names))) if case.values is None else case.values
    pattern = tuple(range(len(names))) if case.pattern is None else case.pattern
    order = np.random.default_rng(case.seed).permutation(len(case.series)).tolist()
    kept = order[case.suppressed :]
    rows, where = [], {}
    for number, group in enumerate(_dealt(kept, case.k), start=1):
        envelope = {}
        for place in values:
            found = [case.series[member][place] for member in group]
            envelope[place] = outward(min(found), max(found), case.digits)
        for block in _dealt(group, case.p):
            letters, levels = _pattern(case, block, pattern)
            for member in block:
                where[member] = (number, (number, letters, levels))
                rows.append((number, envelope, letters, levels))
    rows.sort(key=lambda row: (row[0], row[2], row[3]))
    cells = {cell: place for place, cell in enumerate(dict.fromkeys((row[0], *row[2:]) for row in rows))}
    data = {"group": pa.array([row[0] for row in rows], pa.int64())}
    for place in values:
        for end, name in enumerate(("lo", "hi")):
            data[f"{names[place]}_{name}"] = pa.array([row[1][place][end] for row in rows], pa.float64())
    columns = [{"name": "group", "role": "group", "type": "int64"}]
    for place in values:
        columns += [{"name": f"{names[place]}_lo", "role": "low", "type": "float64"}]
        columns += [{"name": f"{names[place]}_hi", "role": "high", "type": "float64"}]
    if pattern:
        data["pattern"] = pa.array([row[2] for row in rows], pa.string())
        levels = [list(row[3]) if case.each else row[3][0] for row in rows]
        data["level"] = pa.array(levels, pa.list_(pa.int16()) if case.each else pa.int16())
        columns += [{"name": name, "role": name, "type": ""} for name in ("pattern", "level")]
    manifest = {
        "format": 1,
        "model": "series",
        "series": {
            "instants": names,
            "values": [names[place] for place in values],
            "pattern": [names[place] for place in pattern],
            "center": case.center,
            "levels": "each" if case.each else "one",
            "own_patterns": case.own,
            "perturbed": [],
        },
        "columns": columns,
        "parameters": {"fill": None},
        "counts": {
            "rows": len(rows),
            "groups": len({row[0] for row in rows}),
            "cells": len(cells),
            "suppressed": case.suppressed,
        },
    }
    original = pa.table({name: [one[place] for one in case.series] for place, name in enumerate(names)})
    table = pa.table(
        {
            "row": pa.array(range(len(case.series)), pa.int64()),
            "group": pa.array(
                [where.get(row, (None, None))[0] for row in range(len(case.series))], pa.int64()
            ),
            "subgroup": pa.array(
                [cells.get(where.get(row, (None, None))[1]) for row in range(len(case.series))], pa.int64()
            ),
        }
    )
    ledger = Ledger("series", table, Relation(Roles(series=names), original))
    return Release(KPAnonymity(case.k, case.p), manifest, {"data": pa.table(data)}), ledger


def _dealt(members, size):
    """Parts of at least `size`, all of them if there are too few for two."""
    parts = max(len(members) // size, 1)
    cuts = [round(place * len(members) / parts) for place in range(parts + 1)]
    return [members[a:b] for a, b in itertools.pairwise(cuts) if b > a]


def _pattern(case, block, places):
    """One symbol and level per instant of a block."""
    shapes = [z_of(case.series[member], case.center) for member in (block if case.own else block[:1])]

    def agree(level, some):
        return all(len({symbol(z[place], level) for z in shapes}) == 1 for place in some)

    levels = []
    for place in range(len(case.series[0])):
        some = [place] if case.each else range(len(case.series[0]))
        levels.append(max(level for level in range(1, case.most + 1) if agree(level, some)))
    letters = "".join(LETTERS[symbol(shapes[0][place], levels[place])] for place in places)
    return letters, tuple(levels[place] for place in places)


def difference(series, center, a, b):
    """The z-normalised value at one place less that at another."""
    z = z_of(series, center)
    return z[a] - z[b]


def slope(series, center):
    """Of the least squares line through the z-normalised values."""
    return float(np.polyfit(range(len(series)), z_of(series, center), 1)[0]) if len(series) > 1 else 0.0


def spread(series, center):
    """The highest z-normalised value less the lowest."""
    z = z_of(series, center)
    return max(z) - min(z)


def vector(series, features):
    """All differences of two instants, or of neighbours."""
    if features == "adjacent":
        return [a - b for a, b in itertools.pairwise(series)]
    return [a - b for place, a in enumerate(series) for b in series[place + 1 :]]


def distance(one, other, features="differences"):
    """Cosine distance of two feature vectors, computed from z-normalised values."""
    mine, theirs = vector(z_of(one), features), vector(z_of(other), features)
    lengths = [math.sqrt(math.fsum(x * x for x in part)) for part in (mine, theirs)]
    if min(lengths) == 0:
        return float(max(lengths) > 0)
    return 1 - math.fsum(a * b for a, b in zip(mine, theirs, strict=True)) / (lengths[0] * lengths[1])


def extreme(low, high, below, above, target, sign, span=None):
    """The highest (sign 1) or lowest (-1) value of centre + deviation * target, by a general solver.

    No deviation is above half of the span of the values (Popoviciu).
    """
    span = max(high) - min(low) if span is None else span
    rows, limits = [], []
    for least, most, under, over in zip(low, high, below, above, strict=True):
        if math.isfinite(least):
            rows.append([-1.0, -over])
            limits.append(-least)
        if math.isfinite(most):
            rows.append([1.0, under])
            limits.append(most)
    found = linprog(
        [-sign, -sign * target],
        A_ub=rows or None,
        b_ub=limits or None,
        bounds=[(None, None), (0, span / 2 if math.isfinite(span) else None)],
        method="highs",
    )
    if found.status in (3, 4) or (found.status == 2 and not rows):
        return sign * math.inf
    assert found.status == 0, found.message
    return -sign * found.fun


def estimated_range(row, size, center, domain=(-math.inf, math.inf)):
    """What the paper's linear program, as corrected, says of each instant of one row.

    `row` has per instant (low, high) or None, and (symbol, level) or None.
    """
    reach = math.sqrt(size - 1) + (center == "median")
    low, high, below, above = [], [], [], []
    for envelope, mark in row:
        least, most = envelope or domain
        low.append(max(least, domain[0]))
        high.append(min(most, domain[1]))
        under = NORMAL.inv_cdf(mark[0] / mark[1]) if mark and mark[0] else -math.inf
        over = NORMAL.inv_cdf((mark[0] + 1) / mark[1]) if mark and mark[0] + 1 < mark[1] else math.inf
        below.append(max(under, -reach))
        above.append(min(over, reach))
    middle = statistics.median if center == "median" else statistics.fmean
    sides = [[*low, middle(low)], [*high, middle(high)], [*below, 0.0], [*above, 0.0]]
    return [
        (max(extreme(*sides, below[place], -1), domain[0]), min(extreme(*sides, above[place], 1), domain[1]))
        for place in range(size)
    ]


def shape_distance(name: str, first: list[float], second: list[float]) -> float:
    """The distance of two shapes, instant by instant, or over all warpings by recursion."""
    count = len(first)
    if name == "euclidean":
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / count)

    @functools.cache
    def least(a: int, b: int) -> float:
        here = (first[a] - second[b]) ** 2
        if a == b == 0:
            return here
        steps = [(a - 1, b), (a, b - 1), (a - 1, b - 1)]
        return here + min(least(x, y) for x, y in steps if x >= 0 and y >= 0)

    return math.sqrt(least(count - 1, count - 1) / count)
