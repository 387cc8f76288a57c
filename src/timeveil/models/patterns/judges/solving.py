"""Groups of series that follow from counts as a system of equations: beyond the promise.

Everybody has one symbol at every instant, so data are a table with a cell for every choice of symbols, and a
count is the sum of some cells. A group has one of some symbols at each of a few instants. It follows if it is
the same in all tables that have the counts, whether or not they have less than nobody somewhere.

That can be asked for each set of instants by itself. Seen as functions on a table, counts and groups of some
instants split into what depends on all of these together and what depends on fewer. All parts of a published
set are published. So a group follows exactly if what depends on all its instants is a combination of the
counts of those instants, and the group without any one of them follows, too. A group and the same with the
other symbols at an instant follow together.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from timeveil.evidence.codes import Integers
from timeveil.models.patterns.judges.breach import SolveAttack
from timeveil.models.patterns.judges.family import Family

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Instants = tuple[int, ...]
Counts = Mapping[Instants, tuple[Integers, Integers]]
"""By instants, the symbols of the sets that have them, one in a line, and how many people have each."""

ROOM = 4_000_000
_CLOSE = 1e-7


def solve_attack(family: Family, k: int, seconds: float) -> SolveAttack | None:
    """Solve for the groups of every set of instants; None where items do not exclude each other.

    With baskets nothing more follows than sums over a pattern and its parts give. Sets of more instants than
    there is room for are not tried.

    >>> from timeveil.models.patterns.judges.family import family_of
    >>> solve_attack(family_of([[], [0], [1]], [10, 5, 4], size=3, kinds=3), k=2, seconds=1)
    SolveAttack(instants=1, possible=1, tried=1, small=1)
    """
    longest = _longest(family.kinds, family.instants)
    if family.kinds == 1 or longest == 0:
        return None
    counts, end = _by_instants(family, longest), time.monotonic() + seconds
    sides = _sides(family.kinds)
    follows: dict[Instants, Flags] = {}
    tried, small = 0, 0
    for some in _subsets(range(family.instants), longest):
        if time.monotonic() > end:
            break
        tried += 1
        sure = _following(counts, some, sides, follows)
        if sure is not None:
            follows[some] = sure
            size = _along(
                _table(counts, some, family.kinds), [np.concatenate([sides, 1 - sides])] * len(some)
            )
            both = np.tile(sure, (2,) * len(some))
            small += int((both & (size > 0.5) & (size < k - 0.5)).sum())
    possible = sum(math.comb(family.instants, length) for length in range(1, longest + 1))
    return SolveAttack(longest, possible, tried, small)


def _longest(kinds: int, instants: int) -> int:
    """Of how many instants there is room for all groups and tables."""
    longest = 0
    while longest < instants and ((2.0 ** (kinds - 1) - 1) * (kinds - 1)) ** (longest + 1) <= ROOM:
        longest += 1
    return longest


def _by_instants(family: Family, longest: int) -> Counts:
    found: dict[Instants, tuple[Integers, Integers]] = {}
    for length, level in enumerate(family.levels[: longest + 1]):
        support = family.support[family.offsets[length] : family.offsets[length + 1]]
        instants, which = np.unique(level // family.kinds, axis=0, return_inverse=True)
        for number, some in enumerate(instants.tolist()):
            mine = which.ravel() == number
            found[tuple(some)] = level[mine] % family.kinds, support[mine]
    return found


def _subsets(some: range | Instants, longest: int) -> itertools.chain[Instants]:
    return itertools.chain.from_iterable(
        itertools.combinations(some, length) for length in range(1, longest + 1)
    )


def _sides(kinds: int) -> Floats:
    """Some symbols without the last one, in each way but none: a line of 0 and 1 for each."""
    numbers = np.arange(1, 1 << (kinds - 1))
    return ((numbers[:, None] >> np.arange(kinds)) & 1).astype(np.float64)


def _following(
    counts: Counts, some: Instants, sides: Floats, follows: Mapping[Instants, Flags]
) -> Flags | None:
    """Which groups of these instants follow, an axis per instant; None if none does."""
    parts = [some[:place] + some[place + 1 :] for place in range(len(some))]
    if some not in counts or (len(some) > 1 and any(part not in follows for part in parts)):
        return None
    kinds = sides.shape[1]
    free = _unknown(counts[some][0], kinds)
    left = _along(free, [sides[:, :-1]] * len(some))
    sure: Flags = np.abs(left).max(axis=-1, initial=0) < _CLOSE
    if len(some) > 1:
        for place, part in enumerate(parts):
            sure &= np.expand_dims(follows[part], place)
    return sure if sure.any() else None


def _unknown(symbols: Integers, kinds: int) -> Floats:
    """What depends on all instants and is not told by the counts of these symbols; the last axis is which.

    All symbols of an instant make everybody, which depends on nothing there: the last is less all others.
    """
    alone = np.concatenate([np.eye(kinds - 1), np.full((1, kinds - 1), -1.0)])
    lines = np.ones((len(symbols), 1))
    for column in symbols.T:
        lines = (lines[:, :, None] * alone[column][:, None, :]).reshape(len(lines), -1)
    strength, every = np.linalg.eigh(lines.T @ lines)
    free = every[:, strength < _CLOSE]
    return free.reshape((kinds - 1,) * symbols.shape[1] + (free.shape[1],))


def _table(counts: Counts, some: Instants, kinds: int) -> Floats:
    """Some table that has all counts of these instants.

    Of all such tables nearly the flattest; how nearly makes no difference to what follows from the counts.
    """
    people = np.indices((kinds,) * len(some)).reshape(len(some), -1)
    lines, told = [], []
    for part in [(), *_subsets(some, len(some))]:
        if part in counts:
            symbols, support = counts[part]
            places = [some.index(instant) for instant in part]
            lines.append((people[places][None] == symbols[:, :, None]).all(axis=1))
            told.append(support)
    holds, sums = np.concatenate(lines).astype(np.float64), np.concatenate(told).astype(np.float64)
    flat = _CLOSE * np.eye(holds.shape[1])
    found: Floats = np.asarray(np.linalg.solve(holds.T @ holds + flat, holds.T @ sums), dtype=np.float64)
    return found.reshape((kinds,) * len(some))


def _along(table: Floats, lines: list[Floats]) -> Floats:
    """Sums of a table by the lines of a matrix, axis by axis."""
    for place, matrix in enumerate(lines):
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, place)), 0, place)
    return table
