"""The loss that `adaptive` lowers, the slow and obvious way: every pattern, every partition."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

Block = tuple[int, ...]


def width(rows: Any) -> float:
    """Equation 2: the root mean square width of the envelope."""
    return float(np.sqrt(np.mean((rows.max(axis=0) - rows.min(axis=0)) ** 2)))


@cache
def meaning(symbol: int, level: int) -> float:
    return NormalDist().inv_cdf((symbol + 0.5) / level)


def distance(series: Any, pattern: Any) -> float:
    """Equation 3: the cosine distance of all differences between two instants."""
    pairs = list(itertools.combinations(range(len(series)), 2))
    one = np.array([series[i] - series[j] for i, j in pairs])
    two = np.array([pattern[i] - pattern[j] for i, j in pairs])
    lengths = float(np.sqrt((one @ one) * (two @ two))) if pairs else 0.0
    if not one.any() and not two.any():
        return 0.0
    return 1.0 if lengths == 0 else 1.0 - float(one @ two) / lengths


def true_levels(u: Any, max_level: int) -> list[list[tuple[int, int]]]:
    """Per instant the (level, symbol) pairs that all positions share."""
    found = []
    for column in u.T:
        pairs = [(level, {int(level * at) for at in column}) for level in range(1, max_level + 1)]
        found.append([(level, symbols.pop()) for level, symbols in pairs if len(symbols) == 1])
    return found


def pattern_loss(series: Any, u: Any, max_level: int) -> float:
    """What the members lose in all under the best of all true patterns."""
    best = np.inf
    for chosen in itertools.product(*true_levels(u, max_level)):
        pattern = [meaning(symbol, level) for level, symbol in chosen]
        best = min(best, sum(distance(row, pattern) for row in series))
    return float(best)


def best_objective(matrix: Any, u: Any, k: int, p: int, weight: float, unit: float, max_level: int) -> float:
    """The least value loss / unit + weight * pattern loss over all partitions, means per series."""

    @cache
    def lost(block: Block) -> float:
        return weight * pattern_loss(matrix[list(block)], u[list(block)], max_level)

    @cache
    def of_group(group: Block) -> float:
        shapes = min(sum(map(lost, blocks)) for blocks in parted(group, p))
        return len(group) * width(matrix[list(group)]) / unit + shapes

    every = tuple(range(len(matrix)))
    return min(sum(map(of_group, groups)) for groups in parted(every, k)) / len(matrix)


def parted(items: Block, least: int) -> Iterator[list[Block]]:
    """Every way to part items into sets of at least so many."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(least - 1, len(rest) + 1):
        for others in itertools.combinations(rest, size):
            left = tuple(item for item in rest if item not in others)
            for more in parted(left, least):
                yield [(first, *others), *more]
