"""Answers about series."""

from __future__ import annotations

from timeveil.domain.estimate import Estimate
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges.answers import count_series
from timeveil.models.series.judges.queries import (
    Complex,
    PatternRange,
    PatternSimilarity,
    RangeCount,
    SeriesQuery,
)

QUERIES = (RangeCount, PatternRange, PatternSimilarity, Complex)


def answer(evidence: Evidence, query: SeriesQuery) -> Estimate:
    """Answer a question about series."""
    return count_series(evidence.release, query)
