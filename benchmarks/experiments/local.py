"""Local recoding: what it loses on public data, and on tiny tables against a bound that nothing beats.

`python -m benchmarks.experiments.local --nlswork FILE` prints both. Nothing is withheld.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
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


def nlswork(path: Path, k: int = 5) -> dict[str, float]:
    """Bits that a row of the National Longitudinal Survey loses by each way."""
    survey = pq.read_table(path, columns=["idcode", "year", "birth_yr", "race", "south", "grade"])
    days = [dt.date(year, 1, 1) for year in survey["year"].to_pylist()]
    survey = survey.set_column(1, "year", pa.array(days, pa.date32()))
    grouped = {"kind": "groups", "of": "year", "anchor": dt.date(1968, 1, 1)}
    bits: dict[str, float] = {}
    for way in WAYS:
        release, ledger = tv.generalize_time(
            survey,
            tv.Roles(respondent="idcode", time="year", quasi=["birth_yr", "race", "south", "grade"]),
            k,
            granularities=["year", "2-years", "5-years", "decade", "all"],
            definitions={"2-years": {**grouped, "n": 2}, "5-years": {**grouped, "n": 5}},
            hierarchies={
                "birth_yr": "intervals:2,6",
                "race": "suppression",
                "south": "suppression",
                "grade": "intervals:3,6",
            },
            recode=way,
        )
        loss = tv.measure(release, ledger, windows=0)
        assert isinstance(loss, tv.Loss)
        bits[way] = loss.bits_per_row
    return bits


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.local", description=__doc__)
    parser.add_argument("--nlswork", type=Path, help="the survey as Parquet")
    parser.add_argument("--tables", type=int, default=100, help="number of tiny tables")
    arguments = parser.parse_args()
    local, bound = tiny(arguments.tables)
    numbers = f"local {local:.3f} bits a row, bound {bound:.3f}, {local / bound:.3f} times"
    print(f"{arguments.tables} tiny tables, k = 2: {numbers}")
    if arguments.nlswork:
        losses = nlswork(arguments.nlswork).items()
        print("nlswork, k = 5, bits a row:", ", ".join(f"{way} {bits:.2f}" for way, bits in losses))


if __name__ == "__main__":
    main()
