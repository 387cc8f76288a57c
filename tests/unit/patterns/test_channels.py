"""Maximal boxes and their small cells against looking at every set and every row."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.patterns import Row, completed, maximal, mined, sets_of, star, transactions

from timeveil.errors import ParameterError
from timeveil.models.patterns.method.channels import Channels, maximal_boxes, maximal_channels
from timeveil.models.patterns.method.family import mine_family
from timeveil.models.patterns.method.transactions import Transactions


def series(seed: int) -> tuple[list[Row], Transactions, int, int]:
    draw = np.random.default_rng(seed)
    instants, kinds, rows = int(draw.integers(1, 5)), int(draw.integers(2, 5)), int(draw.integers(1, 30))
    if instants * kinds > 12:
        kinds = 3
    symbols = np.minimum(draw.geometric(draw.uniform(0.3, 0.9), (rows, instants)) - 1, kinds - 1)
    if draw.random() < 0.5:
        symbols[:, 0] = symbols[:, -1]
    some = [frozenset(j * kinds + int(s) for j, s in enumerate(row)) for row in symbols]
    return some, transactions(some, instants * kinds, kinds), kinds, int(draw.integers(1, 6))


@pytest.mark.parametrize("seed", range(150))
def test_maximal_boxes_and_small_cells_of_series(seed: int) -> None:
    some, rows, kinds, least = series(seed)
    longest = rows.instants if seed % 3 else max(1, rows.instants - 1)
    family = mine_family(rows, least, longest, 1 << 20)
    channels = maximal_channels(family, 3, 1 << 20)
    found = boxes_of(channels)
    known = completed(mined(some, least, longest), kinds, len(rows.names))
    meant = maximal(star(known, lambda item: item // kinds))
    assert len(found) == len(set(found))
    assert set(found) == meant
    check_cells(some, found, channels, 3)


@pytest.mark.parametrize("seed", range(100))
def test_maximal_sets_and_small_cells_of_baskets(seed: int) -> None:
    draw = np.random.default_rng(seed)
    items = int(draw.integers(1, 8))
    some = [frozenset(np.flatnonzero(draw.random(items) < 0.6).tolist()) for _ in range(draw.integers(1, 30))]
    rows, least = transactions(some, items), int(draw.integers(1, 6))
    family = mine_family(rows, least, items, 1 << 20)
    channels = maximal_channels(family, 3, 1 << 20)
    found = boxes_of(channels)
    assert set(found) == maximal(mined(some, least))
    check_cells(some, found, channels, 3)


def boxes_of(channels: Channels) -> list[Row]:
    item_of = channels.family.item_of
    return [frozenset(item_of[ranks].tolist()) for form in channels.boxes for ranks in form.ranks]


def check_cells(some: list[Row], boxes: list[Row], found: Channels, k: int) -> None:
    meant = [
        (box, cell, count)
        for box in boxes
        for cell, count in Counter(row & box for row in some).items()
        if count < k
    ]
    present, absent = sets_of(*found.present), sets_of(*found.absent)
    assert all(not h & a for h, a in zip(present, absent, strict=True))
    got = [(h | a, h, int(n)) for h, a, n in zip(present, absent, found.size, strict=True)]
    assert Counter(got) == Counter(meant)


def test_a_cap_stops_the_search() -> None:
    rows = transactions([frozenset(w) for w in itertools.product((0, 1), (2, 3), (4, 5))] * 3, 6, 2)
    family = mine_family(rows, 3, 3, 1 << 10)
    assert [(boxes.widths, boxes.ranks.tolist()) for boxes in maximal_boxes(family, 1)] == [
        ((2, 2, 2), [[0, 1, 2, 3, 4, 5]])
    ]
    for refused in (
        lambda: maximal_boxes(mine_family(rows, 3, 2, 1 << 10), 1),
        lambda: maximal_channels(family, 2, 26),
    ):
        with pytest.raises(ParameterError) as caught:
            refused()
        assert caught.value.code == "too-many-patterns"
    assert len(boxes_of(maximal_channels(family, 2, 27))) == 1


def test_more_items_than_one_word_of_bits() -> None:
    """24 instants of 5 symbols: bits of two words; against the plain definition on a few of them."""
    draw = np.random.default_rng(5)
    symbols = np.minimum(draw.geometric(0.6, (200, 24)) - 1, 4)
    some = [frozenset(j * 5 + int(s) for j, s in enumerate(row)) for row in symbols]
    rows = transactions(some, 120, 5)
    family = mine_family(rows, 40, 3, 1 << 20)
    channels = maximal_channels(family, 3, 1 << 20)
    found = boxes_of(channels)
    assert len(found) == len(set(found)) > 100
    check_cells(some, found, channels, 3)
    supports = completed(mined(some, 40, 3), 5, 120)
    for box in found[::50]:
        ways = [[x for x in box if x // 5 == j] for j in sorted({x // 5 for x in box})]
        assert all(frozenset(way) in supports for way in itertools.product(*ways))
        for x in {x for some in supports for x in some} - box:
            larger = sorted({*box, x}, key=lambda item: item // 5)
            by = [[y for y in larger if y // 5 == j] for j in sorted({y // 5 for y in larger})]
            assert not all(frozenset(way) in supports for way in itertools.product(*by))


def test_a_group_of_a_thousand_million_is_small_if_k_is_larger() -> None:
    rows = transactions([frozenset({0}), frozenset({1})] * 3, 2, 2)
    family = mine_family(rows, 2, 1, 10)
    many = replace(family, support=np.array([2**31 - 1, 2**30 + 5, 2**30 - 6]))
    for k in (2**30, 2**30 + 6, 2**40):
        sizes = maximal_channels(many, k, 10).size.tolist()
        assert sorted(sizes) == [size for size in (2**30 - 6, 2**30 + 5) if size < k]


@pytest.mark.parametrize("seed", range(40))
def test_a_group_is_listed_once_without_what_everybody_knows(seed: int) -> None:
    some, rows, kinds, least = series(seed)
    channels = maximal_channels(mine_family(rows, least, rows.instants, 1 << 20), 4, 1 << 20)
    groups = channels.groups
    shown = list(zip(sets_of(*groups.present), sets_of(*groups.absent), groups.size.tolist(), strict=True))
    meant = set()
    for has, lacks in zip(sets_of(*channels.present), sets_of(*channels.absent), strict=True):
        instants = {x // kinds for x in has}
        meant.add((has, frozenset(x for x in lacks if x // kinds not in instants)))
    assert len(shown) == len(meant)
    assert {(has, lacks) for has, lacks, _ in shown} == meant
    assert all(size == sum(has <= row and not lacks & row for row in some) for has, lacks, size in shown)
    assert [len(has) for has, _, _ in shown] == sorted((len(has) for has, _, _ in shown), reverse=True)
