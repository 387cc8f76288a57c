"""Local recoding: what it loses on public data, and on tiny tables against a bound that nothing beats.

`python -m benchmarks.experiments.local --nlswork FILE ...` prints both. Nothing is withheld.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tests.oracles.local import Cell, Step, fewest_bits

import timeveil as tv

WAYS: tuple[Literal["global", "tiling", "refined", "local"], ...] = ("global", "tiling", "refined", "local")
FIRST = dt.date(2006, 1, 1)
PERIODS: dict[str, tuple[Callable[[dt.date], object], Callable[[dt.date], int]]] = {
    "day": (lambda day: day, lambda _: 1),
    "week": (lambda day: day - dt.timedelta(day.weekday()), lambda _: 7),
    "month": (lambda day: day.replace(day=1), lambda day: (_next_month(day) - day.replace(day=1)).days),
    "year": (lambda day: day.year, lambda _: 365),
}
"""The granularities of tiny tables: the period of a day, and its length in days."""


def _next_month(day: dt.date) -> dt.date:
    return (day.replace(day=28) + dt.timedelta(4)).replace(day=1)


def against_optimum(visits: Sequence[tuple[str, str, int]], k: int) -> tuple[float, float] | None:
    """Bits a row by `local` and by the integer program; visits are person, sex and day of the year 2006.

    None if there are fewer than k people.
    """
    days = [FIRST + dt.timedelta(day) for _, _, day in visits]
    table = pa.table(
        {"who": [who for who, _, _ in visits], "sex": [sex for _, sex, _ in visits], "day": pa.array(days)}
    )
    try:
        release, ledger = tv.generalize_time(
            table,
            tv.Roles(respondent="who", time="day", quasi=["sex"]),
            k,
            granularities=list(PERIODS),
            hierarchies={"sex": "suppression"},
            recode="local",
        )
    except tv.InfeasibleError:
        return None
    people: dict[Cell, set[str]] = defaultdict(set)
    rows: Counter[Cell] = Counter()
    for (who, sex, _), day in zip(visits, days, strict=True):
        people[sex, day].add(who)
        rows[sex, day] += 1
    of_sex = Counter(sex for _, sex, _ in visits)

    def step(name: str, *, shown: bool) -> Step:
        period, width = PERIODS[name]
        return (
            lambda cell: (cell[0] if shown else "*", str(period(cell[1]))),
            lambda cell: (
                math.log2(width(cell[1])) + (0 if shown else math.log2(len(visits) / of_sex[cell[0]]))
            ),
        )

    steps = [step(name, shown=shown) for name in PERIODS for shown in (True, False)]
    loss = tv.measure(release, ledger, windows=0)
    assert isinstance(loss, tv.Loss)
    return loss.bits_per_row, fewest_bits(people, rows, steps, k) / len(visits)


def tiny(tables: int = 100, seed: int = 0) -> tuple[float, float]:
    """Mean bits a row by `local` and by the integer program, over random tables of 16 visits of 8 people."""
    rng = np.random.default_rng(seed)
    pairs: list[tuple[float, float]] = []
    while len(pairs) < tables:
        drawn = zip(
            rng.integers(8, size=16), rng.integers(2, size=16), rng.integers(90, size=16), strict=True
        )
        visits = [("abcdefgh"[who], "fm"[sex], int(day)) for who, sex, day in drawn]
        pairs += [pair for pair in [against_optimum(visits, 2)] if pair]
    return sum(local for local, _ in pairs) / tables, sum(bound for _, bound in pairs) / tables


@dataclass(frozen=True)
class Setting:
    """How a public table is published; rows without a person, a time or a quasi-identifier are left out."""

    roles: tv.Roles
    hierarchies: Mapping[str, str]
    k: int = 5
    granularities: Sequence[str] | None = None
    unit: str | None = None
    definitions: Mapping[str, Any] = field(default_factory=dict)


DAYS = ("day", "week", "month", "quarter", "half-year", "year", "decade", "all")
AGES, HIDDEN = "intervals:5,10,20", "suppression"
_YEARS = {"kind": "groups", "of": "year", "anchor": dt.date(1968, 1, 1)}
SETTINGS = {
    "retail": Setting(
        tv.Roles(respondent="customer_id", time="invoice_ts", quasi=["country"]),
        {"country": HIDDEN},
        granularities=("hour", "6-hours", *(name for name in DAYS if name != "decade")),
    ),
    "oulad": Setting(
        tv.Roles(respondent="id_student", time="date", quasi=["gender", "region", "age_band", "disability"]),
        dict.fromkeys(("gender", "region", "age_band", "disability"), HIDDEN),
        granularities=DAYS,
    ),
    "icu-labs": Setting(
        tv.Roles(respondent="record_id", time="minute", quasi=["age", "gender", "icu_type"]),
        {"age": AGES, "gender": HIDDEN, "icu_type": HIDDEN},
        k=10,
        granularities=("15-minutes", "30-minutes", "hour", "6-hours", "day", "all"),
        unit="minute",
    ),
    "chop": Setting(
        tv.Roles(respondent="subject_id", time="date", quasi=["age", "gender", "clinic_name"]),
        {"age": AGES, "gender": HIDDEN, "clinic_name": HIDDEN},
        granularities=DAYS,
    ),
    "ebola": Setting(
        tv.Roles(respondent="id", time="date_of_onset", quasi=["age", "sex", "district"]),
        {"age": AGES, "sex": HIDDEN, "district": HIDDEN},
        granularities=DAYS,
    ),
    "nlswork": Setting(
        tv.Roles(respondent="idcode", time="year", quasi=["birth_yr", "race", "south", "grade"]),
        {"birth_yr": "intervals:2,6", "race": HIDDEN, "south": HIDDEN, "grade": "intervals:3,6"},
        granularities=("year", "2-years", "5-years", "decade", "all"),
        definitions={"2-years": {**_YEARS, "n": 2}, "5-years": {**_YEARS, "n": 5}},
    ),
}


def bits_lost(path: Path, setting: Setting) -> dict[str, float]:
    """Bits that a row of a public table loses by each way."""
    roles = setting.roles
    table = pq.read_table(path, columns=[roles.respondent, roles.time, *roles.quasi])
    table = table.filter(pc.is_valid(table[roles.respondent]))
    if roles.time == "year":
        days = [dt.date(year, 1, 1) for year in table["year"].to_pylist()]
        table = table.set_column(1, "year", pa.array(days, pa.date32()))
    bits: dict[str, float] = {}
    for way in WAYS:
        release, ledger = tv.generalize_time(
            table,
            roles,
            setting.k,
            granularities=setting.granularities,
            definitions=setting.definitions,
            hierarchies=setting.hierarchies,
            unit=setting.unit,
            recode=way,
            nulls="withhold",
            allow_loss=True,
        )
        loss = tv.measure(release, ledger, windows=0)
        assert isinstance(loss, tv.Loss)
        bits[way] = loss.bits_per_row
    return bits


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.local", description=__doc__)
    for name in SETTINGS:
        parser.add_argument(f"--{name}", type=Path, help="that table as Parquet")
    parser.add_argument("--tables", type=int, default=100, help="number of tiny tables")
    arguments = vars(parser.parse_args())
    local, bound = tiny(arguments["tables"])
    numbers = f"local {local:.3f} bits a row, bound {bound:.3f}, {local / bound:.3f} times"
    print(f"{arguments['tables']} tiny tables, k = 2: {numbers}")
    for name, setting in SETTINGS.items():
        if path := arguments[name.replace("-", "_")]:
            losses = bits_lost(path, setting).items()
            lost = ", ".join(f"{way} {bits:.3f}" for way, bits in losses)
            print(f"{name}, k = {setting.k}, bits a row: {lost}", flush=True)


if __name__ == "__main__":
    main()
