"""The words about a stream release: its facts, from which templates make all texts.

How many records were moved and withheld is private: it comes from the ledger, and only the custodian sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from timeveil.models.stream.evidence import Evidence, ineligible_slots, least_packet_sizes
from timeveil.models.stream.judges.attack import StreamAdversary, StreamBreach, attack
from timeveil.models.stream.parameters import StreamParameters
from timeveil.page.facts import ReleaseFacts

CHEAP_ROWS = 200_000
"""Above this many rows, a run does not try the attack that the promise does not cover."""


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    table = StreamParameters

    def __init__(self, evidence: Evidence, hierarchies: Sequence[str] = ()) -> None:
        super().__init__(evidence, hierarchies)
        self.title = f"{self.source} -> every slot {self.l}-diverse"
        self.true_slot: int | None = evidence.true_slot
        self.bucketed: bool = self.parameters["buckets"] != "none"
        self.furthest: int = self.parameters["window"] - 1 + self.parameters["jitter"]

    @cached_property
    def slots(self) -> dict[str, int]:
        """How many slots had records, and how many of them were not l-diverse as they were.

        Where the true slot is protected, also the records, and their slots, that get a weaker promise.
        """
        if self.ledger is None:
            return {"slots_with_records": 0, "slots_not_eligible": 0}
        journeys = self.evidence.linked
        complete, values = journeys.complete, journeys.value
        distinct, slot = np.unique(journeys.origin[complete], return_inverse=True)
        codes = values.codes[complete]
        ineligible = ineligible_slots(slot, codes, self.l)
        numbers = {"slots_with_records": len(distinct), "slots_not_eligible": ineligible}
        if self.true_slot is not None:
            weaker = least_packet_sizes(slot, codes, self.true_slot) < self.true_slot
            numbers["records_promised_less"] = int(np.count_nonzero(weaker))
            numbers["slots_promised_less"] = len(np.unique(slot[weaker]))
        return numbers

    @cached_property
    def breach(self) -> StreamBreach | None:
        """The attack by someone who knows the true slot; None where it would take long."""
        if self.ledger is None or self.ledger.original.rows > CHEAP_ROWS or not self.counts["rows"]:
            return None
        return attack(self.evidence, StreamAdversary("true-slot"))

    @property
    def exposure(self) -> dict[str, float] | None:
        """Mean chance of guessing the values of moved and missing records, knowing the true slot."""
        if self.breach is None:
            return None
        parts = {fate: self.breach.parts[fate] for fate in ("moved", "missing") if fate in self.breach.parts}
        return {fate: part.mean for fate, part in parts.items() if len(part.chance)}

    @property
    def withheld(self) -> dict[str, int]:
        """How many records were withheld, by reason."""
        duplicates, incomplete = self.run.get("duplicates", 0), self.run.get("incomplete", 0)
        return {
            "to keep the promise": self.run.get("withheld", 0) - duplicates - incomplete,
            "because the person already has a record in that slot": duplicates,
            "without a time, a person or a value": incomplete,
        }

    def figures(self) -> list[tuple[str, Any]]:
        counts = self.counts
        return [
            ("records published", counts["rows"]),
            ("slots", counts["slots"]),
            ("from and to", f"{counts['first_slot']} to {counts['last_slot']}" if counts["rows"] else "none"),
            ("buckets", counts["buckets"]),
        ]

    def as_dict(self, *entries: str) -> dict[str, Any]:
        private = ("seed", "withhold_cost", "parameters")
        return {
            **super().as_dict("time", "parameters", *entries),
            **{name: value for name, value in self.run.items() if name not in private},
            **self.slots,
            **({} if self.breach is None else {"true_slot_known": self.breach.as_dict()}),
        }
