"""What an attack came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from timeveil.models.events.judges.adversary import Adversary

Integers: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    """How many people fit what the adversary knows of each person.

    `candidates` holds the size of the candidate set, one entry per thing tried; `weight` how much of
    a person it stands for, so that everybody counts once. A size of 0 means that what is known of the person
    was withheld: they cannot be found this way.

    >>> risk = Risk(np.array([1, 4, 0]), np.array([1.0, 1.0, 2.0]))
    >>> risk.worst, risk.mean, risk.pinned, risk.share_above(0.2), risk.out_of_reach
    (1.0, 0.3125, 0.25, 0.5, 0.5)
    """

    candidates: Integers
    weight: Floats

    @property
    def worst(self) -> float:
        """The highest chance of naming the right person that anyone is exposed to."""
        return float(self._chance.max(initial=0.0))

    @property
    def mean(self) -> float:
        """The chance of naming the right person, averaged over people."""
        return self._share(self._chance)

    @property
    def pinned(self) -> float:
        """Share of people for whom a single candidate is left."""
        return self._share(self.candidates == 1)

    @property
    def out_of_reach(self) -> float:
        """Share of people of whose known visits none was published."""
        return self._share(self.candidates == 0)

    def share_above(self, threshold: float) -> float:
        """Share of people who are named rightly with a chance above `threshold`."""
        return self._share(self._chance > threshold)

    def quantile(self, share: float) -> int:
        """The size that this share of the candidate sets do not exceed, people out of reach aside."""
        reached = self.candidates > 0
        if not reached.any():
            return 0
        order = np.argsort(self.candidates[reached], kind="stable")
        sizes, weight = self.candidates[reached][order], np.cumsum(self.weight[reached][order])
        place = np.searchsorted(weight, share * weight[-1] * (1 - 1e-12), side="left")
        return int(sizes[min(int(place), len(sizes) - 1)])

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "worst": self.worst,
            "mean": self.mean,
            "pinned": self.pinned,
            "out_of_reach": self.out_of_reach,
            "candidates": {f"{share:g}": self.quantile(share) for share in QUANTILES},
        }

    @property
    def _chance(self) -> Floats:
        return np.where(self.candidates > 0, 1.0 / np.maximum(self.candidates, 1), 0.0)

    def _share(self, part: npt.NDArray[Any]) -> float:
        total = float(self.weight.sum())
        return min(float(part @ self.weight) / total, 1.0) if total else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Breach:
    """An attack on the release, `before` the same on the original.

    `people` were attacked out of `everyone`. `largest_share` is the largest part of a group's rows
    that belongs to one person. `commonest_sensitive` gives per sensitive column the share of the most
    common value within a group, `worst` and `mean` over groups: where it is 1, being one of k does not
    hide the value.
    """

    adversary: Adversary
    k: int
    people: int
    everyone: int
    before: Risk
    after: Risk
    largest_share: float
    commonest_sensitive: Mapping[str, Mapping[str, float]]

    @property
    def worst(self) -> float:
        """The highest chance of naming the right person from the release."""
        return self.after.worst

    @property
    def mean(self) -> float:
        """The chance of naming the right person from the release, averaged over people."""
        return self.after.mean

    @property
    def pinned_before(self) -> float:
        """Share of people whom the original leaves a single candidate for."""
        return self.before.pinned

    @property
    def pinned_after(self) -> float:
        """Share of people whom the release leaves a single candidate for."""
        return self.after.pinned

    def share_above(self, threshold: float) -> float:
        """Share of people named rightly from the release with a chance above `threshold`."""
        return self.after.share_above(threshold)

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "adversary": self.adversary.as_dict(),
            "k": self.k,
            "people": self.people,
            "everyone": self.everyone,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "share_above_one_in_k": self.share_above(1 / self.k),
            "largest_share": self.largest_share,
            "commonest_sensitive": {name: dict(found) for name, found in self.commonest_sensitive.items()},
        }
