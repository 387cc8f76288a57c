"""`representative`: as `adaptive`, with patterns that describe a subgroup and need not be anyone's own.

A subgroup's pattern is the one nearest to the sum of its members' shapes, at one level for all instants.
That loses less than a pattern that must be true of everybody, and Definition 5 allows it.

Why it is not the default: the pattern is close to a mean, and a mean gives the last member away. Anyone who
knows all but one of the p members recovers the shape of the last with an error of about 0.7 * p / level, in
deviations. So the level is at most p + 1, and p has to be at least 3. What a pattern shows is not true of
each member, so nothing missing can be estimated from it. Prefer `adaptive`.
"""

from __future__ import annotations

from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError
from timeveil.models.series.method.adaptive import arranged
from timeveil.models.series.method.fitting import Alphabet
from timeveil.models.series.method.partition import Matrix, Partition
from timeveil.symbols import Center

LEAST_P = 3
LEAST_LEVEL = 4


def representative(
    matrix: Matrix,
    k: int,
    p: int,
    *,
    shape_weight: float = 50,
    effort: int = 1,
    max_level: int = 20,
    center: Center = "mean",
    seed: int = 0,
    progress: Progress = silent,
) -> Partition:
    """Groups of at least k, subgroups of at least p, and one pattern near the middle of each subgroup.

    >>> import numpy as np
    >>> matrix = np.array([[1.0, 2, 3], [9, 8, 7], [2, 3, 4], [8, 7, 6], [0, 1, 2], [7, 6, 5]])
    >>> partition = representative(matrix, 6, 3)
    >>> partition.own, partition.levels.tolist()
    (False, [[4, 4, 4], [4, 4, 4]])
    """
    if p < LEAST_P:
        raise ParameterError(
            f"`representative` needs p of at least {LEAST_P}, got {p}: of two people who share a pattern, "
            "each would know the other's",
            hint=f'raise p to {{p={LEAST_P}}}, or use {{method="adaptive"}}',
        )
    alphabet = Alphabet(max_level, level_for(p, max_level))
    return arranged(
        matrix, k, p, alphabet, shape_weight, effort=effort, center=center, seed=seed, progress=progress
    )


def level_for(p: int, max_level: int) -> int:
    """The level of a pattern that describes p series: p + 1, at least 4, at most the highest.

    >>> level_for(5, 20), level_for(3, 20), level_for(40, 20)
    (6, 4, 20)
    """
    return min(max_level, max(LEAST_LEVEL, p + 1))
