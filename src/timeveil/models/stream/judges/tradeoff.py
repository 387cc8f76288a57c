"""What settings and releases of a stream are compared by: losses, an outsider, the promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.release import Release
from timeveil.evidence.published import same_columns
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.judges.measure import StreamLoss
from timeveil.models.stream.parameters import KNOWLEDGE, StreamAdversary

SLOTS = 5  # length in slots of the windows that are counted
ASKED: Mapping[str, int] = {}
LOSSES = {
    "window_error": f"the mean error of random counts over windows of {SLOTS} slots",
    "withheld": "the share of records that were withheld",
    "moved": "the share of records that were published late",
}
basis = same_columns
GOAL = "knows a person's true value"


def known(adversary: Mapping[str, Any]) -> str:
    """What the adversary knows, in words."""
    return f"the quasi-identifiers and {KNOWLEDGE[adversary['knows']]}"


def outsider(_explored: str = "", options: Mapping[str, Any] = {}) -> StreamAdversary:
    """The adversary that the promise is about: with `protect_slot` one who knows the true slot."""
    return StreamAdversary("true-slot" if options.get("protect_slot") else "published-slot")


def further_outsiders(release: Release) -> dict[str, StreamAdversary]:
    """Adversaries that releases are also compared by: those that more is promised about."""
    promise: Any = release.guarantee
    further = {"true_slot": promise.true_slot, "several_slots": promise.recurring}
    adversaries = {
        "true_slot": StreamAdversary("true-slot"),
        "several_slots": StreamAdversary("several-slots"),
    }
    return {name: adversaries[name] for name, promised in further.items() if promised is not None}


def usual_risk(adversary: StreamAdversary) -> str:
    """The way to state the risk: a slot of one value hides nothing from anyone who knows the slot."""
    return "mean" if adversary.knows == "true-slot" else "worst"


def promised(evidence: Evidence, adversary: StreamAdversary) -> float:
    """The chance that the promise leaves to the adversary; 1 if it does not cover this one."""
    promise: Any = evidence.release.guarantee
    sizes = {
        "published-slot": evidence.l,
        "true-slot": promise.true_slot,
        "several-slots": evidence.l if promise.recurring and not promise.forget_after else None,
    }
    return 1 / (sizes.get(adversary.knows) or 1)


def stated(_counts: Mapping[str, Any]) -> dict[str, float]:
    """The losses that the folder itself states: none, as moved and withheld records are not counted in it."""
    return {}


def measured(_release: Release, loss: StreamLoss) -> tuple[dict[str, float], dict[str, Any]]:
    """The losses by name, and other results that tell settings apart."""
    error = next(window.release for window in loss.window_errors if window.length == SLOTS)
    return {"window_error": error, "withheld": loss.suppressed_share, "moved": loss.moved_share}, {}
