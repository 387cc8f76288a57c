"""What settings and releases of events are compared by."""

from collections.abc import Mapping
from typing import Any, ClassVar

from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence import tradeoff
from timeveil.models.events.judges.measure import Loss
from timeveil.models.events.parameters import Adversary


class Tradeoff(tradeoff.Tradeoff):
    """Losses are about rows, columns and windows of time; the outsider knows one visit."""

    goal = "names the right person"
    losses: ClassVar = {
        "bits": "the information that a published row loses on average",
        "window_error": "the mean error of random counts over windows of time",
        "withheld": "the share of rows that were withheld",
    }

    def known(self, adversary: Mapping[str, Any]) -> str:
        return f"the quasi-identifiers and the time of {counted(adversary['visits'], 'visit')}"

    def outsider(self, _explored: str = "", _options: Mapping[str, Any] = {}) -> Adversary:
        return Adversary()

    def stated(self, counts: Mapping[str, Any]) -> dict[str, float]:
        return {"withheld": counts["withheld"] / max(counts["rows_read"], 1)}

    def measured(self, release: Release, loss: Loss) -> tuple[dict[str, float], dict[str, Any]]:
        by = "row by row" if release.manifest.get("steps") else release.manifest["granularity"]
        facts = {"granularity": by, "groups": loss.groups}
        losses = {"bits": loss.bits_per_row, "window_error": loss.window_error_mean}
        return losses | {"withheld": loss.suppressed_share}, facts
