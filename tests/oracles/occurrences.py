"""Slow twins of `timeveil.models.events.kernels.occurrences`: sets and dictionaries."""

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


def before(rows):
    """Per (cell, person) in order, the number of the cell that person was in last, -1 if none."""
    cells = sorted({(quasi, position) for quasi, position, _ in rows})
    number = {cell: i for i, cell in enumerate(cells)}
    last: dict[int, int] = {}
    out = []
    for quasi, position, person in sorted(set(rows)):
        out.append(last.get(person, -1))
        last[person] = number[quasi, position]
    return out
