"""Mascetti et al. 2006 by the book: dictionaries of sets, every granularity tried."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Row = tuple[str, tuple[object, ...], dt.date | dt.datetime]
"""Respondent, quasi-identifiers, time."""

CALENDAR: Mapping[str, Callable[[dt.date], object]] = {
    "day": lambda t: t,
    "week": lambda t: t.isocalendar()[:2],
    "week-sunday": lambda t: (t.toordinal()) // 7,
    "month": lambda t: (t.year, t.month),
    "quarter": lambda t: (t.year, (t.month - 1) // 3),
    "half-year": lambda t: (t.year, (t.month - 1) // 6),
    "year": lambda t: t.year,
    "iso-year": lambda t: t.isocalendar()[0],
    "decade": lambda t: t.year // 10,
    "all": lambda t: 0,
}
"""Granules of a date by name; a different way of computing each."""


@dataclass(frozen=True)
class Count:
    smallest_group: int
    groups: int
    group_total: int
    groups_below_k: int
    rows_below_k: int


def groups(rows: Sequence[Row], granule: Callable[[dt.date], object]) -> dict[object, list[str]]:
    """Respondents of the rows of every (quasi-identifiers, granule)."""
    found: dict[object, list[str]] = {}
    for person, quasi, time in rows:
        found.setdefault((quasi, granule(time)), []).append(person)
    return found


def count(rows: Sequence[Row], granularity: str, k: int) -> Count:
    """Definitions 2, 5 and 6 (summed over groups)."""
    by_group = groups(rows, CALENDAR[granularity])
    people = {key: len(set(who)) for key, who in by_group.items()}
    below = [key for key, number in people.items() if number < k]
    return Count(
        min(people.values()),
        len(people),
        sum(people.values()),
        len(below),
        sum(len(by_group[key]) for key in below),
    )


def generality(counted: Count) -> tuple[int, int]:
    """gen_c, smaller is less general."""
    return (counted.smallest_group, -counted.group_total)


def feasible(rows: Sequence[Row], names: Sequence[str], k: int) -> dict[str, Count]:
    """Every granularity under which the relation is k-anonymous."""
    counted = {name: count(rows, name, k) for name in names}
    return {name: c for name, c in counted.items() if c.smallest_group >= k}


def partition(rows: Sequence[Row], granularity: str) -> set[frozenset[dt.date]]:
    """How a granularity cuts the observed dates."""
    cut: dict[object, set[dt.date]] = {}
    for _, _, time in rows:
        cut.setdefault(CALENDAR[granularity](time), set()).add(time)
    return {frozenset(dates) for dates in cut.values()}


def refines(rows: Sequence[Row], g: str, h: str) -> bool:
    """Whether every observed granule of g lies in one of h."""
    coarse = partition(rows, h)
    return all(any(fine <= big for big in coarse) for fine in partition(rows, g))


def frontier(rows: Sequence[Row], names: Sequence[str], k: int) -> set[frozenset[frozenset[dt.date]]]:
    """The minimal feasible granularities, each as its partition of the observed dates."""
    good = feasible(rows, names, k)
    minimal = [g for g in good if not any(refines(rows, h, g) and not refines(rows, g, h) for h in good)]
    return {frozenset(partition(rows, g)) for g in minimal}


def least(rows: Sequence[Row], names: Sequence[str], k: int) -> tuple[int, int] | None:
    """The least generality any k-anonymous granularity reaches (Definition 8)."""
    return min((generality(c) for c in feasible(rows, names, k).values()), default=None)
