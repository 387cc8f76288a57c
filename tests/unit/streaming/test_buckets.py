"""Buckets are large and even enough, and chance decides who shares one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeveil as tv
from timeveil.models.stream.method.placing import Chance, Draws, deal
from timeveil.models.stream.method.reposition import least_suppression

ROLES = tv.Roles(time="day", quasi=["who"], sensitive=["value"])
SEEDS = 50


@given(st.lists(st.integers(0, 9), max_size=80), st.integers(2, 6), st.integers(0, 99))
def test_every_bucket_is_l_diverse(values: list[int], l: int, seed: int) -> None:
    """As many buckets as there is room for, each with l records or more, all of different values."""
    counts = {value: count for value, count in least_suppression(Counter(values), l).items() if count}
    records = [value for value, count in counts.items() for _ in range(count)]
    buckets: dict[int, list[int]] = {}
    for value, bucket in zip(records, deal(0, list(counts.values()), l, Chance(seed)).tolist(), strict=True):
        buckets.setdefault(bucket, []).append(value)
    assert sorted(buckets) == list(range(len(records) // l))
    for members in buckets.values():
        assert len(members) >= l
        assert len(set(members)) == len(members)


def partners(*slots: str) -> Iterator[tuple[str, list[tuple[str, ...]], list[int]]]:
    """Of each slot its values, the values of each of its buckets, and each person's bucket."""
    rows = [(day, who, value) for day, values in enumerate(slots) for who, value in enumerate(values)]
    table = pa.table(dict(zip(("day", "who", "value"), zip(*rows, strict=True), strict=True)))
    for seed in range(SEEDS):
        release, ledger = tv.publish_stream(table, ROLES, l=2, window=1, seed=seed)
        shared: dict[tuple[int, int], list[str]] = {}
        for row in release.tables["sensitive"].to_pylist():
            shared.setdefault((row["slot"], row["bucket"]), []).append(row["value"])
        of_person = ledger.table["bucket"].to_pylist()
        for day, values in enumerate(slots):
            buckets = [tuple(shared[place]) for place in sorted(shared) if place[0] == day]
            yield values, buckets, of_person[day * len(values) : (day + 1) * len(values)]


def test_who_has_which_value_of_a_bucket_is_uniform() -> None:
    """Ann is always in row 0 and her value varies: in a bucket of a and b she has either as often."""
    holds: Counter[str] = Counter()
    for values, buckets, of_person in partners(*["abcabc", "bacabc"] * 12):  # a priori a or b, as likely
        if buckets[of_person[0]] == ("a", "b"):
            holds[values[0]] += 1
    assert holds.total() > 300
    assert abs(holds["a"] / holds.total() - 0.5) < 0.09


@pytest.mark.parametrize("values", ["aabbcc", "abcabc", "ccbbaa"])
def test_which_values_share_a_bucket_does_not_depend_on_the_order_of_the_input(values: str) -> None:
    """Over many seeds a, b and c are paired as often as one another, and nobody prefers a neighbour."""
    pairs: Counter[tuple[str, ...]] = Counter()
    first_two = 0
    for _, buckets, of_person in partners(*[values] * 12):
        pairs.update(buckets)
        first_two += of_person[0] == of_person[1]
    assert set(pairs) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert max(pairs.values()) - min(pairs.values()) < 120
    assert first_two / 600 < (0.1 if values[0] == values[1] else 0.35)


def test_no_record_no_bucket() -> None:
    assert deal(0, [], 3, Chance(0)).tolist() == []


@pytest.mark.parametrize("seed", range(5))
def test_draws_are_even(seed: int) -> None:
    draws = Draws(Chance(seed), 1, b"test")
    single = Counter(draws.below(7) for _ in range(7000))
    together = Counter(Chance(seed).below(1, b"test", 7000, 7).tolist())
    for counts in (single, together):
        assert set(counts) == set(range(7))
        assert all(800 < count < 1200 for count in counts.values())


def test_more_groups_than_20_bits_can_be_ordered() -> None:
    """Random bits give way to the number of the group."""
    groups = pa.array([5, 1 << 21, 0, 1 << 21, 5]).to_numpy()
    assert groups[Chance(1).order(0, b"test", groups)].tolist() == [0, 5, 5, 1 << 21, 1 << 21]
