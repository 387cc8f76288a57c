"""Closed packets: what must hold of every stream, however hard, and the argument that it rests on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import pytest
from tests.effort import some
from tests.oracles.packets import Placed, Slots, faults, hard_stream, packet_rules

from timeveil.models.stream.method.packets import Packet, SlotStep, Waiting
from timeveil.models.stream.method.placing import Chance, Core
from timeveil.models.stream.parameters import StreamParameters

STREAMS = some(2000)


class Outcome(NamedTuple):
    """What became of packets in one slot: published, each with its bucket, or withheld for good."""

    published: Sequence[tuple[Packet, int]]
    withheld: Sequence[Packet]


def noted(packets: Sequence[Packet], placed: dict[int, Placed], slot: int | None, bucket: int | None) -> None:
    for packet in packets:
        for record in packet.records:
            assert record not in placed
            placed[record] = Placed(packet.number, slot, bucket)


def outcomes(
    slots: Slots, rules: StreamParameters, seed: int, people: Mapping[int, Hashable] | None = None
) -> dict[int, Placed]:
    """What becomes of every record of a stream, numbered slot by slot."""
    waiting, placed, begin = Waiting(rules, Chance(seed)), dict[int, Placed](), 0
    for slot in sorted(slots):
        records = range(begin, begin + len(slots[slot]))
        note(waiting.step(slot, records, slots[slot], people), slot, placed)
        begin = records.stop
    noted(waiting.packets, placed, None, None)
    return placed


def note(outcome: SlotStep, slot: int, placed: dict[int, Placed]) -> None:
    for packet, bucket in outcome.published:
        noted([packet], placed, slot, bucket)
    noted(outcome.withheld, placed, None, None)


@pytest.mark.parametrize("part", range(4))
def test_every_packet_is_closed_and_every_bucket_eligible(part: int) -> None:
    """On thousands of streams with bursts, empty and tiny slots and skew, with and without people."""
    moved = withheld = 0
    for seed in range(part * STREAMS // 4, (part + 1) * STREAMS // 4):
        rng = random.Random(seed)  # noqa: S311
        slots, rules = hard_stream(rng)
        total = sum(map(len, slots.values()))
        few = max(1, total // rng.choice([1, 2, 20]))
        people = {record: rng.randrange(few) for record in range(total)} if seed % 3 == 0 else None
        placed = outcomes(slots, rules, seed, people)
        assert faults(slots, placed, rules, people) == [], seed
        moved += sum(fate.slot is not None for fate in placed.values())
        withheld += sum(fate.slot is None for fate in placed.values())
    assert moved > 2 * STREAMS
    assert withheld > 1000


def test_broken_packets_are_noticed() -> None:
    """The checks above can fail: each of them on a stream that was tampered with."""
    slots, rules = {1: [0, 1, 2, 0, 1, 2], 2: [3, 4, 5]}, packet_rules(3, 2, 2)
    good = {record: Placed(record // 3, 1 if record < 6 else 2, record // 3) for record in range(9)}
    assert faults(slots, good, rules) == []
    for record, fate, fault in (
        (8, Placed(1, 1, 1), "a packet of two origins"),
        (0, Placed(0, 3, 0), "a record is early or too late"),
        (0, Placed(0, None, None), "a packet with two fates"),
        (0, Placed(1, 1, 1), "a packet with a value twice"),
        (0, Placed(7, 1, 0), "a packet that is too small"),
    ):
        assert fault in faults(slots, {**good, record: fate}, rules)
    assert "a bucket that is not l-eligible" in faults(slots, good, packet_rules(4, 2, 2))
    assert "somebody stands twice in a slot" in faults(slots, good, rules, dict.fromkeys(range(9), "x"))
    del good[3]
    assert faults(slots, good, rules) == ["a record is lost or made up"]


def arranged(
    slots: Slots, orders: Mapping[int, Sequence[int]], value: Sequence[int], rules: StreamParameters
) -> list[Outcome]:
    """A stream whose records come in given orders instead of random ones."""
    waiting = Waiting(rules, Chance(5))
    steps = [
        waiting.take(slot, [(record, value[record]) for record in orders[slot]]) for slot in sorted(slots)
    ]
    return [*(Outcome(step.published, step.withheld) for step in steps), Outcome([], waiting.packets)]


def shown(outs: Sequence[Outcome], value: Sequence[int]) -> list[tuple[object, ...]]:
    """All that is public: by slot and bucket, which records and which values with their counts."""
    public: list[tuple[object, ...]] = []
    for slot, outcome in enumerate(outs):
        records: dict[int, list[int]] = {}
        for packet, bucket in outcome.published:
            records.setdefault(bucket, []).extend(packet.records)
        public += [
            (slot, bucket, sorted(rows), sorted(Counter(value[row] for row in rows).items()))
            for bucket, rows in sorted(records.items())
        ]
    return public


def test_exchanged_values_of_a_packet_leave_everything_public_as_it_was() -> None:
    """Exchange the values of two records of a packet, and their places in the (uniform) random order.

    Every packet then has the same records, the same fate and the same bucket, and so the public tables are
    the same: both worlds have the same chance to give what was published.
    """
    tried = 0
    for seed in range(150):
        rng = random.Random(seed)  # noqa: S311
        slots, rules = hard_stream(rng)
        value = [one for slot in sorted(slots) for one in slots[slot]]
        orders, begin = {}, 0
        for slot in sorted(slots):
            orders[slot] = rng.sample(range(begin, begin + len(slots[slot])), len(slots[slot]))
            begin += len(slots[slot])
        before = arranged(slots, orders, value, rules)
        packets = [packet for out in before for packet, _ in out.published] + [
            packet for out in before for packet in out.withheld
        ]
        large = [packet for packet in packets if len(packet.records) > 1]
        for packet in rng.sample(large, min(len(large), 5)):
            one, other = rng.sample(packet.records, 2)
            changed = {one: other, other: one}
            swapped = [value[changed.get(record, record)] for record in range(len(value))]
            mirrored = {s: [changed.get(record, record) for record in orders[s]] for s in slots}
            after = arranged(slots, mirrored, swapped, rules)
            assert shown(after, swapped) == shown(before, value)
            assert [sorted(p.records) for out in after for p in out.withheld] == [
                sorted(p.records) for out in before for p in out.withheld
            ]
            tried += 1
    assert tried > 400


def test_neither_codes_nor_places_decide_anything() -> None:
    """With other numbers for the values, the same records share packets; nothing looks at what a value is."""
    for seed in range(100):
        rng = random.Random(seed)  # noqa: S311
        slots, rules = hard_stream(rng)
        names = rng.sample(range(1000), 26)
        renamed = {slot: [names[value] for value in values] for slot, values in slots.items()}
        assert outcomes(slots, rules, seed) == outcomes(renamed, rules, seed)


def test_rows_of_a_value_are_taken_uniformly() -> None:
    """Of five records of the commonest value each is held as often as the others, over many seeds."""
    held: Counter[int] = Counter()
    for seed in range(3000):
        waiting = Waiting(packet_rules(3, 2, 3), Chance(seed))
        waiting.step(1, range(12), [0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7])
        held.update(record for packet in waiting.packets for record in packet.records if record < 5)
    total = sum(held.values())
    assert total > 2500
    assert all(abs(held[record] / total - 0.2) < 0.03 for record in range(5))


def test_the_number_of_a_bucket_does_not_tell_a_mixed_one() -> None:
    """Over many seeds the bucket with guests has every number equally often."""
    numbers: Counter[int] = Counter()
    for seed in range(2000):
        waiting = Waiting(packet_rules(3, 2, 3), Chance(seed))
        waiting.step(1, range(5), [0, 0, 1, 2, 3])
        outcome = waiting.step(2, range(5, 16), range(4, 15))
        numbers.update({bucket for packet, bucket in outcome.published if packet.origin == 1})
        assert {bucket for _, bucket in outcome.published} == set(range(4))
    assert numbers.total() == 2000
    assert all(abs(numbers[number] / 2000 - 1 / 4) < 0.04 for number in range(4))


def test_a_held_slot_is_held_as_little_as_can_be() -> None:
    """One value too common by e records: packets of l' reduce that by l - l' each, the floor of fact P2."""
    waiting = Waiting(packet_rules(4, 3, 7), Chance(1))
    values = [0] * 15 + list(range(1, 36))  # l * 15 - 50 = 10 too many
    waiting.step(1, range(50), values)
    assert [len(packet.records) for packet in waiting.packets] == [3] * 10
    assert all(packet.values[0] == 0 for packet in waiting.packets)


def test_what_is_kept_count_of_is_what_there_is() -> None:
    """Counts and maxima that are kept as records come and go equal those that are looked up."""
    rng = random.Random(1)  # noqa: S311
    for _ in range(200):
        values = [rng.randrange(6) for _ in range(rng.randrange(30))]
        core: Core = Core(enumerate(values))
        tally, out = core.tally, []
        for _ in range(40):
            filled = [value for value, cell in core.records.items() if cell]
            if filled and rng.random() < 0.6:
                value = rng.choice(filled)
                out.append((value, core.take(value)))
            elif out:
                value, record = out.pop(rng.randrange(len(out)))
                core.put_back(value, record)
            left = {value: len(cell) for value, cell in core.records.items()}
            most = max(left.values(), default=0)
            top = [value for value, count in left.items() if count == most]
            assert (tally.size, tally.highest, tally.at_highest()) == (sum(left.values()), most, set(top))
            assert tally.lack(3) == 3 * most - tally.size
