"""Lines that the tables of several methods share."""

from __future__ import annotations

from typing import Any

from timeveil.domain.parameter import parameter


def fold_spellings() -> Any:
    """The line that every method has."""
    meaning = "Treat spellings of a person, sensitive value or item that look alike as one; else refused."
    return parameter(meaning, default=False)


def accept_risk() -> Any:
    """The line of methods that publish columns unchanged."""
    meaning = "Kept or sensitive column to publish although it reads as a time or is nearly unique."
    return parameter(meaning, default=(), example=["discharged"], metavar="C")


def allow_loss() -> Any:
    """The line that every method has."""
    return parameter(
        "Publish even if more than a quarter is withheld; otherwise that is refused.", default=False
    )
