"""What settings and releases of series are compared by: losses, outsiders, the promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges.measure import SeriesLoss
from timeveil.models.series.parameters import WEIGHING, SeriesAdversary

KNOWN = 3  # instants whose value is known to an outsider who knows values only
ASKED = {"queries": 0}  # no loss below is about the answers to random questions
GOAL = "names the right row"
LOSSES = {
    "both": "the mean of the losses of values and patterns",
    "values": "the width of envelopes, as a share of one envelope around everyone",
    "pattern": "the distance of published patterns from true ones: 1 less their correlation",
    "withheld": "the share of series that were withheld",
}


def basis(manifest: Mapping[str, Any]) -> str:
    """What losses and chances are about: with another basis, they answer other questions."""
    return repr([manifest["series"][name] for name in ("instants", "values", "pattern")])


def known(adversary: Mapping[str, Any]) -> str:
    """What the adversary knows, in words."""
    return SeriesAdversary(**adversary).words


def outsider(explored: str = "", options: Mapping[str, Any] = {}) -> SeriesAdversary:
    """The adversary that a parameter protects against: k one who knows values only, others everything."""
    if explored == "shape_weight" and options.get("method", WEIGHING[0]) not in WEIGHING:
        message = f"the method `{options['method']}` has no `shape_weight`, so all give the same release"
        raise ParameterError(message, hint='use {method="adaptive"}, or explore {k}')
    if explored == "shape_weight" and options.get("p") == 1:
        message = "p is 1, so no shape is published, and every `shape_weight` gives the same release"
        raise ParameterError(message, hint="raise {p} to at least 2, or explore {k}")
    return SeriesAdversary(values=KNOWN) if explored == "k" else SeriesAdversary(pattern=True)


def further_outsiders(release: Release) -> dict[str, SeriesAdversary]:
    """Adversaries that releases are also compared by."""
    return {"values": SeriesAdversary(values=min(KNOWN, len(release.manifest["series"]["instants"])))}


def usual_risk(_adversary: SeriesAdversary) -> str:
    """The way to state the risk."""
    return "worst"


def promised(evidence: Evidence, _adversary: SeriesAdversary) -> float:
    """The chance that the promise leaves: an outsider who knows values also reads the patterns, if any."""
    return 1 / evidence.least_candidates


def stated(counts: Mapping[str, Any]) -> dict[str, float]:
    """The losses that the folder itself states."""
    return {"withheld": counts["suppressed"] / max(counts["rows"] + counts["suppressed"], 1)}


def measured(_release: Release, loss: SeriesLoss) -> tuple[dict[str, float], dict[str, Any]]:
    """The losses by name, and other results that tell settings apart."""
    parts = {}
    if loss.value_loss is not None:
        parts["values"] = loss.value_loss / loss.value_span if loss.value_span else 0.0
    # Without a pattern nothing is left of a shape.
    parts["pattern"] = 1.0 if loss.pattern_loss is None else loss.pattern_loss
    mean = sum(parts.values()) / max(len(parts), 1)
    return {"both": mean, **parts, "withheld": loss.suppressed_share}, {"groups": loss.groups}
