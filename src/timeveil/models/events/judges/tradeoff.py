"""What settings and releases of events are compared by: losses, an outsider, the promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence.published import same_columns
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.measure import Loss
from timeveil.models.events.parameters import Adversary

ASKED: Mapping[str, int] = {}
LOSSES = {
    "bits": "the information that a published row loses on average",
    "window_error": "the mean error of random counts over windows of time",
    "withheld": "the share of rows that were withheld",
}
basis = same_columns

GOAL = "names the right person"


def known(adversary: Mapping[str, Any]) -> str:
    """What the adversary knows, in words."""
    return f"the quasi-identifiers and the time of {counted(adversary['visits'], 'visit')}"


def outsider(_explored: str = "", _options: Mapping[str, Any] = {}) -> Adversary:
    """The adversary that the promise is about."""
    return Adversary()


def further_outsiders(_release: Release) -> dict[str, Adversary]:
    """Adversaries that releases are also compared by."""
    return {}


def usual_risk(_adversary: Adversary) -> str:
    """The way to state the risk."""
    return "worst"


def promised(evidence: Evidence, _adversary: Adversary) -> float:
    """The chance that the promise leaves to the adversary."""
    return 1 / evidence.k


def stated(counts: Mapping[str, Any]) -> dict[str, float]:
    """The losses that the folder itself states."""
    return {"withheld": counts["withheld"] / max(counts["rows_read"], 1)}


def measured(release: Release, loss: Loss) -> tuple[dict[str, float], dict[str, Any]]:
    """The losses by name, and other results that tell settings apart."""
    by = "row by row" if release.manifest.get("steps") else release.manifest["granularity"]
    facts = {"granularity": by, "groups": loss.groups}
    losses = {"bits": loss.bits_per_row, "window_error": loss.window_error_mean}
    return losses | {"withheld": loss.suppressed_share}, facts
