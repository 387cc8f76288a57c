"""The kernels of the stream method give what the readable steps give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some

from timeveil.domain.roles import Roles
from timeveil.models.stream.kernels.anatomy import bench_of, make_buckets
from timeveil.models.stream.kernels.chance import begin_draws, chance_of, draw_below, random_waits
from timeveil.models.stream.kernels.placements import arrivals_of, first_seen, most_at_once
from timeveil.models.stream.method.buckets import anatomy
from timeveil.models.stream.method.chance import BUCKETS, JITTER, Draws, threefry
from timeveil.models.stream.method.reposition import largest_level
from timeveil.models.stream.method.settings import Settings, settings_from
from timeveil.models.stream.method.whole import Records, by_kernel, step_by_step

STREAMS = some(2000)


def random_settings(rng: np.random.Generator, values: int) -> Settings:
    uneven = {int(v): float(rng.integers(0, 9)) for v in range(values)}
    return settings_from(
        Roles(time="t", sensitive=["s"], respondent="p" if rng.random() < 0.4 else None),
        int(rng.integers(2, 6)),
        int(rng.integers(1, 9)),
        "day",
        move_cost=["linear", "quadratic", lambda d: d**3, [0, 1, 2, 3.5, 5, 7, 9, 12, 15]][rng.integers(4)],
        withhold_cost=[None, 2.5, uneven][rng.integers(3)],
        seed=int(rng.integers(2**62)) << 60,
        first_window="exact" if rng.random() < 0.04 else "grow",
        fill_empty=bool(rng.random() < 0.8),
        filler=["never", "never", "last_chance", "always"][rng.integers(4)],
        jitter=0,
        buckets=["anatomy", "none"][rng.integers(2)],
        late="refuse",
        nulls="error",
        zone=None,
        unit=None,
    )


def random_records(rng: np.random.Generator) -> Records:
    values = int(rng.integers(2, 12))
    rows = int(rng.integers(1, 150))
    slot = np.sort(rng.integers(-6, int(rng.integers(-5, 30)), rows))
    slots, begin = arrivals_of(slot)
    skew = rng.dirichlet(np.full(values, rng.uniform(0.3, 3)))
    codes = rng.choice(values, rows, p=skew).astype(np.int32)
    people = rng.integers(0, int(rng.choice([3, 20, 1000])), rows).astype(np.int32)
    first, last = int(slots[0]), int(slots[-1])
    return Records(None, slot, slot, slots, begin, codes, people, pa.array(range(values)), first, last)


@pytest.mark.parametrize("part", range(5))
def test_the_kernel_equals_the_steps_on_random_streams(part: int) -> None:
    """Late slots, buckets and duplicates agree, row by row, on thousands of streams."""
    rng = np.random.default_rng(part)
    moved = 0
    for _ in range(STREAMS // 5):
        records = random_records(rng)
        chosen = random_settings(rng, len(records.values))
        if chosen.roles.respondent is None:
            records = without_people(records)
        late, bucket, buckets, duplicates = by_kernel(records, chosen)
        slow, slow_bucket, slow_buckets, slow_duplicates = step_by_step(records, chosen)
        published = slow >= 0
        assert np.array_equal(np.maximum(late, -1), slow)
        assert (buckets, duplicates) == (slow_buckets, slow_duplicates)
        if bucket is not None:
            assert np.array_equal(bucket[published], slow_bucket[published])
        moved += int(np.count_nonzero(slow > 0))
    assert moved > STREAMS / 4


def without_people(records: Records) -> Records:
    nobody = np.zeros(0, np.int32)
    return Records(
        records.order,
        records.came_from,
        records.arrives,
        records.slots,
        records.begin,
        records.codes,
        nobody,
        records.values,
        records.first,
        records.last,
    )


@given(st.integers(0, 2**128 - 1), st.integers(-(2**40), 2**40), st.integers(0, 2**31), st.data())
def test_draws_equal_those_of_the_readable_twin(seed: int, slot: int, stream: int, data: Any) -> None:
    bounds = data.draw(st.lists(st.integers(1, 2**31), min_size=1, max_size=12))
    slow, chance = Draws(seed, slot, stream), chance_of(seed)
    begin_draws(chance, slot, stream)
    assert [int(draw_below(chance, bound)) for bound in bounds] == [slow.below(bound) for bound in bounds]


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [
        ((0, 0), (0, 0), (0xC2B6E3A8C2C69865, 0x6F81ED42F350084D)),
        ((2**64 - 1,) * 2, (2**64 - 1,) * 2, (0xE02CB7C4D95D277A, 0xD06633D0893B8B68)),
        (
            (0xA4093822299F31D0, 0x082EFA98EC4E6C89),
            (0x243F6A8885A308D3, 0x13198A2E03707344),
            (0x263C7D30BB0F0AF1, 0x56BE8361D3311526),
        ),
    ],
)
def test_threefry_gives_the_published_answers(
    key: tuple[int, int], counter: tuple[int, int], words: tuple[int, int]
) -> None:
    """The known answers that come with Random123, for Threefry-2x64 with 20 rounds."""
    assert threefry(key, counter) == words


def test_waits_equal_those_of_the_readable_twin() -> None:
    slots, begin = np.array([3, 5]), np.array([0, 4, 9])
    found = random_waits(chance_of(12), slots, begin, 100, JITTER, 3)
    slow = [
        draws.below(4) for s, n in ((103, 4), (105, 5)) for draws in [Draws(12, s, JITTER)] for _ in range(n)
    ]
    assert found.tolist() == slow
    assert set(found.tolist()) <= {0, 1, 2, 3}


@settings(max_examples=some(300))
@given(st.lists(st.integers(0, 6), max_size=60), st.integers(2, 5), st.integers(0, 2**64))
def test_buckets_equal_those_of_the_readable_twin(values: list[int], l: int, seed: int) -> None:
    counts = np.bincount(values, minlength=7) if values else np.zeros(7, np.int64)
    most = largest_level(counts.tolist(), l)
    kept: list[int] = []
    for value in values:
        if kept.count(value) < most:
            kept.append(value)
    slow = anatomy(kept, l, Draws(seed, 9, BUCKETS))
    chance, out = chance_of(seed), np.zeros(len(kept), np.int32)
    begin_draws(chance, 9, BUCKETS)
    codes = np.array(kept, np.int32)
    made = make_buckets(bench_of(len(kept), 7, l), np.arange(len(kept)), len(kept), codes, l, chance, out)
    assert out.tolist() == slow
    assert made == len(set(slow))


def test_arrivals_of_rows_that_are_not_sorted_are_none() -> None:
    slots, begin = arrivals_of(np.array([1, 3, 2]))
    assert len(slots) == len(begin) == 0
    slots, begin = arrivals_of(np.array([1, 1, 4]))
    assert (slots.tolist(), begin.tolist()) == ([1, 4], [0, 2, 3])


def test_first_seen_numbers_values_as_they_come() -> None:
    assert first_seen(np.array([2, 0, 2, 1], np.int32), 3).tolist() == [1, 2, 0]


def test_most_at_once_counts_the_fullest_stretch() -> None:
    slots, begin = np.array([0, 1, 5, 6]), np.array([0, 10, 15, 18, 30])
    assert most_at_once(slots, begin, 2) == 15
    assert most_at_once(slots, begin, 6) == 20
