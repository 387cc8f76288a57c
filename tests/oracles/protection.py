"""What a group of people promises about a sensitive value, by the book: sets, fractions and sums."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction

import timeveil as tv

Row = tuple[Hashable, Hashable]
"""A person and a value."""


def keeps(promise: object, group: Iterable[Row], table: Iterable[Row], order: Sequence[Hashable]) -> bool:
    """Whether the people of a group keep a promise; `order` lists all values from low to high."""
    holdings = set(group)
    people = {person for person, _ in holdings}
    holders = Counter(value for _, value in holdings)
    if isinstance(promise, tv.AtMost):
        share = Fraction(promise.share).limit_denominator(1000)
        named = [v for v in holders if promise.of is None or str(v) in promise.of]
        return all(Fraction(holders[value], len(people)) <= share for value in named)
    if isinstance(promise, tv.Distinct):
        return len(holders) >= promise.values
    if isinstance(promise, tv.Entropy):
        shares = [count / len(holdings) for count in holders.values()]
        return math.exp(-sum(share * math.log(share) for share in shares)) >= promise.values - 1e-9
    everyone = Counter(value for _, value in set(table))
    total = sum(everyone.values())
    gaps = [Fraction(holders[v], len(holdings)) - Fraction(everyone[v], total) for v in order]
    if promise.order == "none":
        distance = sum(map(abs, gaps)) / 2
    else:
        distance = sum(abs(sum(gaps[: n + 1])) for n in range(len(gaps))) / max(len(order) - 1, 1)
    return float(distance) <= promise.distance + 1e-9


def nobody_dominates(share: float, people: Sequence[Hashable]) -> bool:
    """Whether nobody has more than a share of a group's rows; `people` names the person of each row."""
    return max(Counter(people).values()) <= share * len(people) + 1e-9
