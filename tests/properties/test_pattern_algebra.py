"""Series against an adversary who knows that everybody has one symbol at every instant, and solves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.effort import some
from tests.oracles import algebra
from tests.oracles import patterns as slow
from tests.properties.test_patterns import METHODS, settings

from timeveil.errors import InfeasibleError, InputError
from timeveil.models.patterns.method.channels import Completed
from timeveil.models.patterns.method.family import mine_family
from timeveil.models.patterns.method.publishing import sanitized
from timeveil.models.patterns.method.sanitizing import Sanitized
from timeveil.models.patterns.method.transactions import Transactions

FORMS = {(3, 2): some(300), (2, 3): some(200), (3, 3): some(60)}
"""Symbols and instants, and how many tables of each."""


def of_table(counts: np.ndarray, symbols: int, instants: int) -> Transactions:
    """A row for everybody; `counts` has how many there are of each kind."""
    people = itertools.product(range(symbols), repeat=instants)
    rows = [
        {t * symbols + s for t, s in enumerate(kind)}
        for kind, number in zip(people, counts.ravel().tolist(), strict=True)
        for _ in range(number)
    ]
    return slow.transactions(rows, symbols * instants, symbols)


def drawn(seed: int, symbols: int, instants: int) -> tuple[Transactions, int, int]:
    draw = np.random.default_rng((seed, symbols, instants))
    k = int(draw.integers(2, 5))
    shares = draw.dirichlet(np.full(symbols**instants, (0.3, 0.5, 1.0, 2.0)[seed % 4]))
    counts = draw.multinomial(int(draw.integers(10, 40 * symbols)), shares)
    return of_table(counts, symbols, instants), k, k * int(draw.integers(1, 6))


def made(rows: Transactions, k: int, least: int, method: str, *, structural: bool = True) -> Sanitized | None:
    try:
        return sanitized(rows, settings(k, least, method, structural=structural), least)
    except (InputError, InfeasibleError):
        return None


@pytest.mark.parametrize("method", METHODS)
def test_who_solves_finds_nobody(method: str) -> None:
    judged = 0
    for (symbols, instants), tables in FORMS.items():
        for seed in range(tables):
            rows, k, least = drawn(seed, symbols, instants)
            if (done := made(rows, k, least, method)) is not None:
                counts = slow.supports_of(done.after)
                assert algebra.small_groups(counts, symbols, instants, k) == 0, (symbols, instants, seed)
                judged += len(done.channels) > 0
    assert judged > sum(FORMS.values()) // 7


def test_what_is_unpublished_again_and_again_comes_to_an_end() -> None:
    """A pattern that is left out follows from the others at once; then one of those goes."""
    counts = np.array([[20, 20, 20], [20, 2, 20], [20, 20, 20]])
    done = made(of_table(counts, 3, 2), 5, 10, "itemset")
    assert done is not None
    assert algebra.small_groups(slow.supports_of(done.after), 3, 2, 5) == 0


def test_two_steps_of_subtracting_tell_of_nobody() -> None:
    """(t1=c, t0=c) is 42 - 17 - 21 = 4, and (t0=c, t1=a) is 12 - 7 - 4 = 1 person."""
    rows = of_table(np.array([[2, 3, 17], [0, 4, 21], [1, 7, 4]]), 3, 2)
    counts = slow.supports_of(mine_family(rows, 6, 2, 1 << 10))
    assert algebra.small_groups(counts, 3, 2, 2) > 0
    assert frozenset({2, 3}) not in counts
    assert (
        slow.supports_of(Completed(mine_family(rows, 6, 2, 1 << 10), 1 << 16).family)[frozenset({2, 3})] == 1
    )
    for method in METHODS:
        done = made(rows, 2, 6, method)
        assert done is not None
        assert (frozenset({2, 3}), 1) in zip(
            slow.sets_of(*done.channels.present), done.channels.size.tolist(), strict=True
        )
        assert algebra.small_groups(slow.supports_of(done.after), 3, 2, 2) == 0


def test_without_structural_who_solves_finds_some() -> None:
    """Why the promise is a weaker one then."""
    left = 0
    for seed in range(40):
        rows, k, least = drawn(seed, 3, 2)
        if (done := made(rows, k, least, "additive", structural=False)) is not None:
            left += algebra.small_groups(slow.supports_of(done.after), 3, 2, k) > 0
    assert left > 5


@pytest.mark.parametrize("seed", range(60))
def test_what_follows_is_what_follows_the_slow_way(seed: int) -> None:
    draw = np.random.default_rng(seed)
    symbols, instants = int(draw.integers(2, 5)), int(draw.integers(1, 5))
    letters = np.minimum(draw.geometric(draw.uniform(0.2, 0.8), (40, instants)) - 1, symbols - 1)
    rows = [frozenset(t * symbols + int(s) for t, s in enumerate(row)) for row in letters]
    table = slow.transactions(rows, symbols * instants, symbols)
    family = mine_family(table, int(draw.integers(2, 8)), int(draw.integers(1, instants + 1)), 1 << 16)
    whole = Completed(family, 1 << 16)
    known = slow.supports_of(whole.family)
    assert known == slow.completed(slow.supports_of(family), symbols, symbols * instants)
    assert known == {one: sum(one <= row for row in rows) for one in known}
    assert all(part in known for one in known for part in slow.subsets(one))
    before, after = slow.sets_of(*family.sets), slow.sets_of(*whole.family.sets)
    for node, one in enumerate(after):
        source = before[whole.source(node)]
        assert source == one if whole.origin[node] >= 0 else source != one


@pytest.mark.parametrize("longest", [2, 3])
def test_what_follows_over_several_words(longest: int) -> None:
    """Ten instants of seven symbols: what is full, and what it is looked up by, stand in two words."""
    draw = np.random.default_rng(longest)
    letters = np.zeros((60 * longest, 10), np.int64)
    letters[:, [0, 1, 8, 9][-2 * longest :]] = draw.integers(0, 7, (len(letters), min(4, 2 * longest)))
    rows = [frozenset(t * 7 + int(s) for t, s in enumerate(row)) for row in letters]
    family = mine_family(slow.transactions(rows, 70, 7), 2, longest, 1 << 16)
    whole = Completed(family, 1 << 16)
    assert slow.supports_of(whole.family) == slow.completed(slow.supports_of(family), 7, 70)
    assert (whole.origin < 0).sum() > 0
