"""The virtual rows that change counts least, against every choice of rows on tiny tables."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import patterns as slow

import timeveil as tv

BASKETS = tv.Roles(item="has")


def table_of(rows: list[str]) -> pa.Table:
    return pa.table({"has": [list(row) for row in rows]})


def total_increment(release: tv.Release, rows: list[str]) -> int:
    """How much all published counts rose in all."""
    return sum(
        row["support"] - sum(set(row["pattern"]) <= set(other) for other in rows)
        for row in release.table.to_pylist()
    )


def best(rows: list[str], k: int, most: int) -> int | None:
    """The least increment over every choice of at most `most` rows to add; None if none is enough."""
    items = sorted(set("".join(rows)))
    every = [frozenset(part) for n in range(len(items) + 1) for part in combinations(items, n)]
    frequent = [part for part in every if sum(part <= set(row) for row in rows) >= k]
    present = sorted({item for part in frequent for item in part})
    candidates = [part for part in every if part <= set(present)]
    found: list[int] = []
    for number in range(most + 1):
        for added in combinations_with_replacement(candidates, number):
            increment = sum(part <= row for row in added for part in frequent)
            if found and increment >= min(found):
                continue
            rows_after = [*map(frozenset, rows), *added]
            supports = {part: sum(part <= row for row in rows_after) for part in frequent}
            if not slow.channels(supports, supports, k, lambda item: item):
                found.append(increment)
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(12))
def test_no_choice_of_rows_changes_counts_less(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = ["".join(np.array(list("abc"))[draw.random(3) < 0.6]) for _ in range(draw.integers(6, 9))]
    rows = [row for row in rows if row]
    release, ledger = tv.sanitize_patterns(table_of(rows), BASKETS, k=2, min_support=2, method="least")
    assert tv.verify(release, ledger)
    expected = best(rows, 2, most=4)
    if expected is not None:
        assert total_increment(release, rows) == expected


@pytest.mark.parametrize("method", ["additive", "tight", "clone"])
def test_other_methods_change_no_less(method: str) -> None:
    for seed in range(5):
        draw = np.random.default_rng(seed)
        rows = ["".join(np.array(list("abcdef"))[draw.random(6) < 0.6]) or "a" for _ in range(40)]
        least, other = (
            tv.sanitize_patterns(table_of(rows), BASKETS, k=3, min_support=4, method=name)[0]
            for name in ("least", method)
        )
        assert total_increment(least, rows) <= total_increment(other, rows)


def test_virtual_series_have_a_symbol_at_every_instant() -> None:
    draw = np.random.default_rng(1)
    table = pa.table({name: draw.normal(size=60) for name in "abcd"})
    roles = tv.Roles(series=list("abcd"))
    release, ledger = tv.sanitize_patterns(table, roles, k=3, min_support=8, symbols=3, method="least")
    assert tv.verify(release, ledger)
    assert ledger.facts["virtual"] > 0
    assert {len(pattern) for pattern in ledger.mappings["virtual"]["pattern"].to_pylist()} == {4}
    tight, _ = tv.sanitize_patterns(table, roles, k=3, min_support=8, symbols=3, method="tight")
    assert release.table["support"].to_numpy().sum() <= tight.table["support"].to_numpy().sum()


def test_a_table_without_small_groups_stays_as_it_is() -> None:
    release, ledger = tv.sanitize_patterns(table_of(["ab"] * 5), BASKETS, k=2, min_support=2, method="least")
    assert ledger.facts["virtual"] == 0
    assert total_increment(release, ["ab"] * 5) == 0


def test_too_many_rows_to_choose_from_are_refused() -> None:
    items = "abcdefghijklm"
    rows = [items, items, *items]
    with pytest.raises(tv.ParameterError, match="8,192 different rows"):
        tv.sanitize_patterns(table_of(rows), BASKETS, k=2, min_support=2, method="least", max_len=2)
