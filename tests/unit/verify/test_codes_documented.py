"""Each how-to explains every violation code of its model, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from timeveil.evidence.findings import PATTERN_CODES, SERIES_CODES, STREAM_CODES, TIME_CODES

PAGES = Path(__file__).parents[3] / "docs" / "how-to"


@pytest.mark.parametrize(
    ("page", "codes"),
    [
        ("check-a-release.md", TIME_CODES),
        ("check-a-stream.md", STREAM_CODES),
        ("check-a-series.md", SERIES_CODES),
        ("check-patterns.md", PATTERN_CODES),
    ],
)
def test_every_violation_code_is_in_the_table(page, codes):
    rows = re.findall(r"^\| `([a-z-]+)` \|", (PAGES / page).read_text("utf-8"), flags=re.MULTILINE)
    assert sorted(rows) == sorted(codes)
