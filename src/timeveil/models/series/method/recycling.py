"""Recycling: series of leaves below p find each other at a lower level (Shou et al. 2013, §5.3.2).

From the highest level of an undersized leaf down to 1, the series still in one are grouped by their own
patterns; p or more of one pattern are a leaf. Fewer than p are left in the end, because at level 1 all agree.

Where we depart from the print
    A pattern at one level is no function of the pattern a level above: records are regrouped, not leaves.
    Leaves with one level and one pattern, from whatever branch, are one leaf.
"""

from __future__ import annotations

import numpy as np

from timeveil.models.series.method.partition import Labels, Matrix
from timeveil.models.series.method.splitting import Leaves, Nodes, gathered, leaves_of, nodes_of
from timeveil.symbols.sax import symbols_at


def recycle(u: Matrix, leaves: Leaves, p: int, *, exact: bool = False) -> Leaves:
    """The leaves of at least p, equal ones merged; series that found no other are in none."""
    good = ~leaves.undersized[leaves.of]
    rows, bounds = gathered(np.where(good, leaves.of, -1))
    sizes = np.diff(bounds)
    kept = nodes_of(rows, sizes[sizes > 0], leaves.level[: len(sizes)][sizes > 0])
    found = _found(u, np.flatnonzero(~good), leaves, p, exact=exact)
    parts = [_merged(u, [kept, *found], exact=exact)]
    return leaves_of(len(u), parts, [False])


def _found(u: Matrix, bad: Labels, leaves: Leaves, p: int, *, exact: bool) -> list[Nodes]:
    """Leaves made of the bad records, level by level."""
    found: list[Nodes] = []
    level = int(leaves.level[leaves.undersized].max(initial=0))
    while len(bad) >= p:
        groups = _grouped(u, nodes_of(bad, np.array([len(bad)]), np.array([level], np.uint8)), exact=exact)[0]
        large = groups.sizes >= p
        found.append(groups.where(large))
        bad = np.sort(groups.where(~large).rows)
        level -= 1
    return found


def _merged(u: Matrix, parts: list[Nodes], *, exact: bool) -> Nodes:
    """One node for all that have one level and one pattern."""
    nodes = nodes_of(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.level for part in parts]),
    )
    if not len(nodes.level):
        return nodes
    of_level, bounds = gathered(nodes.level.astype(np.int64))
    level = np.flatnonzero(np.diff(bounds)).astype(np.uint8)
    first = nodes_of(nodes.rows[nodes.bounds[:-1]][of_level], np.diff(bounds)[level], level)
    kinds, parent = _grouped(u, first, exact=exact)
    node_of = np.empty(len(u), np.int64)
    node_of[first.rows] = of_level
    member = node_of[kinds.rows]
    kind = np.empty(len(nodes.level), np.int64)
    kind[member] = np.repeat(np.arange(len(parent)), kinds.sizes)
    labels = np.full(len(u), -1, np.int64)
    labels[nodes.rows] = np.repeat(kind, nodes.sizes)
    rows, bounds = gathered(labels)
    return Nodes(rows, bounds, level[parent])


def _grouped(u: Matrix, nodes: Nodes, *, exact: bool) -> tuple[Nodes, Labels]:
    """Series of each node with one pattern at its level, and the node they came from."""
    if exact:
        return _grouped_clearly(u, nodes)
    from timeveil.models.series.kernels.symbol_tree import group_equal  # noqa: PLC0415

    order, cuts, parent = group_equal(u, nodes.rows, nodes.bounds, nodes.level.astype(np.int64))
    return Nodes(order, cuts, nodes.level[parent]), parent


def _grouped_clearly(u: Matrix, nodes: Nodes) -> tuple[Nodes, Labels]:
    groups: dict[tuple[int, bytes], list[int]] = {}
    for node, level in enumerate(nodes.level.tolist()):
        for row in nodes.rows[nodes.bounds[node] : nodes.bounds[node + 1]].tolist():
            groups.setdefault((node, symbols_at(u[row], level).tobytes()), []).append(row)
    rows = np.array([row for group in groups.values() for row in group], np.int64)
    parent = np.array([node for node, _ in groups], np.int64)
    sizes = np.array([len(group) for group in groups.values()], np.int64)
    return nodes_of(rows, sizes, nodes.level[parent]), parent
