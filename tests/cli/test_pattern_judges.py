"""The commands that judge a pattern release and ask it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest
from tests.cli.conftest import Cli, copied, made

from timeveil.datasets import load_curves

MADE = (
    "sanitize-patterns loads.csv --out out --series h00..h03 --drop-rest --symbols 4 --k 5 --min-support 0.06"
)


@pytest.fixture(scope="module")
def made_of_loads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loads")
    pyarrow.csv.write_csv(load_curves(people=300, instants=4, seed=3), folder / "loads.csv")
    return made(folder, f"{MADE} --ledger ledger --quiet")


@pytest.fixture(autouse=True)
def published(here: Path, made_of_loads: Path) -> None:
    copied(made_of_loads)


def test_verify(cli: Cli) -> None:
    said = cli("verify out")
    assert said.out.startswith(
        "holds: `out`, by computing every group that the counts give (how many are virtual"
    )
    private = cli("verify out --ledger ledger")
    assert (said.code, private.code) == (0, 0)
    assert "by counting every pattern and computing every group, with the ledger" in private.out


def test_counts_of_other_people_are_violated(cli: Cli) -> None:
    pyarrow.csv.write_csv(load_curves(people=300, instants=4, seed=4), "others.csv")
    assert cli(MADE.replace("loads.csv --out out", "others.csv --out others")).code == 0
    said = cli("verify others --ledger ledger --json")
    assert said.code == 1
    assert "wrong-support" in {found["code"] for found in json.loads(said.out)["violations"]}


def test_measure(cli: Cli) -> None:
    said = cli("measure out --ledger ledger")
    assert said.code == 0, said.err
    assert said.out.splitlines()[0].endswith("0 not published.")
    assert "leaving people out" in said.out
    line = "anonymize-series loads.csv --out curves --series h00..h03 --drop-rest --k 6 --p 3 --effort 0"
    assert cli(line).code == 0
    told = json.loads(cli("measure out --ledger ledger --against curves --json").out)
    assert [found["way"] for found in told["alternatives"]][-1] == "series table"
    assert told["lost"] == 0 < told["virtual"]


def test_attack(cli: Cli) -> None:
    said = cli("attack out --ledger ledger --explain")
    assert said.code == 0, said.err
    assert "No sum that the promise covers gives a group of fewer than 5 people." in said.out
    assert "(private)" in said.out
    assert "=" in said.out.split("(private)")[1]
    text = cli("attack out --ledger ledger --json").out
    told = json.loads(text)
    assert told["channels"]["before"] > 0 == told["channels"]["after"]
    assert "h00" not in text
    refused = cli("attack out --ledger ledger --picture a.svg")
    assert refused.code == 2
    assert "no picture of an attack on patterns" in refused.err


def test_counts_that_follow_are_told_apart(cli: Cli) -> None:
    line = MADE.replace("--out out", "--out two --ledger two.ledger").replace("--symbols 4", "--symbols 2")
    assert cli(line.replace("0.06", "0.1")).code == 0
    said = cli("attack two --ledger two.ledger --explain")
    assert " = 1, where 1 and 0 are not published but follow from others." in " ".join(said.out.split())
    told = json.loads(cli("attack two --ledger two.ledger --explain --json").out)["examples"]
    assert any(one["follows"] for group in told for one in group["counts"])
    for group in told:
        assert group["people"] == sum(one["sign"] * one["people"] for one in group["counts"])
        assert all(one["follows"] == (one["people"] < 30) for one in group["counts"])
    assert "examples" not in json.loads(cli("attack two --ledger two.ledger --json").out)


def test_query(cli: Cli) -> None:
    said = cli("query out --item h00=a")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert "people" in lines[0]
    assert lines[2] == "in deviations of a series from its mean, with 4 symbols:"
    assert lines[3] == "  a:  below -0.674"
    told = json.loads(cli("query out --given h00=a --then h01=a --json").out)
    assert 0 <= told["low"] <= told["value"] <= told["high"] <= 1
    top = json.loads(cli("query out --top 3 --longer-than 1 --json").out)["patterns"]
    assert [len(found["pattern"]) for found in top] == [2, 2, 2]
    assert cli("query out --top 3").out.startswith("pattern")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("query out", "nothing is asked of the patterns"),
        ("query out --item h00=a --top 3", "more than one question is asked"),
        ("query out --longer-than 2 --item h00=a", "`longer_than` is set without `top`"),
        ("query out --between 1 2", "`--between` applies to releases of events or a stream only"),
        ("query out --range h00=0:1", "`--range` applies to releases of series only"),
        ("query out --item h09=a", "an item is at no instant of the release"),
        ("query out --item h00=z", "an item at `h00` does not end in a letter from a to d"),
        ("query out --given h00=a", "name one: --then ..."),
        (
            "query out --top 0",
            "`top` must be a whole number of at least 1, got 0\n\nhint: use --top 10, for example",
        ),
        ("query out --top 2 --longer-than -1", "`longer_than` must be a whole number of at least 0, got -1"),
    ],
)
def test_questions_that_cannot_be_asked(cli: Cli, line: str, said: str) -> None:
    answer = cli(line)
    assert answer.code == 2
    assert said in answer.err
