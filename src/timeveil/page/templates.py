"""Words are templates: text files next to the code that knows the numbers, filled in by Jinja.

The sentences of a run and the limits of a release are items that begin with `* `; an item may be wrapped
freely and is joined to one line. Numbers get their separators and names their visible form here, so that no
template can forget it. In a report, which is Markdown, whatever is filled in is escaped as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from timeveil.page.markdown import Markdown, markdown
from timeveil.page.wording import capital, counted, joined, name, people, quoted, share, visible

if TYPE_CHECKING:
    from jinja2 import Environment

_ITEM = re.compile(r"^\*\s", re.MULTILINE)
WORDS: dict[str, Callable[..., str]] = {
    "counted": counted,
    "joined": joined,
    "name": name,
    "people": people,
    "quoted": quoted,
    "share": share,
}


@dataclass(frozen=True, slots=True)
class Limit:
    """Something a release does not protect: a title, what it means, and whether a run has to mention it."""

    title: str
    text: str
    urgent: bool


def sentences(template: str, **context: Any) -> list[str]:
    """The items of a template, each on one line."""
    rendered = _environment(_plain).get_template(template).render(context)
    return [" ".join(item.split()) for item in _ITEM.split(rendered)[1:]]


def limits(template: str, **context: Any) -> list[Limit]:
    """A template of limits: items `Title: text`, or `! Title: text` if a run has to mention it."""
    items = []
    for sentence in sentences(template, **context):
        title, _, text = sentence.removeprefix("! ").partition(": ")
        items.append(Limit(title, text, sentence.startswith("! ")))
    return items


def document(template: str, **context: Any) -> str:
    """A template as Markdown; whatever is filled in is escaped."""
    return _environment(_marked).get_template(template).render(context)


def letter(template: str, **context: Any) -> str:
    """A template as plain text, its lines as they are."""
    return _environment(_plain).get_template(template).render(context)


@cache
def _environment(finish: Callable[[Any], Any]) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 (not needed to import timeveil)

    environment = Environment(  # noqa: S701 (no HTML is made here; Markdown escapes on its own)
        loader=FileSystemLoader(str(files("timeveil"))),
        undefined=StrictUndefined,
        finalize=finish,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(WORDS)
    environment.filters.update(WORDS, capital=capital, numbered_list=numbered_list)
    return environment


def numbered_list(items: Sequence[str]) -> Markdown:
    """Sentences as a numbered list of a report."""
    return Markdown("\n".join(f"{number}. {markdown(item)}" for number, item in enumerate(items, start=1)))


def _plain(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return visible(value) if isinstance(value, str) and not isinstance(value, Markdown) else value


def _marked(value: Any) -> Any:
    return value if isinstance(value, Markdown) else markdown(_plain(value))
