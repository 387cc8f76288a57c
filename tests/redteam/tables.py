"""Random tables of people and random settings, published by every model; each from what is drawn alone."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import timeveil as tv
from tests.oracles import channels
from tests.oracles import questions as oracle
from tests.redteam import recounts

FIRST = dt.date(2024, 2, 26)


@dataclass(frozen=True, slots=True)
class Published:
    """A release, its ledger, and a recount of the folder that it is written to, or of another one."""

    release: tv.Release
    ledger: tv.Ledger
    recount: Callable[[Path], None]
    formats: tuple[str, ...] = ("parquet",)


def _as_it_is(value: Any) -> Any:
    return value


_WAYS: dict[str, list[tuple[Any, int, oracle.Label]]] = {
    "zip": [("prefixes:3,1", 1, oracle.prefix(3)), ("prefixes:3,1", 2, oracle.prefix(1)),
            ("suppression", 1, oracle.star)],
    "age": [("intervals:5,20", 1, oracle.interval(5)), ("intervals:5,20", 2, oracle.interval(20))],
}  # fmt: skip
"""Hierarchies and levels to draw from, each with the label of a value by the plain twin."""


def events(chance: random.Random) -> Published:
    size, days, missing = (
        chance.choice([12, 40, 120, 300]),
        chance.choice([3, 30, 400]),
        chance.choice([0, 0.03]),
    )
    people = max(4, size // chance.randint(2, 6))
    rows: list[recounts.Row] = [
        {
            "who": None if chance.random() < missing else f"p{chance.randrange(people)}",
            "at": None if chance.random() < missing else FIRST + dt.timedelta(chance.randrange(days)),
            "zip": chance.choice(["20133", "20134", "20211", "30133"]),
            "age": chance.choice([20, 24, 29, 37, 41]),
            "sex": chance.choice(["f", "m"]),
            "ward": chance.choice([1, 2, None]),
            "result": chance.choice(["good", "bad"]),
        }
        for _ in range(size)
    ]
    quasi = chance.sample(["zip", "age", "sex"], chance.randint(0, 2))
    levels = {column: chance.choice(_WAYS[column]) for column in quasi if column in _WAYS}
    dropped = [column for column in ("zip", "age", "sex") if column not in quasi]
    options: dict[str, Any] = {
        "k": chance.randint(2, 5),
        "suppress": chance.choice([0.0, 0.1, 0.5, 0.95]),
        "choose": chance.choice(["groups", "generality", "month", "week", "day", "all"]),
        "engine": "duckdb" if chance.random() < 0.1 else "memory",
    }
    table = pa.Table.from_pylist(rows)
    roles = tv.Roles(
        respondent="who", time="at", quasi=quasi, sensitive=["result"], keep=["ward"], drop=dropped
    )
    release, ledger = tv.generalize_time(
        table,
        roles,
        nulls="withhold",
        hierarchies={column: way[0] for column, way in levels.items()} or None,
        levels={column: way[1] for column, way in levels.items()} or None,
        **options,
    )
    labels = {column: levels[column][2] if column in levels else _as_it_is for column in quasi}

    def recount(folder: Path) -> None:
        recounts.events(folder, rows, options["k"], labels, ["ward", "result"])

    return Published(release, ledger, recount, ("parquet", "csv") if "age" not in quasi else ("parquet",))


def stream(chance: random.Random) -> Published:
    steps, per_slot = chance.randint(1, 9), chance.choice([4, 10, 25])
    ills = "abcdefgh"[: chance.randint(3, 8)]
    rows: list[recounts.Row] = []
    for step in range(steps):
        common = chance.choice(ills)
        rows.extend(
            {
                "who": f"p{chance.randrange(4 * per_slot)}",
                "at": FIRST + dt.timedelta(step),
                "zip": chance.choice(["11", "12", "13"]),
                "ward": chance.choice([1, 2, None]),
                "ill": common if chance.random() < 0.3 else chance.choice(ills),
            }
            for _ in range(chance.randint(0, per_slot))
        )
    chance.shuffle(rows)
    l, window = chance.randint(2, 4), chance.randint(1, 5)
    options: dict[str, Any] = {"buckets": chance.choice(["anatomy", "anatomy", "none"])}
    if options["buckets"] == "anatomy" and window > 1 and chance.random() < 0.2:
        options = {"protect_slot": 2}
    else:
        options |= {
            "filler": chance.choice(["never", "last_chance", "always"]),
            "first_window": chance.choice(["grow", "exact"]),
            "move_cost": chance.choice(["linear", "quadratic"]),
            "jitter": chance.choice([0, 0, 1]) if window > 1 else 0,
        }
    release, ledger = tv.publish_stream(
        pa.Table.from_pylist(rows or [{"who": "p", "at": FIRST, "zip": "11", "ward": 1, "ill": "a"}]),
        tv.Roles(respondent="who", time="at", quasi=["zip"], keep=["ward"], sensitive=["ill"]),
        l=l,
        window=window,
        seed=chance.randrange(2**32),
        allow_loss=True,
        **options,
    )
    entries = ledger.table.to_pylist()

    def recount(folder: Path) -> None:
        recounts.stream(folder, rows, entries, l, window + options.get("jitter", 0))

    return Published(release, ledger, recount, ("parquet", "csv"))


def series(chance: random.Random) -> Published:
    size, number = chance.randint(1, 6), chance.choice([12, 30, 60])
    names = [f"t{n}" for n in range(size)]
    people: list[recounts.Row] = []
    for person in range(number):
        steps = [chance.gauss(0, 1) for _ in range(size)]
        walk = [3.0] * size if chance.random() < 0.1 else list(itertools.accumulate(steps))
        if chance.random() < 0.3:
            walk = [float(round(value)) for value in walk]
        private = {"who": f"p{person}", "income": chance.randrange(8), "ward": chance.choice([1, 2])}
        people.append({**private, **dict(zip(names, walk, strict=True))})
    k = chance.randint(2, 6)
    p = chance.randint(2, k)
    options: dict[str, Any] = {
        "method": chance.choice(["adaptive", "kapra", "naive", "representative"]),
        "center": chance.choice(["mean", "median"]),
        "round_outward": chance.choice([None, 1, 3]),
        "max_level": chance.choice([3, 8]),
    }
    l = 2 if p >= 2 and chance.random() < 0.3 else None
    if chance.random() < 0.3:
        options["publish_values"] = sorted(chance.sample(names, chance.randint(1, size)))
        options["publish_pattern"] = sorted(chance.sample(names, chance.randint(1, size)))
    release, ledger = tv.anonymize_series(
        pa.Table.from_pylist(people),
        tv.Roles(respondent="who", series=names, sensitive=["income"], keep=["ward"]),
        k=k,
        p=p,
        l=l,
        seed=chance.randrange(2**32),
        allow_loss=True,
        **options,
    )
    entries = ledger.table.to_pylist()
    return Published(release, ledger, lambda folder: recounts.series(folder, people, entries, k, p, l))


def patterns(chance: random.Random) -> Published:
    k = chance.randint(2, 4)
    options: dict[str, Any] = {
        "k": k,
        "min_support": k + chance.choice([0, 1, 4]),
        "method": chance.choice(["additive", "tight", "clone", "suppressive", "itemset"]),
        "published": chance.choice(["frequent", "closed"]),
        "max_len": chance.choice([None, None, 2]),
        "allow_loss": True,
    }
    if chance.random() < 0.5:
        people = channels.baskets(chance, chance.randint(8, 40), chance.randint(2, 6))
        pairs = [{"who": f"p{n}", "item": item} for n, items in enumerate(people) for item in sorted(items)]
        chance.shuffle(pairs)
        table, roles = pa.Table.from_pylist(pairs), tv.Roles(respondent="who", item="item")
    else:
        size, symbols = chance.randint(2, 3), chance.randint(2, 3)
        walks = [list(itertools.accumulate(chance.gauss(0, 1) for _ in range(size))) for _ in range(40)]
        table = pa.table({f"t{n}": [walk[n] for walk in walks] for n in range(size)})
        roles = tv.Roles(series=table.column_names)
        options |= {"symbols": symbols, "structural": chance.random() < 0.8}
        people = [
            frozenset(
                (f"t{n}", "abc".index(letter)) for n, letter in enumerate(oracle.letters(walk, symbols))
            )
            for walk in walks
        ]
    release, ledger = tv.sanitize_patterns(table, roles, **options)
    added = ledger.virtual.to_pylist()
    return Published(release, ledger, lambda folder: recounts.patterns(folder, people, added, k))


MODELS: dict[str, Callable[[random.Random], Published]] = {
    "events": events, "stream": stream, "series": series, "patterns": patterns,
}  # fmt: skip
