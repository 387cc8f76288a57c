"""What a release lost."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import judges as oracle

import timeveil as tv
from timeveil.datasets import clinic_visits
from timeveil.errors import ParameterError
from timeveil.evidence.published import WindowCount
from timeveil.judging import answer, gather, measure
from timeveil.models.events.evidence import Evidence, People
from timeveil.models.events.judges.measure import count_and_estimate, draw_windows


def crowd(people=4, spots=10, seed=0):
    """Everybody at every spot, so that a day is fine enough for k = 2."""
    chance = np.random.default_rng(seed)
    days = [dt.date(2024, 4, 1) + dt.timedelta(days=int(chance.integers(60))) for _ in range(spots)]
    return [
        {"person": f"p{p}", "at": day, "zip": f"{1 + n % 2}1", "sex": "f", "ward": 1, "result": "good"}
        for n, day in enumerate(days)
        for p in range(people)
    ]


def test_a_release_by_day_of_dates_loses_nothing():
    loss = measure(*oracle.build(oracle.Case(crowd(), 2, oracle.DATES, "day")))
    assert (loss.width_before, loss.width_after, loss.width_unit) == (86_400, 86_400, "second")
    assert (loss.window_error_median, loss.window_error_mean) == (0, 0)
    assert (loss.rows, loss.suppressed, loss.suppressed_people) == (40, 0, 0)


@pytest.mark.parametrize(
    ("at", "unit", "width"),
    [
        (pa.array([1, 1_000], pa.timestamp("ms")), None, 0.001),
        (pa.array([1, 60], pa.timestamp("s")), None, 1),
        (pa.array([300, 900], pa.timestamp("s")), None, 300),
        (pa.array([0, 86_400], pa.timestamp("s")), None, 86_400),
        (pa.array([2, 5], pa.int64()), "hour", 3_600),
        (pa.array([2, 5], pa.int64()), "second", 1),
    ],
)
def test_the_width_before_is_the_precision_of_the_times(at, unit, width):
    table = pa.table({"who": ["a", "b"], "at": at})
    roles = tv.Roles(respondent="who", time="at")
    assert tv.measure(*tv.generalize_time(table, roles, 2, unit=unit)).width_before == width


def test_coarser_granules_are_wider_and_answer_worse():
    case = oracle.Case(crowd(), 2, oracle.DATES, "week")
    week, whole = (measure(*oracle.build(replace(case, name=name))) for name in ("week", "all"))
    assert week.width_after == 7 * 86_400
    days = [row["at"] for row in case.rows]
    assert whole.width_after == ((max(days) - min(days)).days + 1) * 86_400
    assert 0 < week.window_error_mean < whole.window_error_mean


def test_people_with_no_row_left_are_counted():
    alone = {"person": "solo", "at": dt.date(2024, 7, 1), "zip": "9", "sex": "m", "ward": 1, "result": "bad"}
    also = {**alone, "person": "p0"}
    loss = measure(*oracle.build(oracle.Case([*crowd(), alone, {**also, "zip": "8"}], 2, oracle.DATES)))
    assert (loss.suppressed, loss.suppressed_people, loss.people) == (2, 1, 5)


def test_the_same_seed_gives_the_same_windows():
    pair = oracle.build(oracle.Case(crowd(), 2, oracle.DATES))
    assert measure(*pair, seed=3) == measure(*pair, seed=3)
    assert measure(*pair, seed=3).window_error_mean != measure(*pair, seed=4).window_error_mean
    assert json.dumps(measure(*pair).as_dict())


@pytest.mark.parametrize("name", ["day", "week", "month", "all"])
@pytest.mark.parametrize("general_zip", [False, True])
def test_windows_are_counted_and_estimated_as_answer_would(name, general_zip):
    """The workload's arithmetic over sorted rows is that of one question at a time."""
    rows = crowd(people=2) + crowd(people=1, seed=5)
    case = oracle.Case(rows, 2, oracle.DATES, name, general_zip=general_zip)
    release, ledger = oracle.build(case)
    evidence = Evidence(release, ledger)
    windows = draw_windows(evidence, 40, np.random.default_rng(1))
    truth, guess = count_and_estimate(evidence, windows)
    day = dt.date(1970, 1, 1)
    for n in range(40):
        low, high = (day + dt.timedelta(seconds=int(edge[n])) for edge in (windows.low, windows.high))
        row = rows[windows.example[n]]
        asked = {-1: {}, 0: {"zip": row["zip"]}, 1: {"sex": row["sex"]}}[int(windows.column[n])]
        fits = [r for r in rows if all(r[name] == value for name, value in asked.items())]
        assert truth[n] == sum(low <= r["at"] < high for r in fits)
        assert guess[n] == pytest.approx(answer(release, WindowCount(between=(low, high), where=asked)).value)


@pytest.mark.parametrize("recode", ["global", "local"])
def test_windows_ask_for_values_however_rows_were_made_coarser(recode):
    """Rows at coarser labels count as `answer` counts them, not as if their label had been asked for."""
    visits = clinic_visits(rows=600, seed=3)
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=["zip", "age"], drop="rest")
    ways = {"zip": "prefixes:4,3", "age": "intervals:10,20,40"}
    release, ledger = tv.generalize_time(visits, roles, k=4, hierarchies=ways, recode=recode)
    evidence = Evidence(release, ledger)
    opened, windows = gather(release), draw_windows(evidence, 60, np.random.default_rng(1))
    truth, guess = count_and_estimate(evidence, windows)
    assert {*windows.column.tolist()} == {-1, 0, 1}
    rows, epoch = visits.to_pylist(), dt.datetime(1970, 1, 1)
    for n, column in enumerate(windows.column.tolist()):
        names = ["zip", "age"][column:][:1] if column >= 0 else []
        asked = {name: rows[windows.example[n]][name] for name in names}
        low, high = (epoch + dt.timedelta(seconds=int(edge[n])) for edge in (windows.low, windows.high))
        fits = [r for r in rows if all(r[name] == value for name, value in asked.items())]
        assert truth[n] == sum(low <= r["taken_at"] < high for r in fits)
        assert guess[n] == pytest.approx(answer(opened, WindowCount(between=(low, high), where=asked)).value)


@pytest.mark.parametrize("finest", ["month", "year"])
def test_a_row_at_the_finest_granularity_loses_no_time(finest):
    """Months and years have several widths: the narrowest is that of those that occur."""
    when = [dt.date(year, 1, 5) for year in (2001, 2002, 2003) for _ in range(4)]
    table = pa.table({"who": [*"abcd"] * 3, "when": when})
    roles = tv.Roles(respondent="who", time="when")
    release, ledger = tv.generalize_time(table, roles, k=4, granularities=[finest, "decade"])
    assert release.manifest["granularity"] == finest
    assert measure(release, ledger, windows=0).bits == {"when": 0.0}


def test_what_other_ways_would_save_is_computed_once_and_when_it_is_read(monkeypatch):
    computed = []

    ways = {"global": {"bits": 3.0}, "local": {"bits": 1.0}}

    def compare_ways(*_):
        computed.append("ways")
        return ways

    monkeypatch.setattr("timeveil.models.events.method.generalize.compare_ways", compare_ways)
    table = pa.table({"who": [*"abcd"], "when": [dt.date(2024, 4, 1)] * 4})
    release, ledger = tv.generalize_time(table, tv.Roles(respondent="who", time="when"), k=2)
    assert tv.verify(release, ledger)
    assert not computed
    copy = pickle.loads(pickle.dumps(ledger))  # noqa: S301
    assert copy.facts["ways"] == ledger.facts["ways"] == ways
    assert computed == ["ways"]


def test_other_ways_are_not_compared_where_they_cannot_be_taken_or_take_long(monkeypatch):
    table = pa.table({"who": [*"abcd"], "when": [dt.date(2024, 4, 1)] * 4})

    def compared(**options):
        _, ledger = tv.generalize_time(table, tv.Roles(respondent="who", time="when"), k=2, **options)
        return ledger.facts.get("ways", "nothing")

    assert list(compared()) == ["global", "tiling", "refined", "local"]
    for options in ({"recode": "local"}, {"gaps": "suppress"}, {"gaps": "next"}, {"visits": 2}):
        assert compared(**options) == "nothing", options
    monkeypatch.setattr("timeveil.models.events.method.local.TILED_ROWS", 3)
    assert list(compared()) == ["global", "refined", "local"]
    monkeypatch.setattr("timeveil.models.events.method.generalize.COMPARED_ROWS", 4)
    assert list(compared()) == ["global", "refined", "local"]
    assert compared(dominance=0.9) == {}
    monkeypatch.setattr("timeveil.models.events.method.generalize.COMPARED_ROWS", 3)
    assert compared() == {}


@pytest.mark.parametrize("k", [3, 12])
def test_each_way_loses_and_risks_what_its_release_does(k):
    visits = clinic_visits(rows=600, seed=k)
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=["zip", "age"], drop="rest")
    ways = {"zip": "prefixes:4,3", "age": "intervals:10,20,40"}
    names = ["month", "quarter", "year", "all"]
    options = {"hierarchies": ways, "granularities": names, "suppress": 0.02}
    _, ledger = tv.generalize_time(visits, roles, k, **options)
    for way, compared in ledger.facts["ways"].items():
        pair = tv.generalize_time(visits, roles, k, **options, recode=way)
        assert compared["bits"] == pytest.approx(measure(*pair, windows=0).bits_per_row, abs=1e-5)
        singled_out = tv.attack(*pair).singled_out
        assert singled_out["1"] == 0
        for known in ("2", "3"):
            assert compared[f"alone_by_{known}"] == pytest.approx(singled_out[known], abs=0.08)


def test_the_bits_are_the_same_however_many_times_are_looked_at_together(monkeypatch):
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], drop="rest")
    months = ["month", "quarter"]  # February is the narrowest
    release, ledger = tv.generalize_time(clinic_visits(seed=3), roles, 5, granularities=months)
    bits = measure(release, ledger).bits
    assert bits["taken_at"] > 0
    for times in (1, 3):
        monkeypatch.setattr("timeveil.models.events.judges.measure._TIMES_AT_ONCE", times)
        assert measure(release, ledger).bits == bits


def test_an_empty_release_has_no_loss():
    loss = measure(*oracle.build(oracle.Case([], 3)))
    assert (loss.rows, loss.groups, loss.windows, loss.width_after) == (0, 0, 0, 0)


def test_another_model_is_refused():
    release, ledger = oracle.build(oracle.Case([], 3))
    with pytest.raises(ParameterError):
        measure(replace(release, manifest={**release.manifest, "model": "another"}), ledger)


@pytest.mark.parametrize(
    ("axis", "moments", "width"),
    [
        (oracle.CIVIL, [0, 86_400], 86_400),
        (oracle.CIVIL, [3_600, 7_200], 3_600),
        (oracle.CIVIL, [0, 1_800], 1_800),
        (oracle.CIVIL, [900, 1_800], 900),
        (oracle.CIVIL, [300, 600], 300),
        (oracle.CIVIL, [60, 120], 60),
        (oracle.CIVIL, [61], 1),
        (oracle.DAYS, [0], 86_400),
    ],
)
def test_the_resolution_is_the_widest_that_divides_every_time(axis, moments, width):
    times = np.array([*moments, 1])
    complete = np.array([*(True for _ in moments), False])
    assert People(axis, times, 1, times, 1, complete).resolution == width


@pytest.mark.parametrize(
    ("ticks", "per_instant", "precision"),
    [
        *(([60], 1, 60), ([60_000], 1_000, 60), ([500], 1_000, 1 / 1_000), ([61_000], 1_000, 1)),
        *(([5_000], 10**6, 1 / 1_000), ([5_001], 10**6, 1 / 10**6), ([5_000], 10**9, 1 / 10**6)),
        *(([5_001], 10**9, 1 / 10**9), ([0] * 2_000 + [1], 1_000, 1 / 1_000)),
    ],
)
def test_times_are_known_to_the_second_or_to_a_part_that_divides_every_one(ticks, per_instant, precision):
    times, everybody = np.array(ticks), np.ones(len(ticks), dtype=bool)
    assert People(oracle.CIVIL, times, 1, times, per_instant, everybody).precision == precision
