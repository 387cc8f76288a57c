"""Patterns on the command line: good runs, saved jobs, bad input, and what stands beside."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Cli, Said, names

import timeveil as tv
from timeveil.datasets import baskets, load_curves
from timeveil.folder import open_ledger, open_release
from timeveil.judging import verify
from timeveil.report import explain

BASKETS = "sanitize-patterns baskets.csv --out out --respondent basket --item item"
SERIES = "sanitize-patterns loads.csv --out out --series h00..h05 --drop-rest --symbols 4"
PROMISE = "--k 5 --min-support 0.05"
FILES = ["baskets.csv", "loads.csv", "visits.csv"]
MARK = "Zk9canary"


@pytest.fixture(autouse=True)
def tables(here: Path) -> None:
    bought = baskets(transactions=400, seed=3)
    pyarrow.csv.write_csv(bought.group_by(bought.column_names).aggregate([]), "baskets.csv")
    pyarrow.csv.write_csv(load_curves(people=400, instants=6, seed=3), "loads.csv")


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("line", [BASKETS, SERIES])
def test_a_run(cli: Cli, line: str, form: str) -> None:
    said = cli(f"{line} {PROMISE} --format {form} --ledger ledger")
    assert said.code == 0, said.err
    assert said.err.endswith("identifies people: keep it private.\n")
    assert said.out.splitlines()[1].startswith("1. Read 400 ")
    assert names("out") == ["README.txt", f"data.{form}", "release.json"]
    release = open_release("out")
    assert verify(release, open_ledger("ledger"))
    assert release.table.num_rows > 20


OTHERS = {
    "tight": "--method tight",
    "clone": "--method clone --published closed",
    "suppressive": "--method suppressive --allow-loss",
    "itemset": "--method itemset --cap 100000",
    "series": "--center median --instants h01..h04 --max-len 3 --no-structural --force --fill drop",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_said_runs_again_and_gives_the_same(cli: Cli, name: str) -> None:
    line = f"{SERIES if name == 'series' else BASKETS} {PROMISE} {OTHERS[name]}"
    said = cli(f"{line} --json")
    assert said.code == 0, said.err
    again = json.loads(said.out)["reproduce"]
    first = open_release("out").table
    Path("out").rename("first")
    assert cli(again["command"].removeprefix("timeveil ") + " --quiet") == Said(0, "", "")
    assert open_release("out").table.equals(first)
    Path("out").rename("second")
    exec(compile(again["python"], "again", "exec"), {})  # noqa: S102
    assert open_release("out").table.equals(first)


def test_a_saved_job(cli: Cli, here: Path) -> None:
    job = [
        'command = "sanitize-patterns"',
        'in = "loads.csv"',
        'out = "out"',
        'series = ["h00..h05"]',
        'drop = "rest"',
        "k = 5",
        "min-support = 0.05",
        "symbols = 4",
        'instants = ["h01..h03"]',
    ]
    Path("job.toml").write_text("\n".join(job) + "\n")
    said = cli("run job.toml")
    assert said.code == 0, said.err
    assert open_release("out").manifest["patterns"]["instants"] == ["h01", "h02", "h03"]


def test_patterns_of_a_series_release(cli: Cli) -> None:
    made = "anonymize-series loads.csv --out series --series h00..h05 --drop-rest --k 10 --p 5 --quiet"
    assert cli(made).code == 0
    said = cli(f"sanitize-patterns series --out out {PROMISE} --symbols 4")
    assert said.code == 0, said.err
    assert "No group of fewer than 5 people follows from the true counts of its items" in said.out
    assert 'tv.sanitize_patterns(tv.open_release("series"), k=5' in said.out


def test_beside_a_series_release_of_the_same_instants(cli: Cli, here: Path) -> None:
    made = "anonymize-series loads.csv --out series --series h00..h05 --drop-rest --k 10 --p 5 --quiet"
    assert cli(made).code == 0
    said = cli(f"{SERIES} {PROMISE}")
    assert said.code == 2
    assert "`series` in the same folder is a series release" in said.err
    assert "--force" in said.err
    assert "out" not in names()
    (here / "elsewhere").mkdir()
    away = SERIES.replace("--out out", "--out elsewhere/out")
    assert cli(f"{away} {PROMISE} --beside series").code == 2
    assert names("elsewhere") == []
    assert cli(f"{away} {PROMISE} --beside series --force --quiet").code == 0
    assert cli(f"{BASKETS} {PROMISE} --quiet").code == 0


def test_small_groups_are_told_only_if_asked(cli: Cli) -> None:
    plain = cli(f"{BASKETS} {PROMISE}")
    assert "anyone could compute" in plain.out
    assert "exactly" not in plain.out
    Path("out").rename("first")
    told = cli(f"{BASKETS} {PROMISE} --explain")
    assert "Private, from the true counts: exactly" in told.out
    assert "people have" in told.out or "person has" in told.out


def test_a_narrow_support_is_warned_of_with_numbers(cli: Cli) -> None:
    said = cli(f"{BASKETS} --k 5 --min-support 20")
    assert said.code == 0
    assert "warning: the smallest support is 20, 4 times k: expect heavy distortion" in said.err
    assert "on average" in said.err
    Path("out").rename("first")
    assert "distortion" not in cli(f"{BASKETS} --k 5 --min-support 26").err


def test_what_is_distorted_is_warned_of_whatever_the_support() -> None:
    facts = {"channels": 9, "mean_error": 0.02, "worst_error": 0.5, "transactions": 950, "virtual": 50}
    table = pa.table({"who": range(120), "has": [["a", "b"]] * 120})
    roles = tv.Roles(respondent="who", item="has")

    def warnings(least: int, **more: float) -> list[str]:
        release, ledger = tv.sanitize_patterns(table, roles, k=5, min_support=least)
        doctored = replace(ledger, facts={**ledger.facts, **facts, **more})
        told: list[str] = explain(release, doctored).facts["warnings"]
        return told

    assert warnings(100) == []
    for more in ({"mean_error": 0.11}, {"worst_error": 41.78}, {"virtual": 500}):
        assert "heavy distortion: " in warnings(100, **more)[0]
    assert "4,180 % at worst" in warnings(100, worst_error=41.78)[0]
    assert "expect heavy distortion" in warnings(25)[0]
    assert warnings(25, channels=0, mean_error=0.0, worst_error=0.0, virtual=0) == []


def test_rows_of_nobody_are_refused_with_what_can_be_done(cli: Cli) -> None:
    Path("nobody.csv").write_text("basket,item\n1,tea\n,milk\n")
    said = cli(f"{BASKETS.replace('baskets.csv', 'nobody.csv')} --k 2 --min-support 2")
    assert said.code == 2
    assert "column `basket` has 1 null, the first in data row 2" in said.err
    assert said.err.endswith("hint: fill them in, or leave those rows out with --nulls drop\n")


def write_till(empty: int = 2) -> None:
    """`baskets.csv` with its first 5 rows again, and some rows without a basket or an item."""
    header, *rows = Path("baskets.csv").read_text().splitlines()
    lacking = [',"tea"', "1,"][:empty] if empty <= 2 else [',"tea"'] * empty
    Path("till.csv").write_text("\n".join([header, *rows, *rows[:5], *lacking]) + "\n")


TILL = BASKETS.replace("baskets.csv", "till.csv")


def test_rows_left_out_and_items_counted_once(cli: Cli) -> None:
    write_till()
    said = cli(f"{TILL} {PROMISE} --nulls drop --repeats once --ledger ledger")
    assert said.code == 0, said.err
    assert "Left out 2 rows without a person or an item." in said.out
    assert "Counted every item once per person; 5 repeats were left out." in said.out
    release, ledger = open_release("out"), open_ledger("ledger")
    assert (ledger.facts["incomplete"], ledger.facts["repeated"]) == (2, 5)
    stated = release.manifest["parameters"]
    assert (stated["nulls"], stated["repeats"]) == ("drop", "once")
    for command in ("verify", "measure", "attack", "report"):
        assert cli(f"{command} out --ledger ledger").code == 0, command
    Path("out").rename("till")
    assert cli(f"{BASKETS} {PROMISE} --quiet --ledger other").code == 0
    assert open_release("out").table.equals(release.table)
    assert not {"nulls", "repeats"} & set(open_release("out").manifest["parameters"])
    assert not {"incomplete", "repeated"} & set(open_ledger("other").facts)


def test_a_job_with_both_policies(cli: Cli) -> None:
    write_till()
    lines = ['command = "sanitize-patterns"', 'in = "till.csv"', 'out = "out"', 'respondent = "basket"']
    lines += ['item = "item"', "k = 5", "min-support = 0.05", 'nulls = "drop"', 'repeats = "once"']
    Path("job.toml").write_text("\n".join(lines) + "\n")
    said = cli("run job.toml")
    assert said.code == 0, said.err
    assert open_release("out").manifest["parameters"]["repeats"] == "once"
    said = cli("run job.toml --set nulls=withhold --set out=other")
    assert said.code == 2
    assert "`nulls` must be one of error, drop" in said.err


def test_more_than_a_quarter_of_the_rows_is_not_left_out_silently(cli: Cli) -> None:
    write_till(empty=2000)
    said = cli(f"{TILL} {PROMISE} --nulls drop --repeats once")
    assert said.code == 3
    assert "rows (" in said.err
    assert "accept the loss with --allow-loss" in said.err
    assert "out" not in names()
    assert cli(f"{TILL} {PROMISE} --nulls drop --repeats once --allow-loss").code == 0


WRONG = {
    "k below 2": (f"{BASKETS} --k 1 --min-support 20", 2, "`k` must be a whole number of at least 2"),
    "support below k": (f"{BASKETS} --k 10 --min-support 5", 2, "k is 10"),
    "share below k": (f"{BASKETS} --k 10 --min-support 0.001", 2, "raise --min-support to 10"),
    "nothing frequent": (f"{BASKETS} --k 10 --min-support 0.99", 2, "the largest is "),
    "explosion": (f"{BASKETS} {PROMISE} --cap 3", 2, "raise --min-support, or set --max-len"),
    "unknown column": (f"{BASKETS.replace('item item', 'item things')} {PROMISE}", 2, "no column `things`"),
    "no roles": (f"sanitize-patterns baskets.csv --out out {PROMISE}", 2, "neither `item` nor `series`"),
    "both": (f"{BASKETS} --series a,b {PROMISE}", 2, "transactions or series"),
    "too few": (f"{BASKETS} --k 500 --min-support 500", 3, "choose --k of at most 400"),
    "a folder and roles": (f"sanitize-patterns . --out out --item a {PROMISE}", 2, "has other columns than"),
    "no release": (f"sanitize-patterns . --out out {PROMISE}", 2, "is not a release folder"),
    "twice": (
        "sanitize-patterns twice.csv --out out --respondent who --item what --k 2 --min-support 2",
        2,
        "count each item once per person with --repeats once",
    ),
    "nulls of series": (
        f"{SERIES} {PROMISE} --nulls drop",
        2,
        "`nulls` applies to tables of transactions only",
    ),
    "repeats of series": (f"{SERIES} {PROMISE} --repeats once", 2, "hint: leave --repeats out"),
    "no such policy": (f"{BASKETS} {PROMISE} --nulls withhold", 2, "`nulls` must be one of error, drop"),
    "fill of transactions": (
        f"{BASKETS} {PROMISE} --fill drop",
        2,
        "`fill` applies to tables of series only",
    ),
    "alike": (
        "sanitize-patterns alike.csv --out out --respondent who --item what --k 2 --min-support 2",
        2,
        "spells items in more than one way",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_told_and_nothing_written(cli: Cli, name: str) -> None:
    Path("twice.csv").write_text(f"who,what\n1,{MARK}\n1,{MARK}\n2,b\n")
    Path("alike.csv").write_text(f"who,what\n1,{MARK}\n2,{MARK} \n")
    line, code, words = WRONG[name]
    said = cli(line)
    assert said.code == code, said.err
    assert words.replace("min_support", "--min-support") in said.err or words in said.err
    assert "\n\nhint: " in said.err
    assert MARK not in said.err + said.out
    assert names() == sorted([*FILES, "twice.csv", "alike.csv"])


def test_no_item_is_told(cli: Cli) -> None:
    rows = [f"{MARK}{row % 50},{MARK}-{item}" for row in range(50) for item in range(row % 7)]
    Path("marked.csv").write_text("\n".join(["who,what", *dict.fromkeys(rows)]) + "\n")
    said = cli("sanitize-patterns marked.csv --out out --respondent who --item what --k 3 --min-support 8")
    assert said.code == 0, said.err
    assert MARK not in said.out + said.err
    assert MARK not in Path("out/release.json").read_text() + Path("out/README.txt").read_text()


def test_a_list_column_of_parquet(cli: Cli) -> None:
    table = pyarrow.csv.read_csv("baskets.csv").group_by("basket").aggregate([("item", "list")])
    pq.write_table(table, "lists.parquet")
    line = f"sanitize-patterns lists.parquet --respondent basket --item item_list {PROMISE} --quiet --out"
    assert cli(f"{line} lists").code == 0
    assert cli(f"{BASKETS} {PROMISE} --quiet").code == 0
    assert open_release("lists").table.equals(open_release("out").table)


def test_a_picture(cli: Cli) -> None:
    assert cli(f"{SERIES} {PROMISE} --quiet").code == 0
    said = cli("plot out --out shapes.svg --top 4")
    assert (said.code, said.out, said.err) == (0, "shapes.svg: drawn\n", "")
    assert "The 4 strongest of " in Path("shapes.svg").read_text()
    for line, message in (
        ("plot out --group 2 --out p.svg", "`--group` applies to releases of series only"),
        ("plot out --ledger ledger --out p.svg", "`--ledger` applies to releases of series only"),
        ("plot out --longer-than 99 --out p.svg", "no pattern has more than 99 items"),
        ("plot out --top 0 --out p.svg", "1 to 60 patterns"),
    ):
        said = cli(line)
        assert (said.code, said.out) == (2, ""), line
        assert message in said.err
    assert "p.svg" not in names()
