"""A report as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from timeveil.page.tree import Block, Lines, Numbers, Picture, Report, Sentences
from timeveil.page.wording import WIDTH, aligned, wrapped

_NARROWEST = 24
"""A column of words is not wrapped to fewer characters than that."""


def text_page(report: Report, width: int = WIDTH) -> str:
    """The whole report, pictures in words."""
    lines = [report.title, "=" * len(report.title), "", *wrapped(report.notice, width), ""]
    lines += [line for told in report.standing for line in wrapped(told, width)]
    for section in report.sections:
        lines += ["", section.heading, "-" * len(section.heading)]
        for block in section.blocks:
            lines += ["", *_block(block, width)]
    if report.kind == "private":
        lines += ["", *wrapped(report.notice, width)]
    return "\n".join(lines) + "\n"


def _block(block: Block, width: int) -> Iterator[str]:
    match block:
        case Sentences():
            for number, sentence in enumerate(block.sentences, start=1):
                yield from wrapped(sentence, width, f"{number}. " if block.numbered else "")
        case Numbers():
            yield from wrapped(f"{block.caption}:", width)
            yield from _table(block, width)
        case Picture():
            yield from wrapped(f"[Picture] {block.title}. {block.words}", width, indent="  ")
        case Lines():
            yield from (f"  {line}".rstrip() for line in block.lines)


def _table(block: Numbers, width: int) -> list[str]:
    """Cells in columns; where the last one is words, they are wrapped."""
    rows = [block.head, *block.rows]
    if block.words < len(block.head):
        return aligned(rows, left=block.words)
    before = sum(max(len(row[place]) for row in rows) + 2 for place in range(len(block.head) - 1))
    room = max(width - before, _NARROWEST)
    lines: list[tuple[str, ...]] = []
    for row in rows:
        first, *others = wrapped(row[-1], room) or [""]
        lines += [(*row[:-1], first), *((*("" for _ in row[:-1]), other) for other in others)]
    return aligned(lines, left=block.words)
