"""How long-running work reports its progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with the current step and the share of the work that is done."""

    def __call__(self, doing: str, share: float, /) -> None:
        """Report the step and the share."""


def silent(doing: str, share: float, /) -> None:
    """Report nothing."""
