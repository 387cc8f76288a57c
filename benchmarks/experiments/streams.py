"""The streams that the experiments run on: generated ones, and two public data sets given by path.

A generated stream has a Poisson number of records in each slot. Values follow Zipf's law; in an outbreak one
value at random is `factor` times as likely as usual for `lasting` slots. Quasi-identifiers are drawn apart
from values: region (8), age band (6), sex (2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import timeveil as tv
from timeveil.datasets import daily_cases

DRAWN = tv.Roles(time="slot", quasi=["region", "age_band", "sex"], sensitive=["value"])
CASES = tv.Roles(
    respondent="person", time="day", quasi=["district", "age_band", "sex"], sensitive=["diagnosis"]
)


@dataclass(frozen=True, slots=True)
class Setting:
    """How a generated stream is drawn; `every` is the mean number of slots between outbreaks, 0 for none."""

    records: int
    values: int
    exponent: float
    every: int = 0
    factor: float = 1.0
    lasting: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A stream by name: its records, their roles and the l that is promised."""

    name: str
    words: str
    l: int
    roles: tv.Roles
    table: Callable[[], pa.Table]
    slot: str = "day"


SMALL = Setting(records=20, values=10, exponent=0.8)
SETTINGS = {
    "small": (3, "20 records a slot, 10 values", SMALL),
    "large": (3, "100 records a slot, 10 values", Setting(records=100, values=10, exponent=0.8)),
    "many values": (4, "50 records a slot, 50 values", Setting(records=50, values=50, exponent=0.9)),
    "outbreaks": (
        3,
        "20 records a slot, 10 values, outbreaks of 10 slots",
        Setting(records=20, values=10, exponent=0.4, every=40, factor=8.0, lasting=10),
    ),
    "too common": (
        3,
        "20 records a slot, 10 values, one above 1 in 3 overall",
        Setting(records=20, values=10, exponent=1.2),
    ),
}


def drawn(setting: Setting, slots: int, seed: int) -> pa.Table:
    """A generated stream of so many slots, numbered from 0."""
    draw = np.random.default_rng(seed)
    slot = np.repeat(np.arange(slots), draw.poisson(setting.records, slots))
    weights = _weights(setting, slots, draw)
    edges = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    value = (draw.random(len(slot))[:, None] > edges[slot]).sum(axis=1)
    size = len(slot)
    return pa.table(
        {
            "slot": slot,
            "region": _labels("region", draw.integers(0, 8, size)),
            "age_band": _labels("band", draw.integers(0, 6, size)),
            "sex": _labels("sex", draw.integers(0, 2, size)),
            "value": _labels("v", np.minimum(value, setting.values - 1)),
        }
    )


def _weights(setting: Setting, slots: int, draw: np.random.Generator) -> np.ndarray:
    usual = 1.0 / np.arange(1, setting.values + 1) ** setting.exponent
    weights = np.tile(usual, (slots, 1))
    if setting.every:
        for start in np.flatnonzero(draw.random(slots) < 1 / setting.every):
            value = draw.integers(setting.values)
            weights[start : start + setting.lasting, value] = usual[value] * setting.factor
    return weights


def _labels(word: str, codes: np.ndarray) -> pa.Array:
    names = [f"{word} {number:02}" for number in range(int(codes.max(initial=0)) + 1)]
    return pa.array(names).take(pa.array(codes))


def generated(slots: int, seed: int) -> list[Source]:
    """Generated streams with as many records as `slots` slots of 20 have, and made-up case reports."""
    found = [
        Source(name, words, l, DRAWN, partial(drawn, setting, slots * 20 // setting.records, seed))
        for name, (l, words, setting) in SETTINGS.items()
    ]
    words = "about 12 case reports a day, 8 diagnoses, people come back"
    return [*found, Source("case reports", words, 2, CASES, lambda: daily_cases(days=slots, seed=seed))]


def chop(path: Path) -> list[Source]:
    """Tests for COVID-19 at a children's hospital, by day."""
    people, result = {"respondent": "subject_id", "time": "date"}, ["result"]
    known = ["age", "gender", "clinic_name"]
    return [
        Source(
            "CHOP, result",
            "the result of the test; 3 values",
            2,
            tv.Roles(**people, quasi=known, sensitive=result),
            lambda: pq.read_table(path, columns=["subject_id", "date", *known, *result]),
        ),
        Source(
            "CHOP, clinic",
            "where in the hospital the test was taken; 88 values",
            2,
            tv.Roles(**people, quasi=known[:2], sensitive=known[2:]),
            lambda: pq.read_table(path, columns=["subject_id", "date", *known]),
        ),
    ]


def ebola(path: Path) -> list[Source]:
    """Cases of Ebola virus disease in Sierra Leone, by day of onset."""
    when, known, status = "date_of_onset", ["age", "sex", "district"], ["status"]
    return [
        Source(
            "Ebola, status",
            "confirmed or suspected; 2 values",
            2,
            tv.Roles(time=when, quasi=known, sensitive=status),
            lambda: pq.read_table(path, columns=[when, *known, *status]),
        ),
        Source(
            "Ebola, district",
            "the district of the case; 14 values",
            3,
            tv.Roles(time=when, quasi=known[:2], sensitive=known[2:]),
            lambda: pq.read_table(path, columns=[when, *known]),
        ),
        Source(
            "Ebola, district by week",
            "the same with weeks as slots",
            3,
            tv.Roles(time=when, quasi=known[:2], sensitive=known[2:]),
            lambda: pq.read_table(path, columns=[when, *known]),
            "week",
        ),
    ]
