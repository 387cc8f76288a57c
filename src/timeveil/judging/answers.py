"""One place decides how a question is answered on a kind of release."""

from __future__ import annotations

from typing import overload

import pyarrow as pa

from timeveil.domain.estimate import Estimate
from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence.given import refuse_no_release
from timeveil.models.events.judges.window import WindowCount, count_in_window
from timeveil.models.patterns.judges.answers import count_patterns, top_patterns
from timeveil.models.patterns.judges.queries import PatternQuery, PatternSupport, RuleConfidence, TopPatterns
from timeveil.models.series.judges.answers import count_series
from timeveil.models.series.judges.queries import (
    Complex,
    PatternRange,
    PatternSimilarity,
    RangeCount,
    SeriesQuery,
)
from timeveil.models.stream.judges.query import count_in_slots


@overload
def answer(release: Release, query: WindowCount | SeriesQuery | PatternQuery) -> Estimate: ...
@overload
def answer(release: Release, query: TopPatterns) -> pa.Table: ...
def answer(
    release: Release, query: WindowCount | SeriesQuery | PatternQuery | TopPatterns
) -> Estimate | pa.Table:
    """Estimate the answer to `query` from what was published.

    `value` is the best guess about the published rows. On a release of timestamped rows, the truth about
    the original table lies between `low` and `high`: rows that were withheld are in `high`. On a stream
    release `low` and `high` bound the truth about the published slots; how many records were withheld or
    moved is not published. On a release of series they bound the truth about the original again; of shapes
    nothing is sure where patterns need not be each series' own. On a release of patterns they bound the truth
    about the original, virtual people aside; `TopPatterns` gives a table of them.
    """
    refuse_no_release(release)
    match release.manifest.get("model"), query:
        case "time", WindowCount():
            return count_in_window(release, query)
        case "stream", WindowCount():
            return count_in_slots(release, query)
        case "series", RangeCount() | PatternRange() | PatternSimilarity() | Complex():
            return count_series(release, query)
        case "patterns", PatternSupport() | RuleConfidence():
            return count_patterns(release, query)
        case "patterns", TopPatterns():
            return top_patterns(release, query)
        case _:
            raise ParameterError(
                f"a {type(query).__name__} cannot be asked of this release",
                hint="ask a release of timestamped rows or of a stream for a WindowCount, one of series for "
                "a RangeCount, PatternRange, PatternSimilarity or Complex, one of patterns for a "
                "PatternSupport, RuleConfidence or TopPatterns",
                code="bad-parameter",
            )
