"""Numbers and names about a stream release, from which all of its texts are made.

How many records were moved and withheld is private: it comes from the ledger, and only the custodian sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from timeveil.models.stream.evidence import Evidence, least_packet_sizes
from timeveil.models.stream.judges.alternatives import Snapshots
from timeveil.models.stream.judges.attack import StreamAdversary, StreamBreach, attack
from timeveil.page.facts import ReleaseFacts
from timeveil.page.wording import counted, share

CHEAP_ROWS = 200_000
"""Above this many rows, a run does not try the attack that the promise does not cover."""
MUCH_WITHHELD = 0.01
FEW_TIMES_L = 10
"""Slots with fewer records than this times l are small for packets of more than 2: see the experiments."""


@dataclass(frozen=True, slots=True)
class SlotCounts:
    """How many slots had records, and how many of them were not l-diverse as they were.

    `weaker_records`, in `weaker_slots`, get a weaker promise than others about who knows the true slot.
    """

    with_records: int
    not_eligible: int
    weaker_records: int = 0
    weaker_slots: int = 0


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence.release, evidence.ledger)
        self.evidence = evidence
        self.time: Mapping[str, Any] = self.manifest["time"]
        self.l: int = self.release.guarantee.as_dict()["l"]
        self.true_slot: int | None = evidence.true_slot
        self.bucketed: bool = self.parameters["buckets"] != "none"
        self.furthest: int = self.parameters["window"] - 1 + self.parameters["jitter"]

    @property
    def title(self) -> str:
        """What the run made of its source."""
        return f"{self.source} -> every slot {self.l}-diverse"

    @cached_property
    def slots(self) -> SlotCounts:
        """The slots as they came in, with the ledger."""
        if self.ledger is None:
            return SlotCounts(0, 0)
        journeys = self.evidence.linked
        complete, values = journeys.complete, journeys.value
        distinct, slot = np.unique(journeys.origin[complete], return_inverse=True)
        codes = values.codes[complete]
        ineligible = Snapshots(slot, codes, len(distinct), values.size).ineligible(self.l)
        if self.true_slot is None:
            return SlotCounts(len(distinct), ineligible)
        weaker = least_packet_sizes(slot, codes, self.true_slot) < self.true_slot
        return SlotCounts(
            len(distinct), ineligible, int(np.count_nonzero(weaker)), len(np.unique(slot[weaker]))
        )

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
    def withheld(self) -> list[tuple[int, str]]:
        """How many records were withheld, and why."""
        duplicates, incomplete = self.run.get("duplicates", 0), self.run.get("incomplete", 0)
        reasons = [
            (self.run.get("withheld", 0) - duplicates - incomplete, "to keep the promise"),
            (duplicates, "because the person already has a record in that slot"),
            (incomplete, "without a time, a person or a value"),
        ]
        return [(records, reason) for records, reason in reasons if records]

    @property
    def warnings(self) -> list[str]:
        """What no window cures, and what a larger one would."""
        if self.ledger is None:
            return []
        run, warnings = self.run, []
        arrived = self.counts["slots"] - self.parameters["jitter"]
        if self.parameters["jitter"] and self.counts["slots"] and arrived <= self.parameters["jitter"]:
            warnings.append(
                f"a jitter of {self.parameters['jitter']:,} is at least as long as the "
                f"{counted(arrived, 'slot')} that records came in, so the release hardly shows when anything "
                "happened. Choose a smaller jitter."
            )
        warnings += self._packet_warnings()
        withheld = run["withheld"] - run.get("duplicates", 0) - run.get("incomplete", 0)
        if run["values_above_share"]:
            warnings.append(
                f"one sensitive value makes up {share(run['largest_share'])} of all records, more than 1 in "
                f"{self.l}. No window helps; records have to be withheld. {self._cure()}"
            )
        elif run["rows"] and withheld / run["rows"] > MUCH_WITHHELD:
            warnings.append(
                f"{counted(withheld, 'record')} ({share(withheld / run['rows'])}) had to be withheld "
                f"although no value is above 1 in {self.l} overall: values arrive too unevenly for a window "
                f"of {self.parameters['window']}. Choose a larger window."
            )
        return warnings

    def as_dict(self) -> dict[str, Any]:
        """The facts of a run as data."""
        ledger, private = self.ledger, ("seed", "withhold_cost", "parameters")
        facts: dict[str, Any] = {
            "source": None if ledger is None else ledger.original.source,
            "guarantee": self.manifest["guarantee"],
            **{name: self.manifest[name] for name in ("time", "parameters", "counts")},
            **{name: value for name, value in self.run.items() if name not in private},
            "slots_with_records": self.slots.with_records,
            "slots_not_eligible": self.slots.not_eligible,
            "dropped": [] if ledger is None else list(ledger.original.dropped),
        }
        if self.true_slot is not None:
            facts["records_promised_less"] = self.slots.weaker_records
            facts["slots_promised_less"] = self.slots.weaker_slots
        if self.breach is not None:
            facts["true_slot_known"] = self.breach.as_dict()
        return facts

    def _cure(self) -> str:
        """What helps against a value above 1 in l; 2 is the smallest l."""
        largest = self.run["largest_share"]
        if self.l > 2 and largest <= 1 / 2:
            return f"Choose an l of at most {int(1 / largest)}."
        return (
            "The value is too common for any l: choose another sensitive column, or split the value into "
            "finer ones."
        )

    def _packet_warnings(self) -> list[str]:
        """Slots that are too skewed or too small for packets, and people who are in a slot twice."""
        size, rows = self.true_slot, self.run["rows"]
        if size is None or not rows:
            return []
        warnings, slots = [], self.slots
        if slots.weaker_records:
            warnings.append(
                f"{counted(slots.weaker_records, 'record')} ({share(slots.weaker_records / rows)}) in "
                f"{counted(slots.weaker_slots, 'slot')} get a weaker promise than 1 in {size}, because one "
                f"value takes more than 1 in {size} of the slot's records. Where it takes more than half, "
                "nothing is promised, and a record that is moved mostly has that value. Choose longer slots, "
                "or split the value into finer ones."
            )
        if self.run.get("duplicates", 0):
            warnings.append(
                f"{counted(self.run['duplicates'], 'record')} had to be withheld because a packet that would "
                "show a person twice in a slot is withheld entirely. Provide one record per person and slot."
            )
        per_slot = rows / max(self.counts["slots"], 1)
        if size > 2 and self.counts["slots"] and per_slot < FEW_TIMES_L * self.l:
            warnings.append(
                f"slots have {per_slot:.0f} records on average, which is few for packets of {size} at "
                f"l = {self.l}: many are moved far or withheld. Set `protect_slot` to 2, lower l, or choose "
                "longer slots."
            )
        return warnings
