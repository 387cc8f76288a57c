"""How long work tells how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with what is being done and the share of all work that is behind."""

    def __call__(self, doing: str, share: float, /) -> None:
        """Take note."""


def silent(doing: str, share: float, /) -> None:
    """Nobody is looking."""
