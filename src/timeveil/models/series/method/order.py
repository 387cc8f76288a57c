"""An order of series that tells nothing of how they came in.

Methods cut ties by row. Series are therefore sorted by their values before a method sees them. Among those
with the same values different sensitive values take turns, so that no cell is filled with one of them while
others are at hand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from timeveil.domain.ordering import row_keys
from timeveil.models.series.method.partition import Labels, Matrix, Partition


def settled_order(matrix: Matrix, attributes: pa.Table, sensitive: tuple[str, ...]) -> Labels:
    """Places of the series, sorted by values; equal ones by turns of what is sensitive.

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
    """Places of rows sorted from the first column to the last, and numbers that equal neighbours share.

    >>> [found.tolist() for found in by_values(np.array([[2.0, 1.0], [1.0, 3.0], [1.0, 2.0], [2.0, 1.0]]))]
    [[2, 1, 0, 3], [0, 1, 2, 2]]
    """
    order = np.argsort(rows[:, 0])
    runs = _runs(rows[order, :1])
    tied = np.flatnonzero(np.bincount(runs)[runs] > 1)
    if len(tied) == 0:
        return order, runs
    some = np.sort(order[tied])
    order[tied] = some[np.lexsort(rows[some].T[::-1])]
    return order, _runs(rows[order])


def placed_back(partition: Partition, order: Labels) -> Partition:
    """The partition of series that were in this order, for the order they came in."""
    group, subgroup = np.empty_like(partition.group), np.empty_like(partition.subgroup)
    group[order], subgroup[order] = partition.group, partition.subgroup
    return replace(partition, group=group, subgroup=subgroup)


def _runs(rows: Matrix) -> Labels:
    """Sorted rows numbered so that equal ones have the same number."""
    steps = (rows[1:] != rows[:-1]).any(axis=1)
    return np.concatenate([[0], np.cumsum(steps)])


def _by_turns(runs: Labels, attributes: pa.Table, sensitive: tuple[str, ...]) -> Labels:
    hidden = row_keys(attributes.select(list(sensitive)))
    whole = row_keys(attributes, sensitive)
    order = np.lexsort((whole, hidden, runs))
    first = np.concatenate([[True], np.diff(runs[order]).astype(bool) | np.diff(hidden[order]).astype(bool)])
    starts = np.flatnonzero(first)
    turn = np.empty(len(order), np.int64)
    turn[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return np.lexsort((whole, turn, runs))
