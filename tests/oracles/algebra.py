"""An adversary who solves: all that the counts determine, whatever it takes to work it out.

Everybody has one of S symbols at each of T instants, so that data are a number for each of S^T kinds of
people, and a count is the sum of some of them. A group is determined if its sum is the same in all solutions,
which is a question of rank. Groups are those that have, at every instant, one of some symbols.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@cache
def kinds_of_people(symbols: int, instants: int) -> Floats:
    """A line per kind: which items it has."""
    lines = np.zeros((symbols**instants, symbols * instants))
    for place, kind in enumerate(itertools.product(range(symbols), repeat=instants)):
        lines[place, [t * symbols + s for t, s in enumerate(kind)]] = 1
    return lines


@cache
def groups(symbols: int, instants: int) -> Floats:
    """A line per group: which kinds of people are in it."""
    some = [set(s) for n in range(1, symbols + 1) for s in itertools.combinations(range(symbols), n)]
    people = list(itertools.product(range(symbols), repeat=instants))
    return np.array(
        [
            [all(s in at for s, at in zip(kind, group, strict=True)) for kind in people]
            for group in itertools.product(some, repeat=instants)
        ],
        dtype=np.float64,
    )


def small_groups(counts: Mapping[frozenset[int], int], symbols: int, instants: int, k: int) -> int:
    """How many groups of more than nobody and fewer than k are determined; -1 if no data have the counts."""
    people, every = kinds_of_people(symbols, instants), groups(symbols, instants)
    holds = np.array([people[:, sorted(some)].all(axis=1) for some in counts], dtype=np.float64)
    told = np.array(list(counts.values()), dtype=np.float64)
    _, strength, lines = np.linalg.svd(holds)
    free = lines[int((strength > 1e-8).sum()) :]
    one = np.linalg.lstsq(holds, told, rcond=None)[0]
    if np.abs(holds @ one - told).max() > 1e-6:
        return -1
    sure = np.abs(every @ free.T).max(axis=1, initial=0) < 1e-7
    size = every @ one
    return int((sure & (size > 0.5) & (size < k - 0.5)).sum())
