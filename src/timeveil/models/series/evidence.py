"""A release and its ledger, for the judges of this model."""

from __future__ import annotations

from dataclasses import dataclass

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release


@dataclass(frozen=True)
class Evidence:
    """A release and its ledger, if the judges may see it."""

    release: Release
    ledger: Ledger | None = None
