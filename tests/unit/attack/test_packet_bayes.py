"""Whoever knows all but the values learns no more of closed packets than promised, and would of others.

Tiny streams, every run of which is looked at by somebody who knows histograms, true slots and the method. The
same somebody finds out methods that are broken on purpose, in three ways.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.oracles import judges_packets as adversary
from tests.oracles.packets import packet_rules

import timeveil as tv
from timeveil.models.stream.method import packets as method
from timeveil.models.stream.method.packets import Packet, SlotStep, Waiting
from timeveil.models.stream.method.placing import Chance, Core, deal
from timeveil.models.stream.parameters import StreamParameters

A, B, C, D, E, *OTHERS = range(13)
F, G, H, J, K, L, M, N = OTHERS
RUNS = 1200

STREAMS = {
    "one packet leaves": (packet_rules(3, 2, 3), [[A, A, B, C, D], OTHERS[:6], OTHERS[:4]]),
    "values come again": (packet_rules(3, 2, 3), [[A, A, B, C, D], [A, B, C, D, E, F], [A, B, B, C]]),
    "records are left over": (packet_rules(4, 2, 3, spread=2), [[A, A, B, B, C], OTHERS, OTHERS]),
    "no room for so many": (packet_rules(4, 3, 3), [[A, A, A, B, B, C], OTHERS, OTHERS]),
    "nowhere to go": (packet_rules(3, 2, 2), [[A, A, B, C, D], [F], [G, H, J]]),
    "fillers wait": (
        packet_rules(3, 2, 4, spread=2, fillers=2),
        [[A, B, C, D, E], [F, F, G, H, J], [K, L, M]],
    ),
    "one bucket for two packets": (packet_rules(4, 2, 3), [[A, A, A, B, C, D, E], OTHERS]),
}


def run(rules: StreamParameters):
    """The method as the adversary's oracle wants it: a seed and snapshots in, places out."""

    def published(seed, snapshots):
        waiting, place = Waiting(rules, Chance(seed)), {}
        for slot, snapshot in enumerate(snapshots):
            records, values = zip(*snapshot, strict=True) if snapshot else ((), ())
            for packet, bucket in waiting.step(slot, records, values).published:
                place |= dict.fromkeys(packet.records, (slot, bucket))
        return place

    return published


def found(name: str, runs: int = RUNS):
    rules, histograms = STREAMS[name]
    beliefs = adversary.believed(run(rules), histograms, runs)
    return adversary.breaches(beliefs, histograms, rules.protect_slot)


@pytest.mark.parametrize("name", STREAMS)
def test_nobody_learns_more_than_promised(name):
    assert found(name) == []


def test_the_streams_bring_about_every_fate():
    seen = set()
    for rules, histograms in STREAMS.values():
        for n, where, *_ in adversary.believed(run(rules), histograms, 20):
            origin = [slot for slot, values in enumerate(histograms) for _ in values][n]
            slot = where[0] if isinstance(where, tuple) else where
            seen.add("missing" if slot is None else "moved" if slot > origin else "stayed")
    assert seen == {"stayed", "moved", "missing"}


def test_buckets_that_do_not_keep_packets_together_are_found_out(monkeypatch):
    """Guests and natives in one heap, bucketed by value: whoever came along is told by what natives lack."""

    def publish(self):
        heap = self.core.records
        for packet in [*self.guests, *self.natives]:
            self.gone.add(packet.number)
            for value, record in zip(packet.values, packet.records, strict=True):
                heap.setdefault(value, []).append(record)
        dealt = deal(self.slot, [len(cell) for cell in heap.values()], self.l, self.waiting.chance)
        records = [(value, record) for value, cell in heap.items() for record in cell]
        for (value, record), bucket in zip(records, dealt.tolist(), strict=True):
            self.published.append((Packet(record, self.slot, [value], [record]), bucket))

    monkeypatch.setattr(SlotStep, "publish", publish)
    worst = max(found("one packet leaves"))
    assert worst[0] > 0.95


def test_a_choice_that_goes_by_who_it_is_is_found_out(monkeypatch):
    """The first record of a value in the input is taken first, as one is that somebody looks up."""

    fair = Core.take

    def take(self, value):
        self.records[value].sort(reverse=True)
        return fair(self, value)

    monkeypatch.setattr(Core, "take", take)
    worst = max(found("one packet leaves"))
    assert worst[0] > 0.6


def test_packets_that_are_too_small_are_found_out(monkeypatch):
    """Records that are left over go alone instead of joining a packet."""

    def join(self, packets):
        for value, cell in self.core.records.items():
            for _ in range(len(cell)):
                packets.append(self._packet([value]))

    monkeypatch.setattr(SlotStep, "_join", join)
    worst = max(found("records are left over", 3 * RUNS))
    assert worst[0] > 0.95


def test_moving_what_there_is_too_much_of_is_found_out():
    """The paper's method, asked the same: whoever moved had the value there was too much of."""
    roles = tv.Roles(time="slot", quasi=["row"], sensitive=["value"])

    def published(seed, snapshots):
        rows = [(slot, n, value) for slot, snapshot in enumerate(snapshots) for n, value in snapshot]
        table = dict(zip(("slot", "row", "value"), map(list, zip(*rows, strict=True)), strict=True))
        _, ledger = tv.publish_stream(pa.table(table), roles, l=3, window=3, seed=seed)
        places = zip(ledger.table["slot"].to_pylist(), ledger.table["bucket"].to_pylist(), strict=True)
        return {n: place for n, place in enumerate(places) if place[0] is not None}

    histograms = STREAMS["one packet leaves"][1]
    beliefs = adversary.believed(published, histograms, 150)
    assert max(adversary.breaches(beliefs, histograms, 2))[0] == 1


def test_values_exchanged_within_a_slot_exchange_what_becomes_of_records():
    """Two records that change places take over each other's fate, draw for draw: only counts decide."""
    for name, (rules, histograms) in STREAMS.items():
        slots, start = [], 0
        for values in histograms:
            slots.append([(start + n, value) for n, value in enumerate(values)])
            start += len(values)
        for seed in range(5):
            before = run(rules)(seed, slots)
            for slot, snapshot in enumerate(slots):
                for first in range(len(snapshot) - 1):
                    (one, a), (other, b) = snapshot[first : first + 2]
                    swapped = [*snapshot[:first], (other, a), (one, b), *snapshot[first + 2 :]]
                    after = run(rules)(seed, [*slots[:slot], swapped, *slots[slot + 1 :]])
                    names = {one: other, other: one}
                    assert after == {names.get(n, n): place for n, place in before.items()}, name


def test_the_method_is_the_one_that_was_broken():
    """What the tests above replace is what the method calls."""
    assert SlotStep.publish.__module__ == SlotStep._join.__module__ == method.__name__
    assert Core.take in vars(Core).values()
