"""A slow, obvious way to build a stream release and to judge it: lists of dicts, one record at a time.

`build` knows nothing of the method. Records queue up; each slot publishes as many of each value as an
l-eligible slot admits, oldest first, and whoever has waited for the whole window is withheld.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from zoneinfo import ZoneInfo

import pyarrow as pa

from timeveil.calendar.catalogue import fit, granularity
from timeveil.domain.guarantee import LDiversity
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles

ROME = ZoneInfo("Europe/Rome")
DATES = TimeAxis("civil", pa.date32())
ZONED = TimeAxis("zoned", pa.timestamp("ms", tz="Europe/Rome"), zone="Europe/Rome")
DAYS = TimeAxis("relative", pa.int64(), unit="day")
NUMBERS = TimeAxis("relative", pa.int64())
FIRST = dt.date(2024, 3, 25)
ROLES = Roles(respondent="person", time="at", quasi=["zip", "sex"], keep=["ward"], sensitive=["ill"])


@dataclass(frozen=True)
class Case:
    """Records as dicts with keys person, step, zip, sex, ward, ill; `step` is the slot from 0, or None."""

    rows: list[dict]
    l: int = 2
    window: int = 3
    axis: TimeAxis = DATES
    slot: str = "day"
    buckets: str = "anatomy"
    seed: int = 0


def time_of(case: Case, step):
    """A time in the slot of that number."""
    if step is None:
        return None
    if case.axis is NUMBERS:
        return step - 2
    if case.axis is DAYS:
        return step * {"day": 1, "week": 7}[case.slot] - 14
    if case.slot == "hour":
        return dt.datetime.combine(FIRST, dt.time(0, 30), tzinfo=ROME) + dt.timedelta(hours=step)
    days = {"day": 1, "week": 7}[case.slot] * step
    day = FIRST + dt.timedelta(days=days)
    return day if case.axis is DATES else dt.datetime.combine(day, dt.time(12), tzinfo=ROME)


def label_of(case: Case, step):
    """The slot of that number as it is shown."""
    if step is None or case.axis is NUMBERS:
        return None if step is None else step - 2
    if case.axis is DAYS:
        return f"{case.slot} {step - (14 if case.slot == 'day' else 2)}"
    if case.slot == "hour":
        start = dt.datetime.combine(FIRST, dt.time()) + dt.timedelta(hours=step)
        return f"{start:%Y-%m-%d %H}:00 to {start.hour + 1:02}:00"
    day = FIRST + dt.timedelta(days={"day": 1, "week": 7}[case.slot] * step)
    return day.isoformat() if case.slot == "day" else "{}-W{:02}".format(*day.isocalendar())


def level(counts: Counter, l: int) -> int:
    """The most records of one value that an l-eligible selection of these can hold."""
    best = 0
    for limit in range(1, max(counts.values(), default=0) + 1):
        if sum(min(c, limit) for c in counts.values()) >= l * limit:
            best = limit
    return best


def places(case: Case) -> list:
    """Per record the slot it is published in, or None."""
    found: list = [None] * len(case.rows)
    known = [n for n, row in enumerate(case.rows) if row["step"] is not None and row["ill"] is not None]
    last = max((case.rows[n]["step"] for n in known), default=-1)
    waiting: list[int] = []
    for step in range(last + 1):
        waiting = [n for n in waiting if step - case.rows[n]["step"] < case.window]
        waiting += [n for n in known if case.rows[n]["step"] == step]
        present, people = [], set()
        for n in waiting:
            if case.rows[n]["person"] not in people:
                people.add(case.rows[n]["person"])
                present.append(n)
        limit = level(Counter(case.rows[n]["ill"] for n in present), case.l)
        taken: Counter = Counter()
        for n in present:
            value = case.rows[n]["ill"]
            if taken[value] < limit:
                taken[value] += 1
                found[n] = step
        waiting = [n for n in waiting if found[n] is None]
    return found


def bucketing(case: Case, slots: list) -> list:
    """Per record its bucket in its slot (Anatomy), or None."""
    chance = random.Random(case.seed)  # noqa: S311
    found: list = [None] * len(slots)
    for step in sorted({s for s in slots if s is not None}):
        piles = defaultdict(list)
        for n, s in enumerate(slots):
            if s == step:
                piles[case.rows[n]["ill"]].append(n)
        for pile in piles.values():
            chance.shuffle(pile)
        made: list[list[int]] = []
        while sum(map(bool, piles.values())) >= case.l:
            largest = sorted(piles.values(), key=len, reverse=True)[: case.l]
            made.append([pile.pop() for pile in largest])
        for value, pile in piles.items():
            for n in pile:
                lacking = [b for b in made if all(case.rows[m]["ill"] != value for m in b)]
                chance.choice(lacking).append(n)
        for number, bucket in enumerate(made):
            for n in bucket:
                found[n] = number
    return found


def granularity_of(case: Case):
    return None if case.axis is NUMBERS else fit(granularity(case.slot), case.axis)


def build(case: Case) -> tuple[Release, Ledger]:
    slots = places(case)
    bucketed = case.buckets == "anatomy"
    buckets = bucketing(case, slots) if bucketed else [None] * len(slots)
    parts = tables(case, slots, buckets)
    release = Release(LDiversity(case.l), manifest(case, parts, slots), parts)
    return release, ledger(case, slots, buckets, release.manifest)


def tables(case: Case, slots: list, buckets: list) -> dict[str, pa.Table]:
    """What is published of records in these slots and buckets."""
    kept = [n for n, slot in enumerate(slots) if slot is not None]
    parts = {"data": _data(case, slots, buckets, kept)}
    slot_type = pa.int64() if case.axis is NUMBERS else pa.string()
    kinds = {"slot": slot_type, "bucket": pa.int32(), "ill": pa.string(), "count": pa.int64()}
    if case.buckets == "anatomy":
        counted = Counter((slots[n], buckets[n], case.rows[n]["ill"]) for n in kept)
        lines = [
            {"slot": label_of(case, s), "bucket": b, "ill": v, "count": c}
            for (s, b, v), c in sorted(counted.items())
        ]
        parts["sensitive"] = pa.Table.from_pylist(lines, schema=pa.schema(kinds))
    return parts


def _data(case: Case, slots: list, buckets: list, kept: list) -> pa.Table:
    last = ("bucket", pa.int32()) if case.buckets == "anatomy" else ("ill", pa.string())
    slot_type = pa.int64() if case.axis is NUMBERS else pa.string()
    schema = pa.schema(
        [("slot", slot_type), ("zip", pa.string()), ("sex", pa.string()), ("ward", pa.int64()), last]
    )
    shown = ("zip", "sex", "ward", "ill")
    values = {n: [case.rows[n].get(name) for name in shown] for n in kept}
    nulls_last = {n: [(value is None, 0 if value is None else value) for value in values[n]] for n in kept}
    order = sorted(kept, key=lambda n: (slots[n], buckets[n] or 0, nulls_last[n]))
    lines = [{**case.rows[n], "slot": label_of(case, slots[n]), "bucket": buckets[n]} for n in order]
    return pa.Table.from_pylist(lines, schema=schema)


def manifest(case: Case, parts: dict, slots: list) -> dict:
    roles = {"slot": "slot", "zip": "quasi", "sex": "quasi", "ward": "keep", "bucket": "bucket",
             "ill": "sensitive", "count": "count"}  # fmt: skip
    columns = {
        name: [{"name": f.name, "role": roles[f.name], "type": str(f.type)} for f in table.schema]
        for name, table in parts.items()
    }
    grain = granularity_of(case)
    known = [r["step"] for r in case.rows if r["step"] is not None and r["ill"] is not None]
    first, last = (min(known), max(known)) if known else (None, None)
    used = parts["sensitive"].select(["slot", "bucket"]).to_pylist() if "sensitive" in parts else []
    return {
        "format": 1,
        "model": "stream",
        "tool": "timeveil 0.1.0",
        "guarantee": {"name": "l-diversity", "l": case.l},
        "time": {
            "column": "at", "kind": case.axis.kind, "zone": case.axis.zone, "unit": case.axis.unit,
            "slot": case.slot if grain else None, "slot_definition": grain.as_dict() if grain else None,
        },
        "columns": columns["data"],
        **({"sensitive_columns": columns["sensitive"]} if "sensitive" in parts else {}),
        "parameters": {"l": case.l, "window": case.window, "slot": case.slot if grain else None,
                       "move_cost": "linear", "first_window": "grow", "filler": "never", "jitter": 0,
                       "buckets": case.buckets, "late": "refuse", "fill_empty": True, "nulls": "withhold"},
        "counts": {"rows": parts["data"].num_rows, "slots": 0 if first is None else last - first + 1,
                   "buckets": len({tuple(line.values()) for line in used}),
                   "first_slot": label_of(case, first), "last_slot": label_of(case, last)},
    }  # fmt: skip


def relation(case: Case) -> Relation:
    rows = [{**row, "at": time_of(case, row["step"])} for row in case.rows]
    schema = pa.schema([("person", pa.string()), ("at", case.axis.type), ("zip", pa.string()),
                        ("sex", pa.string()), ("ill", pa.string()), ("ward", pa.int64())])  # fmt: skip
    return Relation(ROLES, pa.Table.from_pylist(rows, schema=schema), case.axis)


def ledger(case: Case, slots: list, buckets: list, manifest: dict) -> Ledger:
    kind = pa.int64() if case.axis is NUMBERS else pa.string()
    table = pa.table(
        {
            "row": pa.array(range(len(slots)), pa.int64()),
            "origin": pa.array([label_of(case, row["step"]) for row in case.rows], kind),
            "slot": pa.array([label_of(case, slot) for slot in slots], kind),
            "bucket": pa.array(buckets, pa.int32()),
        }
    )
    return Ledger(
        "stream", table, relation(case), facts={key: manifest[key] for key in ("parameters", "time")}
    )


def groups(case: Case) -> dict:
    """Records by (slot, bucket)."""
    slots = places(case)
    buckets = bucketing(case, slots)
    found = defaultdict(list)
    for n, slot in enumerate(slots):
        if slot is not None:
            found[slot, buckets[n]].append(n)
    return found


def minimum_suppression(case: Case) -> int:
    """How many records stay unpublished if none may move."""
    lost = 0
    for step in {r["step"] for r in case.rows}:
        counts = Counter(r["ill"] for r in case.rows if r["step"] == step)
        limit = level(counts, case.l)
        lost += sum(c - min(c, limit) for c in counts.values())
    return lost


def bucket_chances(case: Case) -> dict:
    """Per published record the chance of its value for someone who knows quasi-identifiers and slot."""
    made = groups(case)
    found = {}
    for (slot, _), members in made.items():
        for n in members:
            fits, total = Fraction(0), 0
            for (other, _), others in made.items():
                if other != slot:
                    continue
                same = [m for m in others if _known(case, m) == _known(case, n)]
                holders = sum(case.rows[m]["ill"] == case.rows[n]["ill"] for m in others)
                fits += Fraction(len(same) * holders, len(others))
                total += len(same)
            found[n] = fits / total
    return found


def outcome_chances(case: Case) -> dict:
    """Per record the share of its value among the records of its slot that shared its fate."""
    slots = places(case)
    fates = defaultdict(list)
    whole = [n for n, r in enumerate(case.rows) if r["step"] is not None and r["ill"] is not None]
    for n in whole:
        step = case.rows[n]["step"]
        fates[step, None if slots[n] is None else slots[n] - step].append(n)
    return {
        n: (fate[1], Fraction(sum(case.rows[m]["ill"] == case.rows[n]["ill"] for m in others), len(others)))
        for fate, others in fates.items()
        for n in others
    }


def candidates(case: Case) -> dict:
    """Per person in two buckets or more the values that all of these buckets have, and the true ones."""
    found, true, often = {}, defaultdict(set), Counter()
    for members in groups(case).values():
        signature = {case.rows[m]["ill"] for m in members}
        for person in {case.rows[m]["person"] for m in members}:
            found[person] = found.get(person, signature) & signature
            often[person] += 1
        for m in members:
            true[case.rows[m]["person"]].add(case.rows[m]["ill"])
    return {person: (found[person], true[person]) for person in found if often[person] > 1}


def _known(case: Case, n: int) -> tuple:
    return case.rows[n]["zip"], case.rows[n]["sex"]
