"""The glossary has one entry per term."""

from __future__ import annotations

import re
from collections import Counter

from tests.docs.pages import ROOT


def test_every_term_has_one_entry() -> None:
    text = (ROOT / "docs" / "explanation" / "glossary.md").read_text("utf-8")
    entries = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", text, re.MULTILINE)
    terms = Counter(term for entry in entries if entry != "term" for term in entry.split(", "))
    assert len(terms) > 80
    assert [term for term, count in terms.items() if count > 1] == []
