"""Transactions with nulls and repeats are counted as an oracle counts them, and the judges agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import patterns as slow

import timeveil as tv
from timeveil.domain.release import Ledger, Release
from timeveil.errors import TimeveilError
from timeveil.judging import attack, measure, verify
from timeveil.patterns import mine

ROLES = tv.Roles(respondent="who", item="what")
POLICIES: dict[str, Any] = {"nulls": "drop", "repeats": "once"}
METHODS = ("additive", "tight", "clone", "suppressive", "itemset")


def drawn(seed: int) -> tuple[pa.Table, list[slow.Row]]:
    """A table with nulls and repeats, long on even seeds and of lists on odd ones, and what everybody has."""
    draw = np.random.default_rng(seed)
    people, items = int(draw.integers(8, 30)), int(draw.integers(2, 6))
    baskets = [draw.integers(0, items, draw.integers(1, 7)).tolist() for _ in range(people)]
    rows: list[tuple[int | None, list[int] | None]] = list(enumerate(baskets))
    if seed % 2 == 0:
        rows = [(person, [item]) for person, basket in enumerate(baskets) for item in basket]
    for row in np.flatnonzero(draw.random(len(rows)) < 0.15).tolist():
        rows[row] = (None, rows[row][1]) if draw.random() < 0.5 else (rows[row][0], None)
    rows = [rows[row] for row in draw.permutation(len(rows)).tolist()]
    cells: list[Any] = [cell for _, cell in rows]
    if seed % 2 == 0:
        cells = [None if cell is None else cell[0] for cell in cells]
    kind = pa.list_(pa.int64()) if seed % 2 else pa.int64()
    table = pa.table({"who": [person for person, _ in rows], "what": pa.array(cells, kind)})
    return table, slow.bought(rows)


def counts(table: pa.Table) -> slow.Supports:
    return {frozenset(map(int, row["pattern"])): row["support"] for row in table.to_pylist()}


def test_counts_are_those_of_the_oracle() -> None:
    for seed in range(120):
        table, rows = drawn(seed)
        least = max(2, len(rows) // 4)
        expected = slow.mined(rows, least)
        if len(expected) > 1:
            assert counts(mine(table, ROLES, min_support=least, **POLICIES)) == expected, seed


@pytest.mark.parametrize("method", METHODS)
def test_every_judge_counts_the_original_alike(method: str) -> None:
    judged = 0
    for seed in range(12):
        table, rows = drawn(seed)
        try:
            pair = tv.sanitize_patterns(
                table, ROLES, k=2, min_support=3, method=method, allow_loss=True, **POLICIES
            )
        except TimeveilError:
            continue  # nothing is left to publish
        release, ledger = pair
        assert verify(release, ledger), (seed, verify(release, ledger).violations)
        assert verify(release)
        measure(release, ledger)
        attack(release, ledger)
        real = release.manifest["counts"]["transactions"] - release.manifest["counts"]["virtual"]
        assert real == len(rows) - ledger.facts["withheld"]
        judged += 1
    assert judged >= 8


def stating(release: Release, ledger: Ledger, **policies: str) -> tuple[Release, Ledger]:
    """A release and a ledger that both state these policies and no other."""
    stated = release.manifest["parameters"]
    parameters = {name: value for name, value in stated.items() if name not in POLICIES} | policies
    forged = replace(release, manifest={**release.manifest, "parameters": parameters})
    return forged, replace(ledger, facts={**ledger.facts, "parameters": parameters})


def violations(release: Release, ledger: Ledger) -> set[str]:
    return {violation.code for violation in verify(release, ledger).violations}


@pytest.mark.parametrize("seed", range(4))
def test_what_the_release_does_not_state_is_refused(seed: int) -> None:
    release, ledger = tv.sanitize_patterns(
        drawn(seed)[0], ROLES, k=2, min_support=3, allow_loss=True, **POLICIES
    )
    assert violations(release, ledger) == set()
    assert violations(*stating(release, ledger, repeats="once")) == {"conservation"}
    assert violations(*stating(release, ledger, nulls="drop")) == {"person-twice"}


@pytest.mark.parametrize("policies", [POLICIES, {"repeats": "once"}])
@pytest.mark.parametrize("seed", range(4))
def test_nulls_that_were_counted_are_refused(seed: int, policies: dict[str, str]) -> None:
    """As if a row without a person were about somebody, and one without an item about an item."""
    table, _ = drawn(seed)
    rows = table.to_pylist()
    for number, row in enumerate(rows):
        row["who"] = 1000 + number if row["who"] is None else row["who"]
        row["what"] = ([9] if seed % 2 else 9) if row["what"] is None else row["what"]
    filled = pa.Table.from_pylist(rows, table.schema)
    release, ledger = tv.sanitize_patterns(filled, ROLES, k=2, min_support=3, repeats="once")
    assert verify(release, ledger)
    original = replace(ledger.original, data=table)
    forged, noted = stating(release, replace(ledger, original=original), **policies)
    assert "ledger-rows" in violations(forged, noted)
    assert ("conservation" in violations(forged, noted)) == ("nulls" not in policies)
    for judge in (measure, attack):
        with pytest.raises(TimeveilError):
            judge(forged, noted)


def test_series_do_not_state_them() -> None:
    table = pa.table({"a": [1.0, 2.0, 3.0] * 8, "b": [3.0, 1.0, 2.0] * 8, "c": [2.0, 3.0, 1.0] * 8})
    release, ledger = tv.sanitize_patterns(table, tv.Roles(series=["a", "b", "c"]), k=2, min_support=4)
    assert violations(release, ledger) == set()
    assert violations(*stating(release, ledger, nulls="drop")) == {"statements"}
    assert violations(*stating(release, ledger, repeats="once")) == {"statements"}
