"""Slow, obvious twins of what judges pattern releases: dicts of frozensets, every set looked at.

An item of series is a pair (instant, symbol), of baskets a text. `exhaustive` is the adversary: it knows
nothing of boxes or cells, and tries every pair I, J there is.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from timeveil.domain.guarantee import NoInferenceChannel
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
Sets = dict[frozenset, int]


def subsets(items) -> list[frozenset]:
    items = sorted(items)
    return [frozenset(s) for n in range(len(items) + 1) for s in itertools.combinations(items, n)]


def clashes(items) -> bool:
    """Whether two are symbols of one instant."""
    instants = [item[0] for item in items if isinstance(item, tuple)]
    return len(instants) != len(set(instants))


def support(rows, items) -> int:
    return sum(items <= row for row in rows)


def frequent(rows, least, longest=99) -> Sets:
    """Every set that enough rows have, the empty one included."""
    items = sorted({item for row in rows for item in row})
    found = {s: support(rows, s) for s in subsets(items) if len(s) <= longest and not clashes(s)}
    return {s: n for s, n in found.items() if n >= least or not s}


def boxes(sets: Sets, *, structural: bool) -> list[frozenset]:
    """All J that a reader can work with: those published or, structurally, all whose parts are."""
    if not structural:
        return list(sets)
    items = sorted(item for s in sets if len(s) == 1 for item in s)
    return [j for j in subsets(items) if all(x in sets for x in subsets(j) if not clashes(x))]


def exhaustive(sets: Sets, *, structural: bool) -> dict[tuple[frozenset, frozenset], int]:
    """For every I in J how many people have of J exactly I."""
    found = {}
    for j in boxes(sets, structural=structural):
        for i in subsets(j):
            if clashes(i):
                continue
            total = 0
            for more in subsets(j - i):
                total += (-1) ** len(more) * (0 if clashes(i | more) else sets[i | more])
            found[i, j] = total
    return found


def is_safe(sets: Sets, k: int, *, structural: bool) -> bool:
    return all(n == 0 or n >= k for n in exhaustive(sets, structural=structural).values())


def maximal_channels(sets: Sets, k: int, *, structural: bool) -> dict[tuple[frozenset, frozenset], int]:
    """Small groups of maximal J as (present, absent), without what goes without saying at an instant."""
    every = boxes(sets, structural=structural)
    top = {j for j in every if not any(j < other for other in every)}
    found = {}
    for (i, j), n in exhaustive(sets, structural=structural).items():
        if j in top and 0 < n < k:
            instants = {item[0] for item in i if isinstance(item, tuple)}
            lacks = frozenset(x for x in j - i if not (isinstance(x, tuple) and x[0] in instants))
            found[i, lacks] = n
    return found


def completed(sets: Sets, instants: list[str], symbols: int | None) -> Sets:
    """What follows where everybody has one symbol at every instant: the one that is missing."""
    known, fresh = dict(sets), symbols is not None
    while fresh:
        fresh = False
        for some, instant in itertools.product(list(known), instants):
            every = {(instant, symbol) for symbol in range(symbols)}
            missing = [item for item in every if some | {item} not in known]
            if not every & some and len(missing) == 1:
                rest = sum(known[some | {item}] for item in every - set(missing))
                known[some | set(missing)] = known[some] - rest
                fresh = True
    return known


def adds_up(known: Sets, instants: list[str], symbols: int | None) -> bool:
    """Whether the symbols of an instant add up wherever all of them are there."""
    for some, instant in itertools.product(known, instants if symbols else []):
        every = [some | {(instant, symbol)} for symbol in range(symbols)]
        apart = not any(one == some or clashes(one) for one in every)
        if apart and all(x in known for x in every) and sum(known[x] for x in every) != known[some]:
            return False
    return True


def virtual_rows(rows, sets: Sets, k: int, *, structural: bool, series: bool) -> list[frozenset]:
    """k copies of what each small group has, of series of somebody in it: no merging, and safe as well."""
    every = boxes(sets, structural=structural)
    top = {j for j in every if not any(j < other for other in every)}
    cells = exhaustive(sets, structural=structural)
    found = {
        min((row for row in rows if row & j == i), key=sorted) if series else i
        for (i, j), n in cells.items()
        if j in top and 0 < n < k
    }
    return [v for v in sorted(found, key=lambda s: (len(s), sorted(s))) for _ in range(k)]


def closed(sets: Sets) -> Sets:
    return {s: n for s, n in sets.items() if not s or not any(s < t and sets[t] == n for t in sets)}


@dataclass(frozen=True)
class Case:
    """Rows of items and what is asked; with `symbols`, rows are series of one symbol at every instant."""

    rows: list[frozenset]
    k: int = 2
    least: int = 2
    symbols: int | None = None
    structural: bool = True
    method: str = "additive"
    published: str = "frequent"
    max_len: int | None = None
    long: bool = False

    @property
    def is_structural(self) -> bool:
        return self.structural and self.symbols is not None

    @property
    def guarantee(self) -> NoInferenceChannel:
        return NoInferenceChannel(self.k, counts_alone=self.symbols is not None and not self.structural)

    @cached_property
    def sets(self) -> Sets:
        return frequent(self.rows, self.least, self.max_len or 99)

    @cached_property
    def virtual(self) -> list[frozenset]:
        series = self.symbols is not None
        known = self.known(self.sets)
        return virtual_rows(self.rows, known, self.k, structural=self.is_structural, series=series)

    def known(self, sets: Sets) -> Sets:
        """What a reader of these counts knows."""
        return completed(sets, self.instants, self.symbols if self.is_structural else None)

    def is_safe(self, sets: Sets) -> bool:
        return is_safe(self.known(sets), self.k, structural=self.is_structural)

    def is_possible(self, sets: Sets) -> bool:
        """Whether no group is below 0 and, of series, everybody has one symbol at every instant."""
        known = self.known(sets)
        cells = exhaustive(known, structural=self.is_structural).values()
        return min(cells) >= 0 and adds_up(known, self.instants, self.symbols if self.is_structural else None)

    @cached_property
    def told(self) -> Sets:
        """What is published: counts of the rows and the virtual ones."""
        return {s: n + support(self.virtual, s) for s, n in self.sets.items()}

    @property
    def instants(self) -> list[str]:
        return sorted({item[0] for row in self.rows for item in row})


def name(item) -> str:
    return f"{item[0]}={LETTERS[item[1]]}" if isinstance(item, tuple) else item


def table_of(sets: Sets) -> pa.Table:
    lines = sorted(sets.items(), key=lambda line: (len(line[0]), sorted(line[0])))
    return pa.table(
        {
            "pattern": pa.array([[name(i) for i in sorted(s)] for s, _ in lines], pa.list_(pa.string())),
            "support": pa.array([n for _, n in lines], pa.int64()),
        }
    )


def release_of(case: Case, sets: Sets | None = None) -> Release:
    """A release by the book, or with other counts."""
    told = case.told if sets is None else sets
    shown = closed(told) if case.published == "closed" else told
    series = case.symbols is not None
    shared = {"structural": case.is_structural, "symbols": case.symbols,
              "center": "mean" if series else None, "published": case.published}  # fmt: skip
    manifest = {
        "format": 1, "model": "patterns", "tool": "timeveil 0.1.0",
        "guarantee": case.guarantee.as_dict(),
        "patterns": {"kind": "series" if series else "baskets",
                     "instants": case.instants if series else None, **shared},
        "columns": [{"name": "pattern", "role": "pattern", "type": "list<string>"},
                    {"name": "support", "role": "support", "type": "int64"}],
        "parameters": {"k": case.k, "min_support": case.least, "method": case.method,
                       "max_len": case.max_len, "fill": None, **shared},
        "counts": {"patterns": len(shown), "transactions": told[frozenset()],
                   "virtual": len(case.virtual) if sets is None else told[frozenset()] - len(case.rows)},
    }  # fmt: skip
    return Release(case.guarantee, manifest, {"data": table_of(shown)})


def ledger_of(case: Case) -> Ledger:
    """Who has what. Series are given as numbers that lie in the middle of their symbols, not scaled again."""
    virtual: dict = {}
    for row in case.virtual:
        virtual[row] = virtual.get(row, 0) + 1
    mapping = pa.table(
        {
            "pattern": pa.array([[name(i) for i in sorted(v)] for v in virtual], pa.list_(pa.string())),
            "copies": pa.array(list(virtual.values()), pa.int64()),
        }
    )
    facts, of_row = {"origin": "baskets"}, list(range(len(case.rows)))
    if case.symbols is not None:
        from statistics import NormalDist

        middles = [NormalDist().inv_cdf((s + 0.5) / case.symbols) for s in range(case.symbols)]
        symbol = [dict(row) for row in case.rows]
        data = pa.table({t: pa.array([middles[row[t]] for row in symbol]) for t in case.instants})
        relation = Relation(Roles(series=case.instants), data)
        facts = {"origin": "release"}
    elif case.long:
        pairs = [(n, item) for n, row in enumerate(case.rows) for item in sorted(row)]
        data = pa.table({"who": [f"p{n}" for n, _ in pairs], "what": [item for _, item in pairs]})
        relation, of_row = Relation(Roles(respondent="who", item="what"), data), [n for n, _ in pairs]
    else:
        lists = pa.array([sorted(row) for row in case.rows], pa.list_(pa.string()))
        relation = Relation(Roles(item="has"), pa.table({"has": lists}))
    entries = pa.table(
        {"row": pa.array(range(len(of_row)), pa.int64()), "transaction": pa.array(of_row, pa.int64())}
    )
    return Ledger("patterns", entries, relation, {"virtual": mapping}, facts)


def baskets(chance: random.Random, rows: int, items: int) -> list[frozenset]:
    """Everybody has something, and some things often come together."""
    names = LETTERS[:items]
    weights = [chance.uniform(0.15, 0.9) for _ in names]
    found = []
    while len(found) < rows:
        row = frozenset(x for x, w in zip(names, weights, strict=True) if chance.random() < w)
        found += [row] * (chance.choice([1, 1, 2]) if row else 0)
    return found[:rows]


def series(chance: random.Random, rows: int, instants: int, symbols: int) -> list[frozenset]:
    """One symbol at every instant; neighbours are often alike."""
    found = []
    for _ in range(rows):
        row, here = [], chance.randrange(symbols)
        for t in range(instants):
            here = here if chance.random() < 0.6 else chance.randrange(symbols)
            row.append((f"t{t}", here))
        found.append(frozenset(row))
    return found
