"""The tables of sabotage in the documentation; `python -m tests.sabotage.page` writes them anew."""

from __future__ import annotations

from pathlib import Path

from tests.sabotage import patterns, series, stream_groups, streams, time_tables  # noqa: F401
from tests.sabotage.folders import DAMAGES
from tests.sabotage.tampering import CATALOGUE

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "how-the-judges-are-tested.md"
_HEADS = {"time": "Time tables", "stream": "Streams", "series": "Series", "patterns": "Patterns"}


def tables() -> str:
    """All that is in the catalogue, in Markdown."""
    parts = []
    # By module: which of them was imported first depends on what else runs.
    entries = sorted(CATALOGUE, key=lambda one: one.do.__module__)
    for model, head in _HEADS.items():
        rows = [
            f"| {_what(one.what)} | {_where(one.on)} | {one.notices} | `{one.code}` |"
            for one in entries
            if one.model == model and one.notices != "nobody"
        ]
        parts.append(_table(head, rows, "what is done", "to", "who notices", "named"))
    rows = [f"| {one.what} | `{one.code}` |" for one in DAMAGES]
    parts.append(_table("Folders", rows, "what is done", "named"))
    rows = [
        f"| {_what(one.what)} | {', '.join(one.on.split())} | {one.why} |"
        for one in entries
        if one.notices == "nobody"
    ]
    parts.append(_table("What nobody notices", rows, "what is done", "to", "why"))
    return "\n\n".join(parts) + "\n"


def _table(head: str, rows: list[str], *names: str) -> str:
    top = f"### {head}\n\n| {' | '.join(names)} |\n{'|---' * len(names)}|\n"
    return top + "\n".join(rows)


def _what(words: str) -> str:
    return words.strip()


def _where(on: str) -> str:
    return " ".join(on.split()[1:]) or "all"


def written() -> str:
    """The page with its tables as they should be: what comes before the first of them stays."""
    return PAGE.read_text("utf-8").partition("### Time tables")[0] + tables()


if __name__ == "__main__":
    PAGE.write_text(written(), "utf-8")
