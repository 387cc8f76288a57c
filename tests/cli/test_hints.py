"""Hints show what is typed where they are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.conftest import ROLES, Cli

RUN = f"generalize-time visits.csv --out out {ROLES}"
PYTHON = re.compile(r"\w=[\w\"'\[.(]")


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ("--k 2 --granularity business-month", "--gaps suppress"),
        ("--k 2 --engine hive", "--engine memory"),
        ("--k 2 --suppress 3", "--suppress 0.01"),
        ("--k 3 --granularity week", "--suppress 0.25"),
    ],
)
def test_a_hint_shows_options(cli: Cli, options: str, hint: str) -> None:
    said = cli(f"{RUN} {options}")
    assert said.code in (2, 3)
    advice = said.err.partition("\nhint: ")[2]
    assert hint in advice
    assert not PYTHON.search(advice)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("attack out --ledger ledger --visits 0", "--visits 2"),
        ("profile offsets.csv --respondent who --time after --k 2", "--unit minute"),
        ("profile visits.csv --respondent who --time day --unit minute --k 2", "remove --unit"),
    ],
)
def test_hints_of_other_commands_show_options(cli: Cli, published: str, line: str, hint: str) -> None:
    Path("offsets.csv").write_text("who,after\na,1\nb,2\n")
    said = cli(line)
    assert said.code == 2
    assert hint in said.err


def test_a_hint_on_a_job_shows_keys(cli: Cli, here: Path) -> None:
    Path("job.toml").write_text(
        'in = "visits.csv"\nout = "out"\nrespondent = "who"\ntime = "day"\nk = 2\n'
        'drop = "rest"\ngranularities = ["business-month"]\n'
    )
    said = cli("run job.toml")
    assert said.code == 2
    assert 'gaps = "suppress"' in said.err
