"""Each how-to explains every violation code of its model, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from timeveil.evidence.checks import SHARED
from timeveil.models import part

PAGES = Path(__file__).parents[3] / "docs" / "how-to"


@pytest.mark.parametrize(
    ("page", "model"),
    [
        ("check-a-release.md", "time"),
        ("check-a-stream.md", "stream"),
        ("check-a-series.md", "series"),
        ("check-patterns.md", "patterns"),
    ],
)
def test_every_violation_code_is_in_the_table(page, model):
    rows = re.findall(r"^\| `([a-z-]+)` \|", (PAGES / page).read_text("utf-8"), flags=re.MULTILINE)
    sentences = {**SHARED, **part(model, "judges.verify").SENTENCES}
    assert sorted(rows) == sorted({name.partition(":")[0] for name in sentences})
