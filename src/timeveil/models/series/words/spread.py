"""How many candidates an attack leaves, in ranges, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from timeveil.evidence.risk import Risk
from timeveil.models.events.judges.attack import Breach

EDGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)
OUT_OF_REACH = "out of reach"


@dataclass(frozen=True, slots=True)
class Range:
    """Shares of the people who are left with so many candidates."""

    label: str
    before: float
    after: float


def spread(breach: Breach) -> list[Range]:
    """Share of people by the number of candidates left, those out of reach first."""
    largest = max(int(risk.candidates.max(initial=1)) for risk in (breach.before, breach.after))
    edges = [edge for edge in EDGES if edge <= largest]
    labels = [OUT_OF_REACH, *_labels(edges)]
    shares = zip(labels, _shares(breach.before, edges), _shares(breach.after, edges), strict=True)
    return [Range(*found) for found in shares]


def _shares(risk: Risk, edges: list[int]) -> list[float]:
    """Share of people out of reach, then per range of candidates."""
    total = float(risk.weight.sum())
    place = np.searchsorted(edges, risk.candidates, side="right")
    weight = np.bincount(place, weights=risk.weight, minlength=len(edges) + 1)
    return [float(part) / total if total else 0.0 for part in weight]


def _labels(edges: list[int]) -> Iterator[str]:
    """Names of the ranges.

    >>> list(_labels([1, 2, 5]))
    ['1', '2 to 4', '5 or more']
    """
    for low, high in zip(edges, [*edges[1:], None], strict=True):
        if high is None:
            yield f"{low:,} or more" if low > 1 else "1"
        else:
            yield f"{low:,}" if high - low == 1 else f"{low:,} to {high - 1:,}"
