"""Group formation: subgroups of p united to groups of k with little value loss (Shou et al. 2013, §5.3.3).

The subgroup of least value loss starts a group; the one that makes the group's value loss least joins it,
until the group has k series. Subgroups left over join where the loss grows least. The clear path looks at all
subgroups; the fast one looks only at those in one bucket of near ones, whose loss is within 3 %.

Where we depart from the print
    VL(G ∪ s) and "value loss" of a subgroup are totals: size times width.
    |PGL| counts series, not subgroups.
Cost: subgroups squared, or subgroups times the size of a bucket.
"""

from __future__ import annotations

import numpy as np

from timeveil.models.series.method.partition import Labels, Matrix
from timeveil.models.series.method.splitting import gathered

BUCKET = 256
WIDTH_SHARE = 0.75
"""How much a subgroup's width counts beside its middle in the cut of buckets: wide ones go with wide ones."""

Envelope = tuple[Matrix, Matrix, int]
"""Lowest values, highest values, and how many series are between them."""


def ranges(matrix: Matrix, labels: Labels) -> tuple[Matrix, Matrix]:
    """The lowest and highest value of each label at each instant."""
    from timeveil.models.series.kernels.group_formation import ranges_of  # noqa: PLC0415

    low, high = ranges_of(matrix, *gathered(labels))
    return low, high


def presplit(matrix: Matrix, labels: Labels, minimum: int) -> Labels:
    """Each label's series in parts of [minimum, 2 * minimum) that are near each other, as new labels.

    The top-down search of the paper is replaced by a balanced k-d cut, of the values as they are or on their
    principal axes, whichever loses less.

    >>> presplit(np.array([[0.0], [9.0], [1.0], [8.0]]), np.zeros(4, np.int64), 2).tolist()
    [0, 1, 0, 1]
    """
    rows, bounds = gathered(labels)
    values = matrix[rows]
    parts = _cut(values, bounds, minimum)
    if matrix.shape[1] > 1:
        centred = values - values.mean(axis=0)
        turned = _cut(centred @ np.linalg.eigh(centred.T @ centred)[1], bounds, minimum)
        parts = min(parts, turned, key=lambda tried: _total_loss(values, tried))
    cut = np.full(len(labels), -1, np.int64)
    cut[rows] = parts
    return cut


def _cut(features: Matrix, bounds: Labels, minimum: int) -> Labels:
    from timeveil.models.series.kernels.cuts import balanced_cut  # noqa: PLC0415

    order, offsets, _ = balanced_cut(features, bounds, minimum)
    parts = np.empty(len(features), np.int64)
    parts[order] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return parts


def _total_loss(values: Matrix, parts: Labels) -> float:
    return float((np.bincount(parts) * _width(*ranges(values, parts))).sum())


def form_groups(low: Matrix, high: Matrix, size: Labels, k: int, *, exact: bool = False) -> Labels:
    """The group of each subgroup, given its envelope and size; needs k series in all.

    >>> ends = np.array([[0.0], [10.0], [1.0], [11.0]])
    >>> form_groups(ends, ends, np.array([2, 2, 2, 2]), 4).tolist()
    [0, 1, 0, 1]
    """
    group = _formed_clearly(low, high, size, k) if exact else _formed_in_buckets(low, high, size, k)
    return _numbered(group)


def _formed_in_buckets(low: Matrix, high: Matrix, size: Labels, k: int) -> Labels:
    """The better of two ways to cut buckets: by the middles of subgroups, and by their widths too."""
    ways = [_formed(low, high, size, k, share) for share in (0.0, WIDTH_SHARE)]
    return min(ways, key=lambda group: _united_loss(low, high, size, group))


def _formed(low: Matrix, high: Matrix, size: Labels, k: int, share: float) -> Labels:
    from timeveil.models.series.kernels.cuts import balanced_cut  # noqa: PLC0415
    from timeveil.models.series.kernels.group_formation import form_in_buckets  # noqa: PLC0415

    least = max(BUCKET, 4 * -(-k // max(int(size.min()), 1)))
    whole = np.array([0, len(size)], np.int64)
    breadth = share * np.sqrt(low.shape[1]) * _width(low, high)
    order, bounds, _ = balanced_cut(np.column_stack([(low + high) / 2, breadth]), whole, least)
    group = np.full(len(size), -1, np.int64)
    form_in_buckets(low, high, size, order, bounds, k, group)
    return group


def _united_loss(low: Matrix, high: Matrix, size: Labels, group: Labels) -> float:
    """Total value loss of groups of subgroups."""
    width = _width(ranges(low, group)[0], ranges(high, group)[1])
    return float((np.bincount(group, size) * width).sum())


def _formed_clearly(low: Matrix, high: Matrix, size: Labels, k: int) -> Labels:
    """Steps 1 to 5."""
    group = np.full(len(size), -1, np.int64)
    large = np.flatnonzero(size >= k)
    group[large] = np.arange(len(large))
    envelopes = [(low[s], high[s], int(size[s])) for s in large]
    alone = size * _width(low, high)
    while size[group < 0].sum() >= k:
        free = np.flatnonzero(group < 0)
        start = free[np.argmin(alone[free])]
        group[start] = len(envelopes)
        bottom, top, count = low[start], high[start], int(size[start])
        while count < k:
            free = np.flatnonzero(group < 0)
            united = _width(np.minimum(low[free], bottom), np.maximum(high[free], top))
            nearest = free[np.argmin((count + size[free]) * united)]
            group[nearest] = len(envelopes)
            bottom, top = np.minimum(low[nearest], bottom), np.maximum(high[nearest], top)
            count += int(size[nearest])
        envelopes.append((bottom, top, count))
    for s in np.flatnonzero(group < 0):
        group[s] = _least_growth(low[s], high[s], int(size[s]), envelopes)
    return group


def _least_growth(low: Matrix, high: Matrix, size: int, envelopes: list[Envelope]) -> int:
    """The group whose total value loss grows least with one more subgroup, which joins it."""
    bottoms = np.array([bottom for bottom, _, _ in envelopes])
    tops = np.array([top for _, top, _ in envelopes])
    counts = np.array([count for _, _, count in envelopes])
    united = _width(np.minimum(bottoms, low), np.maximum(tops, high))
    best = int(np.argmin((counts + size) * united - counts * _width(bottoms, tops)))
    envelopes[best] = (np.minimum(bottoms[best], low), np.maximum(tops[best], high), int(counts[best]) + size)
    return best


def _width(low: Matrix, high: Matrix) -> Matrix:
    """Root mean square width of envelopes (eq. 2)."""
    width: Matrix = np.sqrt(np.square(high - low).mean(axis=-1))
    return width


def _numbered(group: Labels) -> Labels:
    """Groups numbered by their first subgroup."""
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]
