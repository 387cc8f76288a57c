"""Adoption against its slow twin."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.oracles.adoption import Town

from timeveil.models.series.kernels.adoption import adopt, desk_of, dissolve, exchange
from timeveil.models.series.kernels.sorting import sort_by_label
from timeveil.models.series.method.adopting import _arranged
from timeveil.models.series.method.formation import form_groups, ranges
from timeveil.models.series.method.kapra import _cells, _leaves
from timeveil.symbols.sax import positions, z_normalised
from timeveil.symbols.shape import unit_shapes


def _both(seed: int, k: int, p: int):
    """The same groups for the kernels and for the twin; some series are in no cell."""
    draw = np.random.default_rng(seed)
    matrix = np.cumsum(draw.normal(size=(int(draw.integers(40, 90)), int(draw.integers(2, 5)))), axis=1)
    u, shapes = positions(z_normalised(matrix)), unit_shapes(matrix)
    cells = _cells(matrix, u, _leaves(u, k, p, 6, exact=False), p)
    low, high = ranges(matrix, cells.of)
    group_of = form_groups(low, high, np.bincount(cells.of[cells.of >= 0]), k)
    leaves, places = _arranged(matrix, cells, group_of)
    price = float(draw.choice([0.1, 1.0, 20.0]))
    town = Town(
        matrix,
        u,
        shapes,
        [
            (int(level), tuple(symbols.tolist()), shape)
            for level, symbols, shape in zip(leaves.level, leaves.symbols, leaves.shape, strict=True)
        ],
        [leaves.cells[leaves.begin[f] : leaves.begin[f + 1]].tolist() for f in range(len(leaves.level))],
        cells.leaf.tolist(),
        group_of.tolist(),
        cells.of.tolist(),
        price,
        k,
        p,
    )
    assert max(map(len, town.cells_of)) <= leaves.window
    return town, (matrix, u, shapes, leaves, places, desk_of(matrix.shape[1], k)), places, price


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(("k", "p"), [(4, 2), (3, 3)])
def test_kernels_and_twin_do_the_same(seed: int, k: int, p: int) -> None:
    town, desk, places, price = _both(seed, k, p)
    rows = np.argsort(places.cell, kind="stable")
    for _ in range(2):
        groups = np.argsort(-places.width, kind="stable")
        assert dissolve(*desk, k, price, groups) == town.dissolve(groups.tolist())
        assert places.cell.tolist() == town.cell
        assert adopt(*desk, k, p, price, rows) == town.adopt(rows.tolist())
        assert places.cell.tolist() == town.cell
        assert exchange(*desk, price, rows) == town.exchange(rows.tolist())
        assert places.cell.tolist() == town.cell


def test_the_twin_has_something_to_do() -> None:
    moved = np.zeros(3, np.int64)
    for seed in range(10):
        town, _, places, _ = _both(seed, 4, 2)
        groups, rows = np.argsort(-places.width, kind="stable").tolist(), list(range(len(places.cell)))
        moved += [town.dissolve(groups), town.adopt(rows), town.exchange(rows)]
    assert (moved > 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_sorting_by_counting_is_a_stable_sort(seed: int) -> None:
    draw = np.random.default_rng(seed)
    labels = draw.integers(-1, 1 + seed % 7, int(draw.integers(0, 60)))
    order, bounds = sort_by_label(labels)
    inside = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
    assert order.tolist() == inside.tolist()
    assert [labels[order[a:b]].tolist() for a, b in pairwise(bounds)] == [
        [label] * int((labels == label).sum()) for label in range(len(bounds) - 1)
    ]
    assert bounds[-1] == (labels >= 0).sum()
