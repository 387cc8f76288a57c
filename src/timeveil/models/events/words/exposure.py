"""What stays visible inside a group, told at the end of every run where it is cheap to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.exposure import (
    commonest_sensitive,
    largest_share,
    similar_ids,
    tying_columns,
)

CHEAP_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Exposure:
    """The largest part of a group's rows that one person has, and that have one sensitive value.

    `sensitive` gives per sensitive column the share of its most common value in the worst group, `tying`
    per published column the share of rows that it ties to another row of the same person. `similar_ids` is
    how many ids differ from another in case or surrounding blanks only.
    """

    largest_share: float
    sensitive: Mapping[str, float]
    tying: Mapping[str, float] = field(default_factory=dict)
    similar_ids: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "largest_share": self.largest_share,
            "commonest_sensitive": dict(self.sensitive),
            "tied_rows": dict(self.tying),
            "similar_ids": self.similar_ids,
        }


def exposure(release: Release, ledger: Ledger) -> Exposure | None:
    """Look into the groups; None where that would take long, or where nothing was published."""
    if ledger.original.rows > CHEAP_ROWS or not release.manifest["counts"]["rows"]:
        return None
    evidence = Evidence(release, ledger)
    found = commonest_sensitive(evidence)
    return Exposure(
        largest_share(evidence),
        {name: shares["worst"] for name, shares in found.items()},
        tying_columns(evidence),
        similar_ids(evidence),
    )
