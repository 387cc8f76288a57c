"""What a release of series lost."""

from __future__ import annotations

from timeveil.domain.progress import Progress, silent
from timeveil.evidence.published import mismatch
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges.loss import QueryError, SeriesLoss, measure_series

__all__ = ["QueryError", "SeriesLoss", "measure"]


def measure(evidence: Evidence, *, queries: int, seed: int, progress: Progress = silent) -> SeriesLoss:
    """Compare a release of series with the original series in its ledger."""
    if evidence.ledger is None:
        raise mismatch("there is no ledger")
    return measure_series(evidence.release, evidence.ledger, queries, seed, progress)
