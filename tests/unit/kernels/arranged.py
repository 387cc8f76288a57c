"""Rows in random places, for tests of what changes places."""

from __future__ import annotations

import itertools

import numpy as np

from timeveil.models.series.kernels import arrangement as a
from timeveil.symbols.sax import positions, reconstructed, z_normalised
from timeveil.symbols.shape import unit_shapes

LEVELS = 7


def drawn(rng: np.random.Generator, tries: int, level: int = 0) -> tuple[a.Rows, a.Places, a.Rules]:
    """Rows in random places that respect k and p, with ties, equal rows and constant ones."""
    k, p = 4, 2
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 5))
    matrix = rng.integers(0, rng.choice([2, 5, 1000]), (n, d)).astype(float)
    matrix[rng.random(n) < 0.2] = 1.0
    shapes = unit_shapes(matrix).astype(np.float32)
    flat = (~shapes.any(axis=1)).astype(np.int64)
    groups = _bounds(rng, n, k)
    blocks = np.concatenate(
        [[0], *(_bounds(rng, int(b - c), p)[1:] + c for c, b in itertools.pairwise(groups))]
    )
    came = np.searchsorted(groups, blocks[:-1], side="right") - 1
    table = np.zeros((LEVELS + 1, LEVELS + 1))
    for one in range(1, LEVELS + 1):
        table[one, :one] = reconstructed(np.arange(one), one)
    rows = a.Rows(matrix, shapes, positions(z_normalised(matrix)), flat)
    return rows, a.places_of(groups, blocks, came, k, p), a.Rules(k, p, 1.5, 3.0, tries, level, table)


def _bounds(rng: np.random.Generator, n: int, least: int) -> np.ndarray:
    ends = [0]
    while n - ends[-1] >= 2 * least:
        ends.append(ends[-1] + int(rng.integers(least, min(2 * least - 1, n - ends[-1] - least) + 1)))
    return np.array([*ends, n])


def worked_out(rows: a.Rows, places: a.Places, rules: a.Rules) -> a.State:
    state = a.state_of(places, rows.values.shape[1])
    a.refresh(rows, places, state, rules, 0, len(places.counts))
    return state


def total(places: a.Places, state: a.State, rules: a.Rules, loss: np.ndarray) -> float:
    return float(places.counts @ state.wide / rules.unit + rules.weight * loss.sum())


def copied(places: a.Places) -> a.Places:
    return a.Places(*(place.copy() for place in places))


def sound(places: a.Places, n: int, rules: a.Rules) -> None:
    """Everybody is in one place, and nobody in too small a one."""
    members = [places.members[b, : places.size[b]] for b in range(len(places.size))]
    assert sorted(np.concatenate(members).tolist()) == list(range(n))
    for b, rows in enumerate(members):
        assert (places.block[rows] == b).all()
    listed = [places.blocks[g, : places.held[g]] for g in range(len(places.held))]
    assert sorted(np.concatenate(listed).tolist()) == list(range(len(places.size)))
    for g, blocks in enumerate(listed):
        assert (places.group[blocks] == g).all()
        assert places.size[blocks].sum() == places.counts[g]
    assert (places.size >= rules.p).all()
    assert (places.counts >= rules.k).all()
