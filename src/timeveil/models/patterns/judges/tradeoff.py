"""What settings and releases of patterns are compared by: losses, an outsider, the promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.release import Release
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.patterns.parameters import PatternAdversary

ASKED: Mapping[str, int] = {}
GOAL = "names a member of a group that follows from the counts"
LOSSES = {
    "count_error": "the mean error of published counts",
    "changed": "the share of patterns with another count",
    "lost": "the share of patterns that are not published",
}


def basis(manifest: Mapping[str, Any]) -> str:
    """What losses and chances are about: with another basis, they answer other questions."""
    parts = [manifest["patterns"][name] for name in ("kind", "instants", "symbols")]
    return repr([*parts, *(manifest["parameters"][name] for name in ("min_support", "max_len"))])


def known(_adversary: Mapping[str, Any]) -> str:
    """What the adversary knows, in words."""
    return ""


def outsider(_explored: str = "", _options: Mapping[str, Any] = {}) -> PatternAdversary:
    """The adversary that the promise is about."""
    return PatternAdversary(bounds=False)


def further_outsiders(_release: Release) -> dict[str, PatternAdversary]:
    """Adversaries that releases are also compared by."""
    return {}


def usual_risk(_adversary: PatternAdversary) -> str:
    """The way to state the risk: no small group at all can be computed from counts that keep the promise."""
    return "promised"


def promised(evidence: Evidence, _adversary: PatternAdversary) -> float:
    """The chance that the promise leaves to the adversary."""
    return 1 / evidence.k


def stated(_counts: Mapping[str, Any]) -> dict[str, float]:
    """The losses that the folder itself states: none."""
    return {}


def measured(_release: Release, loss: PatternLoss) -> tuple[dict[str, float], dict[str, Any]]:
    """The losses by name, and other results that tell settings apart."""
    every = max(loss.patterns, 1)
    shares = {"count_error": loss.mean_error, "changed": loss.changed / every, "lost": loss.lost / every}
    return shares, {"patterns": loss.patterns, "virtual": loss.virtual}
