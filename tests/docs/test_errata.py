"""Every erratum names the test that shows it, and the test is there."""

from __future__ import annotations

import ast
import re

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "explanation" / "errata.md"


def test_every_row_names_a_test_that_exists() -> None:
    text = PAGE.read_text("utf-8")
    files = re.findall(r"`(tests/[\w/]+\.py)`", text)
    there = {
        node.name
        for file in files
        for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    for row in (
        line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| in the")
    ):
        named = re.findall(r"`(test_\w+)`", row)
        assert named, f"no test is named in: {row}"
        assert set(named) <= there, f"not in {', '.join(files)}: {', '.join(named)}"
