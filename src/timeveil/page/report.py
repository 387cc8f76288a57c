"""Pages: a report, what a run prints when it is done, and what a judge found.

A report is Markdown, in which text is escaped, so that nothing in a name can be more than text. It is parsed
once into sections of blocks: sentences, lines to copy and figures. A figure is a table or a picture; in the
Markdown, an image whose address is its number stands for it. Blocks are rendered as text, as JSON, and as one
HTML page that needs nothing besides itself: no script, no font, no address to call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby, zip_longest
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from timeveil.domain.judgement import Shown
from timeveil.domain.run import Run
from timeveil.page.svg import COLOURS, Picture, stylesheet
from timeveil.page.wording import WIDTH, aligned, numbered, share, shortened, visible, wrapped

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

Kind: TypeAlias = Literal["public", "private"]
"""Whether a report holds only what follows from the release, or also what the ledger shows."""
NOTICES = {
    "public": "Public: everything in this report follows from the release itself{except}.",
    "private": "PRIVATE: made with the ledger. It shows what the release hides; do not pass it on.",
}
_STATED = "Stated by the issuer, not checked:"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LONGEST = 2_000  # characters of a piece of text that are shown
_NARROWEST = 24  # A column of words is not wrapped to fewer characters
_SPECIAL = re.compile(r"([\\`*_\[\]<>&~#=+-])")


class Markdown(str):
    """Text that is Markdown already."""

    __slots__ = ()


def markdown(text: object) -> Markdown:
    """Plain text with names in backquotes as Markdown that shows exactly this text."""
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
        """The rows as text; a last column of words is wrapped, or else heads where room is short."""
        rows = [tuple(map(_shown, row)) for row in (self.head, *self.rows)]
        if self.words < len(self.head):
            lines = aligned(rows, left=self.words)
            if max(map(len, lines)) <= width:
                return lines
            columns = ((head, max(map(len, cells), default=1)) for head, *cells in zip(*rows, strict=True))
            upward = (reversed(wrapped(head, size)) for head, size in columns)
            heads = list(zip_longest(*upward, fillvalue=""))[::-1]
            return aligned([*heads, *rows[1:]], left=self.words)
        # The last column gets what the others leave of the width.
        used = sum(max(map(len, column)) + 2 for column in list(zip(*rows, strict=True))[:-1])
        texts: list[tuple[str, ...]] = []
        for *cells, last in rows:
            first, *more = wrapped(last, max(width - used, _NARROWEST)) or [""]
            texts += [(*cells, first), *((*("" for _ in cells), line) for line in more)]
        return aligned(texts, left=self.words)

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


@dataclass(frozen=True, slots=True, repr=False)
class Report(Shown):
    """What a data custodian signs and files: `str`, `html` and `json` say the same.

    `kind` is `public` if everything in the report follows from the release, and `private` if the ledger was
    used. `holds` is the verdict of `verify`, `summary` the same in words, `caveat` the gravest limit,
    `markdown` the sections. `stated` is what the issuer states, by label; `signatures` are those who sign.
    """

    title: str
    kind: Kind
    model: str
    holds: bool
    summary: tuple[str, ...]
    markdown: str
    figures: tuple[Figure, ...] = ()
    caveat: str = ""
    stated: Mapping[str, str] = field(default_factory=dict)
    signatures: tuple[str, ...] = ()

    @property
    def notice(self) -> str:
        """Who may read it."""
        exception = ", except what its issuer states" if self.stated else ""
        return NOTICES[self.kind].replace("{except}", exception)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections, parsed."""
        return sections_of(self.markdown, self.figures)

    @property
    def html(self) -> str:
        """One page that needs nothing besides itself. The same report gives the same bytes."""
        private = self.kind == "private"
        notice, sections = escape(self.notice), self.sections
        headings = [escape(section.heading) for section in sections]
        stated = [f"<dt>{label}</dt><dd>{escape(visible(text))}</dd>" for label, text in self.stated.items()]
        lines = [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{'PRIVATE: ' if private else ''}{escape(self.title)}</title>",
            f"<style>\n{page_style()}\n</style>",
            f'</head>\n<body class="{self.kind}">',
            *([f'<aside class="strip" aria-label="Notice">{notice}</aside>'] if private else []),
            f"<header>\n<h1>{escape(self.title)}</h1>",
            f'<p class="notice">{notice}</p>',
            *([f'<p class="stated">{_STATED}</p>\n<dl>', *stated, "</dl>"] if stated else []),
            f'<div class="summary {"holds" if self.holds else "violated"}">',
            *(f"<p>{html_of(sentence)}</p>" for sentence in self.summary),
            *([f'<p class="caveat">{html_of(self.caveat)}</p>'] if self.caveat else []),
            '</div>\n<nav aria-label="Sections">\n<ol>',
            *(f'<li><a href="#s{n}">{heading}</a></li>' for n, heading in enumerate(headings, start=1)),
            "</ol>\n</nav>\n</header>\n<main>",
        ]
        pictures = 0
        for number, (heading, section) in enumerate(zip(headings, sections, strict=True), start=1):
            lines.append(f'<section aria-labelledby="s{number}">')
            lines.append(f'<h2 id="s{number}">{heading}</h2>')
            for block in section.blocks:
                pictures += isinstance(block, Picture)
                lines.append(block.html(pictures))
            lines.append("</section>")
        lines += [f'<p class="signature">{escape(visible(name))}, date</p>' for name in self.signatures]
        lines.append(f"</main>\n<footer><p>{notice}</p></footer>\n</body>\n</html>\n")
        return "\n".join(lines)

    @property
    def json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """The report as data."""
        words = {name: getattr(self, name) for name in ("title", "kind", "notice", "model", "holds")}
        sections = [{"heading": s.heading, "blocks": [b.data() for b in s.blocks]} for s in self.sections]
        stated = {"stated": dict(self.stated), "signatures": list(self.signatures)}
        summary = {"summary": list(self.summary), "caveat": self.caveat}
        return {**words, **stated, **summary, "sections": sections}

    def text(self, width: int = WIDTH) -> str:
        """The report as plain text, pictures in words."""
        lines = [self.title, "=" * len(self.title), "", *wrapped(self.notice, width), ""]
        stated = [line for label, text in self.stated.items() for line in wrapped(f"{label}: {text}", width)]
        lines += [_STATED, *stated, ""] if stated else []
        sentences = [*self.summary, *([self.caveat] if self.caveat else [])]
        lines += [line for sentence in sentences for line in wrapped(sentence, width)]
        for section in self.sections:
            lines += ["", section.heading, "-" * len(section.heading)]
            for block in section.blocks:
                lines += ["", *block.text(width)]
        for name in self.signatures:
            lines += ["", "", "_" * 40, *wrapped(f"{name}, date", width)]
        if self.kind == "private":
            lines += ["", *wrapped(self.notice, width)]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "is violated"
        return f"<Report: {self.kind}, on a {self.model} release; the promise {verdict}>"


def page_style() -> str:
    """All rules: of the page, in light and dark colours, and of the pictures in it."""
    pairs = [[f"--{name}:{colour}" for colour in pair] for name, pair in COLOURS.items()]
    light, dark = (":root{" + ";".join(rules) + "}" for rules in zip(*pairs, strict=True))
    rules = (files("timeveil") / "page" / "report.css").read_text("utf-8")
    return f"{light}\n@media screen and (prefers-color-scheme:dark){{\n{dark}\n}}\n{rules}{stylesheet()}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a run did: a title, numbered sentences, what is not protected, and how to do it again."""

    title: str
    sentences: tuple[str, ...]
    limits: tuple[str, ...]
    facts: dict[str, Any]
    run: Run | None = None

    def text(self, width: int = WIDTH) -> str:
        """The explanation as plain text. Commands are not wrapped, so that they can be copied."""
        lines = [self.title, *numbered(self.sentences, width), "", *_limit_lines(self.limits, width)]
        if self.run is not None:
            lines += ["", self.run.again, f"  $ {self.run.command()}", "or in Python:"]
            lines += [f"  {line}".rstrip() for line in self.run.python().splitlines()]
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        reproduction = {} if self.run is None else {"reproduce": self.run.as_dict()}
        words = {"title": self.title, "sentences": list(self.sentences), "limits": list(self.limits)}
        return {**words, **self.facts, **reproduction}


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of `attack` or `profile`, with a title, or of `measure`, whose sentences are numbered."""

    sentences: Sequence[str]
    table: Table | None = None
    title: str = ""
    limits: Sequence[str] = ()
    examples: Sequence[str] = ()
    picture: Picture | None = None
    ways: Table | None = None

    def lines(self, width: int = WIDTH, *, examples: bool = False) -> list[str]:
        """The page as lines of text, private examples only on request."""
        if not self.title:
            sentences = [*self.sentences, *([f"{self.table.caption}:"] if self.table else [])]
            table = self.table.lines(width - 3) if self.table else []
            return [*numbered(sentences, width), *([""] if table else []), *(f"   {line}" for line in table)]
        lines = [*wrapped(self.title, width), ""]
        for shown in filter(None, (self.table, self.ways)):
            lines += [*shown.lines(width), ""]
        lines += [line for sentence in self.sentences for line in wrapped(sentence, width)]
        if examples and self.examples:
            lines += ["", "Anyone could have computed these groups from the true counts (private):"]
            lines += numbered(self.examples, width)
        return [*lines, *(["", *_limit_lines(self.limits, width)] if self.limits else [])]


def _limit_lines(limits: Sequence[str], width: int) -> list[str]:
    return ["What it does not protect:", *(line for limit in limits for line in wrapped(limit, width))]
