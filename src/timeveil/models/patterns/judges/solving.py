"""What goes beyond the promise: bounds by linear programs, and groups by systems of equations.

Bounds. The unknowns are the numbers of people of each possible kind, one for every choice of published items;
the counts are sums of them. Where no frequent pattern was left out, fewer people than the smallest support
have a pattern that is not published. The least and the most that a pattern just outside the published ones
can have is a linear program (HiGHS). With the counts of all its parts known, every group among its items
follows from that one number. Kinds are as many as all combinations: this is for small releases.

Equations. Everybody has one symbol at every instant, so data are a table with a cell for every choice of
symbols, and a count is the sum of cells. A group has one of several symbols at each of a few instants, and
follows if it is the same in all tables that have the counts. That can be asked for each set of instants
separately. Counts and groups split into what depends on all of these together and what depends on fewer. All
parts of a published set are published, so a group follows exactly if what depends on all its instants is a
combination of the counts of those instants, and the group without any one of them follows too. A group and
the same with the other symbols at an instant follow together.
"""

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.models.patterns.evidence.counting import with_border
from timeveil.models.patterns.evidence.family import Family, Knowledge

Instants = tuple[int, ...]
Counts = dict[Instants, tuple[Ints, Ints]]
"""By instants, the symbols of the sets that have them, one set in a line, and the support of each."""

MOST_KINDS = 4_096
MOST_PATTERNS = 1_000
MOST_GROUPS = 4_000_000
ROUNDING = 1e-6
CLOSE = 1e-7


@dataclass(frozen=True, slots=True)
class BoundAttack:
    """What can be bounded by solving for all data that have the published counts; beyond the promise.

    `tried` patterns just outside the published ones were bounded out of `possible`. `pinned` groups are then
    certain to have more than nobody and fewer than k people; of `exact` ones the number is certain.
    """

    possible: int
    tried: int
    pinned: int
    exact: int


@dataclass(frozen=True, slots=True)
class SolveAttack:
    """Groups of series that follow from the counts as a system of equations; beyond the promise.

    Of all `possible` sets of at most `instants` instants, `tried` were solved for. `small` is the number of
    groups with one of several symbols at each of them that certainly have more than nobody and fewer than k
    people.
    """

    instants: int
    possible: int
    tried: int
    small: int


def bound_attack(
    published: Family, k: int, seconds: float, *, rare: int | None = None, longest: int | None = None
) -> BoundAttack | None:
    """Bound what at most `rare` have, just outside the published patterns; None where there are too many."""
    from scipy.sparse import csr_array  # noqa: PLC0415  # scipy loads when it is needed

    knowledge = Knowledge(published)
    family = knowledge.family
    kinds = _kinds_of_people(family) if family.number <= MOST_PATTERNS else None
    if kinds is None:
        return None
    patterns = [family.items_of(number) for number in range(family.number)]
    outside = [patterns[number] for number in np.flatnonzero(knowledge.published < 0).tolist()]
    wider, on_border = with_border(family, family.instants + 1)
    border = [wider.items_of(number) for number in np.flatnonzero(on_border).tolist()]
    outside += border
    end, tried, pinned, exact = time.monotonic() + seconds, 0, 0, 0
    holders = [kinds[:, pattern].all(axis=1) for pattern in patterns]
    equations = csr_array(np.stack(holders).astype(np.float64))
    few = [kinds[:, p].all(axis=1) for p in border if rare is not None and len(p) <= (longest or len(p))]
    limits = {"A_ub": csr_array(np.stack(few).astype(float)), "b_ub": np.full(len(few), rare)} if few else {}
    for pattern in outside:
        goal = np.asarray(kinds[:, pattern].all(axis=1), dtype=np.float64)
        bounds = _bounds(goal, end - time.monotonic(), A_eq=equations, b_eq=family.support, **limits)
        if bounds is None:
            break
        tried += 1
        low, high = _group_bounds(family, pattern, *bounds)
        small = (low > 0) & (high < k)
        pinned += int(small.sum())
        exact += int((small & (low == high)).sum())
    return BoundAttack(len(outside), tried, pinned, exact)


def _kinds_of_people(family: Family) -> Flags | None:
    """Every choice of published items, at most one of each instant, a line each; None if there are too many.

    Of an instant of series whose symbols are all published, exactly one.
    """
    singles = family.singles
    instants, counts = np.unique(singles // family.kinds, return_counts=True)
    symbols = family.kinds if family.kinds > 1 else 2
    if math.prod(min(count + 1, symbols) for count in counts.tolist()) > MOST_KINDS:
        return None
    lines = np.zeros((1, family.size), dtype=bool)
    for instant, count in zip(instants, counts.tolist(), strict=True):
        parts = [lines] if count < symbols else []
        for item in singles[singles // family.kinds == instant]:
            part = lines.copy()
            part[:, item] = True
            parts.append(part)
        lines = np.concatenate(parts)
    return lines


def _bounds(goal: Floats, seconds: float, **constraints: Any) -> tuple[int, int] | None:
    """The least and the most people who can have a pattern; None if there was no time."""
    from scipy.optimize import linprog  # noqa: PLC0415  # scipy loads when it is needed

    if seconds <= 0:
        return None
    ends, limit = [], {"time_limit": max(seconds, 0.01)}
    for sign in (1, -1):
        solution = linprog(sign * goal, bounds=(0, None), method="highs", options=limit, **constraints)
        if not solution.success:
            return None
        ends.append(sign * solution.fun)
    # People are whole: the bounds tighten to whole numbers, with room for the tolerance of the solver.
    return math.ceil(ends[0] - ROUNDING), math.floor(ends[1] + ROUNDING)


def _group_bounds(family: Family, pattern: list[int], least: int, most: int) -> tuple[Ints, Ints]:
    """The bounds of all groups among the items of a pattern, from those of the pattern itself."""
    width = len(pattern)
    sums, signs = np.zeros((2, 2**width), dtype=np.int64)
    for number in range(2**width - 1):
        part = [item for index, item in enumerate(pattern) if number >> index & 1]
        sums[number] = family.support[family.find_set(part) or 0]
    signs[-1] = 1  # the unknown count of the pattern itself: how often it is added to each group
    for table in (sums, signs):
        for index in range(width):
            halves = table.reshape(-1, 2, 2**index)
            # Inclusion and exclusion in place: bit by bit, those without an item are all less those with it.
            halves[:, 0] -= halves[:, 1]
    return sums + np.minimum(signs * least, signs * most), sums + np.maximum(signs * least, signs * most)


def solve_attack(family: Family, k: int, seconds: float) -> SolveAttack | None:
    """Solve for the groups of every set of instants; None where items do not exclude each other.

    With baskets nothing more follows than sums over a pattern and its parts give. Sets of more instants than
    memory allows are not tried.
    """
    # The most instants of which all groups and tables fit in memory.
    per_instant, longest = (2.0 ** (family.kinds - 1) - 1) * (family.kinds - 1), 0
    while longest < family.instants and per_instant ** (longest + 1) <= MOST_GROUPS:
        longest += 1
    if family.kinds == 1 or longest == 0:
        return None
    end = time.monotonic() + seconds
    counts: Counts = {}
    for length, level in enumerate(family.levels[: longest + 1]):
        sets, which = np.unique(level // family.kinds, axis=0, return_inverse=True)
        for number, line in enumerate(sets.tolist()):
            members = which.ravel() == number
            counts[tuple(line)] = (level[members] % family.kinds, family.supports(length)[members])
    # every choice of symbols without the last one but the empty choice: a line of 0 and 1 for each
    numbers = np.arange(1, 1 << (family.kinds - 1))
    choices = (numbers[:, None] >> np.arange(family.kinds) & 1).astype(np.float64)
    follows: dict[Instants, Flags] = {}
    tried, small = 0, 0
    for instants in _subsets(range(family.instants), longest):
        if time.monotonic() > end:
            break
        tried += 1
        certain = _following(counts, instants, choices, follows)
        if certain is not None:
            follows[instants] = certain
            sides = [np.concatenate([choices, 1 - choices])] * len(instants)
            sizes = _along(_table(counts, instants, family.kinds), sides)
            on_both_sides = np.tile(certain, (2,) * len(instants))
            small += int((on_both_sides & (sizes > 0.5) & (sizes < k - 0.5)).sum())
    possible = sum(math.comb(family.instants, length) for length in range(1, longest + 1))
    return SolveAttack(longest, possible, tried, small)


def _subsets(instants: range | Instants, longest: int) -> Iterator[Instants]:
    for length in range(1, longest + 1):
        yield from itertools.combinations(instants, length)


def _following(
    counts: Counts, instants: Instants, choices: Floats, follows: dict[Instants, Flags]
) -> Flags | None:
    """Which groups of these instants follow, an axis per instant; None if none does."""
    parts = [instants[:index] + instants[index + 1 :] for index in range(len(instants))]
    if instants not in counts or (len(instants) > 1 and any(part not in follows for part in parts)):
        return None
    unknown = _unknown(counts[instants][0], choices.shape[1])
    undetermined = _along(unknown, [choices[:, :-1]] * len(instants))
    certain: Flags = np.abs(undetermined).max(axis=-1, initial=0) < CLOSE
    if len(instants) > 1:
        for index, part in enumerate(parts):
            certain &= np.expand_dims(follows[part], index)
    return certain if certain.any() else None


def _unknown(symbols: Ints, kinds: int) -> Floats:
    """What depends on all instants and does not follow from the counts of these symbols, by its last axis.

    All symbols of an instant make everybody, which depends on nothing there: the last is minus all others.
    """
    single = np.concatenate([np.eye(kinds - 1), np.full((1, kinds - 1), -1.0)])
    lines = np.ones((len(symbols), 1))
    for column in symbols.T:
        lines = (lines[:, :, None] * single[column][:, None, :]).reshape(len(lines), -1)
    strength, vectors = np.linalg.eigh(lines.T @ lines)
    # Directions in which tables can change without changing any count.
    free = vectors[:, strength < CLOSE]
    return free.reshape((kinds - 1,) * symbols.shape[1] + (free.shape[1],))


def _table(counts: Counts, instants: Instants, kinds: int) -> Floats:
    """A table that has all counts of these instants.

    Of all such tables nearly the flattest; how nearly makes no difference to what follows from the counts.
    """
    people = np.indices((kinds,) * len(instants)).reshape(len(instants), -1)
    lines, sums = [], []
    for part in [(), *_subsets(instants, len(instants))]:
        if part in counts:
            symbols, support = counts[part]
            axes = [instants.index(instant) for instant in part]
            lines.append((people[axes][None] == symbols[:, :, None]).all(axis=1))
            sums.append(support)
    holders, totals = np.concatenate(lines).astype(np.float64), np.concatenate(sums).astype(np.float64)
    # Fewer counts than cells leave the system singular; a small ridge picks a table all the same.
    flat = CLOSE * np.eye(holders.shape[1])
    cells = np.linalg.solve(holders.T @ holders + flat, holders.T @ totals)
    return np.asarray(cells, dtype=np.float64).reshape((kinds,) * len(instants))


def _along(table: Floats, matrices: list[Floats]) -> Floats:
    """Sums of a table by the lines of a matrix, axis by axis."""
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return table
