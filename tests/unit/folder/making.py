"""Small releases and ledgers made by hand, true to their manifest."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.calendar.catalogue import granularity
from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.domain.version import TOOL

CANARY = "canary7391"


def names(folder: Path) -> list[str]:
    """What lies in a folder, hidden files too."""
    return sorted(file.name for file in folder.iterdir())


def release_of(columns: dict[str, Any], *, quasi: tuple[str, ...] = (), k: int = 2) -> Release:
    """A day-by-day release with these columns beside the time; every row stands there k times."""
    given = pa.table(columns)
    given = given.take(_in_order(given, quasi)) if given.num_rows > 1 else given
    given = given.take(pa.array([row for row in range(given.num_rows) for _ in range(k)], pa.int64()))
    rows = given.num_rows
    start, end = dt.date(2024, 2, 29), dt.date(2024, 3, 1)
    ordered = given.select([*quasi, *(name for name in given.column_names if name not in quasi)])
    table = (
        ordered.append_column("day", pa.array(["2024-02-29"] * rows, pa.string()))
        .append_column("day_start", pa.array([start] * rows, pa.date32()))
        .append_column("day_end", pa.array([end] * rows, pa.date32()))
    )
    sizes = table.group_by(list(quasi)).aggregate([([], "count_all")]) if quasi else None
    groups = (1 if rows else 0) if sizes is None else sizes.num_rows
    smallest = rows if sizes is None else min(sizes["count_all"].to_pylist(), default=0)
    return Release(KAnonymity(k), _manifest(table, quasi, k, groups, smallest), {"data": table})


def _in_order(table: pa.Table, quasi: tuple[str, ...]) -> list[int]:
    """Places of the rows by quasi-identifiers, then the others, nulls last."""
    names = [*quasi, *(name for name in table.column_names if name not in quasi)]
    rows = table.select(names).to_pylist()

    def key(place: int) -> list[tuple[bool, Any]]:
        cells = [rows[place][name] for name in names]
        return [(cell is None, "" if cell is None else cell) for cell in cells]

    return sorted(range(len(rows)), key=key)


def _manifest(table: pa.Table, quasi: tuple[str, ...], k: int, groups: int, smallest: int) -> dict[str, Any]:
    roles = dict.fromkeys(table.column_names, "keep") | dict.fromkeys(quasi, "quasi")
    roles |= {"day": "time", "day_start": "start", "day_end": "end"}
    counts = {"rows": table.num_rows, "groups": groups, "smallest_group": smallest}
    return {
        "format": 1,
        "model": "time",
        "tool": TOOL,
        "guarantee": {"name": "k-anonymity", "k": k},
        "granularity": "day",
        "granularity_definition": granularity("day").as_dict(),
        "time": {"column": "day", "kind": "civil", "zone": None, "unit": None},
        "columns": [{"name": f.name, "role": roles[f.name], "type": str(f.type)} for f in table.schema],
        "levels": {},
        "parameters": {"k": k, "choose": "groups", "suppress": 0.0, "gaps": "error", "nulls": "error",
                       "granularities": None},
        "frontier": ["day"] if groups else [],
        "candidates": {
            "day": {"smallest_group": smallest, "groups": groups, "group_total": table.num_rows,
                    "groups_below_k": 0, "rows_below_k": 0, "rows_in_gaps": 0,
                    "feasible": True, "allowed": True, "aliases": []}
        },
        "counts": counts | {"withheld": 0, "rows_read": table.num_rows},
    }  # fmt: skip


def plain_release() -> Release:
    """Two groups of two rows."""
    return release_of({"zip": ["01234", "99999"], "result": [1.5, None]}, quasi=("zip",))


def ledger_of(rows: int = 5) -> Ledger:
    """A ledger with a withheld row and a generalised column."""
    roles = Roles(respondent="patient", time="day", quasi=["zip", "day_weekday"], keep=["note"], drop=["x"])
    data = pa.table(
        {
            "patient": [f"{CANARY}-{i}" for i in range(rows)],
            "day": pa.array(
                [dt.datetime(2024, 2, 1 + i % 28) for i in range(rows)], pa.timestamp("ms", "UTC")
            ),
            "zip": pa.array([None if i == 1 else f"{i % 3:05}" for i in range(rows)]),
            "note": pa.array([i * 1.5 for i in range(rows)]),
            "day_weekday": pa.array(["Monday"] * rows),
        }
    )
    axis = TimeAxis("zoned", pa.timestamp("ms", "UTC"), zone="UTC")
    entries = pa.table(
        {
            "row": pa.array(range(rows), pa.int64()),
            "group": pa.array([None if i == 2 else i // 2 for i in range(rows)], pa.int32()),
        }
    )
    mappings = {"zip": pa.table({"value": ["00000", "00001", None], "published": ["0000*", "0000*", "*"]})}
    return Ledger("time", entries, Relation(roles, data, axis, ("x",), "visits.csv"), mappings, {"people": 3})
