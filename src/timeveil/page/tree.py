"""The report as a small tree, which is rendered as text, as HTML and as JSON: a title and sections of blocks.

Names in sentences stand in backquotes. Text is plain: characters that could play tricks on a reader were
replaced when it was put into a block.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

LONGEST = 2_000
"""So many characters of a sentence or a cell are shown: names may be of any length."""

Kind: TypeAlias = Literal["public", "private"]
"""Whether it holds only what follows from the release, or also what the ledger tells."""


def plain(text: str, most: int = LONGEST) -> str:
    """Text without control characters and marks that turn the direction of writing, and not too long.

    >>> plain("a\\nb\\u202ec")
    'a b?c'
    """
    shown = "".join(mark if mark.isprintable() else " " if mark in "\n\t" else "?" for mark in text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences, numbered or not."""

    sentences: tuple[str, ...]
    numbered: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sentences", tuple(plain(text) for text in self.sentences))

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {"kind": "sentences", "numbered": self.numbered, "sentences": list(self.sentences)}


@dataclass(frozen=True, slots=True)
class Numbers:
    """A table: what it is about, its head, and rows; all but the first `words` columns are numbers."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(tuple(plain(cell) for cell in row) for row in self.rows))

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        rows = [list(row) for row in self.rows]
        return {"kind": "numbers", "caption": self.caption, "head": list(self.head), "rows": rows}


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG, which holds its title and itself in words.

    >>> picture = Picture('<svg><title id="t">A &amp; B</title><desc id="d">Two letters.</desc></svg>')
    >>> picture.title, picture.words
    ('A & B', 'Two letters.')
    """

    svg: str

    @property
    def title(self) -> str:
        """What it shows."""
        return self._part("title")

    @property
    def words(self) -> str:
        """What there is to see, in sentences."""
        return self._part("desc")

    def _part(self, name: str) -> str:
        found = re.search(rf"<{name}\b[^>]*>(.*?)</{name}>", self.svg, re.DOTALL)
        return plain(html.unescape(found[1])) if found else ""

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {"kind": "picture", "title": self.title, "words": self.words, "svg": self.svg}


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines to copy, such as a command."""

    lines: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(plain(line) for line in self.lines))

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {"kind": "lines", "lines": list(self.lines)}


Block: TypeAlias = Sentences | Numbers | Picture | Lines


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it."""

    heading: str
    blocks: tuple[Block, ...]

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {"heading": self.heading, "blocks": [block.as_dict() for block in self.blocks]}


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What a custodian signs for and files: `str`, `html` and `json` say the same.

    `kind` is `public` where nothing is told that does not follow from the release, and `private` where the
    ledger was used. `holds` is what `verify` found, `standing` the same in words.
    """

    title: str
    kind: Kind
    model: str
    holds: bool
    standing: tuple[str, ...]
    sections: tuple[Section, ...]

    @property
    def notice(self) -> str:
        """Who may read it."""
        if self.kind == "private":
            return "PRIVATE: made with the ledger. It tells what the release hides; do not pass it on."
        return "Public: it tells nothing that does not follow from the release itself."

    @property
    def html(self) -> str:
        """One page that needs nothing beside itself."""
        from timeveil.page.html_page import html_page  # noqa: PLC0415

        return html_page(self)

    @property
    def json(self) -> str:
        """The tree as JSON."""
        import json  # noqa: PLC0415

        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "title": self.title,
            "kind": self.kind,
            "notice": self.notice,
            "model": self.model,
            "holds": self.holds,
            "standing": list(self.standing),
            "sections": [section.as_dict() for section in self.sections],
        }

    def __str__(self) -> str:
        from timeveil.page.text_page import text_page  # noqa: PLC0415

        return text_page(self)

    def __repr__(self) -> str:
        found = "holds" if self.holds else "is violated"
        return f"<Report: {self.kind}, of a {self.model} release; the guarantee {found}>"
