"""`generalize-time --recode`: what a run says, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.csv as pcsv
import pytest
from tests.cli.conftest import Cli

import timeveil as tv
from timeveil.datasets import clinic_visits

RUN = (
    "generalize-time visits.csv --respondent patient --time taken_at --quasi zip --quasi age --quasi sex "
    "--sensitive result --drop-rest --hierarchy zip=prefixes:4,3 --hierarchy age=intervals:10,20 --k 4"
)


@pytest.fixture
def visits(here: Path) -> None:
    pcsv.write_csv(clinic_visits(rows=800, seed=2), "visits.csv")


@pytest.mark.parametrize("way", ["refined", "local", "tiling"])
def test_a_run_is_explained_verified_and_read_back(cli: Cli, visits: None, way: str) -> None:
    said = cli(f"{RUN} --recode {way} --out out --ledger ledger")
    assert said.code == 0, said.err
    assert "the smallest with" in " ".join(said.out.split())
    assert f"--recode {way}" in said.out
    assert cli("verify out").code == cli("verify out --ledger ledger").code == 0
    assert "number of the step" in Path("out/README.txt").read_text()
    loss = json.loads(cli("measure out --ledger ledger --json").out)
    assert 0 < sum(loss["bits"].values()) == pytest.approx(loss["bits_per_row"])
    words = " ".join(cli("measure out --ledger ledger").out.split())
    assert "bits of information on average" in words
    assert loss["width_effective"] < 0.9 * loss["width_after"]
    assert "as a geometric mean" in words
    for visit in (1, 2):
        assert cli(f"attack out --ledger ledger --visits {visit}").code == 0
    assert cli("query out --where age=40 --between 2024-02-01 2024-05-01").code == 0
    assert cli("report out --ledger ledger --out private.html").code == 0
    assert cli("report out --out public.html").code == 0
    assert "(contains all steps)" in Path("public.html").read_text()
    assert "chosen" not in Path("public.html").read_text().split("What each granularity gives")[1]


def test_a_range_is_asked_of_all_labels_or_refused(cli: Cli, visits: None) -> None:
    """Whatever the coarsest step shows of the column."""
    assert cli(f"{RUN} --recode local --out out").code == 0
    true = sum(30 <= age <= 59 for age in pcsv.read_csv("visits.csv")["age"].to_pylist())
    found = json.loads(cli("query out --where age=30..59 --json").out)
    count = tv.answer(tv.open_release("out"), tv.WindowCount(where={"age": (30, 59)}))
    assert found["low"] == count.low <= true <= count.high == found["high"]
    assert cli("query out --where age=30..59 --where age=200").code == 0
    said = cli("query out --where zip=04103..04105")
    assert (said.code, said.err.count("hint:")) == (2, 1)
    assert cli("query out --where zip=04103 --where zip=04105").code == 0


def test_a_global_run_says_what_every_way_would_save_and_risk(cli: Cli, visits: None) -> None:
    said = cli(f"{RUN} --out out")
    assert said.code == 0, said.err
    words = " ".join(said.out.split())
    numbers = (
        r"[\d.]+ with `--recode tiling`, [\d.]+ with `--recode refined` and [\d.]+ with `--recode local`"
    )
    assert re.search(
        rf"A row loses [\d.]+ bits of information, and would lose {numbers}\. Two known vis", words
    )
    assert re.search(r"`--recode local` would save \d+\.\d bits a row\.", words)


def test_weights_move_the_loss_between_columns(cli: Cli, visits: None) -> None:
    bits = {}
    for name, weights in (("age", "--weight age=20"), ("time", "--weight taken_at=20")):
        assert cli(f"{RUN} --recode local {weights} --out {name} --ledger {name}.ledger").code == 0
        bits[name] = json.loads(cli(f"measure {name} --ledger {name}.ledger --json").out)["bits"]
    assert bits["age"]["age"] < bits["time"]["age"]
    assert bits["time"]["taken_at"] < bits["age"]["taken_at"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--recode local --weight nobody=2", "which is neither generalised nor the time"),
        ("--weight age=2", "no effect where all rows are made coarser alike"),
        ("--recode local --weight age=0", "a weight is not a number above 0"),
        ("--recode local --weight age=1000000", "not a number above 0 and below 1,000,000"),
        ("--recode local --weight age=much", "`--weight` needs COLUMN=N"),
        ("--recode local --choose month", "no effect with the recoding `local`"),
        ("--recode tiling --gaps suppress", "rows in gaps cannot be withheld or moved"),
        ("--recode local --gaps next", "rows in gaps cannot be withheld or moved"),
        ("--recode lokal", "must be one of global, refined, local, tiling"),
    ],
)
def test_what_does_not_fit_is_refused(cli: Cli, visits: None, options: str, message: str) -> None:
    said = cli(f"{RUN} {options} --out out")
    assert said.code == 2
    assert message in said.err
    assert "hint:" in said.err
    assert not Path("out").exists()


def test_weights_are_checked_before_people_are_counted(cli: Cli, here: Path) -> None:
    Path("visits.csv").write_text("patient,taken_at,zip,age,sex,result\n")
    said = cli(f"{RUN} --recode local --weight nobody=2 --out out")
    assert said.code == 2
    assert "which is neither generalised nor the time" in said.err
    assert not Path("out").exists()


def test_the_name_of_the_column_of_steps_must_be_free(cli: Cli, here: Path) -> None:
    Path("visits.csv").write_text(
        "patient,taken_at,taken_at_step\n" + "".join(f"{p},2024-01-01,1\n" for p in "abc")
    )
    line = (
        "generalize-time visits.csv --respondent patient --time taken_at --keep taken_at_step --k 2 --out out"
    )
    said = cli(f"{line} --recode local")
    assert (said.code, "needs the name `taken_at_step`" in said.err) == (2, True)


def test_a_tolerance_needs_one_granularity(cli: Cli, visits: None) -> None:
    assert cli(f"{RUN} --recode local --out out --ledger ledger").code == 0
    said = cli("attack out --ledger ledger --tolerance 2h")
    assert said.code == 2
    assert "one granularity for all rows" in said.err


def test_a_profile_says_what_each_way_would_lose_and_risk(cli: Cli, visits: None) -> None:
    line = "profile visits.csv --respondent patient --time taken_at --quasi sex --k 4"
    ways = json.loads(cli(f"{line} --json").out)["ways"]
    bits = {way["recode"]: way["bits"] for way in ways}
    assert 0 < bits["local"] < bits["global"]
    said = cli(line).out.splitlines()
    start = next(number for number, text in enumerate(said) if text.startswith("--k 4 --recode"))
    rows = [text.split()[:2] for text in said[start + 1 : start + 5]]
    assert rows == [[name, f"{lost:.1f}"] for name, lost in bits.items()]
    assert all(list(way["singled_out"]) == ["1", "2", "3"] and not way["singled_out"]["1"] for way in ways)
    finer = json.loads(cli(f"{line} --hierarchy sex=suppression --json").out)["ways"]
    assert finer[3]["bits"] < bits["local"]
    said = cli("profile visits.csv --time taken_at --sensitive result --l 2 --hierarchy sex=suppression")
    assert (said.code, "leave --hierarchy out" in said.err) == (2, True)
    assert "Ways of recoding (--recode) are left out: no granularity" in cli(f"{line}0 --granularity day").out
