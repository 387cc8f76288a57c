"""What a sweep came to: its settings, the knee, and what stays within the limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ALIKE = 0.01
"""Risks that differ by no more than one in a hundred are the same."""
SAVED = 0.9
"""Of what can be saved in loss, the share at which more is not worth it."""
FEWEST = 3
"""A curve through fewer points has no knee."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: what it lost and risks, as shares, or why it was `refused`.

    `loss` and `risk` are those that settings are compared by; `losses` and `risks` hold all by name, `facts`
    what else there is to say, such as the granularity chosen.
    """

    value: float
    loss: float = math.nan
    risk: float = math.nan
    losses: Mapping[str, float] = field(default_factory=dict)
    risks: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    refused: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        if self.refused is not None:
            return {"value": self.value, "refused": self.refused}
        return {
            "value": self.value,
            "loss": self.loss,
            "risk": self.risk,
            "losses": dict(self.losses),
            "risks": dict(self.risks),
            "facts": dict(self.facts),
        }


@dataclass(frozen=True, slots=True)
class Exploration:
    """`settings` of one `parameter`, from small to large; compared by the loss and the risk that are named.

    `adversary` is what the outsider is taken to know. `max_loss` and `max_risk` are the limits, if any.

    >>> points = [(2, 0.1, 0.5), (5, 0.2, 0.2), (10, 0.6, 0.1)]
    >>> found = Exploration("time", "k", tuple(Setting(*point) for point in points), max_risk=0.25)
    >>> found.knee.value, found.best.value, [setting.value for setting in found.within]
    (5, 5, [5, 10])
    """

    model: str
    parameter: str
    settings: tuple[Setting, ...]
    loss: str = "window_error"
    risk: str = "worst"
    adversary: Mapping[str, Any] = field(default_factory=dict)
    max_loss: float | None = None
    max_risk: float | None = None

    @property
    def feasible(self) -> tuple[Setting, ...]:
        """Those that gave a release."""
        return tuple(setting for setting in self.settings if setting.refused is None)

    @property
    def risk_differs(self) -> bool:
        """Whether the parameter changes the risk at all."""
        risks = [setting.risk for setting in self.feasible]
        return bool(risks) and max(risks) - min(risks) > ALIKE

    @property
    def knee(self) -> Setting | None:
        """Where the trade-off turns; None with fewer than three settings that gave a release.

        Loss and risk are each put on a scale from 0, the least of all settings, to 1, the most; the knee is
        the setting nearest to 0 in both; of two as near, the one that promises more. Where the risk is the
        same everywhere, it is the first setting, from the small end, that saves nine tenths of the loss that
        can be saved.
        """
        settings = self.feasible
        if len(settings) < FEWEST:
            return None
        losses = _scaled([setting.loss for setting in settings])
        if not self.risk_differs:
            return next(one for one, loss in zip(settings, losses, strict=True) if loss <= 1 - SAVED + 1e-12)
        risks = _scaled([setting.risk for setting in settings])
        away = [round(math.hypot(*pair), 12) for pair in zip(losses, risks, strict=True)]
        return settings[
            min(range(len(settings)), key=lambda place: (away[place], _promised(settings[place])))
        ]

    @property
    def limited(self) -> bool:
        """Whether a limit was stated."""
        return self.max_loss is not None or self.max_risk is not None

    @property
    def within(self) -> tuple[Setting, ...]:
        """Those that stay within the limits; all that gave a release where none was stated."""
        most_loss = math.inf if self.max_loss is None else self.max_loss + 1e-12
        most_risk = math.inf if self.max_risk is None else self.max_risk + 1e-12
        return tuple(one for one in self.feasible if one.loss <= most_loss and one.risk <= most_risk)

    @property
    def best(self) -> Setting | None:
        """Of those within the limits, the one of least loss; of least risk where only the loss is limited.

        Of two that are alike in both, it is the one that promises more. None where no limit was stated or no
        setting stays within it.
        """
        if not self.limited or not self.within:
            return None
        if self.best_has_least == "risk":
            return min(self.within, key=lambda one: (one.risk, one.loss, _promised(one)))
        return min(self.within, key=lambda one: (one.loss, one.risk, _promised(one)))

    @property
    def best_has_least(self) -> str:
        """What the best setting is chosen by."""
        return "risk" if self.max_risk is None and self.risk_differs else "loss"

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "model": self.model,
            "parameter": self.parameter,
            "loss": self.loss,
            "risk": self.risk,
            "adversary": dict(self.adversary),
            "settings": [setting.as_dict() for setting in self.settings],
            "knee": None if self.knee is None else self.knee.value,
            "limits": {"max_loss": self.max_loss, "max_risk": self.max_risk},
            "within_limits": [setting.value for setting in self.within] if self.limited else None,
            "best": None if self.best is None else self.best.value,
        }


def _promised(setting: Setting) -> float:
    """The chance that the promise leaves; of two alike, the lower one is had for nothing."""
    return setting.risks.get("promised", 1.0)


def _scaled(numbers: list[float]) -> list[float]:
    """Numbers from 0 for the least to 1 for the most; all 0 where they are the same.

    >>> _scaled([2.0, 4.0, 3.0]), _scaled([1.0, 1.0])
    ([0.0, 1.0, 0.5], [0.0, 0.0])
    """
    least, most = min(numbers), max(numbers)
    return [(one - least) / (most - least) if most > least else 0.0 for one in numbers]
