"""`--recurring` on the command line and in a job file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest
from tests.cli.conftest import Cli

from timeveil.datasets import daily_cases
from timeveil.domain.guarantee import LDiversity
from timeveil.folder import open_ledger, open_release
from timeveil.judging import verify

COLUMNS = "--time day --respondent person --quasi district --sensitive diagnosis --drop age_band --drop sex"
RUN = f"publish-stream cases.csv --out out {COLUMNS} --l 2 --window 5 --seed 3"


@pytest.fixture(autouse=True)
def cases(here: Path) -> None:
    pyarrow.csv.write_csv(daily_cases(days=60, seed=7), "cases.csv")


def test_a_run_promises_verifies_and_explains_counterfeits(cli: Cli) -> None:
    said = cli(f"{RUN} --recurring invariant --forget-after 30 --ledger ledger")
    assert said.code == 0, said.err
    text = " ".join(said.out.split())
    assert "are of people who came back, each alone in a bucket with the values of their first one" in text
    assert "After more than 30 slots without a record a person counts as new" in text
    release = open_release("out")
    assert release.guarantee == LDiversity(2, recurring="invariant", forget_after=30)
    assert verify(release, open_ledger("ledger"))
    readme = " ".join(Path("out/README.txt").read_text("utf-8").split())
    assert (
        "the values of a person's buckets are the same in every slot, until nothing of that person" in readme
    )
    assert "One of these is the record's; the others" in readme
    assert f"the others are counterfeits, {release.manifest['counts']['counterfeits']} in all" in readme
    assert cli("report out --ledger ledger --out report.html").code == 0


def test_each_person_once(cli: Cli) -> None:
    said = cli(f"{RUN} --recurring withhold --allow-loss")
    assert said.code == 0, said.err
    assert "because of another record of the person" in " ".join(said.out.split())
    readme = " ".join(Path("out/README.txt").read_text("utf-8").split())
    assert "each person is published once." in readme
    assert "Each person has one record." in readme


def test_a_refusal_names_what_is_possible(cli: Cli) -> None:
    """Without buckets there are no signatures."""
    assert "--recurring invariant" in cli(f"{RUN} --recurring withhold").err
    said = cli(f"{RUN} --recurring withhold --buckets none")
    assert said.code == 3
    assert "invariant" not in said.err
    assert "use longer slots" in said.err


def test_by_default_the_run_says_what_would_help(cli: Cli) -> None:
    assert "`--recurring invariant` prevents this" in " ".join(cli(RUN).out.split())
    bare = f"{RUN} --force".replace("--out out", "--out bare")
    assert "`--recurring withhold` prevents this" in " ".join(cli(f"{bare} --buckets none").out.split())


def test_a_job_does_the_same(cli: Cli) -> None:
    assert cli(f"{RUN} --recurring invariant").code == 0
    Path("job.toml").write_text(
        'command = "publish-stream"\nin = "cases.csv"\nout = "again"\ntime = "day"\nrespondent = "person"\n'
        'quasi = ["district"]\nsensitive = "diagnosis"\ndrop = ["age_band", "sex"]\nl = 2\nwindow = 5\n'
        'seed = 3\nrecurring = "invariant"\n'
    )
    assert cli("run job.toml").code == 0
    for name in ("data", "sensitive"):
        assert open_release("again").tables[name].equals(open_release("out").tables[name])


def test_the_command_to_do_it_again_names_it(cli: Cli) -> None:
    told = json.loads(cli(f"{RUN} --recurring invariant --json").out)
    assert told["guarantee"] == {"name": "l-diversity", "l": 2, "recurring": "invariant"}
    assert "--recurring invariant" in json.dumps(told)


def test_without_people_nobody_is_followed(cli: Cli) -> None:
    said = cli(f"{RUN.replace('--respondent person', '--drop person')} --recurring invariant")
    assert said.code == 2
    assert "no column says whose the records are" in said.err
    assert "--respondent" in said.err
    assert not Path("out").exists()


def test_too_short_a_memory_is_refused(cli: Cli) -> None:
    said = cli(f"{RUN} --recurring withhold --forget-after 9")
    assert said.code == 2
    assert "--forget-after 10" in said.err
