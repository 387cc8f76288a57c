"""What packets cost, beside the least that any packets must."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from benchmarks.experiments.streams import DRAWN, Setting, drawn

import timeveil as tv
from timeveil.errors import InputError
from timeveil.models.stream.judges.measure import least_leaving
from timeveil.models.stream.words import loss_summary

TABLE = drawn(Setting(records=20, values=12, exponent=0.7), 60, seed=3)


def fewest(counts: list[int], l: int, size: int) -> int:
    """By trying every choice of how many records of each value leave."""
    total, room = sum(counts), min(size, sum(counts) // max(counts))
    best = total
    for gone in product(*(range(count + 1) for count in counts)):
        left = [count - out for count, out in zip(counts, gone, strict=True)]
        if l * max(left) <= sum(left) and room * max(gone) <= sum(gone):
            best = min(best, sum(gone))
    return best


def test_nobody_can_do_with_fewer_than_the_bound():
    """It is never above what trying everything finds, and often just that."""
    chance, met = random.Random(1), 0  # noqa: S311
    for _ in range(150):
        counts = [chance.randint(1, 5) for _ in range(chance.randint(1, 5))]
        l = chance.randint(3, 5)
        size = chance.randint(2, l - 1)
        value = np.repeat(np.arange(len(counts)), counts)
        bound, found = least_leaving(np.full(len(value), 7), value, l, size), fewest(counts, l, size)
        assert bound <= found
        assert (bound == 0) == (found == 0)
        met += 0 < bound == found
    assert met > 30


def test_bounds_of_slots_add_up():
    slot, value = np.array([1, 1, 1, 1, 3, 3, 3, 3]), np.array([0, 0, 1, 2, 0, 1, 2, 3])
    assert least_leaving(slot, value, 3, 2) == 4
    assert least_leaving(np.zeros(0, np.int64), np.zeros(0, np.int64), 3, 2) == 0


def test_packets_are_counted():
    release, ledger = tv.publish_stream(TABLE, DRAWN, l=4, window=7, protect_slot=3, seed=1)
    loss = tv.measure(release, ledger, windows=20)
    table, found = ledger.table.to_pylist(), loss.packets
    sizes = Counter(row["packet"] for row in table)
    assert (found.packets, found.smallest) == (len(sizes), min(sizes.values()))
    assert found.mean_size == pytest.approx(len(table) / len(sizes))
    assert found.records_below == sum(sizes[row["packet"]] < 3 for row in table)
    assert found.left == sum(row["slot"] != row["origin"] for row in table) == loss.moved + loss.suppressed
    assert 0 < found.least <= found.left
    assert loss.as_dict()["packets"]["left"] == found.left
    assert f"require at least {found.least:,}." in " ".join(" ".join(loss_summary(loss).lines()).split())


def test_without_packets_nothing_is_said_of_them():
    loss = tv.measure(*tv.publish_stream(TABLE, DRAWN, l=4, window=7, seed=1), windows=20)
    assert loss.packets is None
    assert "packets" not in loss.as_dict()
    assert "packet" not in "\n".join(loss_summary(loss).lines())


def test_a_ledger_without_packets_is_that_of_another_release():
    release, ledger = tv.publish_stream(TABLE, DRAWN, l=4, window=7, protect_slot=3, seed=1)
    with pytest.raises(InputError, match="lacks the packets"):
        tv.measure(release, replace(ledger, entries=ledger.table.drop_columns(["packet"])), windows=1)
