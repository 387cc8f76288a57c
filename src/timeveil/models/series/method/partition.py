"""What the methods share: the partition they return, orders by content, and ways to bring near rows together.

Methods see series sorted by content and settle ties by row, so the order of the input decides nothing, and no
group's number shows it. Cuts work on many segments of rows at once: segments of one length make one array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.release import row_keys
from timeveil.models.series.parameters import SeriesParameters
from timeveil.symbols import Representation, power_of_two, representation_of

Matrix = NDArray[np.float64]  # one row per series, one column per instant; finite, C-contiguous
Floats = NDArray[Any]
Symbols = NDArray[np.uint8]

CELLS_AT_ONCE = 1 << 22
"""Numbers in the arrays of one step: few enough for the cache, and for an interrupt to be noticed soon."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Series in groups, groups in subgroups, a pattern for each subgroup.

    `group` and `subgroup` have one number per series, -1 where it is suppressed; subgroups are numbered
    over all groups, from 0, and each is part of one group. `symbols` and `levels` have one row per subgroup
    and one column per instant: the symbol, from 0, of `levels` equally likely ones. `own` says whether
    every pattern is each member's own. `facts` are plain numbers about the run.
    """

    group: Ints
    subgroup: Ints
    symbols: Symbols
    levels: Symbols
    own: bool
    facts: dict[str, Any] = field(default_factory=dict)

    def back_from(self, order: Ints, count: int) -> Partition:
        """The partition of all series as they were before this order; those not in it are suppressed."""
        group, subgroup = np.full((2, count), -1, np.int64)
        group[order], subgroup[order] = self.group, self.subgroup
        return replace(self, group=group, subgroup=subgroup)


def representation_in(parameters: SeriesParameters, matrix: Matrix) -> Representation:
    """What the symbols of these series describe."""
    return representation_of(parameters.as_arguments(), matrix.shape[1])


def side_by_side(count: int, parts: Iterable[tuple[Ints, Partition]], name: str) -> Partition:
    """The groups of parts as one partition of `count` series; `name` is what the facts call the parts."""
    group, subgroup = np.full((2, count), -1, np.int64)
    partitions, groups, subgroups = list[Partition](), 0, 0
    for rows, part in parts:
        inside = part.group >= 0
        group[rows[inside]] = part.group[inside] + groups
        subgroup[rows[inside]] = part.subgroup[inside] + subgroups
        groups += int(part.group.max(initial=-1)) + 1
        subgroups += len(part.symbols)
        partitions.append(part)
    symbols, levels = (
        np.concatenate([getattr(part, name) for part in partitions]) for name in ("symbols", "levels")
    )
    facts = {name: len(partitions), "suppressed": int(np.count_nonzero(group < 0))}
    return Partition(group, subgroup, symbols, levels, all(part.own for part in partitions), facts)


def numbered_as_met(labels: Ints) -> tuple[Ints, Ints]:
    """Labels numbered from 0 in the order they first come, and where each comes first."""
    _, first, label = np.unique(labels, return_index=True, return_inverse=True)
    # Sorting twice turns first positions into ranks.
    return np.argsort(np.argsort(first))[label], np.sort(first)


def equal_before(labels: Ints) -> Ints:
    """How many equal labels come before each."""
    order = np.argsort(labels, kind="stable")
    earlier = np.empty(len(labels), np.int64)
    earlier[order] = np.arange(len(labels)) - np.searchsorted(labels[order], labels[order])
    return earlier


def runs_of(labels: Ints) -> tuple[Ints, Ints]:
    """Rows label by label, in their order, and the bounds of each label; rows with -1 are left out."""
    order = np.argsort(labels, kind="stable")
    # Sorted labels have every -1 in front.
    order = order[np.searchsorted(labels[order], 0) :]
    return order, np.append(0, np.cumsum(np.bincount(labels[order], minlength=0)))


def settled_order(matrix: Matrix, attributes: pa.Table, sensitive: tuple[str, ...]) -> Ints:
    """Rows sorted by their values; equal series take turns by what is sensitive."""
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


def by_values(rows: Matrix) -> tuple[Ints, Ints]:
    """Rows sorted from the first column to the last, and numbers that equal neighbours share."""
    order = np.argsort(rows[:, 0])
    runs = _equal_runs(rows[order, :1])
    # The first column settles nearly all; only rows that tie there are sorted by every column.
    tied = np.flatnonzero(np.bincount(runs)[runs] > 1)
    # In the order of the input, so that the stable sort leaves equal rows in it.
    unsettled = np.sort(order[tied])
    order[tied] = unsettled[np.lexsort(rows[unsettled].T[::-1])]
    return order, _equal_runs(rows[order])


def _equal_runs(rows: Matrix) -> Ints:
    return np.append(0, np.cumsum((rows[1:] != rows[:-1]).any(axis=1)))


def group_numbers(shown: Sequence[Matrix], group: Ints, content: Ints) -> Ints:
    """The rank of each group by its bounds and means; equal ones by what their rows show."""
    bounds = np.nan_to_num(np.stack(shown, axis=2).reshape(len(shown[0]), -1), nan=-np.inf)
    order, runs = by_values(bounds)
    if len(runs) and runs[-1] + 1 < len(runs):
        rows, begins = runs_of(group)
        contents = [sorted(content[part].tolist()) for part in np.split(rows, begins[1:-1])]
        ranked = sorted(zip(runs.tolist(), order.tolist(), strict=True), key=lambda g: (g[0], contents[g[1]]))
        order = np.array([number for _, number in ranked], np.int64)
    return np.argsort(order)


def run_ranges(values: Floats, bounds: Ints) -> tuple[Floats, Floats]:
    """The lowest and highest value of each run of rows between two bounds, at each instant."""
    return np.minimum.reduceat(values, bounds[:-1]), np.maximum.reduceat(values, bounds[:-1])


def scaled(matrix: Matrix) -> Matrix:
    """The values near 1, so that squares of huge ones do not overflow; their digits stay the same."""
    return matrix / power_of_two(matrix.min(), matrix.max())


def envelope_widths(low: Floats, high: Floats) -> Floats:
    """Root mean square width of each envelope (eq. 2)."""
    gap = high - low
    return np.asarray(np.sqrt(np.einsum("...j,...j->...", gap, gap) / gap.shape[-1]))


def total_width(values: Floats, bounds: Ints) -> float:
    """The widths of the envelopes of runs of rows, each times its number of rows."""
    return float(np.diff(bounds) @ envelope_widths(*run_ranges(values, bounds)))


def balanced_cut(features: Floats, segments: Ints, minimum: int) -> tuple[Ints, Ints, Ints]:
    """Cut each segment into parts of [minimum, 2 * minimum) near rows; a smaller segment is one part.

    `segments` are bounds of runs of rows. The result is the rows part by part, the bounds of the parts, and
    the segment of each part. Every segment is halved across its widest column until its parts are small, all
    segments of a depth at once: O(n log n), whatever the ties. Rows keep their order in a part.
    """
    columns = np.ascontiguousarray(features.T)
    order = np.arange(len(features))
    segment = np.flatnonzero(np.diff(segments))
    begin, end = segments[segment], segments[segment + 1]
    while True:
        length = end - begin
        pieces = length // minimum
        large = pieces >= 2
        if not large.any():
            return order, np.append(segments[:1], end), segment
        # Half of the pieces go left, with their share of the rows, so that no part ends below the minimum.
        left = np.where(large, length * (pieces // 2) // np.maximum(pieces, 1), length)
        for slots in slots_of(begin[large], length[large], lambda n: CELLS_AT_ONCE // (n * len(columns))):
            _halve(columns, order, slots, left[np.searchsorted(begin, slots[0, 0])])
        # Each large segment becomes two: the second of them begins where the first ends.
        begin, end = np.repeat(begin, large + 1), np.repeat(end, large + 1)
        second = np.flatnonzero(large) + np.arange(1, np.count_nonzero(large) + 1)
        begin[second] += left[large]
        end[second - 1] = begin[second]
        segment = np.repeat(segment, large + 1)


def _halve(columns: Floats, order: Ints, slots: Ints, left: int) -> None:
    """Bring the `left` rows that are smallest in the widest column to the front of each segment."""
    rows = order[slots]
    values = columns[:, rows]
    across = np.ptp(values, axis=2).argmax(axis=0)
    # A selection, not a sort: rows keep their order on both sides.
    front = first_smallest(values[across, np.arange(len(rows))], left)
    order[slots[:, :left]] = rows[front].reshape(len(rows), -1)
    order[slots[:, left:]] = rows[~front].reshape(len(rows), -1)


def gather_nearest(features: Floats, segments: Ints, size: int) -> tuple[Ints, Ints]:
    """Rows group by group, and the bounds of the groups.

    A group has `size` rows, the last of a segment up to 2 * size - 1. In each segment the row farthest from
    the middle takes the rows nearest to it, and so on with what is left (MDAV). Groups are rounder than those
    of a cut, with narrower envelopes on most real data. Cost: rows times the length of a segment.
    """
    order, bounds = np.arange(len(features)), [segments]
    for slots in slots_of(segments[:-1], np.diff(segments), lambda length: CELLS_AT_ONCE // length**2):
        order[slots] = np.take_along_axis(slots, _nearest_first(features[slots], size), axis=1)
        bounds.append((slots[:, :1] + np.arange(size, slots.shape[1] - size + 1, size)).ravel())
    return order, np.unique(np.concatenate(bounds))


def _nearest_first(points: Floats, size: int) -> Ints:
    """The places of the points of each segment, group by group."""
    count, length, _ = points.shape
    segment = np.arange(count)
    points = points - points.mean(axis=1, keepdims=True)  # near the origin products keep their digits
    products = points @ points.transpose(0, 2, 1)
    squares = np.einsum("sii->si", products).copy()
    # The centre of the free points is never formed: products with their sum rank distances as well.
    free = np.ones((count, length), np.bool_)
    to_middle = np.zeros_like(squares)  # product of each point with the sum of the free ones
    groups = []
    for remaining in range(length, 2 * size - 1, -size):
        far = np.where(free, squares - to_middle * (2 / remaining), -np.inf).argmax(axis=1)
        distance = np.where(free, squares - 2 * products[segment, far], np.inf)
        near = first_smallest(distance, size)
        groups.append(np.nonzero(near)[1].reshape(count, size))
        to_middle -= products[segment[:, None], groups[-1]].sum(axis=1)
        free &= ~near
    groups.append(np.nonzero(free)[1].reshape(count, -1))
    return np.concatenate(groups, axis=1)


def presplit(matrix: Matrix, labels: Ints, minimum: int) -> Ints:
    """The series of each label in parts of [minimum, 2 * minimum) near ones, as new labels; -1 stays.

    A balanced k-d cut replaces the top-down search of the paper, of the values as they are or on their
    principal axes, whichever loses less.
    """
    rows, bounds = runs_of(labels)
    values = matrix[rows]
    axes = [values] if matrix.shape[1] == 1 else [values, principal(values)]
    cuts = [balanced_cut(features, bounds, minimum)[:2] for features in axes]
    order, parts = min(cuts, key=lambda cut: total_width(values[cut[0]], cut[1]))
    part = np.full(len(labels), -1, np.int64)
    part[rows[order]] = np.repeat(np.arange(len(parts) - 1), np.diff(parts))
    return part


def principal(values: Matrix) -> Matrix:
    """The series on their principal axes; the products of series are taken where they are the fewer."""
    centred = values - values.mean(axis=0)
    if len(centred) >= centred.shape[1]:
        return np.asarray(centred @ np.linalg.eigh(centred.T @ centred)[1])
    strength, vectors = np.linalg.eigh(centred @ centred.T)
    return np.asarray(vectors * np.sqrt(np.maximum(strength, 0)))


def first_smallest(keys: Floats, number: int) -> Flags:
    """Which `number` keys of each row are the smallest; of equal ones the first."""
    # All below the edge, and of those equal to it as many as there is room for.
    edge = np.partition(keys, number - 1, axis=1)[:, number - 1, None]
    below, equal = keys < edge, keys == edge
    room = number - np.count_nonzero(below, axis=1)
    return np.asarray(below | (equal & (np.cumsum(equal, axis=1) <= room[:, None])))


def slots_of(begins: Ints, lengths: Ints, at_once: Callable[[int], int]) -> Iterator[Ints]:
    """The places of segments, a few of one length at a time: as many as `at_once` says for the length."""
    for length in np.unique(lengths[lengths > 0]).tolist():
        alike, step = begins[lengths == length], max(1, at_once(length))
        for first in range(0, len(alike), step):
            yield alike[first : first + step, None] + np.arange(length)
