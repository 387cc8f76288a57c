"""The letter to the recipient of a release, README.txt, from the template of its model."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from timeveil.domain.guarantee import Guarantee
from timeveil.models import FOLDERS
from timeveil.page import templates
from timeveil.page.markdown import Markdown
from timeveil.page.wording import visible

FIRST_LINE = "A release made with timeveil, and how to read it"
EARLIER_FIRST_LINE = "A release made with timeveil"
"""Letters that begin like this are of an edition that this version cannot write again."""
_WIDTH = 90


def letter(guarantee: Guarantee, manifest: Mapping[str, Any]) -> str:
    """What the recipient should know, in plain text; it follows from the manifest alone."""
    words = f"models/{FOLDERS[manifest['model']]}/words"
    context = {"guarantee": guarantee, "manifest": manifest, "exposure": None, "measured": False}
    limits = templates.limits(f"{words}/limits.j2", **context)
    body = templates.letter(f"{words}/readme.j2", **context, limits=limits, columns=_columns)
    parts = [FIRST_LINE, *(part for part in body.split("\n\n") if part.strip())]
    return "\n\n".join(_wrapped(part.strip("\n")) for part in parts) + "\n"


def _columns(
    columns: Sequence[Mapping[str, Any]],
    meaning: Mapping[str, str],
    levels: Mapping[str, Any] | None = None,
    changed: Sequence[str] = (),
) -> Markdown:
    """A line for each column, with its type and meaning; `changed` have values that were replaced."""
    lines = []
    for column in columns:
        level = (levels or {}).get(column["name"], {}).get("name")
        generalised = f"; generalised to {visible(level)}" if level else ""
        meant = meaning.get("changed" if column["name"] in changed else column.get("role", ""), "")
        lines.append(f"  {visible(column['name'])}  ({visible(column['type'])})  {meant}{generalised}")
    return Markdown("\n".join(lines))


def _wrapped(paragraph: str) -> str:
    """A paragraph to the width of a page; indented lines, such as those of a list, are kept."""
    if "\n  " in paragraph or paragraph.startswith("  "):
        return "\n".join(line.rstrip() for line in paragraph.split("\n") if line.strip())
    words, bullet = " ".join(paragraph.split()), paragraph.startswith("- ")
    return textwrap.fill(words, _WIDTH, subsequent_indent="  " if bullet else "", break_on_hyphens=False)
