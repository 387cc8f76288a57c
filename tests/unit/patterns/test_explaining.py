"""Small groups: the ledger lists them, sums of counts give them, and after sanitizing there is none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.datasets import load_curves
from timeveil.models.patterns.judges.attack import PatternBreach
from timeveil.models.patterns.method import mine


def baskets(seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table({"has": [[x for x in "abcde" if draw.random() < 0.7] for _ in range(60)]})


def attacked(release: tv.Release, ledger: tv.Ledger) -> PatternBreach:
    breach = tv.attack(release, ledger, tv.PatternAdversary(bounds=False))
    assert isinstance(breach, PatternBreach)
    return breach


@pytest.mark.parametrize("seed", range(10))
def test_every_group_counts_rows_and_every_sum_is_right(seed: int) -> None:
    table = baskets(seed)
    release, ledger = tv.sanitize_patterns(table, tv.Roles(item="has"), k=5, min_support=8)
    rows = [set(row) for row in table["has"].to_pylist()]
    breach = attacked(release, ledger)
    examples = [example.as_dict() for example in breach.examples]
    channels = ledger.mappings["channels"].to_pylist()
    assert len(channels) == breach.channels_before
    assert bool(channels) == bool(examples)
    for channel in [*channels, *examples]:
        present, absent = set(channel["present"]), set(channel["absent"])
        assert sum(present <= row and not absent & row for row in rows) == channel["people"] in range(1, 5)
    for example in breach.examples:
        assert sum(sign * count for sign, count in example.counts) == example.people
        assert example.follow == ()


def test_sums_of_series_leave_out_what_nobody_can_have() -> None:
    names = [f"h{hour:02}" for hour in range(4)]
    table = load_curves(people=500, instants=4, seed=3)
    roles = tv.Roles(series=names, drop="rest")
    release, ledger = tv.sanitize_patterns(table, roles, k=8, min_support=20, symbols=3)
    counts = {
        frozenset(row["pattern"]): row["support"]
        for row in mine(table, roles, min_support=20, symbols=3).to_pylist()
    }
    channels = ledger.mappings["channels"].to_pylist()
    assert channels
    for channel in channels:
        mine_at = {item.partition("=")[0] for item in channel["present"]}
        assert not mine_at & {item.partition("=")[0] for item in channel["absent"]}
    examples = attacked(release, ledger).examples
    assert examples
    for example in examples:
        signed = [sign * count for sign, count in example.counts]
        assert sum(signed) == example.people
        # fewer than are published
        assert [abs(signed[index]) < 20 for index in range(len(signed))] == [
            index in example.follow for index in range(len(signed))
        ]
        present, absent = frozenset(example.present), frozenset(example.absent)
        if len(absent) == 1 and {present, present | absent} <= set(counts):
            assert signed == [counts[present], -counts[present | absent]]


def test_nothing_is_left_to_tell() -> None:
    release, _ = tv.sanitize_patterns(baskets(1), tv.Roles(item="has"), k=5, min_support=8)
    counts = {frozenset(row["pattern"]): row["support"] for row in release.table.to_pylist()}
    for some, count in counts.items():
        assert all(some == more or not some < more or not 0 < count - counts[more] < 5 for more in counts)
