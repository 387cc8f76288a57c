"""How sure somebody can be of a person's sensitive value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
# Chances are sums of a few quotients: equal ones may differ in their last digits.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The chance given to the true value, one entry per thing tried.

    `weight` is how much of a person an entry stands for, so that everybody counts once.

    >>> found = Posterior(np.array([0.25, 1.0]), np.array([3.0, 1.0]))
    >>> found.worst, found.mean, found.certain, found.share_above(0.25), found.people
    (1.0, 0.4375, 0.25, 0.25, 4.0)
    """

    chance: Floats
    weight: Floats

    @property
    def people(self) -> float:
        """How many people it is about."""
        return float(self.weight.sum())

    @property
    def worst(self) -> float:
        """The highest chance given to anyone's true value."""
        return float(self.chance.max(initial=0.0))

    @property
    def mean(self) -> float:
        """The chance given to the true value, averaged over people."""
        return self._share(self.chance)

    @property
    def certain(self) -> float:
        """Share of people whose value is known for sure."""
        return self._share(self.chance > 1 - _ROUNDING)

    def share_above(self, threshold: float) -> float:
        """Share of people whose true value is given a chance above `threshold`."""
        return self._share(self.chance > threshold + _ROUNDING)

    def only(self, mask: npt.NDArray[np.bool_]) -> Posterior:
        """A part of the entries."""
        return Posterior(self.chance[mask], self.weight[mask])

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {"people": self.people, "worst": self.worst, "mean": self.mean, "certain": self.certain}

    def _share(self, part: npt.NDArray[Any]) -> float:
        total = self.people
        return min(float(part @ self.weight) / total, 1.0) if total else 0.0
