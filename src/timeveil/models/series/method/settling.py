"""Orders that follow from content: of series before a method, and of groups in a release.

Methods settle ties by row, so the order of the input must not reach them; and no group's number may show it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from timeveil.domain.release import row_keys
from timeveil.models.series.method.partition import Labels, Matrix, equal_before, runs_of


def settled_order(matrix: Matrix, attributes: pa.Table, sensitive: tuple[str, ...]) -> Labels:
    """Rows sorted by their values; equal series take turns by what is sensitive.

    >>> ill = pa.table({"ill": ["a", "a", "b", "b"]})
    >>> settled_order(np.array([[1.0], [1.0], [1.0], [0.0]]), ill, ("ill",)).tolist()
    [3, 0, 2, 1]
    """
    order, runs = by_values(matrix)
    tied = np.flatnonzero(np.bincount(runs)[runs] > 1)
    if len(tied) and attributes.num_columns:
        rows = attributes.take(pa.array(order[tied]))
        secret, content = row_keys(rows.select(list(sensitive))), row_keys(rows, sensitive)
        by_secret = np.lexsort((content, secret, runs[tied]))
        # The first of each sensitive value, the second of each, and so on.
        differs = [np.diff(keys[by_secret], prepend=-1) != 0 for keys in (secret, runs[tied])]
        value = np.cumsum(differs[0] | differs[1])
        turn = np.empty(len(tied), np.int64)
        turn[by_secret] = equal_before(value)
        order[tied] = order[tied][np.lexsort((content, turn, runs[tied]))]
    return order


def by_values(rows: Matrix) -> tuple[Labels, Labels]:
    """Rows sorted from the first column to the last, and numbers that equal neighbours share."""
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


def group_numbers(shown: Sequence[Matrix], group: Labels, content: Labels) -> Labels:
    """The rank of each group by its bounds and means; equal ones by what their rows show."""
    bounds = np.nan_to_num(np.stack(shown, axis=2).reshape(len(shown[0]), -1), nan=-np.inf)
    order, runs = by_values(bounds)
    if len(runs) and runs[-1] + 1 < len(runs):
        rows, begins = runs_of(group)
        contents = [sorted(content[part].tolist()) for part in np.split(rows, begins[1:-1])]
        ranked = sorted(zip(runs.tolist(), order.tolist(), strict=True), key=lambda g: (g[0], contents[g[1]]))
        order = np.array([number for _, number in ranked], np.int64)
    return np.argsort(order)
