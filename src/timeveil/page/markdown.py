"""A report is Markdown: how text is put into it safely, and how it becomes HTML, text and data.

Markdown is parsed once into blocks: sentences, lines to copy and figures. A figure is a table or a picture;
in the Markdown, an image whose address is its number stands for it. Markup in HTML is off, so that nothing in
a name can be more than text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import groupby
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

from timeveil.page.svg import Picture
from timeveil.page.wording import WIDTH, aligned, numbered, share, shortened, visible, wrapped

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

LONGEST = 2_000  # characters of a piece of text that are shown
_NARROWEST = 24  # A column of words is not wrapped to fewer characters
_SPECIAL = re.compile(r"([\\`*_\[\]<>&~#=+-])")


class Markdown(str):
    """Text that is Markdown already."""

    __slots__ = ()


def markdown(text: object) -> Markdown:
    """Plain text with names in backquotes as Markdown that shows exactly this text.

    >>> print(markdown("`a_b` has *3* rows"))
    `a_b` has \\*3\\* rows
    """
    parts = _shown(text).split("`")
    if len(parts) % 2 == 0:  # a backquote without its pair is a character like any other
        parts[-2:] = ["`".join(parts[-2:])]
    for index, part in enumerate(parts):
        parts[index] = f"`{part}`" if index % 2 and part else _SPECIAL.sub(r"\\\1", part)
    return Markdown("".join(parts))


def html_of(text: object) -> str:
    """Plain text with names in backquotes as HTML."""
    return str(_parser().renderInline(markdown(text)))


def _shown(value: object) -> str:
    """A value as text: numbers with separators, shares in percent, and nothing for None."""
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return share(value)
        case Integral():
            return f"{value:,}"
    return "" if value is None else shortened(visible(value), LONGEST)


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, a head and rows of texts, counts and shares; the first `words` columns are texts."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    words: int = 1

    def lines(self, width: int = WIDTH) -> list[str]:
        """The rows as text; where the last column is words, it is wrapped."""
        rows = [tuple(map(_shown, row)) for row in (self.head, *self.rows)]
        if self.words < len(self.head):
            return aligned(rows, left=self.words)
        # The last column gets what the others leave of the width.
        used = sum(max(map(len, column)) + 2 for column in list(zip(*rows, strict=True))[:-1])
        lines: list[tuple[str, ...]] = []
        for *cells, last in rows:
            first, *more = wrapped(last, max(width - used, _NARROWEST)) or [""]
            lines += [(*cells, first), *((*("" for _ in cells), line) for line in more)]
        return aligned(lines, left=self.words)

    def text(self, width: int = WIDTH) -> list[str]:
        return [*wrapped(f"{_shown(self.caption)}:", width), *self.lines(width)]

    def data(self) -> dict[str, Any]:
        head, *rows = [[_shown(cell) for cell in row] for row in (self.head, *self.rows)]
        return {"kind": "numbers", "caption": _shown(self.caption), "head": head, "rows": rows}

    def html(self, _number: int) -> str:
        caption = escape(_shown(self.caption))
        sides = [' class="w"' if column < self.words else "" for column in range(len(self.head))]
        head = "".join(
            f'<th scope="col"{side}>{html_of(cell)}</th>' if cell.strip() else f"<td{side}></td>"
            for side, cell in zip(sides, self.head, strict=True)
        )
        rows = []
        for first, *values in self.rows:
            pairs = zip(sides[1:], values, strict=True)
            cells = "".join(f"<td{side}>{html_of(cell)}</td>" for side, cell in pairs)
            rows.append(f'<tr><th scope="row"{sides[0]}>{html_of(first)}</th>{cells}</tr>')
        body = "\n".join(rows)
        return (
            f'<div class="wide" role="region" tabindex="0" aria-label="{caption}">\n<table>\n'
            f"<caption>{caption}</caption>\n<thead>\n<tr>{head}</tr>\n</thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
        )


Figure: TypeAlias = Table | Picture


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs, a list, or lines to copy: their kind as the parser names it, as text and as HTML."""

    kind: str
    sentences: tuple[str, ...]
    markup: str

    def text(self, width: int = WIDTH) -> list[str]:
        match self.kind:
            case "fence":
                return [f"  {line}".rstrip() for line in self.sentences]
            case "ordered_list":
                return numbered(self.sentences, width)
        mark = "- " if self.kind == "bullet_list" else ""
        return [line for sentence in self.sentences for line in wrapped(sentence, width, mark)]

    def data(self) -> dict[str, Any]:
        if self.kind == "fence":
            return {"kind": "lines", "lines": list(self.sentences)}
        ordered = self.kind == "ordered_list"
        return {"kind": "sentences", "numbered": ordered, "sentences": list(self.sentences)}

    def html(self, _number: int) -> str:
        return self.markup


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the blocks below it."""

    heading: str
    blocks: tuple[Prose | Figure, ...]


def sections_of(source: str, figures: Sequence[Figure]) -> tuple[Section, ...]:
    """Markdown as sections, one for each heading; paragraphs that follow each other are one block."""
    from markdown_it.tree import SyntaxTreeNode  # noqa: PLC0415 (not needed to import timeveil)

    def kind_of(node: SyntaxTreeNode) -> str:
        """The type of a node; a paragraph that is one image is a figure."""
        leaves = node.children[0].children if node.type == "paragraph" else []
        return "figure" if [leaf.type for leaf in leaves] == ["image"] else node.type

    sections: list[tuple[str, list[Prose | Figure]]] = []
    for kind, group in groupby(SyntaxTreeNode(_parser().parse(source)).children, key=kind_of):
        nodes = list(group)
        if kind == "heading":
            sections += [(_text(node), []) for node in nodes]
        elif kind == "figure":
            images = (node.children[0].children[0] for node in nodes)
            sections[-1][1].extend(figures[int(str(image.attrs["src"]))] for image in images)
        else:
            items = nodes[0].children if kind.endswith("_list") else nodes
            lines = nodes[0].content.rstrip("\n").split("\n") if kind == "fence" else map(_text, items)
            tokens = [token for node in nodes for token in node.to_tokens()]
            markup = _parser().renderer.render(tokens, _parser().options, {})
            sections[-1][1].append(Prose(kind, tuple(lines), str(markup).rstrip("\n")))
    return tuple(Section(heading, tuple(blocks)) for heading, blocks in sections)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 (not needed to import timeveil)

    # Without HTML, a tag in a name is text like any other.
    return MarkdownIt("commonmark", {"html": False})


def _text(node: SyntaxTreeNode) -> str:
    forms = {"code_inline": "`{}`", "text": "{}", "softbreak": " ", "hardbreak": " "}
    return "".join(forms.get(leaf.type, "").format(leaf.content) for leaf in node.walk())
