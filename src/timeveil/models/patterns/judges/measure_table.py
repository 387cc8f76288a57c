"""How many people have a pattern, read off a release of series.

A letter at one level covers a part of the normal curve, a symbol of a pattern another; of the series with the
letter, the share of it that the symbol covers is expected to have the symbol. What several instants say is
taken to have nothing to do with each other within a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence.codes import Integers
from timeveil.models.patterns.judges.published import Patterns
from timeveil.models.series.judges.published import Floats, published_series

_AT_ONCE = 4_000_000


def table_counts(sets: Sequence[Integers], known: Patterns, table: Release) -> Floats:
    """Of each set of symbols how many series of the table are expected to have it."""
    chances, rows = _chances(known, table)
    width = max(map(len, sets), default=0)
    padded = np.full((len(sets), width), len(chances) - 1, dtype=np.int64)  # the last line is sure
    for line, items in enumerate(sets):
        padded[line, : len(items)] = items
    counts = np.zeros(len(sets))
    step = max(1, _AT_ONCE // max(len(rows), 1))
    for start in range(0, len(sets), step):
        some = padded[start : start + step]
        chance = np.ones((len(some), len(rows)))
        for items in some.T:
            chance *= chances[items]
        counts[start : start + step] = chance @ rows
    return counts


def _chances(known: Patterns, table: Release) -> tuple[Floats, Floats]:
    """Per symbol of a pattern and row of the table the chance that a series of the row has it."""
    shown = published_series(table)
    if not set(known.instants) <= set(shown.instants):
        raise ParameterError(
            "the release of series does not have the instants of the patterns",
            hint="give one that was made of the same series",
            code="bad-parameter",
        )
    chances = np.full((len(known.names) + 1, len(shown.rows)), 1.0 / known.kinds)
    chances[-1] = 1.0
    there = {shown.instants[place]: column for column, place in enumerate(shown.pattern.tolist())}
    for place, instant in enumerate(known.instants):
        if instant in there:
            letter = shown.symbols[:, there[instant]].astype(np.float64)
            level = shown.levels[:, there[instant]].astype(np.float64)
            for symbol in range(known.kinds):
                low = np.maximum(letter / level, symbol / known.kinds)
                high = np.minimum((letter + 1) / level, (symbol + 1) / known.kinds)
                chances[place * known.kinds + symbol] = np.maximum(high - low, 0.0) * level
    return chances, shown.rows.astype(np.float64)
