"""The risk of true counts: groups of fewer than k that follow from them; and what releases are compared by.

Patterns that enough people have are counted, and the counts added and subtracted in every way there is, as
`attack` does it. Beside it: how few people have the items that an outsider knows of somebody.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from timeveil.domain.judgement import PlainData
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release
from timeveil.evidence import risk
from timeveil.models.patterns.evidence.boxes import channels_of
from timeveil.models.patterns.evidence.counting import Baskets, mined, read_original
from timeveil.models.patterns.evidence.family import Knowledge
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.patterns.parameters import PatternAdversary, PatternParameters
from timeveil.models.series.evidence.original import Series

READ: Mapping[str, Any] = {"needs": (), "nulls": "withhold", "slot_numbers": True}
SAMPLE, KNOWN = 1_000, (1, 2, 3)


@dataclass(frozen=True, slots=True)
class KnownItems:
    """Shares of people who are alone, or in a group of fewer than k, with some of their items."""

    items: int
    alone: float
    below_k: float


@dataclass(frozen=True, slots=True)
class PatternProfile(PlainData):
    """What true counts would reveal.

    `patterns` have the support that is asked for. From their counts follow `small_groups` of fewer than k
    people, the smallest of which has `smallest_group`. `known` is of a sample of up to 1,000 people.
    """

    ALSO: ClassVar = ("already_safe",)

    k: int
    min_support: int
    people: int
    items: int
    patterns: int
    small_groups: int
    smallest_group: int
    known: tuple[KnownItems, ...]

    @property
    def already_safe(self) -> bool:
        """Whether no group of fewer than k people follows from the true counts."""
        return self.small_groups == 0

    safe = already_safe


def profile(relation: Relation, values: Mapping[str, Any]) -> PatternProfile:
    """Mine the patterns of a table, and compute what their counts reveal."""
    usual = {name: line.example for name, line in PatternParameters.table().items() if line.required}
    chosen = {name: value for name, value in values.items() if name in PatternParameters.table()}
    parameters = PatternParameters(**{**usual, **chosen})
    of_series = not relation.roles.item
    instants = Series(relation, "drop").instants if of_series else ()
    stated = {**parameters.as_arguments(), "nulls": "drop", "repeats": "once", "fill": "drop"}
    kind = "series" if of_series else "transactions"
    manifest = {"parameters": stated, "patterns": {**stated, "kind": kind, "instants": instants}}
    rows = read_original(Ledger("patterns", relation.table.slice(0, 0), relation), manifest, ()).rows
    kinds, support = parameters.symbols if of_series else 1, parameters.min_support
    size = kinds * len(instants) if of_series else int(rows.items.max(initial=-1)) + 1
    least = max(int(support if support >= 1 else np.ceil(support * rows.rows)), parameters.k)
    family = mined(rows, size, kinds, least, parameters.max_len)
    knowledge = Knowledge(family if parameters.structural else family.unlinked)
    channels = channels_of(knowledge.family, parameters.k)
    counts = (least, rows.rows, len(np.unique(rows.items)), family.number - 1, len(channels))
    chances = tuple(_known(rows, size, number, parameters.k) for number in KNOWN)
    return PatternProfile(parameters.k, *counts, int(channels.size.min(initial=least)), chances)


def _known(rows: Baskets, size: int, number: int, k: int) -> KnownItems:
    """Of people with enough items, those who share a random choice of theirs with few."""
    draw = np.random.default_rng(number)
    enough = np.flatnonzero(np.diff(rows.starts) >= number)
    chosen = np.sort(draw.choice(enough, min(SAMPLE, len(enough)), replace=False))
    lines = rows.bits(size)
    sharing = []
    for person in chosen.tolist():
        items = draw.choice(rows.items[rows.starts[person] : rows.starts[person + 1]], number, replace=False)
        sharing.append(int(np.bitwise_count(np.bitwise_and.reduce(lines[items], axis=0)).sum()))
    people = np.array(sharing or [k])
    return KnownItems(number, float((people == 1).mean()), float((people < k).mean()))


class Tradeoff(risk.Tradeoff):
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
