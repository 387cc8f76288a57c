"""What every granularity can do, and what those made of whole days have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from timeveil.calendar.civil import DAY, Ints

Clock = Literal["civil", "seconds", "months", "any"]
"""The number line a rule reads: civil seconds, or seconds or months since a start of each row's own."""


class Rule(Protocol):
    """A map from integers to disjoint, ordered sets of instants (Mascetti et al. 2006, Definition 9).

    `grain` divides every boundary; `shortest` is the length of the shortest granule; `extent` is the
    range outside which there are only gaps, if there is one.
    """

    kind: ClassVar[str]

    def __hash__(self) -> int: ...

    @property
    def clock(self) -> Clock:
        """The number line it reads."""

    @property
    def has_gaps(self) -> bool:
        """Whether some instants lie in no granule."""

    @property
    def grain(self) -> int:
        """A number that divides every boundary."""

    @property
    def shortest(self) -> int:
        """Length of the shortest granule."""

    @property
    def extent(self) -> tuple[int, int] | None:
        """The range outside which there is nothing."""

    def index(self, instants: Ints) -> Ints:
        """The granule of each instant, `GAP` where there is none."""

    def following(self, instants: Ints) -> Ints:
        """The granule of each instant, or else the next one after it, `GAP` if none comes."""

    def start(self, indices: Ints) -> Ints:
        """First instant of each granule."""

    def end(self, indices: Ints) -> Ints:
        """First instant after each granule."""

    def label(self, indices: Ints) -> list[str]:
        """A name for each granule, unique within the granularity."""

    def marks(self, low: int, high: int) -> Ints:
        """Every point of [low, high) where the granule may change, in order."""

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain values."""


class OfWholeDays:
    """The part of a rule that follows from its granules being made of whole civil days."""

    clock: ClassVar[Clock] = "civil"
    grain: ClassVar[int] = DAY
    extent: ClassVar[None] = None

    def marks(self, low: int, high: int) -> Ints:
        """Every midnight of [low, high)."""
        return midnights(low, high)


def midnights(low: int, high: int) -> Ints:
    """The midnights of [low, high).

    >>> midnights(-1, 86_401)
    array([    0, 86400])
    """
    return np.arange(-(-low // DAY), -(-high // DAY), dtype=np.int64) * DAY
