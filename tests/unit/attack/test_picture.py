"""The picture of an attack."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from timeveil.evidence.risk import Risk
from timeveil.models.events.judges.attack import Breach
from timeveil.models.events.parameters import Adversary
from timeveil.models.events.words.pictures import attack_picture

SVG = "{http://www.w3.org/2000/svg}"


def breach(before, after, k=5, **known):
    weight = np.ones(len(before))
    risks = (Risk(np.array(sizes, dtype=np.int64), weight) for sizes in (before, after))
    return Breach(Adversary(**known), k, len(before), len(before), *risks, 0.2, {})


def drawn(found):
    return ET.fromstring(attack_picture(found).svg())  # noqa: S314


def test_it_has_a_title_a_description_and_both_colour_schemes():
    picture = drawn(breach([1] * 2_000 + [2], [7] * 2_000 + [0]))
    assert picture.attrib["role"] == "img"
    assert picture.find(f"{SVG}title").text == "How many people fit what an outsider knows"
    assert "2,001 people attacked, ≈100 % have a single candidate" in picture.find(f"{SVG}desc").text
    assert "prefers-color-scheme:dark" in picture.find(f"{SVG}style").text


def test_bars_are_the_shares_of_people_and_stand_on_their_side_of_k():
    picture = drawn(breach([1, 1, 1, 6], [5, 9, 10, 40]))
    [edge] = [line for line in picture.iter(f"{SVG}line") if line.attrib["class"] == "edge"]
    bars = {
        name: [r for r in picture.iter(f"{SVG}rect") if r.attrib["class"] == name][1:]
        for name in ("f1", "f0")
    }
    assert len(bars["f1"]) == 2
    assert len(bars["f0"]) == 3
    tall, low = (float(bar.attrib["height"]) for bar in bars["f1"])
    assert tall == pytest.approx(3 * low, abs=0.3)
    k = float(edge.attrib["x1"])
    assert float(bars["f1"][0].attrib["x"]) < k < min(float(bar.attrib["x"]) for bar in bars["f0"])
    assert any(text.text == "k = 5" for text in picture.iter(f"{SVG}text"))


@pytest.mark.parametrize("k", [2, 3, 5, 64, 1_000])
@pytest.mark.parametrize("largest", [1, 4, 10**6])
def test_it_is_well_formed_for_any_sizes(k, largest):
    picture = drawn(breach([1, largest], [0, largest], k, visits=3, tolerance=60))
    words = " ".join(text.text for text in picture.iter(f"{SVG}text"))
    assert f"k = {k}" in words
    assert "3 visits to within" in words


def test_nobody_to_attack_is_a_picture_without_bars():
    picture = drawn(breach([], []))
    assert len([r for r in picture.iter(f"{SVG}rect") if r.attrib["class"] != "paper"]) == 2
