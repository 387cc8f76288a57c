"""Markdown pages as the tests see them: fenced blocks, headings and links."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")

FENCE = re.compile(r"^(?P<indent>[ >]*)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
NOT_RUN = re.compile(r"^<!-- not run: \S.* -->$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text, first line, and whether the page says it is not to be run."""

    language: str
    text: str
    line: int
    run: bool


@cache
def pages() -> tuple[Path, ...]:
    """Every page of the project."""
    docs = (path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)
    return (*(ROOT / name for name in TOP_PAGES), *sorted(docs))


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    """The fenced blocks of a page, top to bottom."""
    found: list[Block] = []
    opened: tuple[str, str, int, bool] | None = None
    inside: list[str] = []
    before = ""
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened = fence["fence"], fence["info"].strip(), number + 1, not NOT_RUN.match(before)
            inside = []
        elif (
            opened is not None
            and fence
            and fence["fence"].startswith(opened[0])
            and not fence["info"].strip()
        ):
            _, info, first, run = opened
            text = textwrap.dedent("\n".join(inside)) + "\n"
            found.append(Block(info, text, first, run))
            opened = None
        elif opened is not None:
            inside.append(line)
        before = line.strip() or before
    assert opened is None, f"{name_of(page)}: a fence is not closed"
    return tuple(found)


@cache
def prose(page: Path) -> tuple[tuple[int, str], ...]:
    """Numbered lines outside fenced blocks."""
    lines = page.read_text("utf-8").splitlines()
    fenced: set[int] = set()
    for block in blocks(page):
        fenced |= set(range(block.line - 1, block.line + block.text.count("\n") + 1))
    return tuple((number, line) for number, line in enumerate(lines, start=1) if number not in fenced)


def headings(page: Path, level: int | None = None) -> list[str]:
    """Headings of one level, or of every level, without the marks."""
    found = []
    for _, line in prose(page):
        match = re.match(r"^(#{1,6}) (.*)$", line)
        if match and level in (None, len(match[1])):
            found.append(match[2].strip())
    return found


def sections(page: Path, level: int) -> dict[str, str]:
    """Text below each heading of a level, up to the next heading of that level or a higher one."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    heads = {number: line for number, line in prose(page) if re.match(r"^#{1,6} ", line)}
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        if number in heads:
            depth = len(line) - len(line.lstrip("#"))
            if depth == level:
                current = found.setdefault(line[level:].strip(), [])
                continue
            if depth < level:
                current = None
        if current is not None:
            current.append(line)
    return {title: "\n".join(lines) for title, lines in found.items()}


def anchors(page: Path) -> set[str]:
    """What may follow `#` in a link to the page, as GitHub and MyST make it from headings."""
    slugs = set()
    for heading in headings(page):
        plain = re.sub(r"[^\w\- ]", "", heading.lower())
        slugs.add(plain.replace(" ", "-"))
    return slugs


def links(page: Path) -> list[tuple[int, str]]:
    """Line and target of each inline link outside code."""
    found = []
    for number, line in prose(page):
        bare = re.sub(r"`[^`]*`", "", re.sub(r"\[`([^`]*)`\]", r"[\1]", line))
        found += [(number, match["target"]) for match in LINK.finditer(bare)]
    return found
