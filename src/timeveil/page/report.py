"""A report: a title, who may read it, the verdict in a few sentences, and sections of Markdown.

It is rendered as text, as JSON, and as one HTML page that needs nothing besides itself: no script, no font,
no address to call.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, TypeAlias

from timeveil.page.markdown import Section, block_data, block_html, block_lines, markdown, sections_of
from timeveil.page.style import page_style
from timeveil.page.svg import Picture
from timeveil.page.wording import WIDTH, wrapped

Kind: TypeAlias = Literal["public", "private"]
"""Whether a report holds only what follows from the release, or also what the ledger shows."""
NOTICES = {
    "public": "Public: everything in this report follows from the release itself.",
    "private": "PRIVATE: made with the ledger. It shows what the release hides; do not pass it on.",
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What a data custodian signs and files: `str`, `html` and `json` say the same.

    `kind` is `public` if everything in the report follows from the release, and `private` if the ledger was
    used. `holds` is the verdict of `verify`, `summary` the same in words, `markdown` the sections.
    """

    title: str
    kind: Kind
    model: str
    holds: bool
    summary: tuple[str, ...]
    markdown: str
    pictures: tuple[Picture, ...] = ()

    @property
    def notice(self) -> str:
        """Who may read it."""
        return NOTICES[self.kind]

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections, parsed."""
        return sections_of(self.markdown, self.pictures)

    @property
    def html(self) -> str:
        """One page that needs nothing besides itself. The same report gives the same bytes."""
        return _page(self)

    @property
    def json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """The report as data."""
        sections = [
            {"heading": section.heading, "blocks": [block_data(block) for block in section.blocks]}
            for section in self.sections
        ]
        return {
            "title": self.title,
            "kind": self.kind,
            "notice": self.notice,
            "model": self.model,
            "holds": self.holds,
            "summary": list(self.summary),
            "sections": sections,
        }

    def text(self, width: int = WIDTH) -> str:
        """The report as plain text, pictures in words."""
        lines = [self.title, "=" * len(self.title), "", *wrapped(self.notice, width), ""]
        lines += [line for sentence in self.summary for line in wrapped(sentence, width)]
        for section in self.sections:
            lines += ["", section.heading, "-" * len(section.heading)]
            for block in section.blocks:
                lines += ["", *block_lines(block, width)]
        if self.kind == "private":
            lines += ["", *wrapped(self.notice, width)]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "is violated"
        return f"<Report: {self.kind}, on a {self.model} release; the guarantee {verdict}>"


def _page(report: Report) -> str:
    private = report.kind == "private"
    title = f"PRIVATE: {report.title}" if private else report.title
    notice = escape(report.notice)
    sections = report.sections
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{page_style()}\n</style>",
        "</head>",
        f'<body class="{report.kind}">',
        *([f'<aside class="strip" aria-label="Notice">{notice}</aside>'] if private else []),
        f"<header>\n<h1>{escape(report.title)}</h1>",
        f'<p class="notice">{notice}</p>',
        f'<div class="summary {"holds" if report.holds else "violated"}">',
        *(f"<p>{_sentence(sentence)}</p>" for sentence in report.summary),
        '</div>\n<nav aria-label="Sections">\n<ol>',
        *(f'<li><a href="#s{n}">{escape(one.heading)}</a></li>' for n, one in enumerate(sections, start=1)),
        "</ol>\n</nav>\n</header>",
        "<main>",
    ]
    pictures = 0
    for number, section in enumerate(sections, start=1):
        lines.append(f'<section aria-labelledby="s{number}">')
        lines.append(f'<h2 id="s{number}">{escape(section.heading)}</h2>')
        for block in section.blocks:
            pictures += isinstance(block, Picture)
            lines.append(block_html(block, pictures))
        lines.append("</section>")
    lines += ["</main>", f"<footer><p>{notice}</p></footer>", "</body>", "</html>"]
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    """One sentence as HTML, by the same parser as the sections."""
    [section] = sections_of(f"# -\n\n{markdown(text)}\n", ())
    return "".join(html for block in section.blocks for html in getattr(block, "html", ()))
