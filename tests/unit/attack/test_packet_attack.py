"""What somebody finds out of closed packets who knows when it happened."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.experiments.streams import DRAWN, Setting, drawn

import timeveil as tv
from timeveil.errors import InputError
from timeveil.evidence.risk import Posterior
from timeveil.models.stream.judges.attack import StreamBreach
from timeveil.models.stream.words import attack_summary
from timeveil.models.stream.words.pictures import attack_picture, method_picture

SVG = "{http://www.w3.org/2000/svg}"
KNOWS = tv.StreamAdversary("true-slot")


@pytest.fixture(scope="module")
def records():
    return drawn(Setting(records=20, values=12, exponent=0.7), 120, seed=3)


@pytest.fixture(scope="module")
def packets(records):
    return tv.publish_stream(records, DRAWN, l=4, window=7, protect_slot=2, seed=1)


@pytest.fixture(scope="module")
def plain(records):
    return tv.publish_stream(records, DRAWN, l=4, window=7, seed=1)


def test_the_chance_is_one_in_as_many_as_a_packet_has(packets):
    """Counted one record at a time."""
    table = packets[1].table.to_pylist()
    sizes, fates = Counter(row["packet"] for row in table), defaultdict(list)
    for row in table:
        fate = "missing" if row["slot"] is None else "moved" if row["slot"] > row["origin"] else "stayed"
        fates[fate].append(1 / sizes[row["packet"]])
    breach = tv.attack(*packets, KNOWS)
    assert breach.true_slot == 2
    assert fates["moved"]
    for fate, part in breach.parts.items():
        assert part.people == len(fates[fate])
        assert part.mean == pytest.approx(np.mean(fates[fate]) if fates[fate] else 0)
        assert part.worst == max(fates[fate], default=0)


def test_it_is_never_above_the_bound_of_its_slot(packets):
    ledger = packets[1]
    counts = defaultdict(Counter)
    for row in ledger.original.data.select(["slot", "value"]).to_pylist():
        counts[row["slot"]][row["value"]] += 1
    chance = tv.attack(*packets, KNOWS).after.chance
    for slot, found in zip(ledger.original.data["slot"].to_pylist(), chance, strict=True):
        room = counts[slot].total() // max(counts[slot].values())
        assert found <= 1 / min(2, room) + 1e-12


def test_what_others_can_know_of_the_values_of_a_fate_says_no_more(packets):
    """Shares of values among the records of a slot with one fate are mixtures of packets."""
    ledger = packets[1]
    as_plain = replace(packets[0], guarantee=tv.LDiversity(4))
    table, values = ledger.table.to_pylist(), ledger.original.data["value"].to_pylist()
    groups, sizes = defaultdict(list), Counter(row["packet"] for row in table)
    for number, row in enumerate(table):
        groups[row["origin"], row["slot"]].append(number)
    shares = tv.attack(as_plain, ledger, KNOWS).after.chance
    for rows in groups.values():
        most = max(Counter(values[row] for row in rows).values()) / len(rows)
        assert most <= max(1 / sizes[table[row]["packet"]] for row in rows) + 1e-12
        assert max(shares[row] for row in rows) == pytest.approx(most)


def test_beside_the_paper_the_moved_and_the_missing_are_protected(packets, plain):
    ours, theirs = tv.attack(*packets, KNOWS), tv.attack(*plain, KNOWS)
    assert theirs.parts["moved"].mean > 0.9
    assert theirs.parts["moved"].share_above(1 / 2) > 0.9
    assert ours.parts["moved"].mean <= 0.5
    assert ours.share_above(1 / 2) == 0
    assert theirs.true_slot is None
    told = ours.as_dict()
    assert told["true_slot"] == 2
    assert told["share_above_one_in_true_slot"] == 0
    assert told["parts"]["moved"]["share_above_one_in_true_slot"] == 0
    assert "share_above_one_in_true_slot" not in theirs.as_dict()


def test_the_other_adversaries_are_as_before(packets):
    breach = tv.attack(*packets)
    assert breach.worst <= 1 / 4 + 1e-12
    assert "above 1 in 2" not in "\n".join(attack_summary(breach, packets[0]).lines())


def test_a_ledger_without_packets_is_that_of_another_release(packets):
    release, ledger = packets
    less = replace(ledger, entries=ledger.table.drop_columns(["packet"]))
    with pytest.raises(InputError, match="lacks the packets"):
        tv.attack(release, less, KNOWS)


def test_it_is_told_beside_the_paper(packets, plain):
    ours, theirs = tv.attack(*packets, KNOWS), tv.attack(*plain, KNOWS)
    lines = attack_summary(ours, packets[0], theirs).lines()
    words = "\n".join(lines)
    assert "above 1 in 4  above 1 in 2" in words
    assert [line.split("  ")[0] for line in lines if line.startswith(("from", "with"))] == [
        "from the original",
        "with the paper's method",
        "from the release",
    ]
    assert lines[-1] == "Nobody's value is known with a chance above 1 in 2."


def test_those_whom_their_slot_does_not_allow_more_are_told_of():
    records = drawn(Setting(records=3, values=4, exponent=1.0), 60, seed=1)
    pair = tv.publish_stream(records, DRAWN, l=3, window=7, protect_slot=2, seed=1, allow_loss=True)
    lines = attack_summary(tv.attack(*pair, KNOWS), pair[0]).lines()
    assert lines[-1] == "Their slots have a value too common for packets of that many different values."


def posterior(*chances: float) -> Posterior:
    return Posterior(np.array(chances), np.ones(len(chances)))


def breach(stayed, moved, missing, l=4, true_slot=None):
    parts = {"stayed": posterior(*stayed), "moved": posterior(*moved), "missing": posterior(*missing)}
    everyone = posterior(*stayed, *moved, *missing)
    number = len(everyone.chance)
    return StreamBreach(KNOWS, l, number, number, everyone, everyone, parts, true_slot)


def test_the_picture_says_what_it_shows():
    root = ET.fromstring(  # noqa: S314
        method_picture(breach([0.25], [1 / 3] * 4, [], true_slot=3), breach([0.2], [1.0, 0.8], [1.0])).svg()
    )
    words = root.find(f"{SVG}desc").text
    assert "promised: at most 1/l = 1/4 and at most 1/l' = 1/3." in words
    mean, highest, above = (part.split("; ") for part in words.rstrip(".").split(". ")[1:])
    moved, missing = "moved (2 and 4 people): ", "missing (1 and 0 people): "
    assert mean[1:] == [
        f"{moved}the paper's method 90 %, closed packets 33.3 %",
        f"{missing}the paper's method 100 %, closed packets nobody",
    ]
    assert highest[1] == f"{moved}the paper's method 100 %, closed packets 33.3 %"
    assert above[1] == f"{moved}the paper's method 100 %, closed packets 0 %"
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"Mean chance", "Highest chance", "People above 1/3"} <= set(texts)


@pytest.mark.parametrize(("l", "true_slot"), [(4, 3), (4, 2), (5, 3), (10, 7), (30, 3), (3, 2)])
def test_chances_of_both_promises_stand_left_of_their_lines(l, true_slot):
    found = breach([1 / l], [1 / true_slot], [], l, true_slot)
    root = ET.fromstring(attack_picture(found).svg())  # noqa: S314
    edges = sorted(float(e.attrib["x1"]) for e in root.iter(f"{SVG}line") if e.attrib["class"] == "edge")
    bars = sorted(
        float(rect.attrib["x"])
        for rect in root.iter(f"{SVG}rect")
        if rect.attrib["class"] == "f0" and rect.attrib["y"] != "60.0"
    )
    assert len(edges) == 2
    assert bars[-1] < edges[1]
    assert bars[0] < edges[0] < bars[-1]
