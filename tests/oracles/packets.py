"""What must hold of packets, checked the slow way; and streams that make it hard."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from timeveil.models.stream.parameters import StreamParameters

Slots = dict[int, list[int]]
"""Slot to the values of its records."""


@dataclass(frozen=True)
class Placed:
    """What became of one record: its packet, and its slot and bucket if it was published."""

    packet: int
    slot: int | None
    bucket: int | None


def faults(
    slots: Mapping[int, Sequence[int]],
    placed: Mapping[int, Placed],
    rules: StreamParameters,
    people: Mapping[int, Hashable] | None = None,
) -> list[str]:
    """Everything that is wrong with what became of a stream's records, which are numbered slot by slot."""
    origin = [slot for slot in sorted(slots) for _ in slots[slot]]
    value = [one for slot in sorted(slots) for one in slots[slot]]
    if set(placed) != set(range(len(origin))):
        return ["a record is lost or made up"]
    packets: dict[int, list[int]] = defaultdict(list)
    buckets: dict[tuple[int, int | None], list[int]] = defaultdict(list)
    for record, fate in placed.items():
        packets[fate.packet].append(record)
        if fate.slot is not None:
            buckets[fate.slot, fate.bucket].append(record)
    found = [
        fault
        for records in packets.values()
        for fault in _of_packet(records, slots, origin, value, placed, rules)
    ]
    for (slot, _), records in buckets.items():
        if any(not 0 <= slot - origin[record] <= rules.window - 1 for record in records):
            found.append("a record is early or too late")
        if rules.l * max(Counter(value[record] for record in records).values()) > len(records):
            found.append("a bucket that is not l-eligible")
    if people is not None:
        there = [(fate.slot, people[record]) for record, fate in placed.items() if fate.slot is not None]
        found += ["somebody stands twice in a slot"] * (len(set(there)) < len(there))
    return found


def _of_packet(
    records: Sequence[int],
    slots: Mapping[int, Sequence[int]],
    origin: Sequence[int],
    value: Sequence[int],
    placed: Mapping[int, Placed],
    rules: StreamParameters,
) -> Iterator[str]:
    if len({origin[record] for record in records}) > 1:
        yield "a packet of two origins"
    if len({(placed[record].slot, placed[record].bucket) for record in records}) > 1:
        yield "a packet with two fates"
    if len({value[record] for record in records}) < len(records):
        yield "a packet with a value twice"
    natives = slots[origin[records[0]]]
    if len(records) < min(rules.protect_slot, len(natives) // max(Counter(natives).values())):
        yield "a packet that is too small"


def packet_rules(l: int, size: int, window: int, **others: int) -> StreamParameters:
    """The parameters of the packet method that decide something."""
    return StreamParameters(l=l, protect_slot=size, window=window, **others)


def hard_stream(rng: random.Random) -> tuple[Slots, StreamParameters]:
    """A random stream with bursts, empty and tiny slots and skew, and rules for it."""
    l = rng.randint(3, 6)
    window = rng.randint(2, 8)
    rules = StreamParameters(
        l=l,
        protect_slot=rng.randint(2, l - 1),
        window=window,
        spread=rng.randint(1, min(3, window - 1)),
        fillers=rng.choice([0, 0, 2, 8]),
        fill_empty=rng.random() < 0.8,
    )
    values, usual = rng.randint(1, 25), rng.choice([1, 3, 8, 20, 40])
    skew = rng.choice([0.0, 0.5, 1.0, 2.0])
    weights = [1 / (rank + 1) ** skew for rank in range(values)]
    slots = {}
    for slot in range(rng.randint(1, 14)):
        kind = rng.random()
        size = 0 if kind < 0.1 else rng.randint(1, 3) if kind < 0.2 else rng.randint(0, 2 * usual)
        slots[slot] = rng.choices(range(values), weights, k=size)
        if kind > 0.9:
            slots[slot] += [rng.randrange(values)] * rng.randint(1, 2 * usual)
    return slots, rules
