"""Packets as the judges see them: `verify` follows every packet, and no minimal corruption gets past it."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.domain.guarantee import LDiversity
from timeveil.models.stream.evidence import least_packet_sizes

ROLES = tv.Roles(respondent="person", time="slot", quasi=["zip"], sensitive=["ill"])
SEEDS = range(12)


def stream(seed: int, slots: int = 14) -> pa.Table:
    """Small slots and larger ones, some skewed, some empty, and a few people who come back."""
    chance = random.Random(seed)  # noqa: S311
    letters = "abcdefghijkl"
    rows = []
    for slot in range(slots):
        weights = [1 + 5 * (chance.random() < 0.1) for _ in letters]
        for _ in range(chance.choice([0, 1, 4, 12, 25, 25])):
            [ill] = chance.choices(letters, weights)
            person = f"p{chance.randrange(40)}" if chance.random() < 0.05 else f"q{len(rows)}"
            rows.append({"person": person, "slot": slot, "zip": f"z{chance.randrange(5)}", "ill": ill})
    return pa.Table.from_pylist(rows)


def published(seed: int, l: int = 4, protect: int = 3, **given):
    return tv.publish_stream(
        stream(seed), ROLES, l=l, protect_slot=protect, seed=seed, **{"window": 5, **given}, allow_loss=True
    )


@pytest.fixture(scope="module", params=SEEDS)
def pair(request):
    return published(request.param)


def codes(release, ledger=None) -> set[str]:
    return {violation.code for violation in tv.verify(release, ledger).violations}


def messages(release, ledger=None) -> str:
    return " ".join(violation.message for violation in tv.verify(release, ledger).violations)


def packets(ledger) -> dict[int, list[int]]:
    found = defaultdict(list)
    for row, number in enumerate(ledger.table["packet"].to_pylist()):
        found[number].append(row)
    return found


def noted(ledger, **columns):
    """The ledger with rows told otherwise: column={row: entry}."""
    table = ledger.table
    for name, changed in columns.items():
        told = [changed.get(row, old) for row, old in enumerate(table[name].to_pylist())]
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pa.array(told, table.schema.field(name).type))
    return replace(ledger, entries=table)


def least(ledger, promised: int = 3) -> dict[int, int]:
    """Per slot how large its packets must be, counted one record at a time."""
    counts = defaultdict(Counter)
    for row in ledger.original.data.to_pylist():
        counts[row["slot"]][row["ill"]] += 1
    return {slot: min(promised, c.total() // max(c.values())) for slot, c in counts.items()}


@pytest.mark.parametrize("l", [3, 4, 5, 6])
def test_what_the_method_publishes_passes(l):
    for seed in SEEDS[:4]:
        for protect in range(2, l):
            for given in ({}, {"spread": 3}, {"fillers": 4, "spread": 4}):
                release, ledger = published(seed, l, protect, **given)
                assert tv.verify(release).violations == ()
                assert tv.verify(release, ledger).violations == ()
                assert release.guarantee == LDiversity(l, true_slot=protect)


def test_a_row_in_another_packet_is_noticed(pair):
    """Told to be of a packet of another slot, another fate, another bucket, or one that has its value."""
    release, ledger = pair
    data, table = ledger.original.data.to_pylist(), ledger.table.to_pylist()
    found = packets(ledger)
    tried = Counter()
    for number, rows in found.items():
        for other, mates in found.items():
            row, mate = rows[0], mates[0]
            if number == other:
                continue
            differs = {
                "packet-origin": table[row]["origin"] != table[mate]["origin"],
                "packet-fate": table[row]["slot"] != table[mate]["slot"],
                "packet-bucket": table[row]["bucket"] != table[mate]["bucket"],
                "packet-values": data[row]["ill"] in {data[m]["ill"] for m in mates},
            }
            expected = {code for code, wrong in differs.items() if wrong}
            kind = frozenset(expected)
            if tried[kind] or not expected:
                continue
            tried[kind] += 1
            said = codes(release, noted(ledger, packet={row: other}))
            assert expected <= said <= expected | {"packet-size"}
    assert len(tried) >= 3


def test_two_packets_told_to_be_one_are_noticed(pair):
    """Two origins in one bucket: only the origin gives it away."""
    release, ledger = pair
    table, found = ledger.table.to_pylist(), packets(ledger)
    by_bucket = defaultdict(list)
    for number, rows in found.items():
        if table[rows[0]]["slot"] is not None:
            by_bucket[table[rows[0]]["slot"], table[rows[0]]["bucket"]].append(number)
    data = ledger.original.data["ill"].to_pylist()
    for numbers in by_bucket.values():
        for one, other in pairwise(numbers):
            origins = {table[found[n][0]]["origin"] for n in (one, other)}
            values = [data[row] for n in (one, other) for row in found[n]]
            if len(origins) == 2 and len(set(values)) == len(values):
                told = noted(ledger, packet=dict.fromkeys(found[one], other))
                assert codes(release, told) == {"packet-origin"}
                return
    pytest.skip("no bucket of two origins without a value twice")


def test_a_packet_withheld_in_part_is_noticed(pair):
    release, ledger = pair
    table = ledger.table.to_pylist()
    published = [rows for rows in packets(ledger).values() if table[rows[0]]["slot"] is not None]
    row = next(rows[0] for rows in published if len(rows) > 1)
    assert {"packet-fate", "packet-bucket"} <= codes(
        release, noted(ledger, slot={row: None}, bucket={row: None})
    )


def restated(release, true_slot=None, **parameters):
    """The manifest with another promise to whoever knows the true slot; `...` leaves a key out."""
    manifest = dict(release.manifest)
    promise = LDiversity(release.guarantee.l, true_slot)
    stated = {**manifest["parameters"], **parameters}
    manifest["guarantee"] = promise.as_dict()
    manifest["parameters"] = {name: value for name, value in stated.items() if value is not ...}
    return tv.Release(promise, manifest, release.parts)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("filler", "always"),
        ("jitter", 1),
        ("first_window", "exact"),
        ("late", "move"),
        ("spread", 0),
        ("spread", 5),
        ("spread", ...),
        ("fillers", ...),
        ("protect_slot", ...),
    ],
)
def test_parameters_that_packets_do_not_go_with_are_noticed(name, value):
    release, _ = published(2)
    assert "parameters" in codes(restated(release, 3, **{name: value}))


@pytest.mark.parametrize("name", ["window", "spread", "fillers"])
def test_parameters_that_no_method_takes_are_noticed(name):
    release, _ = published(2)
    assert codes(restated(release, 3, **{name: 10_001})) == {"manifest"}
    assert "manifest" not in codes(restated(release, 3, **{name: 10_000}))


def test_the_size_asked_for_is_that_of_the_definition():
    for seed in SEEDS:
        _, ledger = published(seed)
        data = ledger.original.data
        value = data["ill"].combine_chunks().dictionary_encode().indices.to_numpy()
        found = least_packet_sizes(data["slot"].to_numpy(), value, 3).tolist()
        assert found == [least(ledger)[slot] for slot in data["slot"].to_pylist()]
