"""What settings and releases of series are compared by."""

from collections.abc import Mapping
from typing import Any, ClassVar

from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence import tradeoff
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges.measure import SeriesLoss
from timeveil.models.series.parameters import WEIGHING, SeriesAdversary

KNOWN = 3  # instants whose value is known to an outsider who knows values only


class Tradeoff(tradeoff.Tradeoff):
    """No loss is about the answers to random questions."""

    goal = "names the right row"
    losses: ClassVar = {
        "both": "the mean of the losses of values and patterns",
        "values": "the width of envelopes, as a share of one envelope around everyone",
        "pattern": "the distance of published patterns from true ones: 1 less their correlation",
        "withheld": "the share of series that were withheld",
    }
    asked: ClassVar = {"queries": 0}

    def basis(self, manifest: Mapping[str, Any]) -> str:
        return repr([manifest["series"][name] for name in ("instants", "values", "pattern")])

    def known(self, adversary: Mapping[str, Any]) -> str:
        return SeriesAdversary(**adversary).words

    def outsider(self, explored: str = "", options: Mapping[str, Any] = {}) -> SeriesAdversary:
        """The parameter k protects against one who knows values only, others against everything."""
        if explored == "shape_weight" and options.get("method", WEIGHING[0]) not in WEIGHING:
            message = f"the method `{options['method']}` has no `shape_weight`, so all give the same release"
            raise ParameterError(message, hint='use {method="adaptive"}, or explore {k}')
        if explored == "shape_weight" and options.get("p") == 1:
            message = "p is 1, so no shape is published, and every `shape_weight` gives the same release"
            raise ParameterError(message, hint="raise {p} to at least 2, or explore {k}")
        return SeriesAdversary(values=KNOWN) if explored == "k" else SeriesAdversary(pattern=True)

    def further_outsiders(self, release: Release) -> dict[str, SeriesAdversary]:
        return {"values": SeriesAdversary(values=min(KNOWN, len(release.manifest["series"]["instants"])))}

    def promised(self, evidence: Evidence, _adversary: SeriesAdversary) -> float:
        """An outsider who knows values also reads the patterns, if any."""
        return 1 / evidence.least_candidates

    def stated(self, counts: Mapping[str, Any]) -> dict[str, float]:
        return {"withheld": counts["suppressed"] / max(counts["rows"] + counts["suppressed"], 1)}

    def measured(self, _release: Release, loss: SeriesLoss) -> tuple[dict[str, float], dict[str, Any]]:
        parts = {}
        if loss.value_loss is not None:
            parts["values"] = loss.value_loss / loss.value_span if loss.value_span else 0.0
        # Without a pattern nothing is left of a shape.
        parts["pattern"] = 1.0 if loss.pattern_loss is None else loss.pattern_loss
        mean = sum(parts.values()) / max(len(parts), 1)
        return {"both": mean, **parts, "withheld": loss.suppressed_share}, {"groups": loss.groups}
