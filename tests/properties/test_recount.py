"""Every candidate that a run states is that of an independent recount, for any table and calendar."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pyarrow as pa
import pytest

import timeveil as tv

CALENDARS = [None, ["business-day", "month"], ["business-month", "week", "year"], ["day", "week", "all"]]
ROLES = tv.Roles(respondent="who", time="at", quasi=["zip"])


def times(draw: random.Random, rows: int) -> tuple[pa.Array, dict[str, Any]]:
    """Times of any kind, some missing, some within a second of each other."""
    kind, span = draw.choice(["date", "civil", "zoned", "day", "month"]), draw.choice([3, 40, 400])
    if kind in ("day", "month"):
        return pa.array([draw.choice([None, *range(span)]) for _ in range(rows)], pa.int64()), {"unit": kind}
    first = dt.datetime(2024, draw.choice([1, 3, 10]), draw.randint(1, 28))
    steps = [(draw.randrange(span), draw.choice([0, draw.randrange(86_400_000)])) for _ in range(rows)]
    moments = [first + dt.timedelta(days=day, milliseconds=part) for day, part in steps]
    column = pa.array([None if draw.random() < 0.03 else m for m in moments], pa.timestamp("ms"))
    calendar = {"granularities": draw.choice(CALENDARS)}
    if kind == "date":
        return pa.array([m.date() for m in moments], pa.date32()), calendar
    zone = draw.choice(["Europe/Berlin", "America/New_York"])
    return (column, calendar) if kind == "civil" else (column.cast(pa.timestamp("ms", "UTC")), {"zone": zone})


@pytest.mark.parametrize("gaps", ["skip", "suppress", "next"])
def test_a_recount_agrees_with_the_run(gaps: str) -> None:
    judged = 0
    for seed in range(50):
        draw = random.Random(f"{gaps} {seed}")  # noqa: S311
        rows = draw.randint(5, 60)
        column, options = times(draw, rows)
        table = pa.table(
            {
                "who": [draw.choice([None, *(f"p{n}" for n in range(20))]) for _ in range(rows)],
                "at": column,
                "zip": [draw.choice(["10", "11", "20", None]) for _ in range(rows)],
            }
        )
        options |= {
            "k": draw.choice([2, 3]),
            "suppress": draw.choice([0, 0.1, 0.5]),
            "choose": draw.choice(["groups", "generality"]),
            "hierarchies": draw.choice([None, {"zip": "prefixes:1,0"}]),
        }
        try:
            pair = tv.generalize_time(table, ROLES, gaps=gaps, nulls="withhold", allow_loss=True, **options)
        except (tv.InfeasibleError, tv.InputError):
            continue
        judged += 1
        assert not tv.verify(*pair).violations, (seed, options)
    assert judged > 20
