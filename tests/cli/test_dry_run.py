"""A dry run does everything except write, and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import ROLES, Cli, names
from tests.cli.test_bad_input import MARK

RUN = f"generalize-time visits.csv --out out --ledger ledger {ROLES} --k 2"


def in_order(text: str, *parts: str) -> bool:
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


def test_it_says_what_a_run_says_and_writes_nothing(cli: Cli) -> None:
    said = cli(f"{RUN} --dry-run")
    assert (said.code, said.err) == (0, "Nothing was written: this was a dry run.\n")
    assert said.out.startswith("visits.csv -> 2-anonymous by time, not written\n")
    assert in_order(
        said.out, "Chose `week`", "by separate code", "What it does not protect", "To write it:\n"
    )
    assert "files as written" not in said.out
    assert names() == ["visits.csv"]
    command = said.out.partition("To write it:\n  $ timeveil ")[2].splitlines()[0]
    assert "dry" not in command
    real = cli(command)
    assert real.code == 0
    assert "files as written" in real.out
    assert names() == ["ledger", "out", "visits.csv"]


@pytest.mark.parametrize(
    "command",
    [
        f"generalize-time visits.csv {ROLES} --k 2",
        f"publish-stream visits.csv {ROLES} --l 2 --window 4 --allow-loss",
        "anonymize-series loads.csv --respondent who --series a,b,c --k 2 --p 2",
        "sanitize-patterns loads.csv --respondent who --series a,b,c --k 2 --min-support 2",
    ],
)
def test_every_command_that_publishes_has_it(cli: Cli, command: str) -> None:
    Path("loads.csv").write_text(
        "who,a,b,c\n" + "".join(f"p{n},{n},{n * n % 7},{n % 5}\n" for n in range(12))
    )
    said = cli(f"{command} --out out --json --dry-run")
    assert said.code == 0, said.err
    facts = json.loads(said.out)
    assert facts["dry_run"]
    assert facts["verified"]["holds"]
    assert names() == ["loads.csv", "visits.csv"]


def test_a_saved_job_has_it(cli: Cli) -> None:
    Path("job.toml").write_text(
        'in = "visits.csv"\nout = "out"\nrespondent = "who"\ntime = "day"\nquasi = ["zip"]\n'
        'drop = "rest"\nk = 2\n'
    )
    said = cli("run job.toml --dry-run")
    assert (said.code, said.err) == (0, "Nothing was written: this was a dry run.\n")
    assert "To write it:\n  $ timeveil run job.toml\n" in said.out
    assert names() == ["job.toml", "visits.csv"]


def test_it_refuses_what_a_run_refuses(cli: Cli) -> None:
    assert cli(f"{RUN} --dry-run --k 2").code == 2
    assert cli(f"{RUN.replace('--k 2', '--k 9')} --dry-run").code == 3
    Path("out").mkdir()
    said = cli(f"{RUN} --dry-run")
    assert (said.code, said.out) == (2, "")
    assert "`out` exists already" in said.err
    assert names() == ["out", "visits.csv"]


@pytest.mark.parametrize("option", ["--dry-run", "--overwrite"])
def test_a_stream_in_service_has_neither(cli: Cli, option: str) -> None:
    Path("in").mkdir()
    Path("in/a.csv").write_text(f"day,zip,result\n2024-01-01,{MARK},ok\n")
    line = (
        "publish-stream in --state s.db --out out --time day --quasi zip --sensitive result --l 2 --window 2"
    )
    said = cli(f"{line} {option}")
    assert (said.code, said.out) == (2, "")
    assert "does not apply to a stream in service" in said.err
    assert f"hint: leave {option} out" in said.err
    assert MARK not in said.err
    assert names() == ["in", "visits.csv"]


def test_the_end_says_what_no_ledger_rules_out(cli: Cli) -> None:
    said = cli(f"{RUN.replace('--ledger ledger', '')}")
    assert said.code == 0
    for name in ("No ledger was written", "`measure`", "`attack`", "`verify`", "`report`", "--ledger"):
        assert name in said.err
    assert "No ledger" not in cli(f"{RUN.replace('out out', 'out new')}").err
