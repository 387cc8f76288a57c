"""What the model claims, on random tables, against an adversary who tries everything."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.effort import some
from tests.oracles import patterns as slow
from tests.oracles.patterns import Row

from timeveil.errors import InfeasibleError, InputError
from timeveil.models.patterns.method.channels import maximal_channels
from timeveil.models.patterns.method.publishing import sanitized
from timeveil.models.patterns.method.sanitizing import Sanitized
from timeveil.models.patterns.method.transactions import Transactions
from timeveil.models.patterns.parameters import PatternParameters

ADDING = ("additive", "tight", "clone")
METHODS = (*ADDING, "suppressive", "itemset")
TABLES = some(1000)


def settings(
    k: int, least: int, method: str, max_len: int | None = None, *, structural: bool = True
) -> PatternParameters:
    return PatternParameters(
        k=k, min_support=least, method=method, max_len=max_len, structural=structural, cap=1 << 16
    )


def by(kinds: int) -> slow.Instant:
    return lambda item: item // kinds


def table(seed: int) -> tuple[list[Row], Transactions, int]:
    """Series on even seeds and baskets on odd ones."""
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(4, 26))
    if seed % 2:
        items, kinds = int(draw.integers(2, 7)), 1
        some = [frozenset(np.flatnonzero(draw.random(items) < 0.6).tolist()) for _ in range(rows)]
        return some, slow.transactions(some, items), kinds
    instants, kinds = int(draw.integers(1, 4)), int(draw.integers(2, 4))
    symbols = np.minimum(draw.geometric(draw.uniform(0.4, 0.9), (rows, instants)) - 1, kinds - 1)
    some = [frozenset(j * kinds + int(s) for j, s in enumerate(row)) for row in symbols]
    return some, slow.transactions(some, instants * kinds, kinds), kinds


def outcome(seed: int, method: str) -> tuple[list[Row], Sanitized, Transactions, int, int, int] | None:
    some, rows, kinds = table(seed)
    draw = np.random.default_rng((seed, 1))
    k = int(draw.integers(2, 5))
    least = k + int(draw.integers(0, 4))
    max_len = None if draw.random() < 0.7 else int(draw.integers(1, 4))
    try:
        return some, sanitized(rows, settings(k, least, method, max_len), least), rows, k, least, kinds
    except (InfeasibleError, InputError):
        return None


@pytest.mark.parametrize("method", METHODS)
def test_no_channel_is_left_and_none_is_created(method: str) -> None:
    """Over F* for series, over F for baskets; also no cell is below 0, which no table could have."""
    judged, first = 0, TABLES * METHODS.index(method)
    for seed in range(first, first + TABLES):
        if (found := outcome(seed, method)) is None:
            continue
        _, done, rows, k, least, kinds = found
        supports = slow.supports_of(done.after)
        follows = slow.completed(supports, kinds, len(rows.names))
        known = slow.star(follows, by(kinds))
        assert slow.channels(follows, known, k, by(kinds)) == [], seed
        assert min(supports.values()) >= min(least, supports[frozenset()])
        judged += len(done.channels) > 0
    assert judged > TABLES / 10


@pytest.mark.parametrize("method", ADDING)
def test_nothing_is_lost_and_a_table_has_these_counts(method: str) -> None:
    """The rows and the virtual rows together: of series all have one symbol at every instant."""
    first = TABLES * (len(METHODS) + ADDING.index(method))
    for seed in range(first, first + TABLES):
        if (found := outcome(seed, method)) is None:
            continue
        some, done, rows, _, _, kinds = found
        after = slow.supports_of(done.after)
        assert set(after) == set(slow.supports_of(done.channels.published))
        added = slow.sets_of(*done.virtual.sets)
        for row in added if kinds > 1 else []:
            assert sorted(item // kinds for item in row) == list(range(rows.instants))
        witness = some + [
            row for row, copies in zip(added, done.virtual.copies, strict=True) for _ in range(copies)
        ]
        assert after == {x: sum(x <= row for row in witness) for x in after}
        before = slow.supports_of(done.channels.published)
        assert all(after[x] - done.virtual.total <= before[x] <= after[x] for x in after)


def test_a_clone_is_somebody() -> None:
    for seed in range(TABLES):
        if (found := outcome(seed, "clone")) is not None:
            some, done = found[:2]
            assert set(slow.sets_of(*done.virtual.sets)) <= set(some)


def test_tight_adds_no_more_than_additive() -> None:
    for seed in range(0, TABLES, 2):
        found, tight = outcome(seed, "additive"), outcome(seed, "tight")
        assert found is None or tight is None or tight[1].virtual.total <= found[1].virtual.total


def test_suppressing_counts_what_is_left() -> None:
    for seed in range(TABLES):
        if (found := outcome(seed, "suppressive")) is not None:
            some, done, _, _, least, _ = found
            assert done.withheld is not None
            left = [row for row, gone in zip(some, done.withheld, strict=True) if not gone]
            after = slow.supports_of(done.after)
            longest = max(map(len, after), default=0)
            assert slow.mined(left, least, longest) == after
        if (fewer := outcome(seed, "itemset")) is not None:
            before, after = (
                slow.supports_of(family) for family in (fewer[1].channels.published, fewer[1].after)
            )
            assert after.items() <= before.items()
            assert all(part in after for some in after for part in slow.subsets(some))


def test_the_cell_theorem() -> None:
    """The maximal channels are the small cells of the maximal sets: the same by search over all pairs."""
    for seed in range(TABLES):
        if (found := outcome(seed, "additive")) is None:
            continue
        _, done, rows, k, _, kinds = found
        supports = slow.completed(slow.supports_of(done.channels.published), kinds, len(rows.names))
        known = slow.star(supports, by(kinds))
        threats = slow.channels(supports, known, k, by(kinds))
        got = Counter(
            zip(slow.sets_of(*done.channels.present), slow.sets_of(*done.channels.absent), strict=True)
        )
        assert set(got) >= slow.undominated(threats), seed
        assert set(got) <= {(present, whole - present) for present, whole, _ in threats}


def test_plain_detection_leaves_structural_channels_of_series() -> None:
    """Why F* is the default: over F alone, what excludes each other gives small groups away."""
    left = judged = 0
    for seed in range(0, TABLES, 2):
        _, rows, kinds = table(seed)
        try:
            done = sanitized(rows, settings(3, 4, "additive", structural=False), 4)
        except InputError:
            continue
        judged += 1
        supports = slow.supports_of(done.after)
        assert slow.channels(supports, supports, 3, by(kinds)) == []
        known = slow.star(supports, by(kinds))
        left += bool(slow.channels(supports, known, 3, by(kinds)))
    assert left > judged / 20


def test_the_order_of_rows_changes_nothing() -> None:
    for seed in range(60):
        some, rows, kinds = table(seed)
        mixed = np.random.default_rng(seed).permutation(len(some))
        other = slow.transactions([some[r] for r in mixed], len(rows.names), kinds)
        for method in METHODS:
            asked = settings(2, 3, method)
            try:
                one, two = sanitized(rows, asked, 3), sanitized(other, asked, 3)
            except (InfeasibleError, InputError):
                continue
            assert slow.supports_of(one.after) == slow.supports_of(two.after)


def test_channels_of_raised_counts_are_none_by_the_same_search() -> None:
    for seed in range(TABLES):
        if (found := outcome(seed, "tight")) is not None:
            _, done, _, k, _, _ = found
            added = slow.sets_of(*done.virtual.sets)
            assert len(added) == len(done.virtual.copies)
            assert len(maximal_channels(done.after, k, 1 << 16)) == 0
