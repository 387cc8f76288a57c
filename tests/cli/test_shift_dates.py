"""The command `shift-dates`."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, names

RUN = "shift-dates visits.csv --respondent who --time day --keep zip --drop-rest --out new.csv"


def test_a_table_its_statement_and_the_key_are_written_for_the_owner_alone(cli: Cli, here: Path) -> None:
    said = cli(f"{RUN} --preserve weekday --key key.csv")
    assert said.code == 0, said.err
    assert said.out.startswith("new.csv: dates shifted, without a promise\n")
    assert "This is pseudonymisation" in said.out.replace("\n   ", " ")
    assert "are the only ones with their number of visits per weekday" in said.out.replace("\n   ", " ")
    assert names() == ["key.csv", "new.csv", "new.csv.json", "visits.csv"]
    assert {stat.S_IMODE(Path(name).stat().st_mode) for name in ("key.csv", "new.csv", "new.csv.json")} == {
        0o600
    }
    stated = json.loads(Path("new.csv.json").read_text())
    assert stated["guarantee"] is None
    assert set(stated["risk"]["singled_out"]) == {"1", "2", "3", "all"}
    with Path("visits.csv").open() as file:
        people = {row["who"] for row in csv.DictReader(file)}
    text = Path("new.csv").read_text()
    assert not any(person in text for person in people)
    with Path("key.csv").open() as file:
        assert {row["who"] for row in csv.DictReader(file)} == people


def test_a_dry_run_says_the_same_and_writes_nothing(cli: Cli, here: Path) -> None:
    tried = cli(f"{RUN} --seed 1 --key key.csv --dry-run")
    assert (tried.code, tried.err) == (0, "Nothing was written: this was a dry run.\n")
    assert names() == ["visits.csv"]
    assert tried.out == cli(f"{RUN} --seed 1 --key key.csv").out


@pytest.mark.parametrize("command", ["verify new.csv", "measure new.csv --ledger key.csv", "query new.csv"])
def test_there_is_nothing_to_verify(cli: Cli, here: Path, command: str) -> None:
    assert cli(f"{RUN} --quiet --key key.csv").code == 0
    said = cli(command)
    assert said.code == 2
    assert "promise nothing: there is nothing to judge" in said.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--within 0", "from 1 to 36,500"),
        ("--preserve month", "weekday"),
        ("--within 3 --preserve weekday", "no shift within 3 days"),
        ("--until result", "not a time"),
        ("--key new.csv", "one name"),
        ("--key visits.csv", "exists"),
    ],
)
def test_bad_options_are_refused_and_nothing_is_written(
    cli: Cli, here: Path, options: str, message: str
) -> None:
    said = cli(f"{RUN} {options}")
    assert said.code == 2
    assert message in said.err
    assert "hint:" in said.err
    assert names() == ["visits.csv"]
