"""`--groups generalize` on the command line, in a job file and in service."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.service.inboxes import Place, day, fill, rows_of, text

import timeveil as tv
from timeveil.folder import open_ledger, open_release

RUN = "publish-stream cases.csv --out out --time day --quasi age --sensitive ill --drop site --l 3 --window 3"
GROUPS = "--groups generalize --hierarchy age=intervals:10,50 --k 4"


@pytest.fixture(autouse=True)
def cases(here: Path) -> None:
    rng = random.Random(2)  # noqa: S311
    rows = [row for number in range(10) for _ in range(4) for row in rows_of(number, rng)]
    (here / "cases.csv").write_text(text(rows))


def test_a_run_is_published_verified_questioned_and_reported(cli: Cli) -> None:
    said = cli(f"{RUN} {GROUPS} --seed 3 --ledger ledger")
    assert said.code == 0, said.err
    assert "groups of at least 4 records with the same generalised quasi-identifiers" in " ".join(
        said.out.split()
    )
    release, ledger = open_release("out"), open_ledger("ledger")
    assert release.guarantee == tv.LDiversity(3, k=4)
    assert release.table.column_names == ["slot", "age", "ill", "group"]
    assert cli("verify out --ledger ledger").code == 0
    for knows in ("published-slot", "true-slot", "correlation"):
        assert cli(f"attack out --ledger ledger --knows {knows}").code == 0
    assert "`age` loses" in cli("measure out --ledger ledger").out
    assert cli("query out --where age=37").code == 0
    assert "How to read a group" in Path("out/README.txt").read_text("utf-8")
    assert cli("report out --ledger ledger --out report.html").code == 0
    assert "Groups by size" in Path("report.html").read_text("utf-8")
    assert tv.verify(release, ledger)


def test_a_job_does_the_same_and_is_printed(cli: Cli) -> None:
    told = json.loads(cli(f"{RUN} {GROUPS} --seed 3 --json").out)
    assert told["guarantee"] == {"name": "l-diversity", "l": 3, "k": 4}
    Path("job.toml").write_text(
        'command = "publish-stream"\nin = "cases.csv"\nout = "again"\ntime = "day"\nquasi = ["age"]\n'
        'sensitive = "ill"\ndrop = ["site"]\nl = 3\nwindow = 3\ngroups = "generalize"\nk = 4\nseed = 3\n'
        'hierarchies = { age = "intervals:10,50" }\n'
    )
    said = cli("run job.toml")
    assert said.code == 0, said.err
    assert open_release("again").table.equals(open_release("out").table)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--k 4", "`k` applies to generalised groups only"),
        ("--groups generalize --protect-slot 2", "`protect_slot` and `groups` exclude each other"),
        ("--groups generalize --hierarchy age=prefixes:x", "needs numbers"),
        ("--groups generalize --hierarchy ill=suppression", "not a quasi-identifier"),
    ],
)
def test_what_does_not_fit_is_refused(cli: Cli, options: str, message: str) -> None:
    said = cli(f"{RUN} {options}")
    assert said.code == 2
    assert message in " ".join(said.err.split())
    assert not Path("out").exists()


def test_a_service_that_is_started_again_publishes_the_same_groups(tmp_path: Path) -> None:
    options = {"groups": "generalize", "hierarchies": {"age": "intervals:10,50"}}
    calm, stopped = Place(tmp_path / "calm", **options), Place(tmp_path / "stopped", **options)
    fill(calm.inbox, 8)
    calm.run(close=True)
    for number in range(8):
        fill(stopped.inbox, number + 1)
        stopped.run(close=number == 7)
    releases = [tv.open_release(place.out) for place in (calm, stopped)]
    assert releases[0].table.equals(releases[1].table)
    assert releases[0].manifest["counts"]["first_slot"] == day(0)
    assert releases[0].manifest["counts"]["groups"] > 8
    assert all(tv.verify(release) for release in releases)
    levels = releases[0].manifest["levels"]["age"]
    assert {text for texts in levels.values() for text in texts} <= set(releases[0].table["age"].to_pylist())
