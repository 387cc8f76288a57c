"""`--protect-slot` on the command line and in a job file."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.service.inboxes import rows_of, text

from timeveil.domain.guarantee import LDiversity
from timeveil.folder import open_ledger, open_release
from timeveil.judging import verify

RUN = "publish-stream cases.csv --out out --time day --quasi age --sensitive ill --drop site --l 3 --window 5"


@pytest.fixture(autouse=True)
def cases(here: Path) -> None:
    rng = random.Random(2)  # noqa: S311
    rows = [row for number in range(10) for _ in range(4) for row in rows_of(number, rng)]
    (here / "cases.csv").write_text(text(rows))


def test_a_run_promises_verifies_and_says_what_it_does_not_protect(cli: Cli) -> None:
    said = cli(f"{RUN} --protect-slot 2 --spread 2 --fillers 1 --seed 3 --ledger ledger")
    assert said.code == 0, said.err
    assert "and 1 in 2 against anyone who knows when it happened" in " ".join(said.out.split())
    release, ledger = open_release("out"), open_ledger("ledger")
    assert release.guarantee == LDiversity(3, true_slot=2)
    assert "packet" in ledger.table.column_names
    assert verify(release, ledger)
    assert "as long as no value takes more than 1 in 2 of that slot's records" in " ".join(
        Path("out/README.txt").read_text("utf-8").split()
    )


def test_without_it_the_run_says_so(cli: Cli) -> None:
    said = cli(f"{RUN} --seed 3")
    assert "Anyone who knows when it happened, and finds it in a later slot or not at all" in " ".join(
        said.out.split()
    )


def test_a_job_does_the_same(cli: Cli) -> None:
    assert cli(f"{RUN} --protect-slot 2 --spread 2 --seed 3").code == 0
    Path("job.toml").write_text(
        'command = "publish-stream"\nin = "cases.csv"\nout = "again"\ntime = "day"\nquasi = ["age"]\n'
        'sensitive = "ill"\ndrop = ["site"]\nl = 3\nwindow = 5\nprotect_slot = 2\nspread = 2\nseed = 3\n'
    )
    assert cli("run job.toml").code == 0
    for name in ("data", "sensitive"):
        assert open_release("again").tables[name].equals(open_release("out").tables[name])


def test_the_command_to_do_it_again_names_it(cli: Cli) -> None:
    told = json.loads(cli(f"{RUN} --protect-slot 2 --fillers 3 --json").out)
    assert told["guarantee"] == {"name": "l-diversity", "l": 3, "true_slot": 2}
    assert "--protect-slot 2 --fillers 3" in json.dumps(told)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ("--protect-slot 3", "use --protect-slot 2"),
        ("--protect-slot 2 --jitter 1", "--spread"),
        ("--protect-slot 2 --filler always", "--fillers"),
        ("--spread 2", "--protect-slot"),
    ],
)
def test_what_does_not_go_is_refused_with_the_option_to_change(cli: Cli, options: str, hint: str) -> None:
    said = cli(f"{RUN} {options}")
    assert said.code == 2
    assert hint in said.err
    assert not Path("out").exists()
