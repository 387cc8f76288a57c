"""What the templates of every model are filled with: a release, and what its ledger adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.release import Ledger, Release


class ReleaseFacts:
    """Facts about any release; each model adds its own. Without a ledger only public facts are there."""

    def __init__(self, release: Release, ledger: Ledger | None) -> None:
        self.release, self.ledger = release, ledger
        self.manifest: Mapping[str, Any] = release.manifest
        self.counts: Mapping[str, Any] = self.manifest["counts"]
        self.parameters: Mapping[str, Any] = self.manifest["parameters"]

    @property
    def source(self) -> str:
        """The name of the original, as a title begins with it."""
        name = None if self.ledger is None else self.ledger.original.source
        return name or "the table"

    @property
    def run(self) -> Mapping[str, Any]:
        """What the ledger noted about the run."""
        return {} if self.ledger is None else self.ledger.facts

    @property
    def removed(self) -> list[str]:
        """Columns that were not published."""
        if self.ledger is None:
            return []
        person = self.ledger.original.roles.respondent
        return [*([] if person is None else [person]), *self.ledger.original.dropped]
