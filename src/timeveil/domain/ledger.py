"""The private half of a result: what must never be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from timeveil.domain.relation import Relation
from timeveil.domain.stored import Stored


@dataclass(frozen=True, slots=True)
class Ledger:
    """Which input row went into which group. Private: it identifies people.

    `table` has one row per input row, in input order; for the time model `row` and `group` (null where the
    row was withheld). `original` is the relation that was read. `mappings` has a table `value`, `published`
    for each generalised quasi-identifier. `facts` are plain numbers about the run.
    """

    model: str
    entries: pa.Table | Stored
    original: Relation
    mappings: Mapping[str, pa.Table] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> pa.Table:
        """One row per input row, in input order."""
        return self.entries.read() if isinstance(self.entries, Stored) else self.entries

    @property
    def virtual(self) -> pa.Table | None:
        """The virtual people added to patterns, `pattern` and `copies`; None for other models."""
        return self.mappings.get("virtual")

    def __repr__(self) -> str:
        return f"<Ledger of a {self.model} release, {self.entries.num_rows} rows, private>"
