"""The evidence of a release, gathered once for all of its judges."""

from __future__ import annotations

from typing import Protocol, cast, runtime_checkable

from timeveil.domain.release import Ledger, Release
from timeveil.errors import ParameterError
from timeveil.evidence.published import require_ledger, require_matching_ledger, require_release
from timeveil.models import part


@runtime_checkable
class Evidence(Protocol):
    """A release and its ledger, as the judges of its model read them: what they share is computed once."""

    @property
    def release(self) -> Release:
        """The release."""

    @property
    def ledger(self) -> Ledger | None:
        """Its ledger, if the judges may see it."""


def gather(release: Release | Evidence, ledger: Ledger | None = None) -> Evidence:
    """The evidence of a release; pass it to several judges to read and link the release only once.

    Evidence that was gathered before is returned as it is.
    """
    if isinstance(release, Evidence):
        return release
    require_release(release)
    if ledger is not None:
        require_ledger(ledger)
    return cast("Evidence", part(release.guarantee.model, "evidence").Evidence(release, ledger))


def gather_private(release: Release | Evidence, ledger: Ledger | None = None) -> Evidence:
    """The evidence of a release for a judge who needs the ledger, which must be of the release's model."""
    evidence = gather(release, ledger)
    require_matching_ledger(evidence.release, evidence.ledger)
    model_of(evidence)
    return evidence


def model_of(evidence: Evidence) -> str:
    """The model of a release; one whose manifest names another model is refused."""
    model = evidence.release.guarantee.model
    if evidence.release.manifest.get("model") != model:
        raise ParameterError(
            "the manifest does not describe a release with this guarantee",
            hint="run verify to see what is wrong with it",
        )
    return model
