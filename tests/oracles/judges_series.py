"""A slow, obvious way to build a series release and to attack it: lists of dicts, one series at a time.

`build` knows nothing of the methods. People are sorted by their values and cut into groups of k or a few
more, groups into subgroups of p or a few more, and a subgroup gets the finest pattern that all of it share.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cache

import pyarrow as pa

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
NORMAL = statistics.NormalDist()
OWN = {"adaptive": True, "kapra": True, "naive": False, "representative": False}
WEIGHED = {"shape_weight": 50, "effort": 1, "adoption": None, "exact": None}
FORMED = {"shape_weight": None, "effort": None, "adoption": True, "exact": False}
USED = {"adaptive": WEIGHED, "representative": WEIGHED, "kapra": FORMED, "naive": dict.fromkeys(FORMED)}


@dataclass(frozen=True)
class Case:
    """People as dicts with keys person, values, income, ward; the last `suppressed` of them are left out."""

    rows: list[dict]
    k: int = 4
    p: int = 2
    l: int | None = None
    method: str = "adaptive"
    center: str = "mean"
    digits: int | None = None
    long: bool = False
    suppressed: int = 0
    values: tuple[int, ...] | None = None
    pattern: tuple[int, ...] | None = None
    max_level: int = 6
    fill: str | None = None

    @property
    def instants(self) -> list[str]:
        """Names of the instants; in the long form they are numbers."""
        return [str(n) if self.long else f"t{n}" for n in range(len(self.rows[0]["values"]))]

    def part(self, which: str) -> list[int]:
        chosen = getattr(self, which)
        return list(range(len(self.instants))) if chosen is None else list(chosen)


def z_of(values: list[float], center: str) -> list[float]:
    return _z_of(tuple(values), center)


@cache
def _z_of(values: tuple[float, ...], center: str) -> list[float]:
    if len(set(values)) == 1:
        return [0.0] * len(values)
    middle = statistics.median(values) if center == "median" else statistics.fmean(values)
    mean = statistics.fmean(values)
    deviation = math.sqrt(statistics.fmean((v - mean) ** 2 for v in values))
    found = [(v - middle) / deviation for v in values]
    return [0.0 if abs(z) < 1e-12 else z for z in found]


@cache
def borders(level: int) -> list[float]:
    return [NORMAL.inv_cdf(step / level) for step in range(1, level)]


def symbol(z: float, level: int) -> int:
    """How many borders between cells are not above; a value on a border stands above it."""
    return sum(border <= z + 1e-13 for border in borders(level))


def pattern_of(values: list[float], levels: list[int], center: str) -> list[int]:
    return [symbol(z, level) for z, level in zip(z_of(values, center), levels, strict=True)]


def cuts(people: list[int], least: int) -> list[list[int]]:
    """Runs of `least` people, the last with what is left over."""
    count = max(1, len(people) // least)
    return [people[n * least : (n + 1) * least if n < count - 1 else None] for n in range(count)]


def shared(case: Case, members: list[int]) -> tuple[list[int], list[int]]:
    """Symbols and levels of a subgroup: each the finest that all share, or one level, or just somebody's."""
    series = [case.rows[n]["values"] for n in members]
    width = len(case.instants)
    if not OWN[case.method]:
        levels = [case.max_level] * width
        return pattern_of(series[0], levels, case.center), levels
    agreed = {
        level: [
            len({pattern_of(s, [level] * width, case.center)[t] for s in series}) == 1 for t in range(width)
        ]
        for level in range(1, case.max_level + 1)
    }
    if case.method == "adaptive":
        levels = [max(level for level in agreed if agreed[level][t]) for t in range(width)]
    else:
        levels = [max(level for level in agreed if all(agreed[level]))] * width
    return pattern_of(series[0], levels, case.center), levels


def rounded(bound: float, digits: int | None, how: str) -> float:
    if digits is None or bound == 0:
        return bound
    exact = Decimal(bound)
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    steps = (exact / step).to_integral_value(ROUND_FLOOR if how == "down" else ROUND_CEILING)
    near = float(steps * step)
    inward = 1 if how == "down" else -1
    further = float((steps + inward) * step)  # a double may stand for a decimal beyond it
    return further if inward * further <= inward * bound else near


def diverse(values: list[float], least: int | None) -> list[float]:
    """Values of which every one stands at most in one place of `least`; new ones in place of the others."""
    out, seen, new = [], Counter(), 0
    for value in values:
        if least is not None and seen[value] >= len(values) // least:
            new += 1
            out.append(value + new / 1024)
        else:
            seen[value] += 1
            out.append(value)
    return out


def build(case: Case) -> tuple[Release, Ledger]:
    everyone = [n for n, row in enumerate(case.rows) if None not in row["values"]]
    kept = everyone[: len(everyone) - case.suppressed]
    lines, placed = [], {}
    for group in cuts(sorted(kept, key=lambda n: case.rows[n]["values"]), case.k):
        bounds = {}
        for t in case.part("values"):
            column = [case.rows[n]["values"][t] for n in group]
            bounds[f"{case.instants[t]}_lo"] = rounded(min(column), case.digits, "down")
            bounds[f"{case.instants[t]}_hi"] = rounded(max(column), case.digits, "up")
        cells: dict = {}
        for members in cuts(group, case.p):
            symbols, levels = shared(case, members)
            shown = tuple((symbols[t], levels[t]) for t in case.part("pattern"))
            key = shown if case.method == "adaptive" else (levels[0], *(s for s, _ in shown))
            cells.setdefault((key, shown), []).extend(members)
        for (_, shown), members in cells.items():
            incomes = diverse([float(case.rows[n]["income"]) for n in members], case.l)
            for n, income in zip(members, incomes, strict=True):
                level = [lv for _, lv in shown] if case.method == "adaptive" else shown[0][1]
                lines.append(
                    (n, {**bounds, "pattern": "".join(LETTERS[s] for s, _ in shown), "level": level,
                         "income": income, "ward": case.rows[n]["ward"]}, tuple(group))
                )  # fmt: skip
    said: dict = {}
    for _, line, group in lines:
        said.setdefault(group, []).append(
            [_comparable(v) for n, v in line.items() if n[-3:] not in ("_lo", "_hi")]
        )
    bounds_of = {group: _bounds(line) for _, line, group in lines}
    whose = sorted(said, key=lambda group: (bounds_of[group], sorted(said[group])))
    number = {group: place for place, group in enumerate(whose, start=1)}
    lines = [(n, {"group": number[group], **line}) for n, line, group in lines]
    lines.sort(key=lambda line: [_comparable(value) for value in line[1].values()])
    keys: list = []
    for n, line in lines:
        key = (line["group"], line["pattern"], str(line["level"]))
        keys += [] if key in keys else [key]
        placed[n] = (line["group"], keys.index(key) + 1)
    release = _release(case, [line for _, line in lines], len(number), len(keys), len(everyone) - len(kept))
    return release, _ledger(case, placed)


def _bounds(line: dict) -> list:
    return [value for name, value in line.items() if name.endswith(("_lo", "_hi"))]


def _comparable(value):
    return (value is None, value if value is not None else 0)


def _release(case: Case, lines: list[dict], groups: int, cells: int, suppressed: int) -> Release:
    names = [case.instants[t] for t in case.part("values")]
    bounds = [(f"{name}_{end}", role) for name in names for end, role in (("lo", "low"), ("hi", "high"))]
    level = pa.list_(pa.int16()) if case.method == "adaptive" else pa.int16()
    schema = pa.schema(
        [("group", pa.int32()), *((name, pa.float64()) for name, _ in bounds), ("pattern", pa.string()),
         ("level", level), ("income", pa.float64()), ("ward", pa.int64())]
    )  # fmt: skip
    roles = {"group": "group", **dict(bounds), "pattern": "pattern", "level": "level", "income": "sensitive",
             "ward": "keep"}  # fmt: skip
    table = pa.Table.from_pylist(lines, schema=schema)
    promise = KPAnonymity(case.k, case.p, case.l)
    changed = Counter(table["income"].to_pylist()) - Counter(float(row["income"]) for row in case.rows)
    manifest = {
        "format": 1,
        "model": "series",
        "tool": "timeveil 0.1.0",
        "guarantee": promise.as_dict(),
        "series": {
            "instants": case.instants, "values": names,
            "pattern": [case.instants[t] for t in case.part("pattern")], "center": case.center,
            "levels": "each" if case.method == "adaptive" else "one", "own_patterns": OWN[case.method],
            "perturbed": ["income"] if changed else [],
        },
        "columns": [{"name": f.name, "role": roles[f.name], "type": str(f.type)} for f in schema],
        "parameters": {
            "k": case.k, "p": case.p, "l": case.l, "method": case.method, "max_level": case.max_level,
            "center": case.center, "round_outward": case.digits, **USED[case.method], "fill": case.fill,
            "publish_values": None if case.values is None else names,
            "publish_pattern": None if case.pattern is None else [case.instants[t] for t in case.pattern],
        },
        "counts": {"rows": len(lines), "groups": groups, "cells": cells, "suppressed": suppressed},
    }  # fmt: skip
    return Release(promise, manifest, {"data": table})


def relation(case: Case) -> Relation:
    if not case.long:
        roles = Roles(respondent="person", series=case.instants, sensitive=["income"], keep=["ward"])
        lines = [
            {"person": row["person"], "income": float(row["income"]), "ward": row["ward"],
             **dict(zip(case.instants, row["values"], strict=True))}
            for row in case.rows
        ]  # fmt: skip
        kinds = {name: pa.float64() for name in case.instants}
        schema = pa.schema({"person": pa.string(), "income": pa.float64(), "ward": pa.int64(), **kinds})
        return Relation(roles, pa.Table.from_pylist(lines, schema=schema))
    roles = Roles(respondent="person", time="at", value="load", sensitive=["income"], keep=["ward"])
    lines = [
        {"person": row["person"], "at": t, "load": row["values"][t], "income": float(row["income"]),
         "ward": row["ward"]}
        for t, row in _long_order(case)
    ]  # fmt: skip
    schema = pa.schema({"person": pa.string(), "at": pa.int64(), "load": pa.float64(), "income": pa.float64(),
                        "ward": pa.int64()})  # fmt: skip
    return Relation(roles, pa.Table.from_pylist(lines, schema=schema), TimeAxis("relative", pa.int64()))


def _long_order(case: Case) -> list:
    pairs = [(t, row) for row in case.rows for t in range(len(case.instants))]
    random.Random(len(pairs)).shuffle(pairs)  # noqa: S311
    return pairs


def _ledger(case: Case, placed: dict) -> Ledger:
    people = [row["person"] for row in case.rows]
    order = [people.index(row["person"]) for _, row in _long_order(case)] if case.long else range(len(people))
    where = [placed.get(n, (None, None)) for n in order]
    table = pa.table(
        {
            "row": pa.array(range(len(where)), pa.int64()),
            "group": pa.array([group for group, _ in where], pa.int32()),
            "subgroup": pa.array([cell for _, cell in where], pa.int32()),
        }
    )
    return Ledger("series", table, relation(case))


def candidates(
    case: Case, release: Release, n: int, known: list[int] | None, tolerance: float, pattern: bool
):
    """The published rows that fit what is known of a person, one by one."""
    values = case.rows[n]["values"]
    fits = []
    for line in release.table.to_pylist():
        good = True
        for t in known or []:
            name = case.instants[t]
            if f"{name}_lo" in line:
                good &= (
                    line[f"{name}_lo"] <= values[t] + tolerance
                    and values[t] - tolerance <= line[f"{name}_hi"]
                )
        if pattern:
            shown = case.part("pattern")
            levels = line["level"] if isinstance(line["level"], list) else [line["level"]] * len(shown)
            z = z_of(values, case.center)
            own = "".join(LETTERS[symbol(z[t], level)] for t, level in zip(shown, levels, strict=True))
            good &= own == line["pattern"]
        if good:
            fits.append(line)
    return fits


def alike(case: Case, n: int, known: list[int], tolerance: float, pattern: bool) -> int:
    """How many series of the original fit what is known of a person, the person's own included."""
    values, levels = case.rows[n]["values"], [case.max_level] * len(case.instants)
    found = 0
    for row in case.rows:
        good = all(abs_fits(row["values"][t], values[t], tolerance) for t in known)
        if pattern:
            good &= pattern_of(row["values"], levels, case.center) == pattern_of(values, levels, case.center)
        found += good
    return found


def abs_fits(value: float, known: float, tolerance: float) -> bool:
    return known - tolerance <= value <= known + tolerance


def people(rng: random.Random, count: int, width: int, kind: str = "walk") -> list[dict]:
    """Made-up people; many tied values if `kind` is `coarse`, many constant ones if `flat`."""
    rows = []
    for n in range(count):
        at = rng.uniform(-50, 50)
        values = []
        for _ in range(width):
            values.append(float(round(at)) if kind != "walk" else at)
            at += rng.gauss(0, 5) if kind != "flat" or rng.random() < 0.2 else 0
        rows.append({"person": f"p{n}", "values": values, "income": rng.choice([1, 2, 2, 3, 5, 8]),
                     "ward": rng.choice([1, 2, None])})  # fmt: skip
    assert all(math.isfinite(v) for row in rows for v in row["values"])
    return rows
