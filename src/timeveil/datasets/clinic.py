"""Visits to a clinic over one year."""

from __future__ import annotations

import zoneinfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.datasets import draws
from timeveil.datasets.draws import Ints, Seed
from timeveil.errors import ParameterError

FIRST_DAY = np.datetime64("2024-01-01", "D")  # a Monday
DAYS = 52 * 7
MINUTES = 24 * 60
ZIPS = tuple(
    f"0{number}" for number in (4103, 4105, 4107, 4109, 4129, 4155, 4157, 4177, 4179, 4229, 4277, 4315)
)
# exam, share of all exams, share of its results that are borderline, abnormal
EXAMS = (
    ("blood count", 0.34, 0.15, 0.10),
    ("urine test", 0.19, 0.12, 0.06),
    ("ECG", 0.14, 0.14, 0.09),
    ("X-ray", 0.12, 0.10, 0.24),
    ("ultrasound", 0.10, 0.16, 0.12),
    ("CT scan", 0.06, 0.14, 0.27),
    ("biopsy", 0.03, 0.18, 0.31),
    ("HIV test", 0.02, 0.01, 0.03),
)
RESULTS = ("normal", "borderline", "abnormal")


def clinic_visits(
    rows: int = 5_000, seed: Seed = 0, people: int | None = None, zone: str | None = None
) -> pa.Table:
    """Exams of recurring patients in 2024: planned by day, emergencies in the evening and at night.

    `people` is how many patients are registered (a quarter of `rows` by default); those without a
    visit do not appear. With `zone` the times are instants on that zone's clocks instead of civil times.

    >>> visits = clinic_visits(1_000, seed=1)
    >>> visits.column_names
    ['patient', 'taken_at', 'zip', 'sex', 'age', 'exam', 'result']
    >>> visits.equals(clinic_visits(1_000, seed=1))
    True
    """
    draws.at_least("rows", rows, 0)
    people = max(1, rows // 4) if people is None else people
    draws.at_least("people", people, 1)
    draw = draws.generator(seed)
    visitor = np.sort(draws.heavy_tailed(draw, rows, people, tail=2.0))
    minute = _minutes(draw, _days(draw, visitor))
    exam = draw.choice(len(EXAMS), size=rows, p=[share for _, share, _, _ in EXAMS])
    columns = {
        "patient": draws.identifiers("P", visitor),
        "taken_at": _timestamps(minute, zone),
        "zip": draws.labels(
            ZIPS, draw.choice(len(ZIPS), size=people, p=draws.skewed_shares(len(ZIPS), 0.9))[visitor]
        ),
        "sex": draws.labels(("f", "m"), (draw.random(people) < 0.46).astype(np.int8)[visitor]),
        "age": pa.array(np.clip(draw.normal(54, 21, people), 0, 99).astype(np.int64)[visitor]),
        "exam": draws.labels([name for name, *_ in EXAMS], exam),
        "result": draws.labels(RESULTS, _results(draw, exam)),
    }
    chosen = draws.with_repeats(draw, rows, share=0.004)
    in_time_order = chosen[np.lexsort((visitor[chosen], minute[chosen]))]
    return pa.table(columns).take(pa.array(in_time_order)).combine_chunks()


def _days(draw: np.random.Generator, visitor: Ints) -> Ints:
    """Day of each visit, 0 to 363; a visit is the first of an episode or a follow-up some days later."""
    size = visitor.size
    opens = draw.random(size) < 0.45
    if size:
        opens[0] = True
        opens[1:] |= visitor[1:] != visitor[:-1]
    episode = np.cumsum(opens) - 1
    weekly = draw.random(size) < 0.5
    gap = np.where(weekly, 7 * draw.geometric(0.5, size), 1 + draw.geometric(0.12, size))
    passed = np.cumsum(np.where(opens, 0, gap))
    since_opening = passed - passed[opens][episode]
    length = np.zeros(int(opens.sum()), np.int64)
    np.maximum.at(length, episode, since_opening)
    opening = (draw.random(length.size) * np.maximum(1, DAYS - length)).astype(np.int64)
    return np.asarray((opening[episode] + since_opening) % DAYS)


def _minutes(draw: np.random.Generator, day: Ints) -> Ints:
    """Minutes since the first day: emergencies in the evening and at night, all else in opening hours."""
    size = day.size
    emergency = draw.random(size) < 0.08
    morning = draw.random(size) < 0.62
    planned = np.where(morning, 480 + 240 * draw.beta(1.4, 2, size), 780 + 300 * draw.beta(1.4, 2.4, size))
    night = 1080 + 840 * draw.beta(1.6, 2.2, size)
    weekday = day % 7
    open_saturday = (weekday == 5) & morning & (draw.random(size) < 0.3)
    moved = (weekday >= 5) & ~emergency & ~open_saturday
    open_day = np.where(moved, day - weekday + 7 + draw.integers(0, 5, size), day)
    minute = open_day * MINUTES + np.where(emergency, night, planned).astype(np.int64)
    return np.asarray(minute % (DAYS * MINUTES))


def _results(draw: np.random.Generator, exam: Ints) -> Ints:
    borderline = np.array([share for _, _, share, _ in EXAMS])[exam]
    abnormal = np.array([share for _, _, _, share in EXAMS])[exam]
    luck = draw.random(exam.size)
    return np.where(luck < abnormal, 2, np.where(luck < abnormal + borderline, 1, 0))


def _timestamps(minute: Ints, zone: str | None) -> pa.Array:
    first = FIRST_DAY.astype("datetime64[s]").astype(np.int64)
    civil = pa.array(first + 60 * minute, pa.timestamp("s"))
    if zone is None:
        return civil
    if zone not in zoneinfo.available_timezones():
        raise ParameterError(
            f"unknown time zone `{zone}`", hint="give a name such as Europe/Berlin", code="bad-parameter"
        )
    return pc.assume_timezone(civil, zone, ambiguous="earliest", nonexistent="latest")
