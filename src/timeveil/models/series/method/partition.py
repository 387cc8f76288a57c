"""What a method takes and gives: series in an order of their own, groups, and a pattern for each subgroup.

Methods settle ties by row. Series are therefore sorted by their values before a method sees them, so that
the order of the input decides nothing. Of series with the same values, those with different sensitive values
take turns: no subgroup fills up with one sensitive value while others are at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeveil.domain.ordering import row_keys

Matrix = NDArray[np.float64]
"""One row per series, one column per instant; finite, C-contiguous."""
Floats = NDArray[Any]
Labels = NDArray[np.int64]
Symbols = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Partition:
    """Series in groups, groups in subgroups, a pattern for each subgroup.

    `group` and `subgroup` have one number per series, -1 where it is suppressed; subgroups are numbered
    over all groups, from 0, and each is part of one group. `symbols` and `levels` have one row per subgroup
    and one column per instant: the symbol, from 0, of `levels` equally likely ones. `own` says whether
    every pattern is each member's own. `facts` are plain numbers about the run.
    """

    group: Labels
    subgroup: Labels
    symbols: Symbols
    levels: Symbols
    own: bool
    facts: dict[str, Any] = field(default_factory=dict)

    def back_from(self, order: Labels) -> Partition:
        """The partition of the series as they were before this order."""
        group, subgroup = np.empty_like(self.group), np.empty_like(self.subgroup)
        group[order], subgroup[order] = self.group, self.subgroup
        return replace(self, group=group, subgroup=subgroup)


def compact(labels: Labels) -> tuple[Labels, Labels]:
    """The labels in use, and labels numbered by their rank among them; -1 stays.

    >>> used, number = compact(np.array([7, -1, 3, 7]))
    >>> used.tolist(), number.tolist()
    ([3, 7], [1, -1, 0, 1])
    """
    used = np.zeros(int(labels.max(initial=-1)) + 2, np.bool_)
    used[labels] = True
    used[-1] = False  # where -1 points
    number = np.cumsum(used) - 1
    number[-1] = -1
    return np.flatnonzero(used), number[labels]


def runs_of(labels: Labels) -> tuple[Labels, Labels]:
    """Rows label by label, in their order, and the bounds of each label; rows with -1 are left out.

    >>> rows, bounds = runs_of(np.array([1, 0, -1, 1]))
    >>> rows.tolist(), bounds.tolist()
    ([1, 0, 3], [0, 1, 3])
    """
    order = np.argsort(labels, kind="stable")
    # Sorted labels have every -1 in front.
    order = order[np.searchsorted(labels[order], 0) :]
    return order, np.append(0, np.cumsum(np.bincount(labels[order], minlength=0)))


def run_ranges(values: Floats, bounds: Labels) -> tuple[Floats, Floats]:
    """The lowest and highest value of each run of rows between two bounds, at each instant."""
    return np.minimum.reduceat(values, bounds[:-1]), np.maximum.reduceat(values, bounds[:-1])


def envelope_widths(low: Floats, high: Floats) -> Floats:
    """Root mean square width of each envelope (eq. 2)."""
    gap = high - low
    widths: Floats = np.sqrt(np.einsum("...j,...j->...", gap, gap) / gap.shape[-1])
    return widths


def settled_order(matrix: Matrix, attributes: pa.Table, sensitive: tuple[str, ...]) -> Labels:
    """Rows sorted by their values; equal series take turns by what is sensitive.

    >>> ill = pa.table({"ill": ["a", "a", "b", "b"]})
    >>> settled_order(np.array([[1.0], [1.0], [1.0], [0.0]]), ill, ("ill",)).tolist()
    [3, 0, 2, 1]
    """
    order, runs = by_values(matrix)
    tied = np.flatnonzero(np.bincount(runs)[runs] > 1)
    if len(tied) and attributes.num_columns:
        order[tied] = order[tied][_by_turns(runs[tied], attributes.take(pa.array(order[tied])), sensitive)]
    return order


def by_values(rows: Matrix) -> tuple[Labels, Labels]:
    """Rows sorted from the first column to the last, and numbers that equal neighbours share.

    >>> [found.tolist() for found in by_values(np.array([[2.0, 1.0], [1.0, 3.0], [1.0, 2.0], [2.0, 1.0]]))]
    [[2, 1, 0, 3], [0, 1, 2, 2]]
    """
    order = np.argsort(rows[:, 0])
    runs = _equal_runs(rows[order, :1])
    # The first column settles nearly all; only rows that tie there are sorted by every column.
    tied = np.flatnonzero(np.bincount(runs)[runs] > 1)
    if len(tied) == 0:
        return order, runs
    # In the order of the input, so that the stable sort leaves equal rows in it.
    unsettled = np.sort(order[tied])
    order[tied] = unsettled[np.lexsort(rows[unsettled].T[::-1])]
    return order, _equal_runs(rows[order])


def _equal_runs(rows: Matrix) -> Labels:
    """Sorted rows numbered so that equal ones share a number."""
    return np.append(0, np.cumsum((rows[1:] != rows[:-1]).any(axis=1)))


def _by_turns(runs: Labels, attributes: pa.Table, sensitive: tuple[str, ...]) -> Labels:
    """Rows of equal series: the first of each sensitive value, the second of each, and so on."""
    secret = row_keys(attributes.select(list(sensitive)))
    content = row_keys(attributes, sensitive)
    order = np.lexsort((content, secret, runs))
    steps = np.diff(runs[order]).astype(bool) | np.diff(secret[order]).astype(bool)
    starts = np.append(0, np.flatnonzero(steps) + 1)
    # The position of each row in its run of one sensitive value: its turn.
    turn = np.empty(len(order), np.int64)
    turn[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return np.lexsort((content, turn, runs))
