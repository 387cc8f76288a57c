"""Links between pages lead somewhere, and every page can be reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, anchors, blocks, links, name_of, pages

ELSEWHERE = re.compile(r"^[a-z]+:")


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_relative_links_resolve(page: Path) -> None:
    dead = [f"line {line}: {target}" for line, target in links(page) if not resolves(page, target)]
    assert not dead, "\n".join(dead)


def resolves(page: Path, target: str) -> bool:
    if ELSEWHERE.match(target):
        return True
    path, _, anchor = target.partition("#")
    there = (page.parent / path).resolve() if path else page
    if not there.exists():
        return False
    return not anchor or there.suffix != ".md" or anchor in anchors(there)


def test_every_page_is_in_the_table_of_contents() -> None:
    listed: set[Path] = set()
    for page in pages():
        for block in blocks(page):
            if block.language == "{toctree}":
                entries = [
                    line.strip() for line in block.text.splitlines() if line and not line.startswith(":")
                ]
                listed |= {found for entry in entries for found in page.parent.glob(f"{entry}.md")}
    docs = {page for page in pages() if page.is_relative_to(ROOT / "docs")}
    assert docs - listed == {ROOT / "docs" / "index.md"}
