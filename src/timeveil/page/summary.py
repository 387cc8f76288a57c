"""What a judge found, as a page for a terminal: a title, a table, sentences and what is not protected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from timeveil.page.markdown import Table
from timeveil.page.wording import WIDTH, numbered, wrapped


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of `attack`, which has a title, or of `measure`, whose sentences are numbered."""

    sentences: Sequence[str]
    table: Table | None = None
    title: str = ""
    limits: Sequence[str] = ()
    examples: Sequence[str] = ()

    def lines(self, width: int = WIDTH) -> list[str]:
        """The page as lines of text."""
        return self._attack(width) if self.title else self._loss(width)

    def _attack(self, width: int) -> list[str]:
        lines = [*wrapped(self.title, width), ""]
        lines += [*self.table.lines(width), ""] if self.table is not None else []
        for sentence in self.sentences:
            lines += wrapped(sentence, width)
        if self.examples:
            lines += ["", "Anyone could have computed these groups from the true counts (private):"]
            lines += numbered(self.examples, width)
        if self.limits:
            lines += ["", "What it does not protect:"]
            lines += [line for limit in self.limits for line in wrapped(limit, width)]
        return lines

    def _loss(self, width: int) -> list[str]:
        sentences = [*self.sentences, *([f"{self.table.caption}:"] if self.table else [])]
        lines = numbered(sentences, width)
        if self.table is not None:
            lines += ["", *(f"   {line}" for line in self.table.lines(width - 3))]
        return lines
