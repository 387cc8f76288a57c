"""Joint labels by the book: dictionaries of events, one table after the other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

Row = tuple[Any, ...]
"""A row of a table, its person first."""
Event = tuple[Row, int]


def events(rows: Iterable[Row]) -> list[Event]:
    """Rows that are alike are told apart by which of them they are."""
    seen: Counter[Row] = Counter()
    told = []
    for row in rows:
        told.append((row, seen[row]))
        seen[row] += 1
    return told


def joint(tables: Sequence[Sequence[Row]], labels: Sequence[Sequence[Hashable]]) -> dict[Row, set[str]]:
    """The people of every joint label; None is absent, and what is absent throughout is left out."""
    by_table = [
        dict(zip(events(rows), named, strict=True)) for rows, named in zip(tables, labels, strict=True)
    ]
    people: dict[Row, set[str]] = defaultdict(set)
    for event in set().union(*by_table):
        label = tuple(named.get(event) for named in by_table)
        if any(part is not None for part in label):
            people[label].add(event[0][0])
    return people


def feasible(
    tables: Sequence[Sequence[Row]],
    labels: Sequence[Sequence[Hashable]],
    label: Callable[[Row], Hashable],
    k: int,
) -> bool:
    """Whether the last table can be published under labels without withholding anything."""
    named = [*labels, [label(row) for row in tables[-1]]]
    return all(len(people) >= k for people in joint(tables, named).values())
