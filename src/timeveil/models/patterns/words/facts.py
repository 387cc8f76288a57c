"""Numbers and names about a pattern release, from which all of its texts are made.

Texts hold column names and numbers, never an item. Only on request does a run name the small groups that the
true counts reveal; these sentences are for the custodian alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.models.patterns.evidence import Evidence
from timeveil.page.facts import ReleaseFacts
from timeveil.page.wording import counted, share

NARROW = 5
"""Up to this many times k as smallest support, counts are raised by much of themselves."""
HEAVY = 0.1
"""Above this mean error, or share of virtual people, a run warns of heavy distortion."""
SMALL_K = 5
MOST_EXAMPLES = 5


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence.release, evidence.ledger)
        self.evidence = evidence
        self.patterns: Mapping[str, Any] = self.manifest["patterns"]
        self.k: int = self.release.guarantee.as_dict()["k"]
        self.exposure = None

    @property
    def title(self) -> str:
        """What the run made of its source."""
        return f"{self.source} -> pattern counts that reveal no group below {self.k}"

    @property
    def warnings(self) -> list[str]:
        """What a custodian should consider before publishing."""
        if self.ledger is None:
            return []
        run, warnings = self.run, distortion(self.k, self.parameters["min_support"], self.run)
        if run["lost"]:
            warnings.append(
                f"{counted(run['lost'], 'pattern')} of {run['patterns']:,} were lost; the method additive "
                "loses none."
            )
        if self.k < SMALL_K:
            warnings.append(
                f"k is {self.k}, so a few members of a group who work together can identify the others. A k "
                "of 5 to 20 is usual."
            )
        shared = run.get("source_p")
        if shared is not None and shared < self.k:
            warnings.append(
                f"k is {self.k}, but in the series release that the patterns come from, only {shared} or "
                f"more share a pattern. Anyone who has that release can count groups of {shared} in it, so "
                "together with it k of the counts is worth no more."
            )
        if run["origin"] == "series":
            warnings.append(
                "these counts come from the original series. Publish them instead of a series release of the "
                "same people, not together with it, or make them from that release."
            )
            if not self.patterns["structural"]:
                warnings.append(
                    "every reader knows that each person has one letter per instant; groups that follow from "
                    "this were not checked, and the promise is weaker. Leave structural on unless you only "
                    "compare."
                )
        return warnings

    def examples(self) -> list[str]:
        """Small groups that the true counts reveal, by name: for the custodian alone."""
        if self.ledger is None:
            return []
        texts = self.ledger.mappings["channels"]["text"].to_pylist()[:MOST_EXAMPLES]
        return [f"Private, from the true counts: {text}." for text in texts]

    def as_dict(self) -> dict[str, Any]:
        """The facts of a run as data."""
        ledger = self.ledger
        return {
            "source": None if ledger is None else ledger.original.source,
            **{name: self.manifest[name] for name in ("guarantee", "patterns", "parameters", "counts")},
            "run": dict(self.run),
            "dropped": [] if ledger is None else list(ledger.original.dropped),
        }


def distortion(k: int, least: int, run: Mapping[str, Any]) -> list[str]:
    """A warning that counts are far from the true ones, or are likely to be."""
    if not run["channels"]:
        return []
    mean, worst = run["mean_error"] or 0.0, run["worst_error"] or 0.0
    virtual = run["virtual"] / max(run["transactions"] + run["virtual"], 1)
    cost = (
        f" Here, counts rose by {share(mean)} on average and by {share(worst)} at worst." if worst > 0 else ""
    )
    if least <= NARROW * k:
        return [
            f"the smallest support is {least:,}, {least / k:.3g} times k: expect heavy distortion.{cost} The "
            f"larger it is, the less has to change; from {20 * k:,} on, changes are often small."
        ]
    if mean > HEAVY or worst > 1 or virtual > HEAVY:
        return [
            f"heavy distortion: {share(virtual)} of the people counted are virtual.{cost} A larger "
            "min_support changes less."
        ]
    return []
