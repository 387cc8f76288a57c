"""The reference explains every violation code of each model, and no other."""

from __future__ import annotations

import re

import pytest
from tests.docs.pages import ROOT, sections

from timeveil.evidence.checks import SHARED
from timeveil.models import part

SECTIONS = sections(ROOT / "docs" / "reference" / "violations.md", level=2)


@pytest.mark.parametrize(
    ("section", "model"),
    [("Events", "time"), ("Streams", "stream"), ("Series", "series"), ("Patterns", "patterns")],
)
def test_every_violation_code_is_in_the_table(section: str, model: str) -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", SECTIONS[section], flags=re.MULTILINE)
    sentences = {**SHARED, **part(model, "judges.verify").SENTENCES}
    assert sorted(rows) == sorted({name.partition(":")[0] for name in sentences})
