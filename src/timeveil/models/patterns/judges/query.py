"""Answers about patterns."""

from __future__ import annotations

import pyarrow as pa

from timeveil.domain.estimate import Estimate
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.judges.answers import count_patterns, top_patterns
from timeveil.models.patterns.judges.queries import PatternQuery, PatternSupport, RuleConfidence, TopPatterns

QUERIES = (PatternSupport, RuleConfidence, TopPatterns)


def answer(evidence: Evidence, query: PatternQuery | TopPatterns) -> Estimate | pa.Table:
    """Answer a question about patterns."""
    if isinstance(query, TopPatterns):
        return top_patterns(evidence.release, query)
    return count_patterns(evidence.release, query)
