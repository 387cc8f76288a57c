"""Patterns the slow and obvious way: every subset of every row is looked at.

A row is a frozenset of items. `instant` says to which instant an item belongs; nobody has two items of one.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from timeveil.models.patterns.method.family import Family
from timeveil.models.patterns.method.transactions import Sets, Transactions

Row = frozenset[int]
Supports = dict[Row, int]
Instant = Callable[[int], int]


def subsets(items: Iterable[int], longest: int | None = None) -> Iterator[Row]:
    items = sorted(items)
    for size in range(min(len(items), longest if longest is not None else len(items)) + 1):
        yield from map(frozenset, itertools.combinations(items, size))


def mined(rows: Sequence[Row], least: int, longest: int | None = None) -> Supports:
    """F(D, sigma), the empty set always in it."""
    counts = Counter(itertools.chain.from_iterable(subsets(row, longest) for row in rows))
    return {frozenset(): len(rows), **{some: count for some, count in counts.items() if count >= least}}


def bought(rows: Iterable[tuple[int | None, Sequence[int] | None]]) -> list[Row]:
    """What everybody has, of rows that name a person and items; how often is not counted."""
    people: dict[int, set[int]] = {}
    for person, items in rows:
        if person is not None and items is not None:
            people.setdefault(person, set()).update(items)
    return [frozenset(items) for items in people.values()]


def closed(family: Supports) -> set[Row]:
    return {
        some for some in family if not any(some < other and family[some] == family[other] for other in family)
    }


def maximal(family: Iterable[Row]) -> set[Row]:
    family = set(family)
    return {some for some in family if not any(some < other for other in family)}


def conflict_free(some: Row, instant: Instant) -> bool:
    return len({instant(item) for item in some}) == len(some)


def star(family: Mapping[Row, int], instant: Instant) -> set[Row]:
    """F*: all sets whose conflict-free subsets are in F; item by item, as F* is downward closed."""
    items = sorted({item for some in family for item in some})
    found, fresh = {frozenset[int]()}, [frozenset[int]()]
    while fresh:
        some = fresh.pop()
        for item in items:
            larger = some | {item}
            if larger in found or not all(
                part in family for part in subsets(larger) if item in part and conflict_free(part, instant)
            ):
                continue
            found.add(larger)
            fresh.append(larger)
    return found


def completed(supports: Mapping[Row, int], kinds: int, items: int) -> Supports:
    """What follows where everybody has one of `kinds` symbols at every instant: the one that is missing."""
    known, fresh = dict(supports), True
    while fresh and kinds > 1:
        fresh = False
        for some in list(known):
            for first in range(0, items, kinds):
                symbols = set(range(first, first + kinds))
                missing = [x for x in symbols if some | {x} not in known]
                if not symbols & some and len(missing) == 1:
                    rest = sum(known[some | {x}] for x in symbols - {missing[0]})
                    known[some | {missing[0]}] = known[some] - rest
                    fresh = True
    return known


def cell(supports: Mapping[Row, int], present: Row, whole: Row, instant: Instant) -> int:
    """f: how many rows have of `whole` exactly `present`, as a reader computes it."""
    total = 0
    for more in subsets(whole - present):
        if conflict_free(present | more, instant):
            total += (-1) ** len(more) * supports[present | more]
    return total


def channels(
    supports: Mapping[Row, int], known: Iterable[Row], k: int, instant: Instant
) -> list[tuple[Row, Row, int]]:
    """Everything that follows from the counts and is a threat, or is below 0 and cannot be."""
    found = []
    for whole in known:
        for present in subsets(whole):
            if not conflict_free(present, instant):
                continue
            size = cell(supports, present, whole, instant)
            if size < 0 or 0 < size < k:
                found.append((present, whole, size))
    return found


def undominated(found: Sequence[tuple[Row, Row, int]]) -> set[tuple[Row, Row]]:
    """Maximal channels: no other has all that one has, and lacks all that it lacks."""
    pairs = {(present, whole - present) for present, whole, _ in found}
    return {
        (present, absent)
        for present, absent in pairs
        if not any(
            (present, absent) != (other, lacks) and present <= other and absent <= lacks
            for other, lacks in pairs
        )
    }


def transactions(rows: Sequence[Iterable[int]], items: int, kinds: int = 1) -> Transactions:
    """The rows as the method takes them; series are full rows, one symbol at every instant."""
    names = tuple(f"i{item:02}" for item in range(items))
    if kinds > 1:
        symbols = [[item % kinds for item in sorted(row)] for row in rows]
        items = np.array(symbols, np.int64).reshape(len(rows), -1)
        items += kinds * np.arange(items.shape[1])
        return Transactions(names, kinds, Sets(np.arange(len(rows) + 1) * items.shape[1], items.ravel()))
    ordered = [sorted(row) for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in ordered])]).astype(np.int64)
    return Transactions(names, 1, Sets(starts, np.array([item for row in ordered for item in row], np.int64)))


def supports_of(family: Family) -> Supports:
    bounds, items = family.sets
    return {
        frozenset(items[bounds[node] : bounds[node + 1]].tolist()): int(family.support[node])
        for node in range(len(family))
    }


def sets_of(bounds: Sequence[int], items: Sequence[int]) -> list[Row]:
    return [frozenset(int(x) for x in items[a:b]) for a, b in itertools.pairwise(bounds)]
