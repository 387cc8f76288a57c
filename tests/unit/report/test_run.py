"""How a run is written down."""

from __future__ import annotations

import ast
import shlex

from hypothesis import given
from hypothesis import strategies as st

from timeveil.calendar.axis import weekday
from timeveil.domain.roles import Roles
from timeveil.models.events.words.run import Run

names = st.text(min_size=1, max_size=8)


def a_run(**more: object) -> Run:
    return Run("in.csv", Roles(respondent="who", time="when"), k=5, out="out", **more)  # type: ignore[arg-type]


@given(source=names, columns=st.lists(names, unique=True, min_size=3, max_size=5), rule=names)
def test_any_name_survives_the_shell_and_python(source: str, columns: list[str], rule: str) -> None:
    who, when, *quasi = columns
    roles = Roles(respondent=who, time=when, quasi=tuple(quasi))
    run = Run(source, roles, k=2, out="out", hierarchies={quasi[0]: rule})
    words = shlex.split(run.command())
    assert words[:3] == ["timeveil", "generalize-time", source]
    assert words[words.index("--respondent") + 1] == who
    assert words[-1] == f"{quasi[0]}={rule}"
    literals = {node.value for node in ast.walk(ast.parse(run.python())) if isinstance(node, ast.Constant)}
    assert {source, *columns, rule} <= literals


def test_only_what_differs_from_the_defaults() -> None:
    assert a_run().given() == {}
    assert a_run(suppress=0.1, zone="UTC").given() == {"zone": "UTC", "suppress": 0.1}


def test_every_parameter_is_written() -> None:
    roles = Roles(
        respondent="who", time="when", quasi=("zip", weekday), keep=("a",), sensitive=("b",), drop=("c", "d")
    )
    run = Run(
        "in.csv",
        roles,
        k=5,
        out="out",
        granularities=("week",),
        choose="generality",
        zone="UTC",
        unit="day",
        suppress=0.25,
        hierarchies={"zip": "prefixes:3"},
        gaps="skip",
        nulls="withhold",
        engine="duckdb",
        memory_limit="2GB",
        calendar="c.toml",
        format="csv",
        ledger="ledger",
    )
    assert run.command() == (
        "timeveil generalize-time in.csv --out out --respondent who --time when --quasi zip --cyclic weekday "
        "--keep a --sensitive b --drop c --drop d --k 5 --granularity week --choose generality --zone UTC "
        "--unit day --suppress 0.25 --gaps skip --nulls withhold --engine duckdb --memory-limit 2GB "
        "--hierarchy zip=prefixes:3 --calendar c.toml --ledger ledger --format csv"
    )
    assert run.python() == (
        "import tomllib\nfrom pathlib import Path\n\nimport timeveil as tv\n\n"
        'roles = tv.Roles(respondent="who", time="when", quasi=["zip", tv.weekday], keep=["a"], '
        'sensitive=["b"], drop=["c", "d"])\n'
        'release, ledger = tv.generalize_time("in.csv", roles, k=5, choose="generality", zone="UTC", '
        'unit="day", suppress=0.25, gaps="skip", nulls="withhold", engine="duckdb", memory_limit="2GB", '
        'granularities=["week"], hierarchies={"zip": "prefixes:3"}, '
        'definitions=tomllib.loads(Path("c.toml").read_text())["granularity"])\n'
        "assert tv.verify(release, ledger)\n"
        'tv.write(release, "out", format="csv")\n'
        'tv.write(ledger, "ledger")'
    )


def test_a_job_is_run_as_a_job() -> None:
    assert a_run(job="my job.toml").command() == "timeveil run 'my job.toml'"
