"""Attacks in tables: what an outsider knows, what is promised, and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from timeveil.page.markdown import Table
from timeveil.page.wording import share

ROUNDING = 1e-9
"""Chances are quotients: a worst chance may exceed its bound by this much."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an outsider knew, how many people were tried, and the chances of being right.

    `bound` means that at most 1 in `bound` is promised; None, that nothing is. `above` is the share of people
    above the bound, or above 1 in 2 where there is none.
    """

    knows: str
    people: int
    bound: int | None
    worst: float
    mean: float
    above: float

    @property
    def broken(self) -> bool:
        """Whether the worst chance is above what is promised."""
        return self.bound is not None and self.worst > 1 / self.bound + ROUNDING

    def row(self) -> tuple[str, ...]:
        """A line of the table."""
        promised = "nothing" if self.bound is None else f"at most 1 in {self.bound}"
        result = "within the bound"
        if self.bound is None:
            result = f"{share(self.above)} above 1 in 2"
        elif self.broken:
            result = f"{share(self.above)} above the bound"
        return self.knows, promised, f"{self.people:,}", share(self.worst), share(self.mean), result


def attack_table(attempts: Sequence[Attempt]) -> Table:
    """Attacks as a table."""
    head = ("the outsider knows", "promised", "people tried", "worst chance", "mean chance", "result")
    return Table("Attacks on the release", head, [attempt.row() for attempt in attempts], words=2)


class Risks(Protocol):
    """The numbers of candidates that an attack leaves, with the weight of each person."""

    @property
    def candidates(self) -> Any:
        """Candidates per thing tried."""

    @property
    def weight(self) -> Any:
        """How much of a person each represents."""

    @property
    def pinned(self) -> float:
        """Share of people with one candidate."""

    @property
    def worst(self) -> float:
        """The highest chance."""

    @property
    def mean(self) -> float:
        """The mean chance."""

    @property
    def out_of_reach(self) -> float:
        """Share of people without a candidate."""

    def quantile(self, share: float) -> int:
        """The candidates that a share of people do not exceed."""


def risk_table(before: Risks, after: Risks, what: str) -> Table:
    """What is found in the original and in the release; `what` is named, such as a person."""
    shares = (
        ("people with a single candidate", before.pinned, after.pinned),
        (f"highest chance of naming {what}", before.worst, after.worst),
        (f"mean chance of naming {what}", before.mean, after.mean),
        ("people out of reach", before.out_of_reach, after.out_of_reach),
    )
    rows = [(label, share(first), share(second)) for label, first, second in shares]
    for label, part in (("fewest", 0.0), ("median", 0.5), ("most", 1.0)):
        rows.append((f"candidates, {label}", f"{before.quantile(part):,}", f"{after.quantile(part):,}"))
    return Table("What this outsider finds", ("", "original", "release"), rows)


def candidate_shares(risk: Risks, edges: Sequence[int]) -> list[float]:
    """Share of all people whose candidates are between two edges; people out of reach are in none."""
    counts, _ = np.histogram(risk.candidates, bins=edges, weights=risk.weight)
    total = float(risk.weight.sum())
    return [float(count) / total if total else 0.0 for count in counts]
