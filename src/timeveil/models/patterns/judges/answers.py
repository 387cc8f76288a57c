"""Answering questions from published patterns, with what the truth cannot lie outside of.

Virtual people only ever raise a count, and their number is published: a true support lies between the
published one less that number and the published one, and is not below the smallest that was looked for. A
pattern that is not there has fewer people than that, or is held by a closed one that is. Where people were
left out a true support may be any number above; where patterns were, those that are there are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from timeveil.domain.estimate import Estimate
from timeveil.domain.release import Release
from timeveil.models.patterns.judges.published import ADDING, Patterns, published_patterns
from timeveil.models.patterns.judges.queries import PatternQuery, PatternSupport, TopPatterns


def count_patterns(release: Release, query: PatternQuery) -> Estimate:
    """Answer a question about a pattern or a rule."""
    known = published_patterns(release)
    if isinstance(query, PatternSupport):
        return support_of(known, query.items)
    return _confidence(known, query.given, tuple(dict.fromkeys((*query.given, *query.then))))


def support_of(known: Patterns, items: Sequence[str]) -> Estimate:
    """How many people have all of these items."""
    if _excluded(known, items):
        return Estimate(0.0, low=0.0, high=0.0)
    published = shown(known, items)
    if published is None:
        return _unpublished(known, items)
    low, high = bounds(known, np.array([published]), np.array([len(items)]))
    return Estimate(float(min(published, high[0])), low=float(low[0]), high=float(high[0]))


def bounds(known: Patterns, support: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What true supports of published patterns lie between."""
    if known.method in ADDING:
        less = support - known.virtual
        low = np.where(lengths > 0, np.maximum(less, known.least), less)
        return low.astype(float), np.where(lengths > 0, support, less).astype(float)
    most = support if known.method == "itemset" else np.full(support.shape, math.inf)
    return support.astype(float), most.astype(float)


def shown(known: Patterns, items: Sequence[str]) -> int | None:
    """The published support of a pattern, or that of the commonest that holds it; None if there is none."""
    places = known.places(items)
    if None in places:
        return None
    holds = known.inside([place for place in places if place is not None]) == len(places)
    return int(known.support[holds].max()) if holds.any() else None


def _unpublished(known: Patterns, items: Sequence[str]) -> Estimate:
    """Fewer people than were looked for, and than any part of it has."""
    places = [place for place in known.places(items) if place is not None]
    parts = known.inside(places) == known.lengths
    high = float(known.support[parts].min())
    if known.method in ADDING and len(items) <= (known.longest or len(items)):
        high = min(high, known.least - 1.0)
    if known.method == "suppressive":
        return Estimate(0.0, low=0.0, high=math.inf)
    return Estimate(high / 2, low=0.0, high=high)


def _excluded(known: Patterns, items: Sequence[str]) -> bool:
    """Whether two items are symbols of one instant, so that nobody has both."""
    if not known.instants:
        return False
    instants = [place // known.kinds for place in known.places(items) if place is not None]
    return len(set(instants)) < len(instants)


def _confidence(known: Patterns, given: Sequence[str], both: Sequence[str]) -> Estimate:
    whole, part = support_of(known, given), support_of(known, both)
    if part.high == 0 or whole.high == 0:
        return Estimate(0.0, low=0.0, high=0.0)
    low = part.low / whole.high
    high = min(1.0, part.high / whole.low) if whole.low else 1.0
    of, all_ = shown(known, both), shown(known, given)
    if of is None or all_ is None:
        return Estimate(min(max(part.value / max(whole.value, 1.0), low), high), low=low, high=high)
    if known.method == "suppressive":
        low, high = 0.0, 1.0
    elif known.method in ADDING and given:
        # whoever was added to the rule was added to what it is about
        added = max(min(known.virtual, of - known.least), 0)
        low = (of - added) / (all_ - added)
        high = min(1.0, of / max(all_ - known.virtual, known.least, 1))
    return Estimate(min(max(of / all_, low), high), low=low, high=high)


def top_patterns(release: Release, query: TopPatterns) -> pa.Table:
    """The patterns that most people have: `pattern`, `support`, and what the truth lies between."""
    known = published_patterns(release)
    chosen = np.flatnonzero(known.lengths > query.longer_than)
    chosen = chosen[np.argsort(-known.support[chosen], kind="stable")][: query.number]
    low, high = bounds(known, known.support[chosen], known.lengths[chosen])
    lists = [known.named(known.items[known.starts[row] : known.starts[row + 1]]) for row in chosen]
    return pa.table(
        {
            "pattern": pa.array(lists, pa.list_(pa.string())),
            "support": pa.array(known.support[chosen], pa.int64()),
            "low": pa.array(low, pa.float64()),
            "high": pa.array(high, pa.float64()),
        }
    )
