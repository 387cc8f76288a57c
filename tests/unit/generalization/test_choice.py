"""Which way to generalise is taken, of those that keep the promise."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some

import timeveil as tv
from timeveil.datasets import clinic_visits
from timeveil.report import explain

ROLES = tv.Roles(respondent="patient", time="taken_at", quasi=["zip", "sex", "age"], drop="rest")
LADDERS = {"zip": "prefixes:4,3", "age": "intervals:10,20,40", "sex": "suppression"}
DAYS = {"day": lambda day: day, "month": lambda day: (day.year, day.month), "all": lambda _: 0}
WIDTHS = {"day": lambda _: 1, "month": lambda day: 31 if day.month == 1 else 28, "all": lambda _: 59}


def levels_of(release):
    levels = release.manifest["levels"]
    return release.manifest["granularity"], {column: level["name"] for column, level in levels.items()}


def test_a_column_is_kept_where_it_costs_little():
    """Of all ways `week` has the most groups and wipes two columns; `quarter` wipes one, for under 2 bits."""
    release, ledger = tv.generalize_time(clinic_visits(), ROLES, 5, hierarchies=LADDERS)
    assert levels_of(release) == ("quarter", {"age": "*"})
    text = explain(release, ledger).text()
    assert "publish one value for all rows in a column that it keeps" in " ".join(text.split())
    nodes = [(n["groups"], n["granularity"]) for n in release.manifest["nodes"]]
    assert max(nodes) == (156, "week")
    bits = {}

    def measure(candidate):
        bits[candidate.granularity, tuple(candidate.levels.values())] = candidate.bits
        return candidate.bits

    tv.generalize_time(clinic_visits(), ROLES, 5, hierarchies=LADDERS, choose=measure)
    assert 0 < bits["quarter", (0, 4, 0)] - bits["week", (3, 3, 1)] <= 2


def test_a_column_is_given_up_where_keeping_it_costs_much():
    """A year of days, and two places of which one has few people: the place goes."""
    days = [dt.date(2023, 1, 1) + dt.timedelta(days=n) for n in range(365)]
    rows = [(f"p{n}", day, "here") for day in days for n in range(5)] + [
        (f"q{n}", days[90 * n], "away") for n in range(5)
    ]
    who, when, place = zip(*rows, strict=True)
    table = pa.table({"who": who, "when": pa.array(when), "place": place})
    roles = tv.Roles(respondent="who", time="when", quasi=["place"])
    release, _ = tv.generalize_time(table, roles, 5, hierarchies={"place": "suppression"})
    assert levels_of(release) == ("day", {"place": "*"})


visits = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.dates(dt.date(2006, 1, 25), dt.date(2006, 2, 5)),
        st.sampled_from("xyz"),
        st.sampled_from([31, 34, 38, 41]),
    ),
    min_size=4,
    max_size=30,
)


@settings(max_examples=some(150), deadline=None)
@given(visits, st.integers(2, 3), st.sampled_from(["loss", "precision"]), st.sampled_from([1, 8]))
def test_the_least_by_a_measure_is_that_of_brute_force(rows, k, rule, weight):
    """Every combination is counted with dictionaries; the one that was chosen is among the least."""
    labels = {
        "place": (lambda place: place, lambda _: "*"),
        "age": (lambda age: age, lambda age: age // 5, lambda age: age // 10, lambda _: "*"),
    }
    table = pa.table(
        dict(zip(("who", "when", "place", "age"), map(list, zip(*rows, strict=True)), strict=True))
    )
    heights: dict[str, int] = {}
    for name, granule in DAYS.items():
        # Granularities that group the data alike are one, which has the name of the finest.
        if not any(_cuts(rows, granule) == _cuts(rows, DAYS[finer]) for finer in heights):
            heights[name] = len(heights)
    numbers = {}
    for place, age, name in product(range(2), range(4), heights):
        groups, of_place, of_age = {}, Counter(), Counter()
        for who, day, here, years in rows:
            key = labels["place"][place](here), labels["age"][age](years)
            groups.setdefault((*key, DAYS[name](day)), set()).add(who)
            of_place[key[0]] += 1
            of_age[key[1]] += 1
        if min(map(len, groups.values())) < k:
            continue
        if rule == "precision":
            parts = [(weight, place), (1, age / 3), (1, heights[name] / max(1, *heights.values()))]
            numbers[place, age, name] = sum(w * part for w, part in parts) / (weight + 2)
            continue
        places, ages, bits = Counter(r[2] for r in rows), Counter(r[3] for r in rows), 0.0
        for _, _, here, years in rows:
            bits += weight * math.log2(of_place[labels["place"][place](here)] / places[here])
            bits += math.log2(of_age[labels["age"][age](years)] / ages[years])
        # A coarser granularity loses no less, also where the data end early.
        wide = [
            sum(_bits(rows, finer, r[1]) for r in rows)
            for finer in heights
            if heights[finer] <= heights[name]
        ]
        numbers[place, age, name] = (bits + max(wide)) / len(rows)
    try:
        release, ledger = tv.generalize_time(
            table,
            tv.Roles(respondent="who", time="when", quasi=["place", "age"]),
            k,
            hierarchies={"place": "suppression", "age": "intervals:5,10"},
            granularities=list(DAYS),
            choose=rule,
            weights={"place": weight},
        )
    except tv.InfeasibleError:
        assert not numbers
        return
    stated = release.manifest["levels"]
    chosen = tuple(stated.get(column, {"level": 0})["level"] for column in ("place", "age"))
    reached = numbers[(*chosen, release.manifest["granularity"])]
    assert reached <= min(numbers.values()) + 1e-6
    assert tv.verify(release, ledger)


def _cuts(rows, granule):
    """The days that are in one granule, for each granule."""
    days = {day for _, day, *_ in rows}
    return {frozenset(other for other in days if granule(other) == granule(day)) for day in days}


def _bits(rows, name, day):
    return math.log2(_span(rows) if name == "all" else WIDTHS[name](day))


def _span(rows):
    """The days of a granule without a start or an end: it ends with the data."""
    days = [day for _, day, *_ in rows]
    return (max(days) - min(days)).days + 1


def test_no_time_at_all_is_not_finer_than_a_year():
    """Two weeks around New Year are in two years; one granule of all of them would be two weeks long."""
    days = [dt.date(2023, 12, 25) + dt.timedelta(days=n) for n in range(14)]
    rows = [(f"p{n % 9}", day) for n, day in enumerate(days * 9)]
    who, when = zip(*rows, strict=True)
    table = pa.table({"who": who, "when": pa.array(when)})
    for choose in ("loss", lambda way: way.bits):
        release, _ = tv.generalize_time(
            table, tv.Roles(respondent="who", time="when"), 9, granularities=["year", "all"], choose=choose
        )
        assert release.manifest["granularity"] == "year"


def test_priorities_decide_what_is_made_coarser():
    """A column whose bits weigh more stays finer."""
    options = {"hierarchies": LADDERS, "choose": "loss"}
    plain = levels_of(tv.generalize_time(clinic_visits(), ROLES, 5, **options)[0])
    weighed = levels_of(
        tv.generalize_time(clinic_visits(), ROLES, 5, weights={"zip": 9, "sex": 9}, **options)[0]
    )
    assert plain == ("week", {"zip": "*", "age": "40 wide", "sex": "*"})
    assert weighed[1] == {"age": "*"}
    with pytest.raises(tv.ParameterError, match="weights") as caught:
        tv.generalize_time(clinic_visits(), ROLES, 5, hierarchies=LADDERS, weights={"zip": 9})
    assert 'choose="loss"' in caught.value.hint


@pytest.mark.parametrize("recode", ["global", "local", "tiling"])
def test_no_column_goes_above_its_highest_level(recode):
    """Neither for all rows nor for any."""
    most = {"age": 2, "zip": 2}
    release, ledger = tv.generalize_time(
        clinic_visits(), ROLES, 5, hierarchies=LADDERS, max_levels=most, suppress=0.2, recode=recode
    )
    steps = release.manifest.get("steps", [release.manifest])
    for step in (release.manifest, *steps):
        assert all(step["levels"].get(column, {"level": 0})["level"] <= n for column, n in most.items())
    assert tv.verify(release, ledger)


@pytest.mark.parametrize("most", [{"exam": 1}, {"age": 5}, {"age": -1}], ids=str)
def test_a_highest_level_that_does_not_exist_is_refused(most):
    with pytest.raises(tv.ParameterError) as caught:
        tv.generalize_time(clinic_visits(), ROLES, 5, hierarchies=LADDERS, max_levels=most)
    assert caught.value.code == "bad-hierarchy"
    with pytest.raises(tv.ParameterError, match="from 0 to 1"):
        tv.generalize_time(
            clinic_visits(), ROLES, 5, hierarchies=LADDERS, max_levels={"age": 1}, levels={"age": 2}
        )


def test_a_granularity_that_is_chosen_must_be_one_to_consider():
    options = {"granularities": ["week"], "choose": "month"}
    with pytest.raises(tv.ParameterError, match="`month` is chosen, and is not among the") as caught:
        tv.generalize_time(clinic_visits(), ROLES, 5, **options)
    assert "name it in granularities too" in caught.value.hint
    options["granularities"].append("month")
    release, _ = tv.generalize_time(clinic_visits(), ROLES, 5, hierarchies=LADDERS, suppress=0.2, **options)
    assert release.manifest["granularity"] == "month"


def test_a_function_chooses():
    """It sees every way that works, and the manifest states that it was one."""
    release, ledger = tv.generalize_time(
        clinic_visits(), ROLES, 5, hierarchies=LADDERS, choose=lambda way: 100 * way.levels["sex"] + way.bits
    )
    assert "sex" not in release.manifest["levels"]
    assert release.manifest["parameters"]["choose"] == "function"
    assert tv.verify(release, ledger)
    assert "by the function that was given" in " ".join(explain(release, ledger).text().split())


@pytest.mark.parametrize(
    ("measure", "fault"),
    [
        (lambda way: -way.bits, "lower for the coarser"),
        (lambda way: way.groups, "lower for the coarser"),
        (lambda way: way.granularity, "gave a str"),
        (lambda _: float("nan"), "not a number"),
        (lambda _: None, "gave a NoneType"),
    ],
)
def test_a_function_that_is_no_measure_of_generality_is_refused(measure, fault):
    """It may not prefer the coarser of two."""
    with pytest.raises(tv.ParameterError, match=fault):
        tv.generalize_time(clinic_visits(), ROLES, 5, hierarchies=LADDERS, choose=measure)


def test_the_word_function_is_a_name():
    """Without a function it is no rule."""
    with pytest.raises(tv.ParameterError, match="function"):
        tv.generalize_time(clinic_visits(), ROLES, 5, choose="function")
