"""Pages: a report, what a run prints when it is done, and what a judge found.

A report is rendered as text, as JSON, and as one HTML page that needs nothing besides itself: no script, no
font, no address to call. The other two are pages of text for a terminal.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from timeveil.domain.judgement import Shown
from timeveil.domain.run import Run
from timeveil.page.markdown import Figure, Section, Table, html_of, sections_of
from timeveil.page.svg import COLOURS, Picture, stylesheet
from timeveil.page.wording import WIDTH, numbered, visible, wrapped

Kind: TypeAlias = Literal["public", "private"]
"""Whether a report holds only what follows from the release, or also what the ledger shows."""
NOTICES = {
    "public": "Public: everything in this report follows from the release itself{except}.",
    "private": "PRIVATE: made with the ledger. It shows what the release hides; do not pass it on.",
}
_STATED = "Stated by the issuer, not checked:"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


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

    def lines(self, width: int = WIDTH, *, examples: bool = False) -> list[str]:
        """The page as lines of text, private examples only on request."""
        if not self.title:
            sentences = [*self.sentences, *([f"{self.table.caption}:"] if self.table else [])]
            table = self.table.lines(width - 3) if self.table else []
            return [*numbered(sentences, width), *([""] if table else []), *(f"   {line}" for line in table)]
        lines = [*wrapped(self.title, width), ""]
        lines += [*self.table.lines(width), ""] if self.table else []
        lines += [line for sentence in self.sentences for line in wrapped(sentence, width)]
        if examples and self.examples:
            lines += ["", "Anyone could have computed these groups from the true counts (private):"]
            lines += numbered(self.examples, width)
        return [*lines, *(["", *_limit_lines(self.limits, width)] if self.limits else [])]


def _limit_lines(limits: Sequence[str], width: int) -> list[str]:
    return ["What it does not protect:", *(line for limit in limits for line in wrapped(limit, width))]
