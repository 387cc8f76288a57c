"""KAPRA: patterns first, then groups (Shou, Shang, Chen, Chen, Zhang 2013, §5.3).

A splitting tree over all series finds patterns that p of them share (`naive`). Series in leaves below p are
recycled: regrouped by their own patterns from the highest such level down to 1, where all agree, so fewer
than p are left over. The subgroups, cut by value to fewer than 2p, are united to groups of k with little
value loss: the subgroup of least value loss starts a group, and the one that makes the group's loss least
joins it, until the group has k series. Subgroups left over join where the loss grows least.

Where we depart from the print
    A pattern at one level does not follow from that a level above: recycling regroups series, not leaves.
    Leaves with one level and one pattern, from whatever branch, are one leaf.
    Large subgroups are cut by a balanced k-d cut, which is faster than the top-down search and loses less.
    VL(G ∪ s) and the "value loss" of a subgroup are totals, size times width, and |PGL| counts series.
    A group is formed among a few hundred near subgroups, not among all; the loss is within 3 %.
    Where fewer than k series find a pattern, all series are one subgroup.
Cost: subgroups times the size of such a bucket, times the instants.
"""

from __future__ import annotations

import numpy as np

from timeveil.domain.wording import Progress, silent
from timeveil.models.series.method.naive import Growing, Leaves, agreeing_levels, same_pattern, splitting_tree
from timeveil.models.series.method.partition import (
    Labels,
    Matrix,
    Partition,
    balanced_cut,
    envelope_widths,
    numbered_as_met,
    presplit,
    run_ranges,
    runs_of,
    scaled,
)
from timeveil.symbols import Center, positions, symbols_at, z_normalised

BUCKET = 128
WIDTH_SHARE = 0.75
"""How much a subgroup's width counts against its middle when buckets are cut: wide ones go with wide ones."""


def kapra(
    matrix: Matrix,
    k: int,
    p: int,
    *,
    max_level: int = 20,
    center: Center = "mean",
    progress: Progress = silent,
) -> Partition:
    """Groups of k with subgroups of p, patterns first; every pattern is each member's own."""
    progress("finding patterns", 0.0)
    u = positions(z_normalised(matrix, center))
    leaves = _leaves(u, k, p, max_level)
    progress("cutting by value", 0.4)
    values = scaled(matrix)
    subgroup = presplit(values, leaves.of, p)
    progress("forming groups", 0.6)
    rows, bounds = runs_of(subgroup)
    group_of = form_groups(*run_ranges(values[rows], bounds), np.diff(bounds), k)
    # Any member shows the pattern of its subgroup, so the first one does.
    first = rows[bounds[:-1]]
    levels = np.repeat(leaves.level[leaves.of[first], None], matrix.shape[1], axis=1)
    progress("done", 1.0)
    return Partition(
        # Suppressed series have subgroup -1, which reads the -1 appended.
        np.append(group_of, -1)[subgroup],
        subgroup,
        symbols_at(u[first], levels),
        levels,
        own=True,
        facts={"patterns": len(leaves.level), "suppressed": len(matrix) - len(rows)},
    )


def _leaves(u: Matrix, k: int, p: int, max_level: int) -> Leaves:
    """Leaves of p or more, for at least k series."""
    everyone = np.zeros(len(u), np.int64)
    leaves = recycle(u, splitting_tree(u, everyone, p, max_level), p)
    if np.count_nonzero(leaves.of >= 0) >= k:
        return leaves
    extremes = u.min(axis=0, keepdims=True), u.max(axis=0, keepdims=True)
    level = agreeing_levels(*extremes, np.ones(1, np.int64), max_level)
    return Leaves(everyone, level.astype(np.uint8), np.zeros(1, np.bool_))


def recycle(u: Matrix, leaves: Leaves, p: int) -> Leaves:
    """The leaves of at least p, equal ones merged; series that find no other are in none (§5.3.2)."""
    growing = Growing(len(u))
    alone = leaves.undersized[leaves.of]
    good, waiting = np.flatnonzero(~alone), np.flatnonzero(alone)
    growing.add(good, leaves.of[good], leaves.level[leaves.of[good]])
    level = int(leaves.level[leaves.undersized].max(initial=0))
    # At level 1 all patterns agree, so this ends there at the latest.
    while len(waiting) >= p:
        label = same_pattern(u[waiting], level, np.zeros(len(waiting), np.int64))
        large = np.bincount(label)[label] >= p
        growing.add(waiting[large], label[large], level)
        waiting = waiting[~large]
        level -= 1
    inside = growing.leaf >= 0
    levels = growing.level[inside]
    # The level as the node: only leaves of one level and one pattern merge.
    growing.leaf[inside] = same_pattern(u[inside], levels, levels)
    return growing.leaves()


def form_groups(low: Matrix, high: Matrix, size: Labels, k: int) -> Labels:
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
        group, lengths = np.empty(len(size), np.int64), np.diff(bounds)
        # Bucket by bucket, all buckets of one length at once.
        for length in np.unique(lengths):
            begins = bounds[:-1][lengths == length, None]
            members = order[begins + np.arange(length)]
            # Groups are numbered from 0 in each bucket, so no two buckets share a number.
            group[members] = begins + _in_buckets(low[members], high[members], size[members], k)
        group = numbered_as_met(group)[0]
        rows, runs = runs_of(group)
        united = envelope_widths(
            np.minimum.reduceat(low[rows], runs[:-1]), np.maximum.reduceat(high[rows], runs[:-1])
        )
        loss = float(np.bincount(group, size) @ united)
        if loss < least:
            least, best = loss, group
    return best


def _in_buckets(low: Matrix, high: Matrix, size: Labels, k: int) -> Labels:
    """Steps 1 to 5 of §5.3.3 in buckets of one length: the group of each subgroup, numbered in its bucket."""
    buckets, length, _ = low.shape
    bucket = np.arange(buckets)
    group = np.full((buckets, length), -1, np.int64)
    # Envelopes and sizes of the groups; the one that grows is the next of its bucket
    bottom, top = np.full_like(low, np.inf), np.full_like(high, -np.inf)
    count = np.zeros((buckets, length), np.int64)
    finished = np.zeros(buckets, np.int64)

    def join(into: Labels, which: Labels, at: Labels) -> None:
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
