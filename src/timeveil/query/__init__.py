"""Answering questions from a release alone, as anyone who receives it can."""

from timeveil.query.answers import answer
from timeveil.query.estimating import estimate_patterns, estimate_ranges
from timeveil.query.pattern_queries import PatternSupport, RuleConfidence, TopPatterns
from timeveil.query.series_queries import Complex, PatternRange, PatternSimilarity, RangeCount
from timeveil.query.window import WindowCount

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
