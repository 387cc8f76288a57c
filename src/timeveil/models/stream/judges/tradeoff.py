"""What settings and releases of a stream are compared by."""

from collections.abc import Mapping
from typing import Any, ClassVar

from timeveil.domain.release import Release
from timeveil.evidence import tradeoff
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.judges.measure import StreamLoss
from timeveil.models.stream.parameters import KNOWLEDGE, StreamAdversary

SLOTS = 5  # length in slots of the windows that are counted


class Tradeoff(tradeoff.Tradeoff):
    """Moved and withheld records are not counted in a folder, so it states no loss."""

    goal = "knows a person's true value"
    losses: ClassVar = {
        "window_error": f"the mean error of random counts over windows of {SLOTS} slots",
        "withheld": "the share of records that were withheld",
        "moved": "the share of records that were published late",
    }

    def known(self, adversary: Mapping[str, Any]) -> str:
        return f"the quasi-identifiers and {KNOWLEDGE[adversary['knows']]}"

    def outsider(self, _explored: str = "", options: Mapping[str, Any] = {}) -> StreamAdversary:
        """With `protect_slot` the promise is about one who knows the true slot."""
        return StreamAdversary("true-slot" if options.get("protect_slot") else "published-slot")

    def further_outsiders(self, release: Release) -> dict[str, StreamAdversary]:
        """Those that more is promised about."""
        promise: Any = release.guarantee
        further = {"true_slot": promise.true_slot, "several_slots": promise.recurring}
        adversaries = {
            "true_slot": StreamAdversary("true-slot"),
            "several_slots": StreamAdversary("several-slots"),
        }
        return {name: adversaries[name] for name, promised in further.items() if promised is not None}

    def usual_risk(self, adversary: StreamAdversary) -> str:
        """A slot of one value hides nothing from anyone who knows the slot."""
        return "mean" if adversary.knows == "true-slot" else "worst"

    def promised(self, evidence: Evidence, adversary: StreamAdversary) -> float:
        promise: Any = evidence.release.guarantee
        sizes = {
            "published-slot": evidence.l,
            "true-slot": promise.true_slot,
            "several-slots": evidence.l if promise.recurring and not promise.forget_after else None,
        }
        return 1 / (sizes.get(adversary.knows) or 1)

    def measured(self, _release: Release, loss: StreamLoss) -> tuple[dict[str, float], dict[str, Any]]:
        error = next(window.release for window in loss.window_errors if window.length == SLOTS)
        return {"window_error": error, "withheld": loss.suppressed_share, "moved": loss.moved_share}, {}
