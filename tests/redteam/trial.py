"""What an attack is given, and how it says that something broke."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from tests.service.processes import Nursery

Counted = dict[str, int]
"""What was tried and held, by kind."""


class BrokenPromiseError(AssertionError):
    """Something that timeveil promises does not hold."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One case: all that it draws, an empty folder, and processes that may be killed or measured."""

    chance: random.Random
    folder: Path
    run: Nursery


def must(holds: object, what: str) -> None:
    """Say that something broke unless this holds."""
    if not holds:
        raise BrokenPromiseError(what)
