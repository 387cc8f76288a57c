"""The risk of a stream: which slots could be published as they are, by l; and what releases are compared by.

A slot is eligible for an l if no sensitive value is held by more than 1 in l of its records. Where all
records of a slot with the same quasi-identifiers have one value, anyone who knows them knows it for certain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from timeveil.calendar.catalogue import granularity
from timeveil.calendar.granularity import Granularity
from timeveil.domain.judgement import PlainData
from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.evidence import risk
from timeveil.evidence.codes import column_of, encode, fold
from timeveil.models.stream.evidence import Evidence, commonest
from timeveil.models.stream.judges.measure import StreamLoss
from timeveil.models.stream.parameters import KNOWLEDGE, Knowledge, StreamAdversary, StreamParameters
from timeveil.models.stream.slots import NOWHERE, SlotLine

READ: Mapping[str, Any] = {"needs": ("time",), "nulls": "withhold", "slot_numbers": True}
MOST_L = 10
SLOTS = 5  # length in slots of the windows that are counted


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Slots that keep an l as they are, as a number and as shares of all slots and of all records."""

    l: int
    slots: int
    share_of_slots: float
    share_of_records: float


@dataclass(frozen=True, slots=True)
class StreamProfile(PlainData):
    """How many slots of a stream are l-diverse as they are, for each l.

    `rows_incomplete` lack a time or a sensitive value. `certain` is the share of records whose value is
    certain to anyone who knows their slot and their quasi-identifiers.
    """

    ALSO: ClassVar = ("already_diverse",)

    l: int
    slot: str
    rows: int
    rows_incomplete: int
    slots: int
    records_per_slot: float
    certain: float
    by_l: tuple[Eligibility, ...]

    @property
    def already_diverse(self) -> bool:
        """Whether every slot is l-diverse as it is."""
        return all(each.slots == self.slots for each in self.by_l if each.l == self.l)

    safe = already_diverse


def profile(relation: Relation, values: Mapping[str, Any]) -> StreamProfile:
    """Count the values of every slot."""
    usual = {name: line.example for name, line in StreamParameters.table().items() if line.required}
    parameters = StreamParameters(**{**usual, **{n: v for n, v in values.items() if n in ("l", "slot")}})
    slot, axis = parameters.slot, relation.clock
    numbered = axis.kind == "relative" and axis.unit is None
    grain = slot if isinstance(slot, Granularity) else granularity(slot)
    times = column_of(relation.data, relation.time)
    origin = SlotLine(None if numbered else grain, axis).origins(times)
    sensitive = relation.needed(next(iter(relation.roles.sensitive), None), "sensitive")
    value = encode(column_of(relation.data, sensitive))
    complete = (origin != NOWHERE) & np.asarray(value.values.is_valid())[value.codes]
    code = value.codes[complete]
    index, size, most = commonest(origin[complete], code)
    quasi = [encode(column_of(relation.data, name)) for name in relation.roles.quasi_columns]
    parts = [(index, len(size)), *((coded.codes[complete], coded.size) for coded in quasi)]
    group, alike, same = commonest(fold(parts, len(index))[0], code)
    records, slots = len(index), len(size)
    by_l = []
    for l in range(2, max(MOST_L, parameters.l) + 1):
        fits = most * l <= size
        shares = float(fits.mean()) if slots else 0.0, float(size[fits].sum()) / max(records, 1)
        by_l.append(Eligibility(l, int(fits.sum()), *shares))
    return StreamProfile(
        parameters.l,
        "slot" if numbered else grain.name,
        relation.rows,
        relation.rows - records,
        slots,
        records / max(slots, 1),
        float((alike == same)[group].mean()) if records else 0.0,
        tuple(by_l),
    )


class Tradeoff(risk.Tradeoff):
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
        promised: dict[Knowledge, Any] = {"true-slot": promise.true_slot, "several-slots": promise.recurring}
        further: list[Knowledge] = [knows for knows in promised if promised[knows] is not None]
        return {knows.replace("-", "_"): StreamAdversary(knows) for knows in further}

    def usual_risk(self, adversary: StreamAdversary) -> str:
        """A slot of one value hides nothing from anyone who knows the slot."""
        return "mean" if adversary.knows == "true-slot" else "worst"

    def bound(self, evidence: Evidence, knows: Knowledge) -> int | None:
        """The chance is at most 1 in this many; None where nothing is promised for good."""
        promise: Any = evidence.release.guarantee
        followed = promise.recurring and not promise.forget_after
        sizes = {"published-slot": evidence.l, "true-slot": promise.true_slot}
        return sizes.get(knows, evidence.l if knows == "several-slots" and followed else None)

    def promised(self, evidence: Evidence, adversary: StreamAdversary) -> float:
        return 1 / (self.bound(evidence, adversary.knows) or 1)

    def measured(self, _release: Release, loss: StreamLoss) -> tuple[dict[str, float], dict[str, Any]]:
        error = next(window.release for window in loss.window_errors if window.length == SLOTS)
        return {"window_error": error, "withheld": loss.suppressed_share, "moved": loss.moved_share}, {}
