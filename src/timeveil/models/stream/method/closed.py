"""A stream on its way by the packet method: every slot is published when it has come.

It has the face of `method.streaming.Stream`. What it remembers is the packets that wait, with their
records, and the number that the next record and the next packet get.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import pyarrow as pa

from timeveil.models.stream.method.mixture import Packet
from timeveil.models.stream.method.packets import Outcome, Rules, Waiting
from timeveil.models.stream.method.settings import Settings
from timeveil.models.stream.method.streaming import Final, encode


class PacketStream:
    """The one mutable object of a run. `held` are the records that wait, `places` where each stands there."""

    def __init__(self, settings: Settings, rules: Rules) -> None:
        self.settings = settings
        self.first: int | None = None
        self.last: int | None = None
        self.values: list[Any] = []
        self.codes: dict[Any, int] = {}
        self.tally: Counter[str] = Counter()
        self.waiting = Waiting(rules, settings.seed)
        self.held: pa.Table | None = None
        self.places: list[int] = []
        self.records = 0

    @property
    def emitted(self) -> int | None:
        """The latest slot that is final: the latest that has come."""
        return self.last

    def encode(self, column: pa.ChunkedArray) -> list[int]:
        """Codes of sensitive values, numbered as they first come."""
        return encode(column, self.values, self.codes)

    def arrive(self, slot: int, rows: pa.Table | None, codes: list[int], came_from: list[int]) -> list[Final]:  # noqa: ARG002
        """The next slot arrives; slots left out before it are empty."""
        if self.first is None or self.last is None:
            self.first, self.last = slot, slot - 1
        out = [self._step(empty, None, []) for empty in range(self.last + 1, slot)]
        return [*out, self._step(slot, rows, codes)]

    def end(self) -> list[Final]:
        """No slot arrives any more: the packets that wait are withheld."""
        self._withhold(self.waiting.end())
        self.held, self.places = None, []
        return []

    def _step(self, slot: int, rows: pa.Table | None, codes: Sequence[int]) -> Final:
        begin = self.records
        self.records += len(codes)
        numbers = [*self.places, *range(begin, self.records)]
        parts = [part for part in (self.held, rows) if part is not None]
        pool = pa.concat_tables(parts) if parts else pa.table({})
        outcome = self.waiting.step(slot, range(begin, self.records), codes, self._people(pool, numbers))
        self.last = slot
        place = {number: at for at, number in enumerate(numbers)}
        self.places = [number for packet in self.waiting.packets for number in packet.records]
        self.held = pool.take(pa.array([place[n] for n in self.places], pa.int64())) if self.places else None
        self._count(slot, outcome)
        chosen = sorted(
            (record, value, bucket)
            for packet, bucket in outcome.published
            for record, value in zip(packet.records, packet.values, strict=True)
        )
        taken = pool.take(pa.array([place[record] for record, _, _ in chosen], pa.int64()))
        return slot, taken, [value for _, value, _ in chosen], [bucket for _, _, bucket in chosen]

    def _people(self, pool: pa.Table, numbers: Sequence[int]) -> dict[int, Hashable] | None:
        person = self.settings.roles.respondent
        if person is None:
            return None
        return dict(zip(numbers, pool.column(person).to_pylist(), strict=True)) if numbers else {}

    def _count(self, slot: int, outcome: Outcome) -> None:
        tally = self.tally
        for packet, _ in outcome.published:
            count, distance = len(packet.records), slot - packet.origin
            tally["published"] += count
            tally["moved"] += count if distance else 0
            tally["distance"] += distance * count
            tally["loss"] += self.settings.costs.of_distance(distance) * count
        tally["slots"] += 1
        tally["duplicates"] += outcome.conflicts
        self._withhold(outcome.withheld)

    def _withhold(self, packets: Sequence[Packet]) -> None:
        costs = self.settings.costs
        for packet in packets:
            self.tally["withheld"] += len(packet.records)
            self.tally["loss"] += sum(costs.of_value(self.values[value]) for value in packet.values)
