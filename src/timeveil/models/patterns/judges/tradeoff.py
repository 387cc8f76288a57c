"""What settings and releases of patterns are compared by."""

from collections.abc import Mapping
from typing import Any, ClassVar

from timeveil.domain.release import Release
from timeveil.evidence import tradeoff
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.patterns.parameters import PatternAdversary


class Tradeoff(tradeoff.Tradeoff):
    """Losses are about counts; the outsider adds and subtracts them."""

    goal = "names a member of a group that follows from the counts"
    losses: ClassVar = {
        "count_error": "the mean error of published counts",
        "changed": "the share of patterns with another count",
        "lost": "the share of patterns that are not published",
    }

    def basis(self, manifest: Mapping[str, Any]) -> str:
        parts = [manifest["patterns"][name] for name in ("kind", "instants", "symbols")]
        return repr([*parts, *(manifest["parameters"][name] for name in ("min_support", "max_len"))])

    def outsider(self, _explored: str = "", _options: Mapping[str, Any] = {}) -> PatternAdversary:
        return PatternAdversary(bounds=False)

    def usual_risk(self, _adversary: PatternAdversary) -> str:
        """No small group at all can be computed from counts that keep the promise."""
        return "promised"

    def measured(self, _release: Release, loss: PatternLoss) -> tuple[dict[str, float], dict[str, Any]]:
        every = max(loss.patterns, 1)
        shares = {"count_error": loss.mean_error, "changed": loss.changed / every, "lost": loss.lost / every}
        return shares, {"patterns": loss.patterns, "virtual": loss.virtual}
