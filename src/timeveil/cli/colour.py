"""Colours for a terminal, put on finished text, so that the words are the same with and without."""

from __future__ import annotations

from rich.text import Text

_STYLES = (
    (r"^error:", "bold red"),
    (r"^hint:", "bold cyan"),
    (r"^\S.* -> .*$", "bold"),
    (r"^[A-Z].*:$", "bold"),
    (r"^\d+\.(?= )", "cyan"),
    (r"^  \$ .*$", "green"),
    (r"`[^`\n]+`", "cyan"),
    (r"[█▇]+", "magenta"),
    (r"^(holds|kept):?.*$", "bold green"),
    (r"^(violated|broken):?.*$", "bold red"),
)


def coloured(text: str) -> Text:
    """The text with its headings, numbers and names in colour."""
    shown = Text(text)
    for pattern, style in _STYLES:
        shown.highlight_regex(f"(?m){pattern}", style)
    return shown
