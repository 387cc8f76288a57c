"""New cases reported each day: small daily snapshots with few diagnoses and people who come back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from timeveil.datasets import draws
from timeveil.datasets.draws import Ints, Seed

FIRST_DAY = np.datetime64("2025-02-03", "D")  # a Monday
REPORTED = np.array([17.0, 15.0, 14.0, 14.0, 13.0, 5.0, 4.0])  # mean cases, Monday to Sunday
DISTRICTS = ("Altstadt", "Hafen", "Nord", "Ost", "Süd", "West")
AGE_BANDS = ("0-14", "15-29", "30-44", "45-59", "60-74", "75+")
AGE_SHARES = (0.14, 0.17, 0.19, 0.2, 0.17, 0.13)
DIAGNOSES = (
    "influenza",
    "norovirus",
    "salmonellosis",
    "pertussis",
    "hepatitis B",
    "tuberculosis",
    "HIV",
    "measles",
)


def daily_cases(days: int = 60, seed: Seed = 0) -> pa.Table:
    """Case reports over `days` days: fewer at the weekend, uneven from day to day, diagnoses skewed.

    A person reported again mostly has the same diagnosis as before.

    >>> cases = daily_cases(days=7)
    >>> cases.column_names
    ['person', 'day', 'district', 'age_band', 'sex', 'diagnosis']
    """
    draws.at_least("days", days, 0)
    draw = draws.generator(seed)
    day = _days(draw, days)
    rows = day.size
    people = max(1, 2 * rows)
    person = draws.heavy_tailed(draw, rows, people, tail=2.5)
    chosen = draws.with_repeats(draw, rows, share=0.005)
    columns = {
        "person": draws.identifiers("C", person),
        "day": pa.array((FIRST_DAY.astype(np.int64) + day).astype(np.int32), pa.date32()),
        "district": draws.labels(
            DISTRICTS, draw.choice(6, size=people, p=draws.skewed_shares(6, 0.8))[person]
        ),
        "age_band": draws.labels(AGE_BANDS, draw.choice(6, size=people, p=AGE_SHARES)[person]),
        "sex": draws.labels(("f", "m"), draw.integers(0, 2, people)[person]),
        "diagnosis": draws.labels(DIAGNOSES, _diagnoses(draw, person, people)),
    }
    in_day_order = chosen[np.argsort(day[chosen], kind="stable")]
    return pa.table(columns).take(pa.array(in_day_order)).combine_chunks()


def _days(draw: np.random.Generator, days: int) -> Ints:
    """The day number of each report; a gamma factor makes quiet and busy days."""
    expected = REPORTED[np.arange(days) % 7] * draw.gamma(4.0, 0.25, days)
    return np.repeat(np.arange(days), draw.poisson(expected))


def _diagnoses(draw: np.random.Generator, person: Ints, people: int) -> Ints:
    shares = draws.skewed_shares(len(DIAGNOSES), 1.1)
    usual = draw.choice(len(DIAGNOSES), size=people, p=shares)[person]
    other = draw.choice(len(DIAGNOSES), size=person.size, p=shares)
    return np.where(draw.random(person.size) < 0.75, usual, other)
