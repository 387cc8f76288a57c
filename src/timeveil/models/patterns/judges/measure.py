"""What a release of patterns lost."""

from __future__ import annotations

from timeveil.domain.progress import Progress, silent
from timeveil.domain.release import Release
from timeveil.evidence.published import mismatch
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.judges.loss import PatternError, PatternLoss, measure_patterns

__all__ = ["PatternError", "PatternLoss", "measure"]


def measure(
    evidence: Evidence, *, against: Release | None, seed: int, progress: Progress = silent
) -> PatternLoss:
    """Compare a release of patterns with the original in its ledger."""
    if evidence.ledger is None:
        raise mismatch("there is no ledger")
    return measure_patterns(evidence.release, evidence.ledger, against, seed, progress)
