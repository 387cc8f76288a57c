"""What a run prints when it is done: numbered sentences, what is not protected, and how to do it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from timeveil.domain.run import Run
from timeveil.page.templates import Limit
from timeveil.page.wording import WIDTH, joined, numbered, wrapped


@dataclass(frozen=True, slots=True)
class Explanation:
    """A title, numbered sentences, what is not protected, and how to do it again."""

    title: str
    sentences: tuple[str, ...]
    limits: tuple[str, ...]
    facts: dict[str, Any]
    run: Run | None = None

    def text(self, width: int = WIDTH) -> str:
        """The explanation as plain text. Commands are not wrapped, so that they can be copied."""
        lines = [self.title, *self.numbered(width), "", "What it does not protect:"]
        for limit in self.limits:
            lines += wrapped(limit, width)
        if self.run is not None:
            lines += ["", self.run.again, f"  $ {self.run.command()}", "or in Python:"]
            lines += [f"  {line}".rstrip() for line in self.run.python().splitlines()]
        return "\n".join(lines) + "\n"

    def numbered(self, width: int = WIDTH) -> list[str]:
        """The sentences with their numbers, as lines."""
        return numbered(self.sentences, width)

    def as_dict(self) -> dict[str, Any]:
        """The explanation as data."""
        again = {} if self.run is None else {"reproduce": self.run.as_dict()}
        words = {"title": self.title, "sentences": list(self.sentences), "limits": list(self.limits)}
        return {**words, **self.facts, **again}


def for_a_run(limits: Sequence[Limit]) -> tuple[str, ...]:
    """Limits as a run prints them: those that need attention in full, the others by title."""
    titles = [f"{limit.title[:1].lower()}{limit.title[1:]}" for limit in limits if not limit.urgent]
    urgent = [limit.text for limit in limits if limit.urgent]
    return (*urgent, *([f"Nor does it cover: {joined(titles)}. README.txt explains each."] if titles else []))
