"""Every promise has a threat model, all of one shape, and names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, headings, name_of
from tests.docs.test_errata import found_in

FOLDER = ROOT / "docs" / "explanation"
MODELS = [*sorted(FOLDER.glob("threat-model-*.md")), FOLDER / "closed-packets.md"]
SHAPE = [
    "The adversary",
    "What they know",
    "What is promised",
    "What it rests on",
    "What breaks it",
    "Where it is checked",
]


@pytest.mark.parametrize("page", MODELS, ids=name_of)
def test_a_threat_model_has_the_shape_of_the_others(page: Path) -> None:
    assert [title for title in headings(page, 2) if title in SHAPE] == SHAPE


@pytest.mark.parametrize("page", MODELS, ids=name_of)
def test_it_names_tests_that_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    assert "`tests/" in text
    assert set(re.findall(r"`(test_\w+)`", text)) <= found_in(text)


def test_there_is_one_for_every_model() -> None:
    assert [page.stem.rpartition("-")[2] for page in MODELS] == [
        "patterns",
        "series",
        "stream",
        "time",
        "packets",
    ]
