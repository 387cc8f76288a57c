"""Merging, raising and finding rows against the plain words of their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.patterns import Row, sets_of, supports_of, transactions

from timeveil.models.patterns.method.channels import Channels, Completed, maximal_channels
from timeveil.models.patterns.method.family import mine_family
from timeveil.models.patterns.method.sanitizing import UNIT_COST, Virtual, cells_of, mergers, raised
from timeveil.models.patterns.method.transactions import Sets


def packed(sets: list[Row]) -> Sets:
    lengths = np.array([len(items) for items in sets], np.int64)
    return Sets.of_lengths(lengths, np.array([x for items in sets for x in sorted(items)], np.int64))


def drawn(seed: int, items: int, kinds: int, count: int) -> list[tuple[Row, Row]]:
    """Channels: what a few have, one item of an instant at most, and what they lack."""
    draw, found = np.random.default_rng(seed), set()
    for _ in range(count):
        has = [j * kinds + int(draw.integers(kinds)) for j in range(items // kinds) if draw.random() < 0.3]
        lacks = set(np.flatnonzero(draw.random(items) < 0.2).tolist()) - set(has)
        if kinds > 1:  # there is always something that a row can have
            lacks -= set(range(int(draw.integers(kinds)), items, kinds))
        found.add((frozenset(has), frozenset(lacks)))
    return sorted(found, key=lambda channel: (-len(channel[0]), sorted(channel[0])))


def first_fit(channels: list[tuple[Row, Row]], kinds: int, items: int, supports: dict[Row, int]) -> list[Row]:
    """Of series, what a merger leaves open is what costs least, of the symbols that it does not lack."""
    made: list[tuple[Row, Row]] = []
    for has, lacks in channels:
        for place, (other, lacking) in enumerate(made):
            if has & lacking or other & lacks:
                continue
            union = has | other
            none = lacks | lacking
            alone = kinds == 1 or len({x // kinds for x in union}) == len(union)
            left = kinds == 1 or all(set(range(x, x + kinds)) - none for x in range(0, items, kinds))
            if alone and left:
                made[place] = union, none
                break
        else:
            made.append((has, lacks))
    if kinds == 1:
        return [has for has, _ in made]
    for place, (has, lacks) in enumerate(made):
        row = set(has)
        for x in range(0, items, kinds):
            left = [y for y in range(x, x + kinds) if y not in lacks]
            if not row & set(range(x, x + kinds)):
                row.add(min(left, key=lambda y: (cost(supports, y, row), cost(supports, y, {y}))))
        made[place] = frozenset(row), lacks
    return [has for has, _ in made]


def cost(supports: dict[Row, int], symbol: int, row: set[int]) -> int:
    """What one more with this symbol adds to all counts, once for every item of the row that goes with it."""
    return sum(len(some & row) * (UNIT_COST // n) for some, n in supports.items() if symbol in some)


@pytest.mark.parametrize("kinds", [1, 3])
@pytest.mark.parametrize("seed", range(40))
def test_first_fit(seed: int, kinds: int) -> None:
    """Channels whose order is not open: each has another present set; many fill several words."""
    items = 90 if seed % 4 == 0 else 12
    channels = drawn(seed, items, kinds, 400 if seed % 4 == 0 else 40)
    channels = list({has: (has, lacks) for has, lacks in channels}.values())
    order = np.random.default_rng(seed).permutation(len(channels))
    mixed = [channels[place] for place in order]
    sizes = np.ones(len(mixed), np.int64)
    have, lack = packed([has for has, _ in mixed]), packed([lacks for _, lacks in mixed])
    symbols = np.random.default_rng(seed).integers(kinds, size=(20, items // kinds))
    rows = transactions((symbols + kinds * np.arange(items // kinds)).tolist(), items, kinds)
    family = mine_family(rows, 8 if kinds > 1 else 20, 2, 1 << 12)
    completion = Completed(family, 1 << 12, structural=False)
    found = mergers(Channels(have, lack, sizes, (), (), completion, family))
    assert sets_of(*found) == first_fit(channels, kinds, items, supports_of(family))


@pytest.mark.parametrize("seed", range(30))
def test_every_count_rises_by_the_rows_that_have_it(seed: int) -> None:
    draw = np.random.default_rng(seed)
    some = [frozenset(np.flatnonzero(draw.random(7) < 0.6).tolist()) for _ in range(30)]
    family = mine_family(transactions(some, 7), 4, 7, 1 << 16)
    added = [
        frozenset(np.flatnonzero(draw.random(7) < 0.5).tolist()) for _ in range(int(draw.integers(0, 90)))
    ]
    copies = draw.integers(1, 9, len(added))
    after = supports_of(raised(family, Virtual(packed(added), copies)))
    for items, before in supports_of(family).items():
        assert after[items] == before + sum(n for row, n in zip(added, copies, strict=True) if items <= row)


@pytest.mark.parametrize("seed", range(30))
def test_rows_are_counted_with_those_that_have_the_same_of_a_box(seed: int) -> None:
    draw = np.random.default_rng(seed)
    people = [
        frozenset(np.flatnonzero(draw.random(6) < 0.5).tolist()) for _ in range(int(draw.integers(10, 150)))
    ]
    rows = transactions(people, 6)
    channels = maximal_channels(mine_family(rows, 3, 6, 1000), 5, 1000)
    boxes = [
        frozenset(channels.family.item_of[box].tolist()) for form in channels.boxes for box in form.ranks
    ]
    blocks = cells_of(rows.sets, channels.boxes, channels.family)
    sizes = np.concatenate([sizes for _, sizes in blocks], axis=1)
    alike = [[sum(other & box == row & box for other in people) for box in boxes] for row in people]
    assert sizes.tolist() == alike


def test_sets_sort_by_their_items_and_longer_ones_first() -> None:
    draw = np.random.default_rng(1)
    sets = [frozenset(draw.choice(80, int(draw.integers(0, 30)), replace=False).tolist()) for _ in range(200)]
    order = np.lexsort(packed(sets).keys(80)[::-1])
    assert [sorted(sets[i]) for i in order] == sorted((sorted(s) for s in sets), key=lambda s: [*s, 80])
