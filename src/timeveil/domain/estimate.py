"""An answer with its bounds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number computed from a release: the best guess, and bounds that the truth is always within.

    On a stream the bounds are about the published records: moved and withheld ones are not counted.

    >>> Estimate(3.5, low=2, high=6)
    Estimate(value=3.5, low=2, high=6)
    """

    value: float
    low: float
    high: float
