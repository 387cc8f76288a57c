"""Questions about published patterns, answered from the release alone with bounds that the truth respects.

Virtual people only ever raise a count, and their number is published: a true support is at most the published
one, at least that less the number of virtual people, and not below the smallest support. A pattern that is
not published has fewer people than that, or is part of a closed one that is published. Where people were left
out a true support may be any larger number; where patterns were, those that are published are exact.

Patterns mined from a series release have its letters, which were cut anew from coarser ones. By people's own
letters there are no bounds, nor where a release of series does not state its origin.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from timeveil.domain.judgement import Estimate
from timeveil.domain.parameter import Parameter, Range
from timeveil.errors import ParameterError
from timeveil.models.patterns.evidence import ADDING, Evidence, Patterns


@dataclass(frozen=True, slots=True)
class PatternSupport:
    """How many people have all of these items.

    An item is named as in the release: `h08=b` for the symbol b at the instant h08, or the item's own name.

    >>> PatternSupport(["h08=b", "h09=c"]).items
    ('h08=b', 'h09=c')
    """

    items: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _item_names("items", self.items))


@dataclass(frozen=True, slots=True)
class RuleConfidence:
    """Of the people who have all items of `given`, the share that has those of `then` too.

    >>> RuleConfidence(given=["bread"], then=["milk"]).then
    ('milk',)
    """

    given: Sequence[str]
    then: Sequence[str]

    def __post_init__(self) -> None:
        for name in ("given", "then"):
            object.__setattr__(self, name, _item_names(name, getattr(self, name)))
        if not self.then:
            message = "`then` has no items, so the rule says nothing"
            raise ParameterError(message, hint="name one: {then=[...]}")


@dataclass(frozen=True, slots=True)
class TopPatterns:
    """The `number` patterns that most people have, of those with more items than `longer_than`.

    >>> TopPatterns(5, longer_than=1)
    TopPatterns(number=5, longer_than=1)
    """

    number: int = 10
    longer_than: int = 0

    def __post_init__(self) -> None:
        for name, least in (("number", 1), ("longer_than", 0)):
            line = Parameter(name, "whole", "Number of patterns or items.", range=Range(least))
            object.__setattr__(self, name, line.check(getattr(self, name)))


PatternQuery: TypeAlias = PatternSupport | RuleConfidence
QUERIES = (PatternSupport, RuleConfidence, TopPatterns)


def _item_names(name: str, items: Any) -> tuple[str, ...]:
    """Items, each once, in the order they are named."""
    listed = isinstance(items, Iterable | None) and not isinstance(items, str)
    texts: list[Any] = list(items or ()) if listed else [None]
    if not all(isinstance(text, str) for text in texts):
        raise ParameterError(f"`{name}` must be a list of item names", hint=f'write {name}=["...", "..."]')
    return tuple(dict.fromkeys(texts))


def answer(
    evidence: Evidence, query: PatternQuery | TopPatterns, *, rows: bool = False
) -> Estimate | pa.Table:
    """Answer a question about patterns."""
    if rows:
        message = "patterns are published without rows of people"
        raise ParameterError(message, hint="leave {rows} out, or ask for `TopPatterns`")
    match query:
        case TopPatterns():
            return top_patterns(evidence.patterns, query)
        case PatternSupport():
            items, most, estimate = query.items, math.inf, _support(evidence.patterns, query.items)[1]
        case RuleConfidence():
            items, most = (*query.given, *query.then), 1.0
            estimate = _confidence(evidence.patterns, query)
    if not evidence.patterns.own_letters and estimate.high:
        estimate = replace(estimate, low=0.0, high=most)
    unknown = [item for item in items if item not in evidence.patterns.number_of]
    return replace(estimate, unknown=tuple(dict.fromkeys(unknown)))


def top_patterns(patterns: Patterns, query: TopPatterns) -> pa.Table:
    """The patterns that most people have: `pattern`, `support`, and the bounds of the truth."""
    rows = np.flatnonzero(patterns.lengths > query.longer_than)
    rows = rows[np.argsort(-patterns.support[rows], kind="stable")][: query.number]
    low, high = _bounds(patterns, patterns.support[rows], patterns.lengths[rows])
    if not patterns.own_letters:
        low, high = np.zeros(len(rows)), np.full(len(rows), math.inf)
    names = pa.array([patterns.names_of(int(row)) for row in rows], pa.list_(pa.string()))
    return pa.table({"pattern": names, "support": patterns.support[rows], "low": low, "high": high})


def _support(patterns: Patterns, items: Sequence[str]) -> tuple[int | None, Estimate]:
    """How many people have all of these items: as published, None if no pattern shows it, and in truth."""
    numbers = [number for number in patterns.numbers(items) if number is not None]
    if len({number // patterns.kinds for number in numbers}) < len(numbers):
        return 0, Estimate(0.0, low=0.0, high=0.0)  # nobody has two symbols of one instant
    overlap = patterns.overlap(numbers)
    containing = overlap == len(items)
    if containing.any():
        support = int(patterns.support[containing].max())
        low, high = _bounds(patterns, np.array([support]), np.array([len(items)]))
        return support, Estimate(float(min(support, high[0])), low=float(low[0]), high=float(high[0]))
    if patterns.method == "suppressive":
        return None, Estimate(0.0, low=0.0, high=math.inf)
    # Fewer people than the smallest support, and than any part of it has.
    most = float(patterns.support[overlap == patterns.lengths].min())
    if patterns.method in ADDING and len(items) <= (patterns.longest or len(items)):
        most = min(most, patterns.least - 1.0)
    return None, Estimate(most / 2, low=0.0, high=most)


def _bounds(patterns: Patterns, support: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if patterns.method in ADDING:
        # The empty pattern counts everybody, so its true support is known exactly.
        real = support - patterns.virtual
        low = np.where(lengths > 0, np.maximum(real, patterns.least), real)
        return low.astype(float), np.where(lengths > 0, support, real).astype(float)
    most = support if patterns.method == "itemset" else np.full(support.shape, math.inf)
    return support.astype(float), most.astype(float)


def _confidence(patterns: Patterns, rule: RuleConfidence) -> Estimate:
    """The share of people with the rule among those with what it is about."""
    every = tuple(dict.fromkeys((*rule.given, *rule.then)))
    (with_base, base), (with_rule, joint) = _support(patterns, rule.given), _support(patterns, every)
    if joint.high == 0 or base.high == 0:
        return Estimate(0.0, low=0.0, high=0.0)
    low = joint.low / base.high
    high = min(1.0, joint.high / base.low) if base.low else 1.0
    if with_rule is None or with_base is None:
        return Estimate(min(max(joint.value / max(base.value, 1.0), low), high), low=low, high=high)
    if patterns.method == "suppressive":
        low, high = 0.0, 1.0
    elif patterns.method in ADDING and rule.given:
        # every virtual person with the rule also has what it is about
        added = max(min(patterns.virtual, with_rule - patterns.least), 0)
        low = (with_rule - added) / (with_base - added)
        high = min(1.0, with_rule / max(with_base - patterns.virtual, patterns.least, 1))
    return Estimate(min(max(with_rule / with_base, low), high), low=low, high=high)
