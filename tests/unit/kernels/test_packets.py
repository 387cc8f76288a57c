"""The kernel of the packet method gives what the readable steps give."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from tests.effort import some
from tests.oracles.packets import hard_stream

from timeveil.domain.roles import Roles
from timeveil.models.stream.method.settings import Settings, settings_from
from timeveil.models.stream.method.summary import arrivals_of
from timeveil.models.stream.method.whole import Records
from timeveil.models.stream.method.whole_packets import packets_by_kernel, packets_step_by_step

STREAMS = some(2000)


def random_run(seed: int) -> tuple[Records, Settings]:
    rng = random.Random(seed)  # noqa: S311
    slots, rules = hard_stream(rng)
    slot = np.array([s - 4 for s in sorted(slots) for _ in slots[s]], np.int64)
    codes = np.array([value for s in sorted(slots) for value in slots[s]], np.int32)
    rows, known = len(slot), rng.random() < 0.4
    few = max(1, rows // rng.choice([1, 2, 20]))
    people = np.array([rng.randrange(few) for _ in range(rows)] if known else [], np.int32)
    names, begin = arrivals_of(slot)
    values = pa.array(range(int(codes.max(initial=0)) + 1))
    settings = settings_from(
        Roles(time="t", sensitive=["s"], respondent="p" if known else None),
        rules.l,
        rules.window,
        "day",
        move_cost="linear",
        withhold_cost=None,
        seed=seed << 70 | seed,
        first_window="grow",
        fill_empty=rules.fill_empty,
        filler="never",
        jitter=0,
        buckets="anatomy",
        late="refuse",
        nulls="error",
        zone=None,
        unit=None,
        protect_slot=rules.size,
        spread=rules.spread,
        fillers=rules.fillers,
    )
    return Records(None, slot, slot, names, begin, codes, people, values, None, None), settings


@pytest.mark.parametrize("part", range(4))
def test_the_kernel_equals_the_steps_on_random_streams(part: int) -> None:
    """Late slots, buckets, packets and conflicts agree, row by row, on thousands of streams."""
    moved = conflicts = 0
    for seed in range(part * STREAMS // 4, (part + 1) * STREAMS // 4):
        records, settings = random_run(seed)
        late, bucket, packet, *sums = packets_by_kernel(records, settings)
        slow, slow_bucket, slow_packet, *slow_sums = packets_step_by_step(records, settings)
        published = slow >= 0
        assert np.array_equal(late, slow)
        assert np.array_equal(bucket[published], slow_bucket[published])
        assert np.array_equal(packet, slow_packet)
        assert sums == slow_sums
        moved += int(np.count_nonzero(slow > 0))
        conflicts += sums[1]
    assert moved > STREAMS / 4
    assert conflicts > STREAMS / 20
