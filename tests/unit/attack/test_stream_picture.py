"""The picture of an attack on a stream."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from timeveil.evidence.risk import Posterior
from timeveil.models.stream.judges.attack import StreamBreach
from timeveil.models.stream.parameters import StreamAdversary
from timeveil.models.stream.words.pictures import attack_picture, chance_edges

SVG = "{http://www.w3.org/2000/svg}"


def breach(before, after, l=3, knows="published-slot", **parts):
    found = [Posterior(np.array(c, dtype=float), np.ones(len(c))) for c in (before, after)]
    named = {name: Posterior(np.array(c, dtype=float), np.ones(len(c))) for name, c in parts.items()}
    return StreamBreach(StreamAdversary(knows), l, len(before), len(before), *found, named)


def drawn(found):
    return ET.fromstring(attack_picture(found).svg())  # noqa: S314


def bars(picture, name):
    return [r for r in picture.iter(f"{SVG}rect") if r.attrib["class"] == name][1:]


def test_it_has_a_title_a_description_and_both_colour_schemes():
    picture = drawn(breach([1.0, 0.5], [0.25, 0.25]))
    assert picture.find(f"{SVG}title").text == "How certain an outsider can be of a person's value"
    assert "2 people attacked, 50 % have a value that is certain" in picture.find(f"{SVG}desc").text
    assert "prefers-color-scheme:dark" in picture.find(f"{SVG}style").text


@pytest.mark.parametrize("l", [2, 3, 4, 5, 6, 7, 10, 13, 20, 21, 100])
def test_a_chance_of_one_in_l_stands_left_of_the_line(l):
    picture = drawn(breach([1.0, 1.0], [1 / l, 1 / l], l))
    [edge] = [line for line in picture.iter(f"{SVG}line") if line.attrib["class"] == "edge"]
    [after], [before] = bars(picture, "f0"), bars(picture, "f1")
    assert float(after.attrib["x"]) < float(edge.attrib["x1"]) < float(before.attrib["x"])
    assert any(text.text == f"1/l = 1/{l}" for text in picture.iter(f"{SVG}text"))


def test_parts_are_told_in_words():
    picture = drawn(breach([0.5], [1.0], knows="true-slot", stayed=[0.2], moved=[1.0], missing=[]))
    words = " ".join(text.text for text in picture.iter(f"{SVG}text"))
    assert "the true slot of a record." in words
    assert "On average: stayed 20 %, moved 100 %" in words
    assert "missing" not in words
    assert "moved 100 %" in picture.find(f"{SVG}desc").text


def test_nobody_to_attack_is_a_picture_without_bars():
    picture = drawn(breach([], []))
    assert not bars(picture, "f1")
    assert not bars(picture, "f0")


def test_the_promised_chance_is_between_two_columns():
    assert chance_edges(4) == [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0]
    assert 1 / 3 in chance_edges(4, true_slot=3)
