"""One small release of every kind that can be judged, and one more of the same data for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pyarrow as pa

import timeveil as tv
from timeveil.datasets import baskets, clinic_visits, daily_cases, load_curves

Pair = tuple[tv.Release, tv.Ledger]
KINDS = ("time", "stream", "packets", "series", "patterns")
MODELS = {kind: "stream" if kind == "packets" else kind for kind in KINDS}
HOURS = [f"h{hour:02}" for hour in range(6)]
QUERIES: dict[str, Any] = {
    "time": tv.WindowCount(between=("2024-03-01", "2024-05-15")),
    "stream": tv.WindowCount(between=("2025-02-04", "2025-02-10")),
    "packets": tv.WindowCount(between=("2025-02-04", "2025-02-10")),
    "series": tv.RangeCount(ranges={"h00": (0.1, 0.3)}),
    "patterns": tv.PatternSupport(items=["milk"]),
}
ASKED = {
    "time": "--between 2024-03-01 2024-05-15",
    "stream": "--between 2025-02-04 2025-02-10",
    "packets": "--between 2025-02-04 2025-02-10",
    "series": "--range h00=0.1:0.3",
    "patterns": "--item milk",
}
"""The same questions as they are typed."""
FEW: dict[str, dict[str, int]] = {
    **{key: {"windows": 10} for key in ("time", "stream", "packets")},
    "series": {"queries": 10},
    "patterns": {},
}
"""How few random questions `measure` may ask of each kind."""
VISITS = tv.Roles(respondent="patient", time="taken_at", quasi=["sex"], sensitive=["result"], drop="rest")
CASES = tv.Roles(respondent="person", time="day", quasi=["age_band"], sensitive=["diagnosis"], drop="rest")
LOADS = tv.Roles(respondent="household", series=HOURS, drop="rest")
BOUGHT = tv.Roles(respondent="basket", item="item")


def bought() -> pa.Table:
    rows = baskets(transactions=90, seed=3)
    return rows.group_by(rows.column_names).aggregate([])


def loads() -> pa.Table:
    return load_curves(people=40, instants=6, seed=1)


_MADE: dict[str, Callable[[int], Pair]] = {
    "time": lambda more: tv.generalize_time(
        clinic_visits(rows=400, seed=1), VISITS, k=3 + more, suppress=0.05
    ),
    "stream": lambda more: tv.publish_stream(
        daily_cases(days=15), CASES, l=3 + more, window=5, seed=1, allow_loss=True
    ),
    "packets": lambda more: tv.publish_stream(
        daily_cases(days=15), CASES, l=4 + more, window=5, protect_slot=2, seed=1, allow_loss=True
    ),
    "series": lambda more: tv.anonymize_series(loads(), LOADS, k=4 + more, p=2, effort=0),
    "patterns": lambda more: tv.sanitize_patterns(bought(), BOUGHT, k=3 + 2 * more, min_support=0.2),
}


@cache
def made(kind: str) -> Pair:
    """A release with its ledger."""
    return _MADE[kind](0)


@cache
def stricter(kind: str) -> Pair:
    """One more of the same data that promises more."""
    return _MADE[kind](2)
