"""Answering questions from a release alone, as anyone who receives it can."""

from timeveil.query.answers import answer
from timeveil.query.estimating import estimate_patterns, estimate_ranges
from timeveil.query.series_queries import Complex, PatternRange, PatternSimilarity, RangeCount
from timeveil.query.window import WindowCount

__all__ = [
    "Complex",
    "PatternRange",
    "PatternSimilarity",
    "RangeCount",
    "WindowCount",
    "answer",
    "estimate_patterns",
    "estimate_ranges",
]
