"""Slow twin of `timeveil.engines.memory`: sets and dictionaries."""

from __future__ import annotations


def group_sizes(rows, granule_of):
    """People and rows per (quasi code, granule), in that order; rows are (quasi, position, person)."""
    people: dict[tuple[int, int], set[int]] = {}
    count: dict[tuple[int, int], int] = {}
    for quasi, position, person in rows:
        key = (quasi, granule_of(position))
        people.setdefault(key, set()).add(person)
        count[key] = count.get(key, 0) + 1
    keys = sorted(people)
    return [len(people[key]) for key in keys], [count[key] for key in keys]
