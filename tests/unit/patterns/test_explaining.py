"""Small groups in words: every sum that is told is right, and after sanitizing there is none."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.datasets import load_curves
from timeveil.models.patterns.method import mine

SUM = re.compile(r"exactly (\d+) (?:person has|people have) (.*?)(?: without (.*?))?: (.*) = (\d+)$")


def baskets(seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table({"has": [[x for x in "abcde" if draw.random() < 0.7] for _ in range(60)]})


@pytest.mark.parametrize("seed", range(10))
def test_every_sum_is_right_and_counts_rows(seed: int) -> None:
    table = baskets(seed)
    _, ledger = tv.sanitize_patterns(table, tv.Roles(item="has"), k=5, min_support=8)
    rows = [set(row) for row in table["has"].to_pylist()]
    for channel in ledger.mappings["channels"].to_pylist():
        present, absent = set(channel["present"]), set(channel["absent"])
        assert sum(present <= row and not absent & row for row in rows) == channel["people"]
        found = SUM.search(channel["text"])
        if found:
            terms = re.findall(r"([+-]?) ?(\d+)", found[4])
            total = sum(-int(n) if sign == "-" else int(n) for sign, n in terms)
            assert total == channel["people"] == int(found[5]) == int(found[1])


def test_sums_of_series_leave_out_what_nobody_can_have() -> None:
    names = [f"h{hour:02}" for hour in range(4)]
    table = load_curves(people=500, instants=4, seed=3)
    roles = tv.Roles(series=names, drop="rest")
    _, ledger = tv.sanitize_patterns(table, roles, k=8, min_support=20, symbols=3)
    counts = {
        frozenset(row["pattern"]): row["support"]
        for row in mine(table, roles, min_support=20, symbols=3).to_pylist()
    }
    channels = ledger.mappings["channels"].to_pylist()
    assert channels
    assert any("of which follow" in channel["text"] for channel in channels)
    for channel in channels:
        mine_at = {item.partition("=")[0] for item in channel["present"]}
        assert not mine_at & {item.partition("=")[0] for item in channel["absent"]}
        found = SUM.search(channel["text"])
        if found:
            terms = re.findall(r"([+-]?) ?(\d+)", found[4])
            total = sum(-int(n) if sign == "-" else int(n) for sign, n in terms)
            assert total == channel["people"]
            follow = sum(int(n) < 20 for _, n in terms)  # fewer than are published
            aside = re.match(r"from \d+ counts, (\d+) of which follows? from others, anyone", channel["text"])
            assert follow == (int(aside[1]) if aside else 0)
        if found and len(channel["absent"]) == 1 and {*map(frozenset, parts(channel))} <= set(counts):
            with_it = counts[frozenset(channel["present"] + channel["absent"])]
            assert found[4] == f"{counts[frozenset(channel['present'])]} - {with_it}"


def parts(channel: dict[str, list[str]]) -> list[list[str]]:
    return [channel["present"], channel["present"] + channel["absent"]]


def test_nothing_is_left_to_tell() -> None:
    release, _ = tv.sanitize_patterns(baskets(1), tv.Roles(item="has"), k=5, min_support=8)
    counts = {frozenset(row["pattern"]): row["support"] for row in release.table.to_pylist()}
    for some, count in counts.items():
        assert all(some == more or not some < more or not 0 < count - counts[more] < 5 for more in counts)
