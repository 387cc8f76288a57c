"""An answer with its bounds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number computed from a release: the best guess and what the truth cannot lie outside of.

    Of a stream that is the truth about the published records; records were moved and withheld before.

    >>> Estimate(3.5, low=2, high=6)
    Estimate(value=3.5, low=2, high=6)
    """

    value: float
    low: float
    high: float
