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


def test_files_that_contributing_names_exist() -> None:
    """Paths are from the root, from the package, or, of a model, from its folder."""
    named = re.findall(r"`([\w<>/.]+\.(?:pyi?|md|toml))`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    package = ROOT / "src" / "timeveil"
    for name in named:
        from_model = name.removeprefix("models/<model>/")
        models = [package / "models" / model for model in ("events", "stream", "series", "patterns")]
        # Evidence may be a module or a package.
        in_models = all(
            (m / from_model).exists() or (m / from_model).with_suffix("").is_dir() for m in models
        )
        assert in_models or any((root / name).exists() for root in (ROOT, package, package.parent)), name
    assert len(named) > 15
