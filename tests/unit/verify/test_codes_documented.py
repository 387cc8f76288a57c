"""The how-to explains every violation code, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from timeveil.verify.findings import VIOLATION_CODES

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "check-a-release.md"


def test_every_violation_code_is_in_the_table():
    rows = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    assert sorted(rows) == sorted(VIOLATION_CODES)
