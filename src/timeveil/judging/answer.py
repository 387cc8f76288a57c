"""Answers from a release alone, as anyone who receives it can compute them."""

from __future__ import annotations

from typing import overload

import pyarrow as pa

from timeveil.domain.judgement import Estimate
from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence.window import WindowCount
from timeveil.judging.gather import Evidence, gather, model_of
from timeveil.models import part
from timeveil.models.patterns.judges.query import PatternQuery, TopPatterns
from timeveil.models.series.judges.query import SeriesQuery


@overload
def answer(release: Release | Evidence, query: WindowCount | SeriesQuery | PatternQuery) -> Estimate: ...
@overload
def answer(release: Release | Evidence, query: TopPatterns) -> pa.Table: ...
def answer(
    release: Release | Evidence, query: WindowCount | SeriesQuery | PatternQuery | TopPatterns
) -> Estimate | pa.Table:
    """Estimate the answer to `query` from what was published.

    `value` is the best guess about the published rows. On timestamped rows, `low` and `high` bound the truth
    about the original table: `high` includes every withheld row. On a stream they bound the truth about the
    published slots; how many records were withheld or moved is not published. On series they bound the truth
    about the original; nothing is certain about shapes where a published pattern need not be the series'
    own. On patterns they bound the truth about the original, without virtual people; `TopPatterns` gives a
    table of patterns.
    """
    evidence = gather(release)
    judge = part(model_of(evidence), "judges.query")
    if not isinstance(query, judge.QUERIES):
        names = [f"`{kind.__name__}`" for kind in judge.QUERIES]
        raise ParameterError(
            f"this release cannot answer a `{type(query).__name__}`",
            hint=f"ask for a {' or '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)}",
        )
    estimate: Estimate | pa.Table = judge.answer(evidence, query)
    return estimate
