"""Answering questions from a release alone, as anyone who receives it can."""

from timeveil.judging.answers import answer
from timeveil.models.events.judges.window import WindowCount
from timeveil.models.patterns.judges.queries import PatternSupport, RuleConfidence, TopPatterns
from timeveil.models.series.judges.estimating import estimate_patterns, estimate_ranges
from timeveil.models.series.judges.queries import Complex, PatternRange, PatternSimilarity, RangeCount

__all__ = [
    "Complex",
    "PatternRange",
    "PatternSimilarity",
    "PatternSupport",
    "RangeCount",
    "RuleConfidence",
    "TopPatterns",
    "WindowCount",
    "answer",
    "estimate_patterns",
    "estimate_ranges",
]
