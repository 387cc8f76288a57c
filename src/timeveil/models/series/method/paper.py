"""The two methods of the paper, naive and KAPRA (Shou, Shang, Chen, Chen, Zhang 2013, §5.2 and §5.3).

Naive: groups first. Near series make groups of k; a splitting tree in each finds patterns that p series
share; leaves below p join the leaf whose pattern is most like theirs and take its pattern.

KAPRA: patterns first. One splitting tree over all series; series in leaves below p are recycled: regrouped by
their own patterns from the highest such level down to 1, where all agree, so fewer than p are left over. The
subgroups, cut by value to fewer than 2p, are united to groups of k with little value loss.

A node of the tree holds series with one pattern at its level. It is split by their patterns one level up,
until a split would leave someone alone. All nodes of a level are split at once: the node and the symbols of a
series are packed into one number.

Where this departs from the print is in `docs/explanation/errata.md`. Besides, similar patterns are those with
little pattern loss (eq. 3) between their reconstructions, and a group is formed among a few hundred near
subgroups, not among all; the loss is within 3 %.

Cost: a few sorts, per level, of the series still in the tree; for KAPRA also subgroups times the size of a
bucket, times the instants.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.wording import Progress, silent
from timeveil.models.series.method.partition import (
    Matrix,
    Partition,
    balanced_cut,
    envelope_widths,
    equal_before,
    numbered_as_met,
    presplit,
    representation_in,
    run_ranges,
    runs_of,
    scaled,
    slots_of,
)
from timeveil.models.series.parameters import SeriesParameters
from timeveil.symbols import pattern_distance, positions_of, reconstructed, symbols_at

EQUALLY_FAR = 1e-12
ROOM = 2**62
BUCKET = BUCKETS_AT_ONCE = 128
WIDTH_SHARE = 0.75
"""How much a subgroup's width counts against its middle when buckets are cut: wide ones go with wide ones."""


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaf of each series, -1 where it is in none, the level of it, and whether it is `undersized`.

    All series of a leaf have one pattern at its level. An undersized leaf has fewer than p.
    """

    of: Ints
    level: Ints
    undersized: Flags

    @classmethod
    def none_yet(cls, count: int) -> Self:
        return cls(np.full(count, -1, np.int64), np.ones(count, np.int64), np.zeros(count, np.bool_))

    def add(self, rows: Ints, label: Ints, level: int | Ints, *, undersized: bool = False) -> None:
        """Make a leaf of all rows with one label, at one level or at that of each row."""
        self.of[rows] = label + int(self.of.max(initial=-1)) + 1
        self.level[rows], self.undersized[rows] = level, undersized

    def numbered(self) -> Self:
        """The same leaves, numbered by their first series."""
        inside = self.of >= 0
        self.of[inside] = numbered_as_met(self.of[inside])[0]
        return self


def naive(matrix: Matrix, parameters: SeriesParameters, progress: Progress = silent) -> Partition:
    """Groups of k with subgroups of p, groups first; nobody is suppressed."""
    progress("cutting by value", 0.0)
    group = presplit(scaled(matrix), np.zeros(len(matrix), np.int64), parameters.k)
    progress("finding patterns", 0.4)
    partition = patterns_in(group, matrix, parameters)
    progress("done", 1.0)
    return partition


def patterns_in(group: Ints, matrix: Matrix, parameters: SeriesParameters) -> Partition:
    """Patterns and subgroups in the groups of series."""
    representation = representation_in(parameters, matrix)
    u = positions_of(matrix, parameters.center, representation)
    leaves = splitting_tree(u, group, parameters.p, parameters.max_level)
    rows, bounds = runs_of(leaves.of)
    first = rows[bounds[:-1]]
    level = leaves.level[first, None]
    symbols = symbols_at(u[first], level)
    shapes = representation.sequence(reconstructed(symbols, level))
    joins = _most_similar(shapes, np.diff(bounds), leaves.undersized[first], group[first])
    used, subgroup = np.unique(joins[leaves.of], return_inverse=True)
    levels = np.repeat(level[used], u.shape[1], axis=1).astype(np.uint8)
    joined = int(np.count_nonzero(leaves.undersized))
    are_own = bool((symbols_at(u, levels[subgroup]) == symbols[used][subgroup]).all())
    return Partition(group, subgroup, symbols[used], levels, are_own, {"joined": joined, "suppressed": 0})


def _most_similar(shapes: Matrix, size: Ints, undersized: Flags, group: Ints) -> Ints:
    """The leaf that each leaf ends in: itself, or the most similar good leaf of its group if undersized.

    In a group the smallest leaf goes first; of equally similar leaves the smaller one takes it. The first
    leaves of all groups go at once, then the second ones, and so on.
    """
    joins, size = np.arange(len(size)), size.copy()
    bad, good = np.flatnonzero(undersized), np.flatnonzero(~undersized)
    bad = bad[np.lexsort((size[bad], group[bad]))]
    good = good[np.argsort(group[good], kind="stable")]
    begin, end = (np.searchsorted(group[good], group[bad], side=side) for side in ("left", "right"))
    # The rank of each undersized leaf in its group: leaves of equal rank are of different groups.
    turn = equal_before(group[bad])
    for number in range(int(turn.max(initial=-1)) + 1):
        current = np.flatnonzero(turn == number)
        lengths = end[current] - begin[current]
        starts = np.cumsum(lengths) - lengths
        pair = np.repeat(np.arange(len(current)), lengths)
        # All pairs of an undersized leaf and a good one of its group, flattened.
        candidate = good[np.arange(lengths.sum()) - np.repeat(starts - begin[current], lengths)]
        far = pattern_distance(shapes[bad[current]][pair], shapes[candidate])
        nearest = far <= np.minimum.reduceat(far, starts)[pair] + EQUALLY_FAR
        # By pair, nearest first, then smallest: the winner of each pair is at its start.
        order = np.lexsort((size[candidate], ~nearest, pair))
        joins[bad[current]] = candidate[order[starts]]
        size[joins[bad[current]]] += size[bad[current]]
    return joins


def kapra(matrix: Matrix, parameters: SeriesParameters, progress: Progress = silent) -> Partition:
    """Groups of k with subgroups of p, patterns first; every pattern is each member's own."""
    k, p, max_level = parameters.k, parameters.p, parameters.max_level
    progress("finding patterns", 0.0)
    u = positions_of(matrix, parameters.center, representation_in(parameters, matrix))
    everyone = np.zeros(len(u), np.int64)
    leaves = recycle(u, splitting_tree(u, everyone, p, max_level), p)
    if np.count_nonzero(leaves.of >= 0) < k:
        extremes = u.min(axis=0, keepdims=True), u.max(axis=0, keepdims=True)
        leaves = Leaves.none_yet(len(u))
        leaves.add(np.arange(len(u)), everyone, agreeing_levels(*extremes, np.ones(1, np.int64), max_level))
    progress("cutting by value", 0.4)
    values = scaled(matrix)
    subgroup = presplit(values, leaves.of, p)
    progress("forming groups", 0.6)
    rows, bounds = runs_of(subgroup)
    group_of = form_groups(*run_ranges(values[rows], bounds), np.diff(bounds), k)
    # Any member shows the pattern of its subgroup, so the first one does.
    first = rows[bounds[:-1]]
    levels = np.repeat(leaves.level[first, None], u.shape[1], axis=1).astype(np.uint8)
    # Suppressed series have subgroup -1, which reads the -1 appended.
    group = np.append(group_of, -1)[subgroup]
    facts = {"patterns": int(leaves.of.max()) + 1, "suppressed": len(matrix) - len(rows)}
    progress("done", 1.0)
    return Partition(group, subgroup, symbols_at(u[first], levels), levels, own=True, facts=facts)


def recycle(u: Matrix, leaves: Leaves, p: int) -> Leaves:
    """The leaves of at least p, equal ones merged; series that find no other are in none (§5.3.2)."""
    recycled = Leaves.none_yet(len(u))
    good, waiting = np.flatnonzero(~leaves.undersized), np.flatnonzero(leaves.undersized)
    recycled.add(good, leaves.of[good], leaves.level[good])
    level = int(leaves.level[waiting].max(initial=0))
    # At level 1 all patterns agree, so this ends there at the latest.
    while len(waiting) >= p:
        label = same_pattern(u[waiting], level, np.zeros(len(waiting), np.int64))
        large = np.bincount(label)[label] >= p
        recycled.add(waiting[large], label[large], level)
        waiting = waiting[~large]
        level -= 1
    inside = recycled.of >= 0
    levels = recycled.level[inside]
    # The level as the node: only leaves of one level and one pattern merge.
    recycled.of[inside] = same_pattern(u[inside], levels, levels)
    return recycled.numbered()


def form_groups(low: Matrix, high: Matrix, size: Ints, k: int) -> Ints:
    """The group of each subgroup, given its envelope and size; needs k series in all (§5.3.3).

    Buckets are cut by the middles of subgroups, or by their widths too, whichever loses less.
    """
    width = np.sqrt(low.shape[1]) * envelope_widths(low, high)
    # A bucket holds k series several times over
    minimum = max(BUCKET, 4 * -(-k // max(int(size.min()), 1)))
    least, best = np.inf, np.zeros(len(size), np.int64)
    for share in (0.0, WIDTH_SHARE):
        features = np.column_stack([(low + high) / 2, share * width])
        order, bounds, _ = balanced_cut(features, np.array([0, len(size)]), minimum)
        group = np.empty(len(size), np.int64)
        # Bucket by bucket, buckets of one length together, but only as many as the cache has room for.
        for slots in slots_of(bounds[:-1], np.diff(bounds), lambda _: BUCKETS_AT_ONCE):
            members = order[slots]
            # Groups are numbered from 0 in each bucket, so no two buckets share a number.
            group[members] = slots[:, :1] + _in_buckets(low[members], high[members], size[members], k)
        group = numbered_as_met(group)[0]
        rows, runs = runs_of(group)
        united = envelope_widths(run_ranges(low[rows], runs)[0], run_ranges(high[rows], runs)[1])
        loss = float(np.bincount(group, size) @ united)
        if loss < least:
            least, best = loss, group
    return best


def _in_buckets(low: Matrix, high: Matrix, size: Ints, k: int) -> Ints:
    """Steps 1 to 5 of §5.3.3 in buckets of one length: the group of each subgroup, numbered in its bucket."""
    buckets, length, _ = low.shape
    bucket = np.arange(buckets)
    group = np.full((buckets, length), -1, np.int64)
    # Envelopes and sizes of the groups; the one that grows is the next of its bucket
    bottom, top = np.full_like(low, np.inf), np.full_like(high, -np.inf)
    count = np.zeros((buckets, length), np.int64)
    finished = np.zeros(buckets, np.int64)

    def join(into: Ints, which: Ints, at: Ints) -> None:
        bottom[which, into] = np.minimum(bottom[which, into], low[which, at])
        top[which, into] = np.maximum(top[which, into], high[which, at])
        count[which, into] += size[which, at]
        group[which, at] = into

    # A subgroup of k or more series is a group of its own.
    large = size >= k
    which, at = np.nonzero(large)
    join(np.cumsum(large, axis=1)[which, at] - 1, which, at)
    finished += large.sum(axis=1)
    # In all buckets at once: one more subgroup for the group that grows in each.
    growing = bucket[(size * ~large).sum(axis=1) >= k]
    while len(growing):
        current = finished[growing]
        total = count[growing, current]
        united = envelope_widths(
            np.minimum(low[growing], bottom[growing, current][:, None]),
            np.maximum(high[growing], top[growing, current][:, None]),
        )
        loss = np.where(group[growing] < 0, (total[:, None] + size[growing]) * united, np.inf)
        join(current, growing, loss.argmin(axis=1))
        full = count[growing, current] >= k
        finished[growing[full]] += 1
        remaining = (size[growing] * (group[growing] < 0)).sum(axis=1)
        growing = growing[~full | (remaining >= k)]
    # What is left over, one subgroup per bucket at a time
    while (group < 0).any():
        which = np.flatnonzero((group < 0).any(axis=1))
        at = (group[which] < 0).argmax(axis=1)
        united = envelope_widths(
            np.minimum(bottom[which], low[which, at][:, None]),
            np.maximum(top[which], high[which, at][:, None]),
        )
        grown = (count[which] + size[which, at][:, None]) * united
        exists = count[which] > 0
        grown[exists] -= count[which][exists] * envelope_widths(bottom[which][exists], top[which][exists])
        join(np.where(exists, grown, np.inf).argmin(axis=1), which, at)
    return group


def splitting_tree(u: Matrix, roots: Ints, p: int, max_level: int) -> Leaves:
    """The leaves of one tree per root, from the positions and the root of each series (Algorithm 1)."""
    leaves = Leaves.none_yet(len(u))
    to_maximise = []
    rows, node = np.arange(len(u)), roots
    for level in range(1, max_level + 1):
        size = np.bincount(node)[node]
        leaves.add(rows[size < p], node[size < p], level, undersized=True)
        if level == max_level:
            leaves.add(rows[size >= p], node[size >= p], level)
            break
        # Too small to split in two of p: a leaf now, at a higher level later if its series agree there.
        medium = (p <= size) & (size < 2 * p)
        leaves.add(rows[medium], node[medium], level)
        to_maximise.append(rows[medium])
        rows, node = rows[size >= 2 * p], node[size >= 2 * p]
        if len(rows) == 0:
            break
        child = same_pattern(u[rows], level + 1, node)
        small = np.bincount(child)[child] < p
        # no child of p: the node stays as it is
        stuck = (np.bincount(node[~small], minlength=int(node.max()) + 1) == 0)[node]
        leaves.add(rows[stuck], node[stuck], level)
        # p or more in small children: these are one leaf
        merged = small & ~stuck & (np.bincount(node[small], minlength=int(node.max()) + 1) >= p)[node]
        leaves.add(rows[merged], node[merged], level)
        to_maximise.append(rows[merged])
        rows, node = rows[~stuck & ~merged], child[~stuck & ~merged]
    rows = np.concatenate([np.empty(0, np.int64), *to_maximise])
    if len(rows):
        # each of these leaves at the highest level at which all of its series agree
        order, bounds = runs_of(numbered_as_met(leaves.of[rows])[0])
        rows = rows[order]
        levels = agreeing_levels(*run_ranges(u[rows], bounds), leaves.level[rows[bounds[:-1]]], max_level)
        leaves.level[rows] = np.repeat(levels, np.diff(bounds))
    return leaves.numbered()


def agreeing_levels(low: Matrix, high: Matrix, least: Ints, max_level: int) -> Ints:
    """The highest level at which the lowest and highest positions of a leaf share all symbols, or `least`."""
    levels, waiting = least.copy(), np.arange(len(low))
    for level in range(max_level, 1, -1):
        waiting = waiting[levels[waiting] < level]
        agree = (symbols_at(low[waiting], level) == symbols_at(high[waiting], level)).all(axis=1)
        levels[waiting[agree]] = level
        waiting = waiting[~agree]
    return levels


def same_pattern(u: Matrix, level: int | Ints, node: Ints) -> Ints:
    """A number for each series; those of one node with one pattern at the level, and no others, share it."""
    base = int(np.max(level, initial=1))
    label = node
    for instant in range(u.shape[1]):
        # Before a packed number could overflow, labels are numbered anew: at most one per series.
        if (int(label.max(initial=0)) + 1) * base > ROOM:
            label = np.unique(label, return_inverse=True)[1]
        label = label * base + symbols_at(u[:, instant], level)
    return np.unique(label, return_inverse=True)[1]
