"""Every erratum names the test that shows it, which is there, and what it calls wrong it quotes."""

from __future__ import annotations

import ast
import re

import pytest
from tests.docs.pages import ROOT, sections

PAGE = ROOT / "docs" / "explanation" / "errata.md"
PAPERS = sections(PAGE, level=2)


def found_in(text: str) -> set[str]:
    """The tests of all files that a text names."""
    trees = (
        ast.parse((ROOT / file).read_text("utf-8")) for file in re.findall(r"`(tests/[\w/]+\.py)`", text)
    )
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_names_a_test_that_is_in_a_file_of_its_section(paper: str) -> None:
    text = PAPERS[paper]
    there = found_in(text)
    rows = [
        line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| the print |")
    ]
    assert len(rows) >= 5
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named, f"no test is named in: {row}"
        assert set(named) <= there, f"in no file named above: {', '.join(set(named) - there)}"


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("kind", ["Wrong", "Our departures"])
def test_what_is_wrong_or_done_differently_is_quoted(paper: str, kind: str) -> None:
    part = PAPERS[paper].split(f"### {kind}\n")[1].split("###")[0]
    rows = [
        line for line in part.splitlines() if line.startswith("| ") and not line.startswith("| the print |")
    ]
    assert rows
    assert all('"' in row.split(" | ")[0] for row in rows)
