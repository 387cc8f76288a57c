"""Tables of events: visits to a clinic, daily case reports, and a large plain table for benchmarks."""

from __future__ import annotations

import zoneinfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.datasets import draws
from timeveil.datasets.draws import Ints, Seed
from timeveil.errors import ParameterError

CLINIC_DAY = np.datetime64("2024-01-01", "D")  # a Monday
CLINIC_DAYS = 52 * 7
MINUTES = 24 * 60
CLINIC_ZIPS = tuple(
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

CASES_DAY = np.datetime64("2025-02-03", "D")  # a Monday
REPORTED = np.array([17.0, 15.0, 14.0, 14.0, 13.0, 5.0, 4.0])  # mean cases, Monday to Sunday
DISTRICTS = ("Altstadt", "Hafen", "Nord", "Ost", "Süd", "West")
CASES_AGE_BANDS = ("0-14", "15-29", "30-44", "45-59", "60-74", "75+")
CASES_AGE_SHARES = (0.14, 0.17, 0.19, 0.2, 0.17, 0.13)
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

FIRST_DAY = np.datetime64("2024-01-01", "s").astype(np.int64)
DAY = 24 * 60 * 60
ZIPS = 100
AGE_BANDS = ("0-17", "18-34", "35-49", "50-64", "65+")
BLOCK = 500_000


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
    minute = _minutes(draw, _visit_days(draw, visitor))
    exam = draw.choice(len(EXAMS), size=rows, p=[share for _, share, _, _ in EXAMS])
    columns = {
        "patient": draws.identifiers("P", visitor),
        "taken_at": _timestamps(minute, zone),
        "zip": draws.labels(
            CLINIC_ZIPS,
            draw.choice(len(CLINIC_ZIPS), size=people, p=draws.skewed_shares(len(CLINIC_ZIPS), 0.9))[visitor],
        ),
        "sex": draws.labels(("f", "m"), (draw.random(people) < 0.46).astype(np.int8)[visitor]),
        "age": pa.array(np.clip(draw.normal(54, 21, people), 0, 99).astype(np.int64)[visitor]),
        "exam": draws.labels([name for name, *_ in EXAMS], exam),
        "result": draws.labels(RESULTS, _results(draw, exam)),
    }
    chosen = draws.with_repeats(draw, rows, share=0.004)
    in_time_order = chosen[np.lexsort((visitor[chosen], minute[chosen]))]
    return pa.table(columns).take(pa.array(in_time_order)).combine_chunks()


def _visit_days(draw: np.random.Generator, visitor: Ints) -> Ints:
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
    opening = (draw.random(length.size) * np.maximum(1, CLINIC_DAYS - length)).astype(np.int64)
    return np.asarray((opening[episode] + since_opening) % CLINIC_DAYS)


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
    return np.asarray(minute % (CLINIC_DAYS * MINUTES))


def _results(draw: np.random.Generator, exam: Ints) -> Ints:
    borderline = np.array([share for _, _, share, _ in EXAMS])[exam]
    abnormal = np.array([share for _, _, _, share in EXAMS])[exam]
    luck = draw.random(exam.size)
    return np.where(luck < abnormal, 2, np.where(luck < abnormal + borderline, 1, 0))


def _timestamps(minute: Ints, zone: str | None) -> pa.Array:
    first = CLINIC_DAY.astype("datetime64[s]").astype(np.int64)
    civil = pa.array(first + 60 * minute, pa.timestamp("s"))
    if zone is None:
        return civil
    if zone not in zoneinfo.available_timezones():
        raise ParameterError(f"unknown time zone `{zone}`", hint="give a name such as Europe/Berlin")
    return pc.assume_timezone(civil, zone, ambiguous="earliest", nonexistent="latest")


def daily_cases(days: int = 60, seed: Seed = 0) -> pa.Table:
    """Case reports over `days` days: fewer at the weekend, uneven from day to day, diagnoses skewed.

    A person reported again mostly has the same diagnosis as before.

    >>> cases = daily_cases(days=7)
    >>> cases.column_names
    ['person', 'day', 'district', 'age_band', 'sex', 'diagnosis']
    """
    draws.at_least("days", days, 0)
    draw = draws.generator(seed)
    day = _case_days(draw, days)
    rows = day.size
    people = max(1, 2 * rows)
    person = draws.heavy_tailed(draw, rows, people, tail=2.5)
    chosen = draws.with_repeats(draw, rows, share=0.005)
    columns = {
        "person": draws.identifiers("C", person),
        "day": pa.array((CASES_DAY.astype(np.int64) + day).astype(np.int32), pa.date32()),
        "district": draws.labels(
            DISTRICTS, draw.choice(6, size=people, p=draws.skewed_shares(6, 0.8))[person]
        ),
        "age_band": draws.labels(CASES_AGE_BANDS, draw.choice(6, size=people, p=CASES_AGE_SHARES)[person]),
        "sex": draws.labels(("f", "m"), draw.integers(0, 2, people)[person]),
        "diagnosis": draws.labels(DIAGNOSES, _diagnoses(draw, person, people)),
    }
    in_day_order = chosen[np.argsort(day[chosen], kind="stable")]
    return pa.table(columns).take(pa.array(in_day_order)).combine_chunks()


def _case_days(draw: np.random.Generator, days: int) -> Ints:
    """The day number of each report; a gamma factor makes quiet and busy days."""
    expected = REPORTED[np.arange(days) % 7] * draw.gamma(4.0, 0.25, days)
    return np.repeat(np.arange(days), draw.poisson(expected))


def _diagnoses(draw: np.random.Generator, person: Ints, people: int) -> Ints:
    shares = draws.skewed_shares(len(DIAGNOSES), 1.1)
    usual = draw.choice(len(DIAGNOSES), size=people, p=shares)[person]
    other = draw.choice(len(DIAGNOSES), size=person.size, p=shares)
    return np.where(draw.random(person.size) < 0.75, usual, other)


def events(
    rows: int = 1_000_000, people: int = 100_000, days: int = 365, seed: Seed = 0, quasi: int = 2
) -> pa.Table:
    """Events of `people` people, numbered from 0, over `days` days, in no order.

    `quasi` is how many of the quasi-identifiers `zip`, `sex`, `age_band` there are, at most 3; they belong
    to the person and are dictionary-encoded. Built in blocks: memory stays near the size of the result.

    >>> events(1_000, people=50, quasi=2).schema.names
    ['person', 'happened_at', 'zip', 'sex', 'value']
    """
    for name, value, least in (
        ("rows", rows, 0),
        ("people", people, 1),
        ("days", days, 1),
        ("quasi", quasi, 0),
    ):
        draws.at_least(name, value, least)
    draw = draws.generator(seed)
    traits = _traits(draw, people)[:quasi]
    person = np.empty(rows, np.int64)
    at = np.empty(rows, np.int64)
    amount = np.empty(rows, np.float64)
    for low in range(0, rows, BLOCK):
        block = slice(low, min(low + BLOCK, rows))
        size = block.stop - block.start
        person[block] = people * draw.random(size) ** 2
        at[block] = FIRST_DAY + DAY * draw.integers(0, days, size, np.int32).astype(np.int64)
        at[block] += (DAY * (draw.random(size, np.float32) + draw.random(size, np.float32)) / 2).astype(
            np.int64
        )
        amount[block] = draw.standard_normal(size)
    columns = {name: _encoded(codes[person], words) for name, codes, words in traits}
    times = pa.array(at, pa.timestamp("s"))
    return pa.table({"person": person, "happened_at": times, **columns, "value": amount})


def _traits(draw: np.random.Generator, people: int) -> list[tuple[str, np.ndarray, list[str]]]:
    zips = draw.choice(ZIPS, size=people, p=draws.skewed_shares(ZIPS, 0.5)).astype(np.int8)
    sex = draw.integers(0, 2, people, np.int8)
    band = draw.choice(len(AGE_BANDS), size=people, p=(0.18, 0.22, 0.2, 0.22, 0.18)).astype(np.int8)
    names = [f"{1000 + 37 * number:05}" for number in range(ZIPS)]
    return [("zip", zips, names), ("sex", sex, ["f", "m"]), ("age_band", band, list(AGE_BANDS))]


def _encoded(codes: np.ndarray, words: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(words))
