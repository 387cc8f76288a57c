"""`adaptive`: groups by value and subgroups by shape, weighed against each other, patterns each member's own.

Beyond the paper. KAPRA gives a pattern one level for all instants, the finest at which every member agrees
everywhere, and forms groups only then. Here each instant has a level of its own, at which all members of the
subgroup agree: still the truth about everyone, and much more of it. And groups and subgroups are chosen
together, by one number: `value loss / unit + shape_weight * pattern loss`.

1. Start: gather nearest series into groups of k, cut each by shape into subgroups of p (`starting`).
2. Refine: swap series, move them, exchange subgroups, while the number falls (`refining`). With more effort,
   shake them at random and refine again (`annealing`).
3. Patterns: per instant, of the levels at which all members share a symbol, the one whose meaning together
   with the others comes nearest to the members' shapes. A flat pattern where constant series prevail.

`shape_weight` is the knob: 2 is for values, 10 for both, 50 and up for the shape. `effort` 0 stops after the
start, 1 refines: in ten passes up to half a million numbers, down to three from 1.6 million on; each further
unit tries 300 random changes per series. Since the loss of a pattern is one minus a correlation, the least
loss of a subgroup is its size less the length of the sum of its members' unit shapes, and a swap is scored in
one walk over the instants. Cost: O(n log n) for the start, O(n) a pass and a unit of effort, all times the
instants.
"""

from __future__ import annotations

from timeveil.domain.progress import Progress, silent
from timeveil.models.series.method.arranging import arrange
from timeveil.models.series.method.partition import Matrix, Partition
from timeveil.symbols.sax import Center


def adaptive(
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
    """Groups of at least k, subgroups of at least p, and a level for each instant of a pattern.

    >>> import numpy as np
    >>> matrix = np.array([[1.0, 2, 3], [9, 8, 7], [2, 3, 4], [8, 7, 6]])
    >>> found = adaptive(matrix, 4, 2)
    >>> found.group.tolist(), [sorted(np.flatnonzero(found.subgroup == b).tolist()) for b in (0, 1)]
    ([0, 0, 0, 0], [[0, 2], [1, 3]])
    """
    return arrange(
        matrix,
        k,
        p,
        weight=shape_weight,
        effort=effort,
        max_level=max_level,
        level=0,
        center=center,
        seed=seed,
        progress=progress,
    )
