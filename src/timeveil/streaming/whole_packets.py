"""A whole stream at once by the packet method: what became of every record."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Protocol

import numpy as np

from timeveil.streaming.mixture import Packet
from timeveil.streaming.packets import Outcome, Waiting
from timeveil.streaming.settings import Settings
from timeveil.streaming.slots import Ints

Fates = tuple[Any, Any, Any, int, int]
"""Late slots (-1: withheld), buckets, packets, how many buckets, records withheld because of people."""


class Records(Protocol):
    """Records in the order of their slots, as numbers."""

    arrives: Ints
    slots: Ints
    begin: Ints
    codes: Any
    people: Any


def run_packets(records: Any, settings: Settings) -> Fates:
    """Every slot in turn."""
    return packets_step_by_step(records, settings)


def packets_step_by_step(records: Records, settings: Settings) -> Fates:
    """Without the kernel: for short streams."""
    rows = len(records.codes)
    late, bucket = np.full(rows, -1, np.int64), np.zeros(rows, np.int32)
    packet = np.zeros(rows, np.int64)
    buckets = conflicts = 0
    for slot, outcome in _outcomes(records, settings):
        for one, place in outcome.published:
            late[one.records], bucket[one.records] = slot - one.origin, place
            packet[one.records] = one.number
        for one in outcome.withheld:
            packet[one.records] = one.number
        buckets += outcome.buckets
        conflicts += outcome.conflicts
    return late, bucket, packet, buckets, conflicts


def _outcomes(records: Records, settings: Settings) -> Iterator[tuple[int, Outcome]]:
    if settings.rules is None or len(records.slots) == 0:
        return
    waiting = Waiting(settings.rules, settings.seed)
    people: dict[int, Hashable] | None = None
    if len(records.people):
        people = dict(enumerate(records.people.tolist()))
    slot = int(records.slots[0])
    for k, arrived in enumerate(records.slots.tolist()):
        while slot < arrived:
            yield slot, waiting.step(slot, [], [], people)
            slot += 1
        span = range(int(records.begin[k]), int(records.begin[k + 1]))
        yield slot, waiting.step(slot, span, records.codes[span.start : span.stop].tolist(), people)
        slot += 1
    left: list[Packet] = waiting.end()
    yield slot, Outcome(withheld=left)
