"""Every engine agrees with memory, to the row, on random tables, calendars, hierarchies and promises.

`python -m tests.conformance.test_random_tables --seed 7 --number 5000` tries more than `make test` does; with
`--engine spark` and `TIMEVEIL_SPARK`, see `tests.spark`, they run on Spark or on Sail.
"""

from __future__ import annotations

import argparse
import datetime as dt
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.conformance.engines import DOUBLE, assert_agree
from tests.effort import THOROUGH
from tests.spark import ALL, MARKS

import timeveil as tv

ENGINES = ["duckdb", "postgres", "spark", DOUBLE]
CASES = 600 if THOROUGH else 12
ON_SPARK = 50 if THOROUGH else 5 if ALL else 2  # a case takes seconds there
EPOCH = dt.datetime(2023, 12, 20)
PLACES = ["ä", "b", "B", "", "b ", None]
ZONES = ["Europe/Berlin", "America/Havana", "Asia/Kathmandu"]


def random_case(rng: np.random.Generator) -> tuple[pa.Table, tv.Roles, int, dict[str, Any]]:
    """A small table of few people, with what memory and all engines are asked for."""
    rows, kind = int(rng.integers(1, 60)), rng.choice(["date", "timestamp", "zoned", "relative"])
    minutes = rng.integers(0, 60 * 24 * int(rng.choice([3, 40, 500])), rows)
    step = int(rng.choice([1, 30, 60, 720]))
    moments = [EPOCH + dt.timedelta(minutes=int(m) // step * step) for m in minutes]
    options: dict[str, Any] = {
        "allow_loss": True,
        "nulls": "withhold",
        "suppress": float(rng.choice([0, 0.2, 0.6])),
    }
    times = {
        "date": pa.array([moment.date() for moment in moments]),
        "timestamp": pa.array(moments, pa.timestamp("us")),
        "zoned": pa.array(moments, pa.timestamp("us", "UTC")),
        "relative": pa.array(minutes - 2_000),
    }[kind]
    if kind == "zoned":
        options["zone"] = str(rng.choice(ZONES))
    if kind == "relative":
        options["unit"] = str(rng.choice(["minute", "hour", "day"]))
    people = rng.integers(0, int(rng.integers(2, 12)), rows)
    table = pa.table({
        "who": pa.array([None if rng.random() < 0.03 else f"p{p}" for p in people], pa.string())
        if rng.random() < 0.5 else pa.array(people),
        "when": pa.array(times, mask=rng.random(rows) < 0.02),
        "place": pa.array([PLACES[i] for i in rng.integers(0, rng.integers(1, 7), rows)], pa.string()),
        "age": pa.array(rng.integers(20, 24, rows) * rng.choice([1, 7]), mask=rng.random(rows) < 0.1),
        "dose": pa.array(rng.choice([-0.5, 0.0, 2.5, np.nan], rows)),
        "ill": pa.array([["flu", "cold", None][i] for i in rng.integers(0, 3, rows)], pa.string()),
    })  # fmt: skip
    quasi = [name for name in ("place", "age", "dose") if rng.random() < 0.4]
    roles = tv.Roles(respondent="who", time="when", quasi=quasi, sensitive=["ill"], drop="rest")
    ways = {"place": "prefixes:1", "age": "intervals:5,20", "dose": "suppression"}
    if rng.random() < 0.5:
        options["hierarchies"] = {name: ways[name] for name in quasi}
    if kind != "relative" and rng.random() < 0.4:
        options["granularities"] = ["business-day", "business-month", "month", "all"]
        options["gaps"] = str(rng.choice(["suppress", "next", "skip"]))
    if options.get("gaps") in (None, "skip") and rng.random() < 0.3:
        options["recode"] = str(rng.choice(["refined", "local", "tiling"]))
    if rng.random() < 0.2:
        options["protect"] = {"ill": str(rng.choice(["at-most:2/3", "distinct:2"]))}
    return table, roles, int(rng.integers(2, 5)), options


def compare(engine: str, seed: int) -> str:
    """Try one case; what it came to."""
    table, roles, k, options = random_case(np.random.default_rng(seed))
    outcome = assert_agree(table, roles, k, engine, **options)
    return str(outcome[1]) if isinstance(outcome[0], type) else "published"


@pytest.mark.parametrize("engine", ["duckdb", "postgres", pytest.param("spark", marks=MARKS), DOUBLE])
def test_random_tables(engine):
    """Enough of them are published for the comparison to mean something."""
    cases = ON_SPARK if engine == "spark" else CASES
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("timeveil.engines.duckdb.PART_ROWS", 10)
        outcomes = Counter(compare(engine, 1_000 + case) for case in range(cases))
    assert outcomes["published"] > cases / 3


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", default="postgres", choices=ENGINES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=1_000)
    asked = parser.parse_args()
    counted: Counter[str] = Counter()
    for case in range(asked.seed, asked.seed + asked.number):
        try:
            counted[compare(asked.engine, case)] += 1
        except BaseException:
            print("seed", case)  # noqa: T201
            raise
    print(asked.engine, dict(counted))  # noqa: T201
