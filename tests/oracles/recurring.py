"""People who come back to a stream, followed one at a time: lists, sets, and every world that fits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import permutations

import timeveil as tv

Bucket = tuple[object, int]  # slot and number


def buckets_of(release: tv.Release) -> dict[Bucket, set[object]]:
    """The values that every bucket lists."""
    listed: dict[Bucket, set[object]] = defaultdict(set)
    secret = release.manifest["sensitive_columns"][2]["name"]
    for line in release.tables["sensitive"].to_pylist():
        assert line["count"] == 1, "a value twice"
        listed[line["slot"], line["bucket"]].add(line[secret])
    return listed


def visits_of(ledger: tv.Ledger) -> dict[object, list[tuple[Bucket, object]]]:
    """Of every published person the buckets, in order of time, each with the true value."""
    roles = ledger.original.roles
    people = ledger.original.table[roles.respondent].to_pylist()
    values = ledger.original.table[roles.sensitive[0]].to_pylist()
    visits: dict[object, list[tuple[Bucket, object]]] = defaultdict(list)
    for entry in ledger.table.to_pylist():
        if entry["slot"] is not None:
            row = entry["row"]
            visits[people[row]].append(((entry["slot"], entry["bucket"]), values[row]))
    return {person: sorted(known) for person, known in visits.items()}


def worlds(release: tv.Release, ledger: tv.Ledger) -> Iterator[dict[object, object]]:
    """Every way to give each published person one value for ever, such that each bucket can be as it is.

    The records of a bucket have different values of those that it lists.
    """
    listed, members = buckets_of(release), defaultdict(list)
    for person, visits in visits_of(ledger).items():
        for bucket, _ in visits:
            members[bucket].append(person)

    def from_bucket(order: list[Bucket], world: dict[object, object]) -> Iterator[dict[object, object]]:
        if not order:
            yield world
            return
        here = members[order[0]]
        for values in permutations(sorted(listed[order[0]], key=str), len(here)):
            told = dict(zip(here, values, strict=True))
            if all(world.get(person, value) == value for person, value in told.items()):
                yield from from_bucket(order[1:], {**world, **told})

    yield from from_bucket(sorted(members), {})


def chances(release: tv.Release, ledger: tv.Ledger) -> dict[object, Counter]:
    """Of every person how many worlds give them each value."""
    counted: dict[object, Counter] = defaultdict(Counter)
    for world in worlds(release, ledger):
        for person, value in world.items():
            counted[person][value] += 1
    return counted


def faults(release: tv.Release, ledger: tv.Ledger, horizon: int | None = None) -> list[str]:
    """What is wrong with a release whose slots are numbers and that promises the same values every time."""
    listed, rows, told = buckets_of(release), Counter(), []
    l = release.guarantee.l
    for line in release.table.to_pylist():
        rows[line["slot"], line["bucket"]] += 1
    if any(len(values) < l for values in listed.values()):
        told.append("a bucket of fewer than l values")
    if any(rows[bucket] not in (1, len(values)) for bucket, values in listed.items()):
        told.append("a bucket with some counterfeits")
    invented = sum(len(values) - rows[bucket] for bucket, values in listed.items())
    if invented != release.manifest["counts"]["counterfeits"]:
        told.append("counterfeits")
    for visits in visits_of(ledger).values():
        for n, (bucket, value) in enumerate(visits):
            if value not in listed[bucket]:
                told.append("a record whose value is not listed")
            alone = rows[bucket] < len(listed[bucket])
            if n == 0 and alone:
                told.append("counterfeits at first")
            if n and (alone or horizon is None or bucket[0] - visits[n - 1][0][0] <= horizon):
                if bucket[0] == visits[n - 1][0][0]:
                    told.append("twice in a slot")
                if listed[bucket] != listed[visits[n - 1][0]]:
                    told.append("another signature")
    return told
