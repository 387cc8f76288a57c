"""What an attack on series came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from timeveil.evidence.risk import QUANTILES, Posterior, Risk
from timeveil.models.series.judges.adversary import SeriesAdversary


@dataclass(frozen=True, slots=True, eq=False)
class SeriesBreach:
    """An attack on a series release, `before` the same on the original.

    `after` holds how many published rows fit what is known of each person: the chance of naming the right
    one is one in their number. It is 0 for who was suppressed and, where patterns are not each record's
    own, for whom the adversary, who bets on the nearest, gets wrong. `told` gives per sensitive column
    the chance of each person's true value, as the share of rows that fit and have it; `homogeneous` the
    share of people whom all rows that fit give one and the same value. Numbers that were changed for l are
    read as the nearest that somebody has.
    `people` were attacked out of `everyone`; `own_patterns` is what the release says of its patterns.
    """

    adversary: SeriesAdversary
    k: int
    p: int
    people: int
    everyone: int
    before: Risk
    after: Risk
    told: Mapping[str, Posterior]
    homogeneous: Mapping[str, float]
    own_patterns: bool = True

    @property
    def worst(self) -> float:
        """The highest chance of naming the right row that anyone is exposed to."""
        return self.after.worst

    @property
    def mean(self) -> float:
        """The chance of naming the right row, averaged over people."""
        return self.after.mean

    @property
    def unique_before(self) -> float:
        """Share of people whom nobody else in the original fits."""
        return self.before.pinned

    @property
    def unique_after(self) -> float:
        """Share of people for whom a single published row is left."""
        return self.after.pinned

    @property
    def distribution(self) -> dict[str, int]:
        """How many published rows fit: the number that each share of people does not exceed."""
        return {f"{share:g}": self.after.quantile(share) for share in QUANTILES}

    def share_above(self, threshold: float) -> float:
        """Share of people whose row is named with a chance above `threshold`."""
        return self.after.share_above(threshold)

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "adversary": self.adversary.as_dict(),
            "k": self.k,
            "p": self.p,
            "people": self.people,
            "everyone": self.everyone,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "share_above_one_in_p": self.share_above(1 / self.p),
            "told": {name: found.as_dict() for name, found in self.told.items()},
            "homogeneous": dict(self.homogeneous),
        }
