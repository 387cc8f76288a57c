"""Answers about patterns in words, with the values that symbols stand for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa

from timeveil.domain.estimate import Estimate
from timeveil.models.patterns.evidence.table import Patterns
from timeveil.page.wording import aligned, counted, people, share


def support_words(count: Estimate, known: Patterns, items: Sequence[str]) -> list[str]:
    """How many people have a pattern, and what its symbols stand for."""
    if count.low == count.high:
        said = f"{people(int(count.value))} exactly"
    elif math.isinf(count.high):
        said = f"{people(int(count.low))} or more, as some were left out"
    elif count.low == 0:
        said = f"not published: {people(int(count.high))} at most"
    else:
        said = f"{people(int(count.value))}, between {count.low:,.0f} and {count.high:,.0f}"
        said += f", as {known.virtual:,} who do not exist were added" if known.virtual else ""
    return [said, *meanings(known, items)]


def confidence_words(found: Estimate, known: Patterns, items: Sequence[str]) -> list[str]:
    """How often a rule holds, and what its symbols stand for."""
    said = f"{share(found.value)} of them"
    if found.low != found.high:
        said += f", between {share(found.low)} and {share(found.high)}"
    return [said, *meanings(known, items)]


def top_words(found: pa.Table, known: Patterns) -> list[str]:
    """The strongest patterns as a table."""
    rows = [("pattern", "people", "at least")]
    rows += [
        (", ".join(row["pattern"]), f"{row['support']:,}", f"{row['low']:,.0f}") for row in found.to_pylist()
    ]
    if len(rows) == 1:
        return ["no pattern is that long"]
    items = dict.fromkeys(item for row in found["pattern"].to_pylist() for item in row)
    return [*aligned(rows), *meanings(known, list(items))]


def meanings(known: Patterns, items: Sequence[str]) -> list[str]:
    """Per symbol the values that it stands for; of items that are no symbols nothing.

    Letters say the same at every instant, so each is told once.
    """
    if not known.instants or not items:
        return []
    told = {}
    for item in items:
        span = known.range_of(item)
        if span is not None:
            told[item.rpartition("=")[2]] = span
    rows = [
        (f"  {letter}:", words_of(*span)) for letter, span in sorted(told.items(), key=lambda one: one[1])
    ]
    head = f"in deviations of a series from its {known.center}, of {counted(known.kinds, 'symbol')}:"
    return ["", head, *aligned(rows, left=2)]


def words_of(low: float, high: float) -> str:
    """A range of z-normalised values.

    >>> words_of(-math.inf, -0.9674), words_of(0.0, 0.43)
    ('below -0.967', '0 to 0.43')
    """
    if math.isinf(low):
        return f"below {high:.3g}"
    if math.isinf(high):
        return f"{low:.3g} and above"
    return f"{low:.3g} to {high:.3g}"
