"""How a run is written down: as a command, as Python, and as a job file."""

from __future__ import annotations

import ast
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeveil import weekday
from timeveil.domain.parameter import Parameters
from timeveil.domain.roles import Roles, columns_named
from timeveil.domain.run import Run
from timeveil.jobs.request import read_job
from timeveil.models import tables
from timeveil.models.events.parameters import EventParameters
from timeveil.models.series.parameters import SeriesParameters
from timeveil.models.stream.parameters import StreamParameters

names = st.text(min_size=1, max_size=8)
EVERY_VALUE: dict[str, Any] = {
    "k": 5,
    "granularities": ["week"],
    "choose": "generality",
    "suppress": 0.25,
    "recode": "refined",
    "weights": {"zip": 2},
    "protect": {"b": "at-most:1/3"},
    "dominance": 0.5,
    "decoys": True,
    "visits": 2,
    "hierarchies": {"zip": "prefixes:3"},
    "levels": {"zip": 1},
    "max_levels": {"zip": 1},
    "after": ["a.ledger", "b.ledger"],
    "append": True,
    "origin": "first",
    "gaps": "skip",
    "nulls": "withhold",
    "fold_spellings": True,
    "accept_risk": ["a"],
    "allow_loss": True,
    "definitions": "c.toml",
    "engine": "duckdb",
    "memory_limit": "2GB",
    "zone": "UTC",
    "unit": "day",
    "time_format": "%d/%m/%Y",
    "decimal": "comma",
    "delimiter": "tab",
    "encoding": "cp1252",
    "sheet": "2024",
}


def a_run(**more: Any) -> Run:
    roles = Roles(respondent="who", time="when")
    return Run(EventParameters, "in.csv", roles, {"k": 5}, out="out", **more)


def literals(run: Run) -> set[Any]:
    return {node.value for node in ast.walk(ast.parse(run.python())) if isinstance(node, ast.Constant)}


@given(source=names, columns=st.lists(names, unique=True, min_size=3, max_size=5), rule=names)
def test_any_name_survives_the_shell_and_python(source: str, columns: list[str], rule: str) -> None:
    who, when, *quasi = columns
    roles = Roles(respondent=who, time=when, quasi=tuple(quasi))
    run = Run(EventParameters, source, roles, {"k": 2, "hierarchies": {quasi[0]: rule}}, out="out")
    words = shlex.split(run.command())
    assert words[:3] == ["timeveil", "generalize-time", source]
    assert words[words.index("--respondent") + 1] == who
    assert words[-1] == f"{quasi[0]}={rule}"
    assert {source, *columns, rule} <= literals(run)


@given(source=names, columns=st.lists(names, unique=True, min_size=3, max_size=5))
def test_any_series_survives_the_shell_and_python(source: str, columns: list[str]) -> None:
    what, *series = columns
    roles = Roles(series=series, sensitive=[what])
    run = Run(SeriesParameters, source, roles, {"k": 2, "p": 2}, out="out")
    words = shlex.split(run.command())
    typed = [words[index + 1] for index, word in enumerate(words) if word == "--series" and index > 2]
    if what != "--series":
        assert columns_named(typed, columns) == tuple(series)
    assert {source, *columns} <= literals(run)


def test_only_what_differs_from_the_defaults_is_written() -> None:
    assert a_run().command() == "timeveil generalize-time in.csv --out out --respondent who --time when --k 5"


def test_every_parameter_is_written() -> None:
    assert set(EVERY_VALUE) == set(EventParameters.table())
    roles = Roles(
        respondent="who", time="when", quasi=("zip", weekday), keep=("a",), sensitive=("b",), drop=("c", "d")
    )
    run = Run(EventParameters, "in.csv", roles, EVERY_VALUE, out="out", format="csv", ledger="ledger")
    assert run.command() == (
        "timeveil generalize-time in.csv --out out --respondent who --time when --quasi zip --cyclic weekday "
        "--keep a --sensitive b --drop c --drop d --k 5 --granularity week --choose generality "
        "--suppress 0.25 --recode refined --weight zip=2 --protect b=at-most:1/3 --dominance 0.5 "
        "--decoys --visits 2 --hierarchy zip=prefixes:3 --level zip=1 --max-level zip=1 "
        "--after a.ledger --after b.ledger --append "
        "--origin first "
        "--gaps skip --nulls withhold --fold-spellings --accept-risk a --allow-loss --calendar c.toml "
        "--engine duckdb --memory-limit 2GB --zone UTC --unit day --time-format %d/%m/%Y --decimal comma "
        "--delimiter tab --encoding cp1252 --sheet 2024 "
        "--format csv --ledger ledger"
    )
    assert run.python() == (
        "import tomllib\nfrom pathlib import Path\n\nimport timeveil as tv\n\n"
        'roles = tv.Roles(respondent="who", time="when", quasi=["zip", tv.weekday], keep=["a"], '
        'sensitive=["b"], drop=["c", "d"])\n'
        'release, ledger = tv.generalize_time("in.csv", roles, k=5, granularities=["week"], '
        'choose="generality", suppress=0.25, recode="refined", weights={"zip": 2}, '
        'protect={"b": "at-most:1/3"}, dominance=0.5, decoys=True, visits=2, '
        'hierarchies={"zip": "prefixes:3"}, levels={"zip": 1}, max_levels={"zip": 1}, '
        'after=[tv.open_ledger("a.ledger"), tv.open_ledger("b.ledger")], append=True, '
        'origin="first", gaps="skip", nulls="withhold", fold_spellings=True, accept_risk=["a"], '
        "allow_loss=True, "
        'definitions=tomllib.loads(Path("c.toml").read_text())["granularity"], engine="duckdb", '
        'memory_limit="2GB", zone="UTC", unit="day", time_format="%d/%m/%Y", decimal="comma", '
        'delimiter="tab", encoding="cp1252", sheet="2024")\n'
        "assert tv.verify(release, ledger)\n"
        'tv.write(release, "out", format="csv")\n'
        'tv.write(ledger, "ledger")'
    )


def test_a_job_text_is_the_same_run(tmp_path: Path) -> None:
    roles = Roles(
        respondent="who", time="when", quasi=("zip", weekday), keep=("a",), sensitive=("b",), drop="rest"
    )
    run = Run(EventParameters, "in.csv", roles, EVERY_VALUE, out="out", format="csv", ledger="ledger")
    path = tmp_path / "job.toml"
    path.write_text(run.job_text())
    again = read_job(path)
    assert again.roles == roles
    beside = [str(tmp_path / name) for name in EVERY_VALUE["after"]]
    assert {**again.values, "definitions": "c.toml"} == {**EVERY_VALUE, "after": beside}
    assert (again.source, again.out) == (str(tmp_path / "in.csv"), str(tmp_path / "out"))


def test_a_job_is_run_as_a_job() -> None:
    assert a_run(job="my job.toml").command() == "timeveil run 'my job.toml'"


def test_off_and_ranges_are_written_as_they_are_typed() -> None:
    roles = Roles(respondent="household", sensitive=["tariff"], series=["h00", "h01"])
    values = {"k": 10, "p": 5, "shape_weight": 50.0, "round_outward": None}
    run = Run(SeriesParameters, "in.csv", roles, values, out="out", series=("h00..h01",))
    assert run.command() == (
        "timeveil anonymize-series in.csv --out out --respondent household --series h00..h01 "
        "--sensitive tariff --k 10 --p 5 --round-outward off"
    )
    assert "k=10, p=5, round_outward=None)" in run.python()
    assert run.job_text().endswith(
        'series = ["h00..h01"]\nsensitive = ["tariff"]\nk = 10\np = 5\nround_outward = "off"'
    )


def test_what_a_method_does_not_use_is_said() -> None:
    values = {"k": 10, "p": 5, "method": "kapra", "effort": 3}
    run = Run(SeriesParameters, "a.csv", Roles(series=["h00"]), values, out="out")
    assert list(run.unused()) == ["`effort` changes nothing: the method kapra does not use it."]


def test_a_seed_is_in_no_text() -> None:
    roles = Roles(time="day", sensitive=["ill"])
    run = Run(StreamParameters, "a.csv", roles, {"l": 2, "window": 3, "seed": 987654}, out="out")
    assert "987654" not in repr(run) + str(run.as_dict())
    assert "--seed you used" in run.again


@pytest.mark.parametrize("table", tables().values())
def test_every_example_of_a_table_is_in_its_range(table: type[Parameters]) -> None:
    for declared in table.table().values():
        assert declared.kind == "flag" or declared.check(declared.example) is not None
    job = tomllib.loads(Run(table, "in.csv", None, {}, out="out").job_text())
    assert job["command"] == table.command
