"""The words about a pattern release: its facts, from which templates make all texts.

Texts hold column names and numbers, never an item. Only on request does a run name the small groups that the
true counts reveal; these sentences are for the custodian alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from timeveil.domain.roles import Roles
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.parameters import PatternParameters
from timeveil.page.facts import ReleaseFacts

MOST_EXAMPLES = 5


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    table = PatternParameters
    exposure = None

    def __init__(self, evidence: Evidence, hierarchies: Sequence[str] = ()) -> None:
        super().__init__(evidence, hierarchies)
        self.title = f"{self.source} -> pattern counts that reveal no group below {self.k}"
        self.patterns: Mapping[str, Any] = self.manifest["patterns"]

    def examples(self) -> list[str]:
        """Small groups that the true counts reveal, by name: for the custodian alone."""
        if self.ledger is None:
            return []
        texts = self.ledger.mappings["channels"]["text"].to_pylist()[:MOST_EXAMPLES]
        return [f"Private, from the true counts: {text}." for text in texts]

    def figures(self) -> list[tuple[str, Any]]:
        return [
            ("patterns published, including the empty one", self.counts["patterns"]),
            ("people counted, including virtual ones", self.counts["transactions"]),
            ("virtual people among them", self.counts["virtual"]),
            ("people who have a pattern, at least", self.parameters["min_support"]),
        ]

    @property
    def stated(self) -> dict[str, Any]:
        """The parameters to state; those of series only where patterns are of series."""
        stated, instants = super().stated, self.patterns["instants"]
        for name in () if instants else ("symbols", "center", "structural"):
            stated.pop(name, None)
        named = instants and tuple(instants) != self.original.roles.series
        return {**stated, "instants": instants if named else None}

    @property
    def typed_roles(self) -> Roles | None:
        """The roles as a command names them; a release has none."""
        return None if self.run.get("origin") == "release" else super().typed_roles

    def as_dict(self, *entries: str) -> dict[str, Any]:
        return {**super().as_dict("patterns", "parameters", *entries), "run": dict(self.run)}
