"""Both miners against counting every subset of every row."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.patterns import closed, maximal, mined, supports_of, transactions

from timeveil.models.patterns.kernels.itemsets import mine_baskets, mine_symbols
from timeveil.models.patterns.method.family import Family, mine_family


@pytest.mark.parametrize("seed", range(150))
def test_baskets(seed: int) -> None:
    draw = np.random.default_rng(seed)
    items, rows = int(draw.integers(1, 9)), int(draw.integers(0, 30))
    some = [frozenset(np.flatnonzero(draw.random(items) < draw.random()).tolist()) for _ in range(rows)]
    least, longest = int(draw.integers(1, 6)), int(draw.integers(1, items + 2))
    family = mine_family(transactions(some, items), least, longest, 1 << 20)
    meant = mined(some, least, longest)
    assert supports_of(family) == meant
    check_order(family)
    found = list(supports_of(family))
    assert {found[v] for v in np.flatnonzero(family.maximal)} == maximal(meant)
    assert {found[v] for v in np.flatnonzero(family.closed())} == closed(meant)


@pytest.mark.parametrize("seed", range(100))
def test_symbols(seed: int) -> None:
    draw = np.random.default_rng(seed)
    instants, kinds, rows = int(draw.integers(1, 5)), int(draw.integers(2, 4)), int(draw.integers(1, 30))
    symbols = draw.integers(0, kinds, (rows, instants))
    some = [frozenset(j * kinds + int(s) for j, s in enumerate(row)) for row in symbols]
    least, longest = int(draw.integers(1, 6)), int(draw.integers(1, instants + 1))
    family = mine_family(transactions(some, instants * kinds, kinds), least, longest, 1 << 20)
    assert supports_of(family) == mined(some, least, longest)
    check_order(family)


def check_order(family: Family) -> None:
    """Children stand together in the order of their items, behind their parent."""
    for node in range(len(family.item)):
        mine = family.item[family.first[node] : family.first[node] + family.kids[node]]
        assert (np.diff(mine) > 0).all()
        assert family.first[node] > node or family.kids[node] == 0


def test_a_cap_stops_the_search() -> None:
    rows = [frozenset(range(12))] * 3
    whole = transactions(rows, 12)
    *_, enough = mine_baskets(whole.starts, whole.items, 12, 2, 12, 1 << 12)
    *_, short = mine_baskets(whole.starts, whole.items, 12, 2, 12, (1 << 12) - 1)
    assert (enough, short) == (True, False)
    columns = np.zeros((12, 3), np.uint8)
    *_, enough = mine_symbols(columns, 2, 2, 12, 1 << 12)
    *_, short = mine_symbols(columns, 2, 2, 12, (1 << 12) - 1)
    assert (enough, short) == (True, False)


def test_rows_beyond_one_word_of_bits() -> None:
    draw = np.random.default_rng(7)
    some = [frozenset(np.flatnonzero(draw.random(7) < 0.5).tolist()) for _ in range(1000)]
    assert supports_of(mine_family(transactions(some, 7), 40, 7, 1 << 20)) == mined(some, 40)


def test_an_independent_miner_finds_the_same() -> None:
    """pyfim's relim, which the extra `bench` brings."""
    fim = pytest.importorskip("fim")
    draw = np.random.default_rng(11)
    for density, least in ((0.2, 20), (0.6, 200)):
        some = [frozenset(np.flatnonzero(draw.random(20) < density).tolist()) for _ in range(2000)]
        family = mine_family(transactions(some, 20), least, 20, 1 << 20)
        found = fim.relim([tuple(row) for row in some], target="s", supp=-least, zmin=1, report="a")
        meant = {frozenset(items): count for items, count in found}
        assert {items: count for items, count in supports_of(family).items() if items} == meant
