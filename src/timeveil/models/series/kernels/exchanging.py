"""Whole subgroups change groups: patterns stay as they are, envelopes shrink.

`edges` holds the lowest and highest values of every block. For each block of a leaf the best exchange with a
block of another group is looked for among the rest of the leaf, and carried out if both envelopes together
shrink.
"""

from __future__ import annotations

import numpy as np

from timeveil.compiling import kernel, part, summing_part
from timeveil.models.series.kernels.arrangement import Places

LEAST = 1e-9


@kernel
def edges_of(values, places, edges):  # type: ignore[no-untyped-def]
    """Write the lowest (0) and highest (1) values of every block."""
    for b in range(len(places.size)):
        for j in range(values.shape[1]):
            edges[b, 0, j], edges[b, 1, j] = np.inf, -np.inf
        for m in range(places.size[b]):
            r = places.members[b, m]
            for j in range(values.shape[1]):
                edges[b, 0, j] = min(edges[b, 0, j], values[r, j])
                edges[b, 1, j] = max(edges[b, 1, j], values[r, j])


def exchange(
    places: Places,
    edges: np.ndarray,
    wide: np.ndarray,
    k: int,
    order: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    changed: np.ndarray,
) -> None:
    """One pass over the leaves [first, last) of blocks; keeps `wide`, counts the changes of each group."""
    room = (int(np.diff(offsets[first : last + 1]).max(initial=1)), edges.shape[2])
    low, high = np.empty(room), np.empty(room)
    exchange_leaves(places, edges, wide, k, order, offsets, first, last, changed, low, high)


@kernel
def exchange_leaves(places, edges, wide, k, order, offsets, first, last, changed, low, high):  # type: ignore[no-untyped-def]
    """The same; `low` and `high` are the envelopes of groups without a block of the leaf."""
    for f in range(first, last):
        leaf = order[offsets[f] : offsets[f + 1]]
        for i in range(len(leaf)):
            _rest(places, edges, leaf[i], low[i], high[i])
        for i in range(len(leaf)):
            at = _best(places, edges, wide, k, leaf, i, low, high)
            if at < 0:
                continue
            a, b = leaf[i], leaf[at]
            g, h = places.group[a], places.group[b]
            _carry_out(places, a, b)
            wide[g] = _width(low[i], high[i], edges[b])
            wide[h] = _width(low[at], high[at], edges[a])
            changed[g] += 1
            changed[h] += 1
            for o in range(len(leaf)):
                there = places.group[leaf[o]]
                if there == g or there == h:  # noqa: PLR1714, SIM109
                    _rest(places, edges, leaf[o], low[o], high[o])


@part
def _rest(places, edges, b, low, high):  # type: ignore[no-untyped-def]
    """The envelope of a block's group without the block."""
    for j in range(len(low)):
        low[j], high[j] = np.inf, -np.inf
    g = places.group[b]
    for i in range(places.held[g]):
        other = places.blocks[g, i]
        if other != b:
            for j in range(len(low)):
                low[j] = min(low[j], edges[other, 0, j])
                high[j] = max(high[j], edges[other, 1, j])


@part
def _best(places, edges, wide, k, leaf, i, low, high):  # type: ignore[no-untyped-def]
    """The place in the leaf of the best exchange; -1 if none helps."""
    a = leaf[i]
    g = places.group[a]
    best, at = 0.0, -1
    for o in range(len(leaf)):
        b = leaf[o]
        h = places.group[b]
        shift = places.size[b] - places.size[a]
        mine, theirs = places.counts[g] + shift, places.counts[h] - shift
        if g == h or mine < k or theirs < k:
            continue
        before = places.counts[g] * wide[g] + places.counts[h] * wide[h]
        change = mine * _width(low[i], high[i], edges[b]) - before
        if change >= best:
            continue
        change += theirs * _width(low[o], high[o], edges[a])
        if change < best and change < -LEAST * before:
            best, at = change, o
    return at


@summing_part
def _width(low, high, edge):  # type: ignore[no-untyped-def]
    square = 0.0
    for j in range(len(low)):
        side = max(high[j], edge[1, j]) - min(low[j], edge[0, j])
        square += side * side
    return np.sqrt(square / len(low))


@part
def _carry_out(places, a, b):  # type: ignore[no-untyped-def]
    g, h = places.group[a], places.group[b]
    for i in range(places.held[g]):
        if places.blocks[g, i] == a:
            places.blocks[g, i] = b
            break
    for i in range(places.held[h]):
        if places.blocks[h, i] == b:
            places.blocks[h, i] = a
            break
    shift = places.size[b] - places.size[a]
    places.counts[g] += shift
    places.counts[h] -= shift
    places.group[a], places.group[b] = h, g
