"""A slow, obvious way to build a time release and to judge it: dicts of sets, one row at a time.

`build` knows nothing of the method: it generalises to a granularity it is told, withholds every class
of fewer than k people, and writes tables and manifest as documented.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

import pyarrow as pa

from timeveil.calendar.catalogue import fit, granularity
from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles

ROME = ZoneInfo("Europe/Rome")
DATES = TimeAxis("civil", pa.date32())
CIVIL = TimeAxis("civil", pa.timestamp("ms"))
ZONED = TimeAxis("zoned", pa.timestamp("ms", tz="Europe/Rome"), zone="Europe/Rome")
DAYS = TimeAxis("relative", pa.int64(), unit="day")
ROLES = Roles(respondent="person", time="at", quasi=["zip", "sex"], keep=["ward"], sensitive=["result"])


@dataclass(frozen=True)
class Case:
    """Rows as dicts with keys person, at, zip, sex, ward, result; `at` may be None, so may `person`."""

    rows: list[dict]
    k: int
    axis: TimeAxis = CIVIL
    name: str = "week"
    gaps: str = "error"
    general_zip: bool = False  # publish the first digit of the zip only


def granule(case: Case, at):
    """(label, start, end) of the granule of a time, or None in a gap; a missing bound is None."""
    if case.name == "all":
        return "all", None, None
    if case.axis.kind == "relative":
        width = {"day": 1, "week": 7}[case.name]
        index = at // width
        label = granularity_of(case).label([index])[0]
        return label, index * width, (index + 1) * width
    day = (
        at.astimezone(ROME).date()
        if case.axis is ZONED
        else (at.date() if isinstance(at, dt.datetime) else at)
    )
    if case.name == "business-day" and day.weekday() >= 5:
        if case.gaps != "next":
            return None
        day += dt.timedelta(days=7 - day.weekday())
    if case.name in ("day", "business-day"):
        first, last, label = day, day + dt.timedelta(days=1), day.isoformat()
    elif case.name == "week":
        first = day - dt.timedelta(days=day.weekday())
        last = first + dt.timedelta(days=7)
        label = f"{day.isocalendar().year}-W{day.isocalendar().week:02}"
    else:
        first = day.replace(day=1)
        last = (first + dt.timedelta(days=31)).replace(day=1)
        label = f"{day.year:04}-{day.month:02}"
    return label, midnight(case.axis, first), midnight(case.axis, last)


def midnight(axis: TimeAxis, day: dt.date):
    if axis is DATES:
        return day
    return dt.datetime.combine(day, dt.time(), tzinfo=ROME if axis is ZONED else None)


def granularity_of(case: Case):
    return fit(granularity(case.name), case.axis)


def shown_zip(case: Case, value):
    return value[:1] + "*" if case.general_zip and value is not None else value


def class_of(case: Case, row: dict):
    """The published (quasi-identifiers, granule), or None where the row has none."""
    if row["person"] is None or row["at"] is None:
        return None
    found = granule(case, row["at"])
    return None if found is None else (shown_zip(case, row["zip"]), row["sex"], *found)


def people_by_class(case: Case) -> dict:
    people = defaultdict(set)
    for row in case.rows:
        if (found := class_of(case, row)) is not None:
            people[found].add(row["person"])
    return people


def placed(case: Case) -> list:
    """Per row its published class, or None if withheld."""
    people = people_by_class(case)
    classes = [class_of(case, row) for row in case.rows]
    return [c if c is not None and len(people[c]) >= case.k else None for c in classes]


def build(case: Case) -> tuple[Release, Ledger]:
    classes = placed(case)
    kept = [c for c in classes if c is not None]
    people = people_by_class(case)
    numbers = {c: n for n, c in enumerate(dict.fromkeys(kept))}
    lines = [
        {
            "zip": c[0],
            "sex": c[1],
            "ward": r["ward"],
            "result": r["result"],
            "at": c[2],
            "at_start": c[3],
            "at_end": c[4],
        }
        for r, c in zip(case.rows, classes, strict=True)
        if c is not None
    ]
    kinds = [("zip", "quasi", pa.string()), ("sex", "quasi", pa.string()), ("ward", "keep", pa.int64()),
             ("result", "sensitive", pa.string()), ("at", "time", pa.string()),
             ("at_start", "start", case.axis.type), ("at_end", "end", case.axis.type)]  # fmt: skip
    schema = pa.schema([(name, kind) for name, _, kind in kinds])
    data = pa.Table.from_pylist(sorted(lines, key=place_in_order), schema=schema)
    smallest = min((len(people[c]) for c in kept), default=0)
    below = {c for c, members in people.items() if len(members) < case.k}
    chosen = {"smallest_group": min(map(len, people.values()), default=0), "groups": len(people),
              "group_total": sum(map(len, people.values())), "groups_below_k": len(below),
              "rows_below_k": sum(class_of(case, row) in below for row in case.rows),
              "rows_in_gaps": rows_in_gaps(case),
              "feasible": True, "allowed": True, "aliases": []}  # fmt: skip
    manifest = {
        "format": 1,
        "model": "time",
        "guarantee": {"name": "k-anonymity", "k": case.k},
        "granularity": case.name,
        "granularity_definition": granularity_of(case).as_dict(),
        "time": {"column": "at", "kind": case.axis.kind, "zone": case.axis.zone, "unit": case.axis.unit},
        "columns": [{"name": name, "role": role, "type": str(kind)} for name, role, kind in kinds],
        "levels": {"zip": {"level": 1, "name": "first digit"}} if case.general_zip else {},
        "parameters": {"k": case.k, "choose": "groups", "suppress": 0.999_999, "gaps": case.gaps,
                       "nulls": "withhold", "granularities": None},
        "frontier": [case.name],
        "candidates": {case.name: chosen},
        "counts": {"rows": len(kept), "groups": len(numbers), "smallest_group": smallest,
                   "withheld": len(classes) - len(kept), "rows_read": len(classes)},
        "tool": "timeveil 0.1.0",
    }  # fmt: skip
    release = Release(KAnonymity(case.k), manifest, {"data": data})
    return release, _ledger(case, [None if c is None else numbers[c] for c in classes])


def place_in_order(line: dict) -> list:
    """Quasi-identifiers, start, label, then the other columns; a missing value comes last."""
    names = ("zip", "sex", "at_start", "at", "ward", "result", "at_end")
    return [(line[name] is None, "" if line[name] is None else line[name]) for name in names]


def relation(case: Case) -> Relation:
    schema = pa.schema([("person", pa.string()), ("at", case.axis.type), ("zip", pa.string()),
                        ("sex", pa.string()), ("result", pa.string()), ("ward", pa.int64())])  # fmt: skip
    return Relation(ROLES, pa.Table.from_pylist(case.rows, schema=schema), case.axis)


def _ledger(case: Case, groups: list) -> Ledger:
    table = pa.table({"row": pa.array(range(len(groups)), pa.int64()), "group": pa.array(groups, pa.int32())})
    mappings = {}
    if case.general_zip:
        values = sorted({row["zip"] for row in case.rows} - {None})
        shown = pa.array([shown_zip(case, v) for v in values], pa.string())
        mappings["zip"] = pa.table({"value": pa.array(values, pa.string()), "published": shown})
    return Ledger("time", table, relation(case), mappings)


def rows_in_gaps(case: Case) -> int:
    known = [r for r in case.rows if r["at"] is not None and r["person"] is not None]
    return sum(granule(replace(case, gaps="error"), r["at"]) is None for r in known)


def instant(axis: TimeAxis, at) -> int:
    """Seconds of a time on its axis."""
    if axis.kind == "relative":
        return at * 86_400
    if not isinstance(at, dt.datetime):
        at = dt.datetime.combine(at, dt.time())
    zero = dt.datetime(1970, 1, 1, tzinfo=dt.UTC if at.tzinfo else None)
    return (at - zero) // dt.timedelta(seconds=1)


def true_count(case: Case, low, high, where: dict, *, published: bool) -> int:
    """Rows in [low, high) with the published values in `where`; of all rows, or of published ones."""
    inside = 0
    for row, found in zip(case.rows, placed(case), strict=True):
        if row["at"] is None or (published and found is None):
            continue
        shown = {**row, "zip": shown_zip(case, row["zip"])}
        fits = all(shown[name] == value for name, value in where.items())
        inside += fits and instant(case.axis, low) <= instant(case.axis, row["at"]) < instant(case.axis, high)
    return inside


def candidates_before(case: Case, visits: list[dict], tolerance: int) -> set:
    """People who have a row like each visit, within the tolerance."""
    sets = []
    for visit in visits:
        at = instant(case.axis, visit["at"])
        sets.append(
            {
                r["person"]
                for r in case.rows
                if r["person"] is not None
                and r["at"] is not None
                and (r["zip"], r["sex"]) == (visit["zip"], visit["sex"])
                and abs(instant(case.axis, r["at"]) - at) <= tolerance
            }
        )
    return set.intersection(*sets)


def candidates_after(case: Case, visits: list[dict], tolerance: int) -> set:
    """People with a published row in a class that each visit may have gone to."""
    rows = [(r, c) for r, c in zip(case.rows, placed(case), strict=True) if c is not None]
    bounds = sorted({(c[3], c[4]) for _, c in rows}, key=str)
    sets = []
    for visit in visits:
        at = instant(case.axis, visit["at"])
        fits = {b for b in bounds if _touches(case, bounds, b, at - tolerance, at + tolerance)}
        key = (shown_zip(case, visit["zip"]), visit["sex"])
        sets.append({r["person"] for r, c in rows if c[:2] == key and c[3:] in fits})
    return set.intersection(*sets)


def _touches(case: Case, bounds: list, bound: tuple, low: int, high: int) -> bool:
    """Whether a time from low to high may have been published as this granule."""
    if bound[0] is None:
        return True
    start, end = (instant(case.axis, b) for b in bound)
    if case.gaps == "next" and rows_in_gaps(case):
        earlier = [instant(case.axis, b[1]) for b in bounds if instant(case.axis, b[1]) <= start]
        start = max(earlier, default=-(10**15))
    return start <= high and end > low


def rows_by_class(case: Case) -> Counter:
    return Counter(c for c in placed(case) if c is not None)
