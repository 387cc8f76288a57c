"""What every method of this package gives: who is in which group, and the pattern of each subgroup."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
"""One row per series, one column per instant; finite, C-contiguous."""
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Partition:
    """Series in groups, groups in subgroups, a pattern for each subgroup.

    `group` and `subgroup` have one number per series, -1 where it is suppressed; subgroups are numbered
    over all groups, from 0, and each lies in one group. `symbols` and `levels` have one row per subgroup
    and one column per instant: the symbol, from 0, of `levels` equally likely ones. `own` says whether
    every pattern is each member's own. `facts` are plain numbers about the run.
    """

    group: Labels
    subgroup: Labels
    symbols: NDArray[np.uint8]
    levels: NDArray[np.uint8]
    own: bool
    facts: dict[str, Any] = field(default_factory=dict)


def compact(labels: Labels) -> tuple[Labels, Labels]:
    """The labels in use, and labels numbered by their place among them; -1 stays.

    >>> used, number = compact(np.array([7, -1, 3, 7]))
    >>> used.tolist(), number.tolist()
    ([3, 7], [1, -1, 0, 1])
    """
    there = np.zeros(int(labels.max(initial=-1)) + 2, np.bool_)
    there[labels] = True
    there[-1] = False  # -1 is the last place
    number = np.cumsum(there) - 1
    number[-1] = -1
    return np.flatnonzero(there), number[labels]
