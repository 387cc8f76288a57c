"""A whole stream at once by the packet method: what became of every record."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from timeveil.models.stream.method.mixture import Packet
from timeveil.models.stream.method.packets import Outcome, Waiting
from timeveil.models.stream.method.settings import Settings
from timeveil.models.stream.method.summary import fixed

if TYPE_CHECKING:
    from timeveil.models.stream.method.whole import Records

Fates = tuple[Any, Any, Any, int, int]
"""Late slots (-1: withheld), buckets, packets, how many buckets, records withheld because of people."""


def run_packets(records: Records, settings: Settings, *, fast: bool) -> Fates:
    """Every slot in turn."""
    return packets_by_kernel(records, settings) if fast else packets_step_by_step(records, settings)


def packets_by_kernel(records: Records, settings: Settings) -> Fates:
    """By the kernel, with room for a window of records beside what comes out."""
    from timeveil.models.stream.kernels import packet_cells as cells  # noqa: PLC0415
    from timeveil.models.stream.kernels.anatomy import bench_of  # noqa: PLC0415
    from timeveil.models.stream.kernels.chance import chance_of  # noqa: PLC0415
    from timeveil.models.stream.kernels.mixture import mix_of, pool_of  # noqa: PLC0415
    from timeveil.models.stream.kernels.packets import publish_packets  # noqa: PLC0415
    from timeveil.models.stream.kernels.placements import most_at_once  # noqa: PLC0415

    rows, values, rules = len(records.codes), max(len(records.values), 1), settings.rules
    late, bucket = np.full(rows, -1, np.int16), np.zeros(rows, np.int32)
    packet = np.full(rows, -1, np.int64)
    if rules is None or len(records.slots) == 0:
        return late, bucket, packet, 0, 0
    first = int(records.slots[0])
    slots = records.slots - first
    room = int(most_at_once(slots, records.begin, rules.window))
    people = int(records.people.max(initial=-1)) + 1
    desk = cells.desk_of(room, values, people, room)
    publish_packets(
        cells.Rows(fixed(records.codes), fixed(records.people), late, bucket, packet),
        slots,
        records.begin,
        pool_of(room, rows),
        mix_of(room, values),
        desk,
        bench_of(room, values, rules.l),
        cells.Rules(
            rules.l,
            rules.size,
            rules.window,
            rules.spread,
            rules.fillers,
            rules.fill_empty,
            first,
            int(slots[-1]) + 1,
        ),
        chance_of(settings.seed),
        chance_of(settings.seed),
    )
    return late, bucket, packet, int(desk.state[cells.MADE]), int(desk.state[cells.CONFLICTS])


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
