"""`generalize-time --protect`: what a run says, job files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as pcsv
import pytest
from tests.cli.conftest import Cli

from timeveil.datasets import clinic_visits

RUN = (
    "generalize-time visits.csv --respondent patient --time taken_at --quasi zip --quasi sex "
    "--sensitive exam --sensitive age --drop-rest --hierarchy zip=prefixes:4,3 --k 4 --suppress 0.02"
)
PROMISES = "--protect exam=at-most:3/5 --protect age=closeness:0.3 --dominance 0.5"


@pytest.fixture
def visits(here: Path) -> None:
    pcsv.write_csv(clinic_visits(rows=1500, seed=2), "visits.csv")


@pytest.mark.parametrize("way", ["global", "local"])
def test_a_run_is_explained_verified_and_read_back(cli: Cli, visits: None, way: str) -> None:
    said = cli(f"{RUN} {PROMISES} --recode {way} --out out --ledger ledger")
    assert said.code == 0, said.err
    words = " ".join(said.out.split())
    assert "no value of `exam` is held by more than 3/5 of the people" in words
    assert "nobody has more than 0.5 of the rows" in words
    assert PROMISES in said.out
    assert cli("verify out").code == cli("verify out --ledger ledger").code == 0
    assert "held by more than 3/5" in Path("out/README.txt").read_text()
    manifest = json.loads(Path("out/release.json").read_text())
    assert manifest["guarantee"]["protect"] == {"exam": "at-most:3/5", "age": "closeness:0.3"}
    assert cli("report out --ledger ledger --out private.html").code == 0
    assert cli("report out --out public.html").code == 0
    assert "rows short" in Path("public.html").read_text()
    assert cli("measure out --ledger ledger").code == 0
    attacked = " ".join(cli("attack out --ledger ledger").out.split())
    assert "The promise is at most 60 %" in attacked
    found = json.loads(cli("attack out --ledger ledger --visits 2 --json").out)["learned"]
    assert set(found) == {"exam", "age"}
    assert 0 < found["exam"]["mean"] <= found["exam"]["worst"] <= 1


def test_rows_that_were_withheld_for_a_promise_are_named(cli: Cli, visits: None) -> None:
    run = RUN.replace("--suppress 0.02", "--suppress 0.2")
    said = cli(f"{run} --protect exam=at-most:11/20 --out out")
    assert said.code == 0, said.err
    assert "in groups that break what else is promised" in " ".join(said.out.split())
    rows = Path("out/README.txt").read_text()
    assert "to keep the promise" in rows
    assert "without a person" not in rows.split("How to count")[0]


def test_one_value_alone_may_be_protected(cli: Cli, visits: None) -> None:
    run = RUN.replace("--sensitive exam", "--sensitive exam --sensitive result")
    said = cli(f"{run} --protect result=at-most:1/2:abnormal --out out --ledger ledger")
    assert said.code == 0, said.err
    words = " ".join(said.out.split())
    assert "1 named value of `result` is held by no more than 1/2 of the people" in words
    assert "of those that the promise names" in " ".join(cli("attack out --ledger ledger").out.split())
    assert cli("verify out").code == 0


def test_a_job_file(cli: Cli, visits: None) -> None:
    Path("job.toml").write_text(
        'command = "generalize-time"\nin = "visits.csv"\nout = "out"\nrespondent = "patient"\n'
        'time = "taken_at"\nsensitive = ["exam"]\ndrop = "rest"\nk = 4\n'
        'protect = {exam = "distinct:3"}\ndominance = 0.5\n'
    )
    said = cli("run job.toml")
    assert said.code == 0, said.err
    assert json.loads(Path("out/release.json").read_text())["parameters"]["protect"] == {"exam": "distinct:3"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--protect result=distinct:2", "which is not a sensitive column"),
        ("--protect zip=distinct:2", "which is not a sensitive column"),
        ("--protect exam=closeness:0.2", "is text, which has no order"),
        ("--protect exam=closeness:0.2:a<b", "the order of the promise lacks"),
        ("--protect exam=distinct:99", "different values, and the promise distinct needs 99"),
        ("--protect exam=at-most:0", "must be a number above 0"),
        ("--protect exam=entropy:1", "must be a number above 1"),
        ("--protect exam=closeness:1", "must be a number above 0"),
        ("--protect exam=many", "a promise about a sensitive column cannot be read"),
        ("--protect exam", "`--protect` needs COLUMN=PROMISE"),
        ("--protect exam=distinct:2 --protect exam=at-most:0.9", "given twice for one column"),
        ("--dominance 1", "`dominance` must be a number above 0"),
    ],
)
@pytest.mark.parametrize("way", ["global", "local"])
def test_what_does_not_fit_is_refused(cli: Cli, visits: None, options: str, message: str, way: str) -> None:
    said = cli(f"{RUN} {options} --recode {way} --out out")
    assert said.code == 2
    assert message in " ".join(said.err.split())
    assert said.err.count("hint:") == 1
    assert not Path("out").exists()
