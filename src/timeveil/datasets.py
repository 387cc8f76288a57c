"""Seeded generators of believable data about people who do not exist.

For the demo, the documentation, tests and benchmarks. Each returns an Arrow table that follows from its
arguments alone: the same seed gives the same table, and no global random state is read or changed.
`docs/reference/datasets.md` lists the columns and how they are made. `python -m timeveil.datasets DIR` writes
the tables of all four models to a new folder.
"""

import sys
import zoneinfo
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from timeveil.domain.arrays import Floats, Ints
from timeveil.domain.parameter import Parameter, Range
from timeveil.errors import ParameterError

__all__ = ["baskets", "clinic_visits", "daily_cases", "hospital_stays", "load_curves"]

Seed = int | np.random.Generator

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

# ward, diagnosis, share of all stays, median of its nights
STAYS = (
    ("internal", "pneumonia", 0.17, 6.0),
    ("internal", "heart failure", 0.15, 7.0),
    ("internal", "diabetes", 0.08, 4.0),
    ("surgery", "appendicitis", 0.11, 2.5),
    ("surgery", "hip fracture", 0.12, 8.0),
    ("surgery", "gallstones", 0.10, 2.0),
    ("maternity", "birth", 0.15, 2.0),
    ("psychiatry", "depression", 0.09, 18.0),
    ("psychiatry", "addiction", 0.03, 10.0),
)

CASES_DAY = np.datetime64("2025-02-03", "D")  # a Monday
REPORTED = np.array([17.0, 15.0, 14.0, 14.0, 13.0, 5.0, 4.0])  # mean cases, Monday to Sunday
DISTRICTS = ("Altstadt", "Hafen", "Nord", "Ost", "Süd", "West")
CASES_AGE_BANDS = ("0-14", "15-29", "30-44", "45-59", "60-74", "75+")
CASES_AGE_SHARES = (0.14, 0.17, 0.19, 0.2, 0.17, 0.13)
DIAGNOSES = (
    "influenza", "norovirus", "salmonellosis", "pertussis", "hepatitis B", "tuberculosis", "HIV", "measles",
)  # fmt: skip

# from the most to the least common
ITEMS = (
    "milk", "bread", "bananas", "eggs", "butter", "tomatoes", "coffee", "cheese", "apples", "yoghurt",
    "potatoes", "pasta", "onions", "chicken", "rice", "water", "carrots", "chocolate", "beer", "sugar",
    "flour", "ham", "lettuce", "tomato sauce", "olive oil", "tea", "jam", "crisps", "wine", "orange juice",
    "cereal", "salt", "mustard", "sausages", "cucumber", "lemons", "honey", "toilet paper", "detergent",
    "baby food", "nappies", "cat food", "batteries", "shampoo", "razor blades", "vitamins", "pregnancy test",
    "light bulbs",
)  # fmt: skip
# what is bought together, and how often a basket is about it
GROUPS = (
    (0.16, ("coffee", "milk", "sugar")),
    (0.14, ("pasta", "tomato sauce", "cheese", "olive oil")),
    (0.10, ("flour", "eggs", "butter", "sugar")),
    (0.09, ("bread", "butter", "jam", "honey")),
    (0.07, ("beer", "crisps", "sausages", "mustard")),
    (0.04, ("nappies", "baby food", "water")),
)

# per profile, bumps over one day: centre and width in hours, height; on top of a base load of 1
PROFILES = (
    ((7.5, 1.2, 2.0), (19.0, 2.2, 4.0)),
    ((19.5, 2.0, 5.0),),
    ((8.0, 2.0, 1.6), (12.5, 1.5, 3.0), (18.5, 2.0, 3.0)),
    ((2.0, 2.2, 6.0), (23.5, 1.5, 4.0), (18.5, 1.5, 1.5)),
    ((11.0, 4.0, 0.5),),
)
PROFILE_SHARES = (0.41, 0.26, 0.17, 0.09, 0.07)
TARIFFS = ("standard", "night", "dynamic", "social")
# share of each tariff given the profile; those who heat at night mostly have the night tariff
TARIFF_SHARES = (
    (0.74, 0.04, 0.12, 0.10),
    (0.70, 0.04, 0.13, 0.13),
    (0.66, 0.04, 0.08, 0.22),
    (0.20, 0.68, 0.08, 0.04),
    (0.78, 0.02, 0.16, 0.04),
)


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
    at_least(0, rows=rows)
    people = max(1, rows // 4) if people is None else people
    at_least(1, people=people)
    if zone is not None and zone not in zoneinfo.available_timezones():
        raise ParameterError(f"unknown time zone `{zone}`", hint="give a name such as Europe/Berlin")
    draw = generator(seed)
    visitor = np.sort(heavy_tailed(draw, rows, people, tail=2.0))
    minute = _minutes(draw, _visit_days(draw, visitor))
    taken_at = pa.array(CLINIC_DAY.astype("datetime64[s]").astype(np.int64) + 60 * minute, pa.timestamp("s"))
    if zone is not None:
        taken_at = pc.assume_timezone(taken_at, zone, ambiguous="earliest", nonexistent="latest")
    exam = draw.choice(len(EXAMS), size=rows, p=[share for _, share, _, _ in EXAMS])
    borderline, abnormal = np.array([shares for _, _, *shares in EXAMS])[exam].T
    columns = {
        "patient": identifiers("P", visitor),
        "taken_at": taken_at,
        "zip": labels(CLINIC_ZIPS, skewed(draw, len(CLINIC_ZIPS), people, 0.9)[visitor]),
        "sex": labels(("f", "m"), (draw.random(people) < 0.46).astype(np.int8)[visitor]),
        "age": pa.array(np.clip(draw.normal(54, 21, people), 0, 99).astype(np.int64)[visitor]),
        "exam": labels([name for name, *_ in EXAMS], exam),
    }
    # One draw decides: the lowest are abnormal, those above them borderline.
    luck = draw.random(rows)
    result = np.where(luck < abnormal, 2, np.where(luck < abnormal + borderline, 1, 0))
    columns["result"] = labels(RESULTS, result)
    chosen = with_repeats(draw, rows, share=0.004)
    in_time_order = chosen[np.lexsort((visitor[chosen], minute[chosen]))]
    return pa.table(columns).take(pa.array(in_time_order)).combine_chunks()


def _visit_days(draw: np.random.Generator, visitor: Ints) -> Ints:
    """Day of each visit, 0 to 363; a visit is the first of an episode or a follow-up some days later."""
    size = visitor.size
    opens = draw.random(size) < 0.45
    opens[:1] = True
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


def hospital_stays(stays: int = 4_000, seed: Seed = 0, people: int | None = None) -> pa.Table:
    """Stays in a hospital in 2024: when somebody came and left, their birth date, ward and diagnosis.

    `people` is how many patients are registered (two for five stays by default); some come again and again,
    often to the same ward.

    >>> hospital_stays(3).column_names
    ['patient', 'admitted', 'discharged', 'born', 'sex', 'ward', 'diagnosis']
    """
    at_least(0, stays=stays)
    people = max(1, stays * 2 // 5) if people is None else people
    at_least(1, people=people)
    draw = generator(seed)
    patient = heavy_tailed(draw, stays, people, tail=2.5)
    shares = np.array([share for *_, share, _ in STAYS])
    usual = draw.choice(len(STAYS), size=people, p=shares / shares.sum())
    drawn = draw.choice(len(STAYS), size=stays, p=shares / shares.sum())
    case = np.where(draw.random(stays) < 0.6, usual[patient], drawn)
    # Nobody gives birth who is not of that age and sex.
    years = np.clip(draw.normal(58, 20, people), 0, 103)
    male = (draw.random(people) < 0.47).astype(np.int8)
    able = (male == 0) & (years >= 18) & (years < 45)
    case = np.where((case == 6) & ~able[patient], 0, case)
    day = draw.integers(0, CLINIC_DAYS, stays)
    nights = np.array([median for *_, median in STAYS])[case] * draw.lognormal(0, 0.7, stays)
    hours = np.array([6, 8, 10, 14, 20])[draw.choice(5, size=stays, p=(0.1, 0.4, 0.25, 0.15, 0.1))]
    minute = day * MINUTES + hours * 60 + draw.integers(0, 60, stays)
    admitted = (CLINIC_DAY.astype("datetime64[m]") + minute).astype("datetime64[s]")
    discharged = CLINIC_DAY + day + np.maximum(nights.astype(np.int64), 1)
    born = CLINIC_DAY - (years * 365.25).astype(np.int64) - draw.integers(0, 365, people)
    columns = {
        "patient": identifiers("H", patient),
        "admitted": pa.array(admitted),
        "discharged": pa.array(discharged),
        "born": pa.array(born[patient]),
        "sex": labels(("f", "m"), male[patient]),
        "ward": labels([ward for ward, *_ in STAYS], case),
        "diagnosis": labels([diagnosis for _, diagnosis, *_ in STAYS], case),
    }
    order = np.lexsort((patient, admitted))
    return pa.table(columns).take(pa.array(order)).combine_chunks()


def daily_cases(days: int = 60, seed: Seed = 0) -> pa.Table:
    """Case reports over `days` days: fewer at the weekend, uneven from day to day, diagnoses skewed.

    A person reported again mostly has the same diagnosis as before.

    >>> cases = daily_cases(days=7)
    >>> cases.column_names
    ['person', 'day', 'district', 'age_band', 'sex', 'diagnosis']
    """
    at_least(0, days=days)
    draw = generator(seed)
    # A gamma factor makes quiet and busy days.
    expected = REPORTED[np.arange(days) % 7] * draw.gamma(4.0, 0.25, days)
    day = np.repeat(np.arange(days), draw.poisson(expected))
    rows = day.size
    people = max(1, 2 * rows)
    person = heavy_tailed(draw, rows, people, tail=2.5)
    chosen = with_repeats(draw, rows, share=0.005)
    columns = {
        "person": identifiers("C", person),
        "day": pa.array((CASES_DAY.astype(np.int64) + day).astype(np.int32), pa.date32()),
        "district": labels(DISTRICTS, skewed(draw, 6, people, 0.8)[person]),
        "age_band": labels(CASES_AGE_BANDS, draw.choice(6, size=people, p=CASES_AGE_SHARES)[person]),
        "sex": labels(("f", "m"), draw.integers(0, 2, people)[person]),
    }
    usual = skewed(draw, len(DIAGNOSES), people, 1.1)[person]
    drawn = skewed(draw, len(DIAGNOSES), rows, 1.1)
    columns["diagnosis"] = labels(DIAGNOSES, np.where(draw.random(rows) < 0.75, usual, drawn))
    in_day_order = chosen[np.argsort(day[chosen], kind="stable")]
    return pa.table(columns).take(pa.array(in_day_order)).combine_chunks()


def baskets(transactions: int = 1_000, seed: Seed = 0) -> pa.Table:
    """What was bought, one row per basket and item, in the order of the till.

    Items follow Zipf's law; some baskets are about a group of items bought together. An item bought twice
    has two rows, and some baskets are exact copies of others.

    >>> baskets(transactions=2).column_names
    ['basket', 'item']
    """
    at_least(0, transactions=transactions)
    draw = generator(seed)
    # One to many items per basket, drawn independently.
    basket = np.repeat(np.arange(transactions), draw.geometric(0.28, transactions))
    item = skewed(draw, len(ITEMS), basket.size, 0.85)
    for share, members in GROUPS:
        about = np.flatnonzero(draw.random(transactions) < share)
        bought = draw.random((about.size, len(members))) < 0.8
        group, member = np.nonzero(bought)
        basket = np.concatenate([basket, about[group]])
        item = np.concatenate([item, np.array([ITEMS.index(name) for name in members])[member]])
    shuffled = draw.permutation(basket.size)
    by_basket = shuffled[np.argsort(basket[shuffled], kind="stable")]
    basket, item = _copied(draw, basket[by_basket], item[by_basket], transactions)
    return pa.table({"basket": identifiers("B", basket), "item": labels(ITEMS, item)})


def _copied(draw: np.random.Generator, basket: Ints, item: Ints, transactions: int) -> tuple[Ints, Ints]:
    """Replace about one basket in twenty by a copy of another; `basket` is sorted."""
    source = with_repeats(draw, transactions, share=0.05)
    sizes = np.bincount(basket, minlength=transactions)
    starts = np.cumsum(sizes) - sizes
    counts = sizes[source]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(np.arange(transactions), counts), item[np.repeat(starts[source], counts) + within]


def load_curves(
    people: int = 200,
    instants: int = 24,
    seed: Seed = 0,
    long: bool = False,  # noqa: FBT001 (a public signature)
) -> pa.Table:
    """Consumption in kWh over one day of `instants` equal steps, with the tariff as the sensitive column.

    Wide by default, one row per household and one column per instant; `long=True` gives one row per
    household and instant. Some curves are exact copies of another household's, some are constant.

    >>> load_curves(people=3, instants=4).column_names
    ['household', 'h00', 'h01', 'h02', 'h03', 'tariff']
    >>> load_curves(people=3, instants=4, long=True).schema.names
    ['household', 'instant', 'kwh', 'tariff']
    """
    at_least(0, people=people)
    at_least(1, instants=instants)
    draw = generator(seed)
    profile = draw.choice(len(PROFILES), size=people, p=PROFILE_SHARES)
    curves = _curves(draw, profile, instants)
    household = identifiers("H", draw.permutation(people))
    limits = np.cumsum(np.array(TARIFF_SHARES), axis=1)[profile]
    tariff_code = (draw.random((people, 1)) > limits).sum(axis=1)
    tariff = labels(TARIFFS, np.minimum(tariff_code, len(TARIFFS) - 1))
    if not long:
        digits = max(2, len(str(instants - 1)))
        columns = {f"h{number:0{digits}}": curves[:, number] for number in range(instants)}
        return pa.table({"household": household, **columns, "tariff": tariff})
    owner, instant = np.divmod(np.arange(people * instants), instants)
    readings = [household.take(pa.array(owner)), instant, curves.ravel(), tariff.take(pa.array(owner))]
    return pa.table(readings, ["household", "instant", "kwh", "tariff"])


def _curves(draw: np.random.Generator, profile: Ints, instants: int) -> Floats:
    people = profile.size
    hours = (np.arange(instants) + 0.5) * 24 / instants
    habit = draw.normal(0, 0.7, (people, 1))
    typical = np.stack([_shape(bumps, hours - habit) for bumps in PROFILES])[profile, np.arange(people)]
    scale = 0.12 * 24 / instants * draw.lognormal(0, 0.55, (people, 1))
    curves = scale * typical * draw.lognormal(0, 0.22, (people, instants))
    constant = draw.random(people) < 0.03
    curves[constant] = curves[constant].min(axis=1, keepdims=True)
    return np.asarray(curves[with_repeats(draw, people, share=0.02)].round(3))


def _shape(bumps: tuple[tuple[float, float, float], ...], hours: Floats) -> Floats:
    shape = np.ones_like(hours)
    for centre, width, height in bumps:
        away = (hours - centre + 12) % 24 - 12
        shape += height * np.exp(-0.5 * (away / width) ** 2)
    return shape


def generator(seed: Seed) -> np.random.Generator:
    """The one source of randomness of a call."""
    if not isinstance(seed, np.random.Generator):
        at_least(0, seed=seed)
    return np.random.default_rng(seed)


def at_least(least: int, **sizes: Any) -> None:
    """Refuse a size that makes no sense."""
    for name, size in sizes.items():
        Parameter(name, "whole", f"Give `{name}` of {least} or more.", range=Range(least)).check(size)


def skewed(draw: np.random.Generator, count: int, size: int, exponent: float) -> Ints:
    """Codes by Zipf's law cut off at `count`: the i-th is drawn in proportion to 1 / i**exponent."""
    weights = 1.0 / np.arange(1, count + 1) ** exponent
    return draw.choice(count, size=size, p=weights / weights.sum())


def heavy_tailed(draw: np.random.Generator, size: int, people: int, tail: float) -> Ints:
    """The person of each row: Pareto weights, so most people appear seldom and a few very often."""
    weights = 1.0 + draw.pareto(tail, people)
    return draw.choice(people, size=size, p=weights / weights.sum())


def labels(values: Sequence[str], codes: npt.NDArray[np.integer]) -> pa.Array:
    """The value of each code, as plain strings."""
    return pa.array(values, pa.string()).take(pa.array(codes))


def identifiers(prefix: str, numbers: npt.NDArray[np.integer], width: int = 6) -> pa.Array:
    """Text ids of equal length, such as P000007."""
    distinct, codes = np.unique(numbers, return_inverse=True)
    padded = pc.utf8_lpad(pa.array(distinct).cast(pa.string()), width, "0")
    return pc.binary_join_element_wise(prefix, padded, "").take(pa.array(codes))


def with_repeats(draw: np.random.Generator, size: int, share: float) -> Ints:
    """Row numbers in which about `share` of the rows are replaced by an exact copy of another row."""
    rows = np.arange(size)
    copies = np.flatnonzero(draw.random(size) < share)
    rows[copies] = draw.integers(0, max(size, 1), copies.size)
    return rows


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    tables = {"visits": clinic_visits(), "cases": daily_cases(), "loads": load_curves(), "baskets": baskets()}
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
