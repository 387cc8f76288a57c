"""Sweeps of all four models: the same numbers as one run at a time, whatever the number of threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import timeveil as tv
from timeveil.datasets import baskets, clinic_visits, daily_cases, load_curves
from timeveil.judging import gather
from timeveil.models import part


def bought() -> pa.Table:
    rows = baskets(transactions=120, seed=3)
    return rows.group_by(rows.column_names).aggregate([])


VISITS = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"], drop="rest")
CASES = tv.Roles(time="day", quasi=["age_band"], sensitive=["diagnosis"], drop="rest")
LOADS = tv.Roles(respondent="household", series=[f"h{hour:02}" for hour in range(6)], drop="rest")
BASKETS = tv.Roles(respondent="basket", item="item")
Case = tuple[Any, pa.Table, tv.Roles, dict[str, Any]]
CASES_OF: dict[str, Case] = {
    "time k": (
        tv.generalize_time,
        clinic_visits(rows=600, seed=1),
        VISITS,
        {"k": [2, 3, 500], "suppress": 0.05},
    ),
    "time suppress": (
        tv.generalize_time,
        clinic_visits(rows=600, seed=1),
        VISITS,
        {"k": 3, "suppress": [0.05, 0.1]},
    ),
    "stream window": (tv.publish_stream, daily_cases(days=25), CASES, {"l": 3, "window": [1, 3, 7]}),
    "stream l": (tv.publish_stream, daily_cases(days=25), CASES, {"l": [2, 3, 999], "window": 5}),
    "stream protect_slot": (
        tv.publish_stream,
        daily_cases(days=25),
        CASES,
        {"l": 4, "window": 5, "protect_slot": [2, 3, 4], "allow_loss": True},
    ),
    "series p": (
        tv.anonymize_series,
        load_curves(people=60, instants=6, seed=1),
        LOADS,
        {"k": 6, "p": [2, 6, 8], "effort": 0},
    ),
    "series k": (
        tv.anonymize_series,
        load_curves(people=60, instants=6, seed=1),
        LOADS,
        {"k": [2, 5, 10], "p": 2, "effort": 0},
    ),
    "series shape_weight": (
        tv.anonymize_series,
        load_curves(people=60, instants=6, seed=1),
        LOADS,
        {"k": 5, "p": 2, "effort": 0, "shape_weight": [2, 50]},
    ),
    "patterns k": (tv.sanitize_patterns, bought(), BASKETS, {"k": [2, 6, 200], "min_support": 0.15}),
    "patterns min_support": (
        tv.sanitize_patterns,
        bought(),
        BASKETS,
        {"k": 3, "min_support": [0.1, 0.2, 0.3]},
    ),
}
REFUSED = {
    "time k": [500],
    "stream l": [999],
    "stream protect_slot": [4],
    "series p": [8],
    "patterns k": [200],
}


@pytest.mark.parametrize("name", CASES_OF)
def test_threads_change_nothing(name: str) -> None:
    method, table, roles, options = CASES_OF[name]
    alone = tv.explore(method, table, roles, **options, workers=1)
    beside = tv.explore(method, table, roles, **options, workers=3)
    assert alone == beside
    model, parameter = name.split()
    assert (alone.model, alone.parameter) == (model, parameter)
    assert [one.value for one in alone.settings] == options[parameter]
    refused = [one.value for one in alone.settings if one.refused is not None]
    assert refused == REFUSED.get(name, [])
    for one in alone.feasible:
        assert one.loss == one.losses[alone.loss]
        assert one.risk == one.risks[alone.risk]
        assert set(one.losses) == set(part(model, "judges.profile").Tradeoff.losses)


def test_the_numbers_are_those_of_the_judges() -> None:
    method, table, roles, _ = CASES_OF["time k"]
    found = tv.explore(method, table, roles, k=[2, 3], loss="withheld", risk="mean", suppress=0.05)
    for one in found.settings:
        release, ledger = tv.generalize_time(table, roles, k=int(one.value), suppress=0.05)
        loss, breach = tv.measure(release, ledger), tv.attack(release, ledger, tv.Adversary())
        assert isinstance(loss, tv.Loss)
        assert one.loss == loss.suppressed / 600
        assert one.losses["window_error"] == loss.window_error_mean
        assert (one.risk, one.risks["worst"]) == (breach.mean, breach.worst)
        assert one.risks["promised"] == 1 / one.value
        assert one.facts["granularity"] == release.manifest["granularity"]


def test_protect_slot_is_judged_by_who_knows_the_true_slot() -> None:
    method, table, roles, options = CASES_OF["stream protect_slot"]
    found = tv.explore(method, table, roles, **options)
    assert found.adversary == {"knows": "true-slot"}
    assert found.risk == "mean"
    for one in found.feasible:
        release, ledger = tv.publish_stream(
            table, roles, l=4, window=5, protect_slot=int(one.value), seed=0, allow_loss=True
        )
        breach = tv.attack(release, ledger, tv.StreamAdversary("true-slot"))
        assert (one.risk, one.risks["promised"]) == (breach.mean, 1 / one.value)


@pytest.mark.parametrize("adversary", [tv.SeriesAdversary(3), tv.SeriesAdversary(pattern=True)])
def test_series_promise_one_in_p_whatever_is_known(adversary: tv.SeriesAdversary) -> None:
    """Values narrow the pattern down, so that k is no promise even to who knows values only."""
    table = load_curves(people=60, instants=6, seed=1)
    release, _ = tv.anonymize_series(table, LOADS, k=6, p=3, effort=0)
    assert part("series", "judges.profile").Tradeoff().promised(gather(release), adversary) == 1 / 3


def test_an_adversary_can_be_named() -> None:
    method, table, roles, options = CASES_OF["stream window"]
    found = tv.explore(method, table, roles, **options, adversary=tv.StreamAdversary("true-slot"))
    assert found.risk == "mean"
    assert all(one.risks["promised"] == 1 for one in found.settings)
    assert all(one.risks["worst"] > 1 / 3 for one in found.settings if one.losses["withheld"])


def test_a_file_gives_the_same_as_its_table(tmp_path: Path) -> None:
    method, table, roles, options = CASES_OF["time k"]
    pyarrow.csv.write_csv(table, tmp_path / "visits.csv")
    assert tv.explore(method, str(tmp_path / "visits.csv"), roles, **options) == tv.explore(
        method, table, roles, **options
    )
    assert [path.name for path in tmp_path.iterdir()] == ["visits.csv"]


def test_a_series_release_can_be_explored() -> None:
    table = load_curves(people=60, instants=6, seed=1)
    release, _ = tv.anonymize_series(table, LOADS, k=5, p=2, effort=0)
    found = tv.explore(tv.sanitize_patterns, release, k=[2, 5], min_support=0.3)
    assert [one.refused for one in found.settings] == [None, None]


def test_a_model_is_explored_without_the_others() -> None:
    program = (
        "import sys, timeveil as tv; from timeveil.datasets import load_curves\n"
        "roles = tv.Roles(respondent='household', series=['h00', 'h01'], drop='rest')\n"
        "tv.explore(tv.anonymize_series, load_curves(people=20, instants=2), roles, k=[2, 3], p=2)\n"
        "print([name for name in sys.modules if name == 'scipy' or name.endswith('.method')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['timeveil.models.series.method']\n"


def test_all_infeasible_is_told_and_not_raised() -> None:
    method, table, roles, _ = CASES_OF["time k"]
    found = tv.explore(method, table, roles, k=[500, 600], max_risk=0.5)
    assert (found.feasible, found.knee, found.best) == ((), None, None)


def test_progress_comes_from_the_callers_thread_and_grows() -> None:
    seen: list[tuple[threading.Thread, float]] = []
    method, table, roles, options = CASES_OF["time k"]
    tv.explore(
        method,
        table,
        roles,
        **options,
        workers=2,
        progress=lambda _said, share: seen.append((threading.current_thread(), share)),
    )
    assert {thread for thread, _ in seen} == {threading.current_thread()}
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_an_interruption_stops_the_rest() -> None:
    def interrupt(_said: str, _share: float) -> None:
        raise KeyboardInterrupt

    method, table, roles, _ = CASES_OF["time k"]
    with pytest.raises(KeyboardInterrupt):
        tv.explore(method, table, roles, k=list(range(2, 90)), workers=2, progress=interrupt)
    assert not [one for one in threading.enumerate() if one.name.startswith("explore")]


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing to try": ({"k": 5}, "no parameter has several settings", "bad-parameter"),
    "two": ({"k": "2..5", "suppress": "0,0.1"}, "`k` and `suppress` have several", "bad-parameter"),
    "loss": ({"k": "2,3", "loss": "moved"}, "`loss` is not a known measure", "bad-parameter"),
    "risk": ({"k": "2,3", "risk": "none"}, "`risk` is not a known measure", "bad-parameter"),
    "limit": ({"k": "2,3", "max_loss": -1.0}, "`max_loss` must be", "bad-parameter"),
    "no number": ({"k": "2,3", "max_risk": float("nan")}, "`max_risk` must be", "bad-parameter"),
    "workers": ({"k": "2,3", "workers": 0}, "`workers` must be", "bad-parameter"),
    "all wrong": ({"k": [0, 1]}, "`k` must be a whole number", "bad-parameter"),
    "choose": ({"k": [2, 3], "choose": "moon"}, "", "unknown-granularity"),
    "adversary": (
        {"k": [2, 3], "adversary": tv.StreamAdversary()},
        "cannot attack a release of",
        "bad-parameter",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    options, message, code = WRONG[name]
    with pytest.raises(tv.TimeveilError) as caught:
        tv.explore(tv.generalize_time, clinic_visits(rows=60), VISITS, **options)
    assert message in caught.value.message
    assert caught.value.code == code


def test_other_wrong_arguments() -> None:
    table = clinic_visits(rows=60)
    with pytest.raises(tv.ParameterError, match="cannot be explored"):
        tv.explore(tv.verify, table, VISITS, k="2,3")
    with pytest.raises(tv.RolesError, match="no column has a role"):
        tv.explore(tv.generalize_time, table, k="2,3")
    with pytest.raises(tv.RolesError, match="no column"):
        tv.explore(tv.generalize_time, table, tv.Roles(respondent="x", time="taken_at"), k="2,3")
    with pytest.raises(tv.InputError, match="has no rows"):
        tv.explore(tv.generalize_time, table.slice(0, 0), VISITS, k="2,3")
