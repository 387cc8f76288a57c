"""A report is Markdown: how text is put into it safely, and how it becomes HTML, text and data.

Markdown is parsed once into blocks: sentences, lists, tables, pictures and lines to copy. A line `Table:
words` before a table is its caption; an image whose address is a number is one of the report's pictures.
Markup in HTML is off, so that nothing in a name can be more than text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from timeveil.page.svg import Picture
from timeveil.page.wording import WIDTH, aligned, visible, wrapped

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 2_000
"""Characters of a piece of text that are shown."""
_NARROWEST = 24
"""A column of words is not wrapped to fewer characters."""
_SPECIAL = re.compile(r"([\\`*_\[\]<>&~#=+-])")
_CAPTION = "Table: "


class Markdown(str):
    """Text that is Markdown already."""

    __slots__ = ()


def markdown(text: object) -> Markdown:
    """Plain text with names in backquotes as Markdown that shows exactly this text.

    >>> print(markdown("`a_b` has *3* rows"))
    `a_b` has \\*3\\* rows
    """
    shown = visible(text)
    parts = (shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…").split("`")
    if len(parts) % 2 == 0:  # a backquote without its pair is a character like any other
        parts[-2:] = ["`".join(parts[-2:])]
    return Markdown(
        "".join(
            f"`{part}`" if index % 2 and part else _SPECIAL.sub(r"\\\1", part)
            for index, part in enumerate(parts)
        )
    )


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, a head and rows; all but the first `words` columns are numbers."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1

    @property
    def markdown(self) -> Markdown:
        """The table in a report."""
        sides = [":---" if place < self.words else "---:" for place in range(len(self.head))]
        lines = [[_cell(text) for text in row] for row in (self.head, *self.rows)]
        table = [lines[0], sides, *lines[1:]]
        rows = "\n".join(f"| {' | '.join(row)} |" for row in table)
        return Markdown(f"{_CAPTION}{markdown(self.caption)}\n\n{rows}\n")

    def lines(self, width: int = WIDTH) -> list[str]:
        """The table as text; where the last column is words, it is wrapped."""
        rows = [tuple(self.head), *(tuple(row) for row in self.rows)]
        if self.words < len(self.head):
            return aligned(rows, left=self.words)
        # The last column gets what the others leave of the width.
        used = sum(max(map(len, column)) + 2 for column in list(zip(*rows, strict=True))[:-1])
        lines: list[tuple[str, ...]] = []
        for *cells, last in rows:
            first, *more = wrapped(last, max(width - used, _NARROWEST)) or [""]
            lines += [(*cells, first), *((*("" for _ in cells), line) for line in more)]
        return aligned(lines, left=self.words)


def _cell(text: str) -> str:
    return markdown(text).replace("|", "\\|") or " "


@dataclass(frozen=True, slots=True)
class Prose:
    """Sentences as HTML and as text: paragraphs, a numbered list, or a list."""

    kind: Literal["paragraphs", "numbered", "list"]
    html: tuple[str, ...]
    text: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table with its cells as HTML, and as text."""

    html: tuple[tuple[str, ...], ...]
    text: Table


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines to copy, such as a command."""

    lines: tuple[str, ...]


Block = Prose | Grid | Picture | Lines


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the blocks below it."""

    heading: str
    blocks: tuple[Block, ...]


def sections_of(source: str, pictures: Sequence[Picture]) -> tuple[Section, ...]:
    """Markdown as sections, one for each heading."""
    found: list[tuple[str, list[Block]]] = []
    for block in _blocks(_parser().parse(source), pictures):
        if isinstance(block, str):
            found.append((block, []))
        elif found:
            found[-1][1].append(block)
    return tuple(Section(heading, tuple(_merged(blocks))) for heading, blocks in found)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 (not needed to import timeveil)

    # Without HTML, a tag in a name is text like any other.
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _blocks(tokens: Sequence[Token], pictures: Sequence[Picture]) -> Iterator[Block | str]:
    """Blocks in their order; a heading is its text."""
    index, caption = 0, ""
    while index < len(tokens):
        token = tokens[index]
        end = _closing(tokens, index)
        inside = tokens[index + 1 : end]
        match token.type:
            case "heading_open":
                yield _text(inside[0])
            case "paragraph_open":
                picture = _picture(inside[0], pictures)
                text = _text(inside[0])
                if picture is not None:
                    yield picture
                elif text.startswith(_CAPTION):
                    caption = text.removeprefix(_CAPTION)
                else:
                    yield Prose("paragraphs", (_html(inside[0]),), (text,))
            case "ordered_list_open" | "bullet_list_open":
                items = [token for token in inside if token.type == "inline"]
                kind: Literal["numbered", "list"] = "numbered" if token.type[0] == "o" else "list"
                yield Prose(kind, tuple(map(_html, items)), tuple(map(_text, items)))
            case "table_open":
                yield _grid(inside, caption)
            case "fence" | "code_block":
                yield Lines(tuple(token.content.rstrip("\n").split("\n")))
        index = end + 1


def _closing(tokens: Sequence[Token], index: int) -> int:
    """Where the block that begins at a place ends."""
    depth = 0
    for number in range(index, len(tokens)):
        # Opening tokens count 1, closing ones -1, all others 0.
        depth += tokens[number].nesting
        if depth == 0:
            return number
    return len(tokens)


def _grid(tokens: Sequence[Token], caption: str) -> Grid:
    rows: list[list[Token]] = []
    words = 0
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(token)
        elif token.type == "th_open" and "left" in str(token.attrs.get("style", "")):
            words += 1
    head, *texts = [tuple(_text(cell) for cell in row) for row in rows]
    html = tuple(tuple(_html(cell) for cell in row) for row in rows)
    return Grid(html, Table(caption, head, texts, words))


def _html(inline: Token) -> str:
    return str(_parser().renderer.render([inline], _parser().options, {}))


def _text(inline: Token) -> str:
    parts = []
    for token in inline.children or []:
        if token.type == "code_inline":
            parts.append(f"`{token.content}`")
        elif token.type in ("text", "text_special"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
    return "".join(parts)


def _picture(inline: Token, pictures: Sequence[Picture]) -> Picture | None:
    """The picture that a paragraph consists of."""
    children = inline.children or []
    if len(children) != 1 or children[0].type != "image":
        return None
    return pictures[int(str(children[0].attrs["src"]))]


def _merged(blocks: Sequence[Block]) -> Iterator[Block]:
    """Paragraphs that follow each other become one block."""
    waiting: Prose | None = None
    for block in blocks:
        if isinstance(block, Prose) and block.kind == "paragraphs":
            if waiting is not None:
                block = Prose("paragraphs", (*waiting.html, *block.html), (*waiting.text, *block.text))  # noqa: PLW2901
            waiting = block
            continue
        if waiting is not None:
            yield waiting
        waiting = None
        yield block
    if waiting is not None:
        yield waiting


def block_html(block: Block, number: int) -> str:
    """A block in a page; a picture is the page's picture `number`."""
    match block:
        case Prose("paragraphs"):
            return "\n".join(f"<p>{sentence}</p>" for sentence in block.html)
        case Prose():
            tag = "ol" if block.kind == "numbered" else "ul"
            items = "\n".join(f"<li>{sentence}</li>" for sentence in block.html)
            return f"<{tag}>\n{items}\n</{tag}>"
        case Grid():
            return _table_html(block)
        case Picture():
            return f"<figure>\n{block.svg(number)}</figure>"
        case Lines():
            return f"<pre>{escape(chr(10).join(block.lines))}</pre>"


def _table_html(grid: Grid) -> str:
    caption, words = escape(grid.text.caption), grid.text.words
    sides = [' class="w"' if place < words else "" for place in range(len(grid.html[0]))]
    head = "".join(
        f'<th scope="col"{side}>{cell}</th>' if cell.strip() else f"<td{side}></td>"
        for side, cell in zip(sides, grid.html[0], strict=True)
    )
    rows = []
    for first, *cells_after in grid.html[1:]:
        cells = "".join(f"<td{side}>{cell}</td>" for side, cell in zip(sides[1:], cells_after, strict=True))
        rows.append(f'<tr><th scope="row"{sides[0]}>{first}</th>{cells}</tr>')
    body = "\n".join(rows)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{caption}">\n<table>\n'
        f"<caption>{caption}</caption>\n<thead>\n<tr>{head}</tr>\n</thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def block_lines(block: Block, width: int) -> list[str]:
    """A block as lines of text; a picture in words."""
    match block:
        case Prose():
            marks = {"paragraphs": "", "list": "- "}
            return [
                line
                for number, sentence in enumerate(block.text, start=1)
                for line in wrapped(sentence, width, marks.get(block.kind, f"{number}. "))
            ]
        case Grid():
            return [*wrapped(f"{block.text.caption}:", width), *block.text.lines(width)]
        case Picture():
            return wrapped(
                f"[Picture] {visible(block.title)}. {visible(block.description)}", width, indent="  "
            )
        case Lines():
            return [f"  {line}".rstrip() for line in block.lines]


def block_data(block: Block) -> dict[str, Any]:
    """A block as data."""
    match block:
        case Prose():
            return {"kind": "sentences", "numbered": block.kind == "numbered", "sentences": list(block.text)}
        case Grid():
            table = block.text
            rows = [list(row) for row in table.rows]
            return {"kind": "numbers", "caption": table.caption, "head": list(table.head), "rows": rows}
        case Picture():
            words = {"title": visible(block.title), "words": visible(block.description)}
            return {"kind": "picture", **words, "svg": block.svg()}
        case Lines():
            return {"kind": "lines", "lines": list(block.lines)}
