"""Mining against counting every subset of every row."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.patterns import closed, maximal, mined, supports_of, transactions

from timeveil.errors import ParameterError
from timeveil.models.patterns.method import family as family_module
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
    """Nodes are sorted by length, parent and rank, and every lookup agrees with that."""
    sets = list(family.sets.each())
    lengths = list(map(len, sets))
    keys = list(zip(lengths, family.parent.tolist(), family.rank.tolist(), strict=True))
    assert keys == sorted(keys)
    for node, items in enumerate(sets):
        assert family.node(items) == node
        assert sorted(family.items(node)) == items
    every = [*range(len(family.item_of))]
    assert (family.node(every) >= 0) == (sets[-1] == every)


@pytest.mark.parametrize("seed", range(20))
def test_a_family_without_nodes_and_what_is_above_them(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = [frozenset(np.flatnonzero(draw.random(6) < 0.7).tolist()) for _ in range(20)]
    family = mine_family(transactions(rows, 6), 2, 6, 1 << 20)
    nodes = draw.integers(1, len(family), 3)
    fewer = family.without(nodes)
    gone = [frozenset(family.items(int(node))) for node in nodes]
    assert supports_of(fewer) == {
        items: count for items, count in supports_of(family).items() if not any(x <= items for x in gone)
    }
    check_order(fewer)


@pytest.mark.parametrize("kinds", [1, 2])
def test_a_cap_stops_the_search(kinds: int) -> None:
    rows = transactions([frozenset(range(0, 12 * kinds, kinds))] * 3, 12 * kinds, kinds)
    assert len(mine_family(rows, 2, 12, 1 << 12)) == 1 << 12
    with pytest.raises(ParameterError) as caught:
        mine_family(rows, 2, 12, (1 << 12) - 1)
    assert caught.value.code == "too-many-patterns"


def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(3)
    rows = [frozenset(np.flatnonzero(draw.random(9) < 0.6).tolist()) for _ in range(200)]
    monkeypatch.setattr(family_module, "BLOCK_WORDS", 8)
    assert supports_of(mine_family(transactions(rows, 9), 10, 9, 1 << 20)) == mined(rows, 10)


def test_more_items_than_bits_of_a_word() -> None:
    draw = np.random.default_rng(5)
    rows = [frozenset(draw.choice(90, 6, replace=False).tolist()) for _ in range(120)]
    family = mine_family(transactions(rows, 90), 3, 3, 1 << 20)
    assert supports_of(family) == mined(rows, 3, 3)
    check_order(family)


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
