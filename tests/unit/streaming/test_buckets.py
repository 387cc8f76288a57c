"""Buckets are large and even enough, and chance decides who shares one."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeveil.models.stream.method.buckets import anatomy
from timeveil.models.stream.method.chance import BUCKETS, Draws
from timeveil.models.stream.method.reposition import least_suppression


@given(st.lists(st.integers(0, 9), max_size=80), st.integers(2, 6), st.integers(0, 99))
def test_every_bucket_is_l_diverse(values: list[int], l: int, seed: int) -> None:
    kept = [v for v, n in least_suppression(Counter(values), l).items() for _ in range(n)]
    inside: dict[int, list[int]] = {}
    for value, bucket in zip(kept, anatomy(kept, l, Draws(seed, 0, BUCKETS)), strict=True):
        inside.setdefault(bucket, []).append(value)
    assert sorted(inside) == list(range(len(inside)))
    for members in inside.values():
        assert len(members) >= l
        assert max(Counter(members).values()) * l <= len(members)
        assert len(set(members)) == len(members)


def test_chance_decides_who_shares_a_bucket() -> None:
    values = [0, 1] * 6
    found = {tuple(anatomy(values, 2, Draws(seed, 0, BUCKETS))) for seed in range(50)}
    assert len(found) > 40


def test_no_record_no_bucket() -> None:
    assert anatomy([], 3, Draws(0, 0, BUCKETS)) == []


@pytest.mark.parametrize("seed", range(5))
def test_draws_are_even(seed: int) -> None:
    draws = Draws(seed, 1, BUCKETS)
    often = Counter(draws.below(7) for _ in range(7000))
    assert set(often) == set(range(7))
    assert all(800 < count < 1200 for count in often.values())
