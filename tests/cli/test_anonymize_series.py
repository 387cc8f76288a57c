"""Series on the command line: good runs, saved jobs, bad input, questions, pictures, and an interrupt."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from benchmarks.generated import uniform
from tests.cli.conftest import Cli, Said, copied, made, names

from timeveil.datasets import load_curves
from timeveil.folder import open_ledger, open_release
from timeveil.judging import verify

WIDE = "anonymize-series wide.csv --out out --respondent household --series h00..h05 --sensitive tariff"
LONG = (
    "anonymize-series long.csv --out out --respondent household --time instant --value kwh --sensitive tariff"
)
PROMISE = "--k 6 --p 3"
MARK, NUMBER = "Zk9canary", "71873.5"
FILES = ["long.csv", "visits.csv", "wide.csv"]


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("curves")
    for name, long in (("wide", False), ("long", True)):
        pyarrow.csv.write_csv(load_curves(people=60, instants=6, seed=3, long=long), folder / f"{name}.csv")
    return folder


@pytest.fixture
def loads(here: Path, curves: Path) -> None:
    copied(curves)


pytestmark = pytest.mark.usefixtures("loads")


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("shape", ["wide", "long"])
def test_a_run_in_both_shapes_and_formats(cli: Cli, shape: str, form: str) -> None:
    line = WIDE if shape == "wide" else LONG
    said = cli(f"{line} {PROMISE} --format {form} --ledger ledger")
    assert said.code == 0, said.err
    assert said.err.endswith("The ledger `ledger` identifies people: keep it private.\n")
    assert said.out.startswith(
        f"{shape}.csv -> 6 share every envelope, 3 every pattern, in `out`\n1. Read 60 series"
    )
    assert names("out") == ["README.txt", f"data.{form}", "release.json"]
    assert stat.S_IMODE(Path("ledger").stat().st_mode) == 0o600
    release = open_release("out")
    assert verify(release, open_ledger("ledger"))
    assert release.table.num_rows == 60
    assert "household" not in release.table.column_names
    assert len(release.manifest["series"]["instants"]) == 6


def test_wide_and_long_give_the_same_release(cli: Cli) -> None:
    assert cli(f"{WIDE} {PROMISE} --quiet") == Said(0, "", "")
    wide = open_release("out").table
    Path("out").rename("first")
    assert cli(f"{LONG} {PROMISE} --quiet") == Said(0, "", "")
    long = open_release("out").table
    assert long.rename_columns(wide.column_names).equals(wide)


OTHERS = {
    "adaptive": "--shape-weight 10 --effort 0",
    "kapra": "--method kapra --max-level 8",
    "naive": "--method naive --center median",
    "representative": "--method representative --shape-weight 2.5",
    "exact bounds": "--round-outward off --format csv",
    "customised": "--publish-values h00..h03 --publish-pattern h02,h03,h04",
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_command_and_the_python_call_do_it_again(cli: Cli, name: str) -> None:
    said = cli(f"{WIDE} {PROMISE} {OTHERS[name]} --json --ledger ledger")
    assert said.code == 0, said.err
    again = json.loads(said.out)["reproduce"]
    first = open_release("out")
    for way in ("command", "python"):
        Path("out").rename(f"before {way}")
        Path("ledger").rename(f"ledger before {way}")
        if way == "command":
            assert cli(shlex.join(shlex.split(again["command"])[1:])).code == 0
        else:
            exec(compile(again["python"], "again", "exec"), {})  # noqa: S102
        second = open_release("out")
        assert second.manifest["parameters"] == first.manifest["parameters"]
        assert second.table.equals(first.table)


def test_json_is_the_same_as_data(cli: Cli) -> None:
    told = json.loads(cli(f"{WIDE} {PROMISE} --json").out)
    manifest = open_release("out").manifest
    assert told["counts"] == manifest["counts"]
    assert told["guarantee"] == {"name": "kp-anonymity", "k": 6, "p": 3, "l": None}
    assert told["verified"]["holds"] is True
    assert told["value_loss"] > 0
    assert 0 < told["pattern_loss"] < 2


JOB = """\
command = "anonymize-series"
in = "../wide.csv"
out = "out"
respondent = "household"
series = ["h00..h05"]
sensitive = ["tariff"]
k = 6
p = 3
"""


@pytest.fixture
def job(here: Path) -> Path:
    (here / "jobs").mkdir()
    (here / "jobs" / "job.toml").write_text(JOB)
    return here / "jobs" / "job.toml"


def test_a_saved_job_is_the_same_run(cli: Cli, job: Path) -> None:
    said = cli("run jobs/job.toml")
    assert said.code == 0, said.err
    assert "  $ timeveil run jobs/job.toml\n" in said.out
    assert cli(f"{WIDE} {PROMISE} --quiet").code == 0
    assert open_release("jobs/out").table.equals(open_release("out").table)


def test_segments_on_the_command_line_and_in_a_job(cli: Cli, job: Path) -> None:
    job.write_text(JOB + 'representation = "paa"\nsegment = 4\n')
    said = cli("run jobs/job.toml")
    assert said.code == 0, said.err
    assert cli(f"{WIDE} {PROMISE} --representation paa --segment 4 --ledger ledger --quiet").code == 0
    assert open_release("jobs/out").table.equals(open_release("out").table)
    assert open_release("out").manifest["series"]["pattern"] == ["h00..h03", "h04..h05"]
    for command in (
        "verify out --ledger ledger",
        "measure out --ledger ledger",
        "attack out --ledger ledger",
    ):
        assert cli(command).code == 0
    assert cli("query out --like 1,2,3,3,2,1 --tolerance 0.5").code == 0
    assert cli(f"{WIDE} {PROMISE} --representation paa --out other").code == 2


def test_a_job_has_the_fields_of_the_options(cli: Cli, job: Path) -> None:
    job.write_text(
        JOB + 'ledger = "ledger"\nformat = "csv"\nmethod = "kapra"\nshape-weight = 10\neffort = 0\n'
        "max_level = 9\n"
        'center = "median"\nround-outward = "off"\nfill = "linear"\n'
        'publish_values = ["h00..h04"]\npublish_pattern = ["h00", "h01"]\n'
    )
    said = cli("run jobs/job.toml")
    assert said.code == 0, said.err
    parameters = open_release("jobs/out").manifest["parameters"]
    assert (parameters["method"], parameters["max_level"], parameters["round_outward"]) == ("kapra", 9, None)
    assert open_release("jobs/out").manifest["series"]["pattern"] == ["h00", "h01"]
    assert names("jobs") == ["job.toml", "ledger", "out"]


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (("k = 6", "kk = 6"), "unknown key `kk`", ""),
        (("p = 3", ""), "lacks the key `p`", "add a line p = ..."),
        (("p = 3", 'p = "3"'), "`p` must be a whole number of at least 1, got str", "p = 5"),
        (
            ("p = 3", 'p = 3\nround_outward = "no"'),
            "`round_outward` must be a whole number from 1 to 15 or off, got str",
            "",
        ),
        (("anonymize-series", "publish-pattern"), "`command` in `job.toml`", "anonymize-series"),
        (("h00..h05", "h00..h09"), "no column `h09`", "did you mean"),
        (
            ("p = 3", "p = 3\nmax_level = 99"),
            "`max_level` must be a whole number from 2 to 52",
            "max_level = 20",
        ),
    ],
)
def test_a_job_that_makes_no_sense(
    cli: Cli, job: Path, change: tuple[str, str], message: str, hint: str
) -> None:
    job.write_text(JOB.replace(*change, 1))
    said = cli("run jobs/job.toml")
    assert said.code == 2
    told, _, advice = said.err.partition("\n\nhint: ")
    assert message in told
    assert hint in advice
    assert names("jobs") == ["job.toml"]


def columns(**other: list[Any]) -> pa.Table:
    """Ten series of four instants, full of values that must not be told."""
    plain: dict[str, list[Any]] = {"who": [f"{MARK}-{row}" for row in range(10)]}
    plain |= {f"q{i}": [float(NUMBER) + (row * 7 + i * 3) % 11 for row in range(10)] for i in range(1, 5)}
    return pa.table({**plain, "s": [float(NUMBER) + row for row in range(10)], **other})


def wide(**other: list[Any]) -> None:
    pq.write_table(columns(**other), "in.parquet")


def long(change: Callable[[list[dict[str, Any]]], object] = list.copy) -> None:
    rows = [
        {"who": f"{MARK}-{person}", "when": 1873 + step, "load": float(NUMBER) + person * step, "s": MARK}
        for person in range(10)
        for step in range(4)
    ]
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows), "in.parquet")


def taken() -> None:
    wide()
    Path("out").mkdir()


def varied(rows: list[dict[str, Any]]) -> None:
    rows[1]["s"] = f"{MARK} too"


BAD_WIDE = "anonymize-series in.parquet --out out --respondent who --series q1..q4 --sensitive s"
BAD_LONG = "anonymize-series in.parquet --out out --respondent who --time when --value load --sensitive s"
SOME = "--k 4 --p 2"
NAN, INFINITE = float("nan"), float("inf")
# what is made, the command line, exit code, what the message says, what the hint says
CASES: dict[str, tuple[Callable[[], None], str, int, str, str]] = {
    "p above k": (wide, f"{BAD_WIDE} --k 4 --p 5", 2, "p is 5 and k is 4", "lower --p to 4"),
    "p of 0": (
        wide,
        f"{BAD_WIDE} --k 4 --p 0",
        2,
        "`p` must be a whole number of at least 1, got 0",
        "--p 5",
    ),
    "k of 1": (
        wide,
        f"{BAD_WIDE} --k 1 --p 1",
        2,
        "`k` must be a whole number of at least 2, got 1",
        "--k 10",
    ),
    "k of a": (wide, f"{BAD_WIDE} --k a --p 1", 2, "`--k` is not a whole number", "--k 10"),
    "no p": (wide, f"{BAD_WIDE} --k 4", 2, "`--p` is missing", "--p 5"),
    "k above the series": (wide, f"{BAD_WIDE} --k 11 --p 2", 2, "10", "k"),
    "l above p": (wide, f"{BAD_WIDE} {SOME} --l 3", 2, "l is 3 and p is 2", "lower --l to 2"),
    "l of 1": (wide, f"{BAD_WIDE} {SOME} --l 1", 2, "`l` must be a whole number of at least 2", "--l 3"),
    "l of text": (lambda: wide(s=[MARK] * 10), f"{BAD_WIDE} {SOME} --l 2", 2, "no more than 0", "lower --l"),
    "l without sensitive": (
        wide,
        f"{BAD_WIDE.replace('--sensitive', '--drop')} {SOME} --l 2",
        2,
        "",
        "--sensitive",
    ),
    "not a number": (
        lambda: wide(q2=[NAN, INFINITE, *[float(NUMBER)] * 8], q3=[-INFINITE, *[float(NUMBER)] * 9]),
        f"{BAD_WIDE} {SOME}",
        2,
        "3 values that are not finite (NaN or infinite), in `q2`, `q3`",
        "",
    ),
    "text in a series": (lambda: wide(q2=[MARK] * 10), f"{BAD_WIDE} {SOME}", 2, "`q2`", ""),
    "nulls": (
        lambda: wide(q2=[None, *[float(NUMBER)] * 9]),
        f"{BAD_WIDE} {SOME}",
        2,
        "1 of 40 values are missing, in 1 of 10 series",
        "--fill",
    ),
    "person too often": (
        lambda: wide(who=[f"{MARK}-{max(row, 3)}" for row in range(10)]),
        f"{BAD_WIDE} {SOME}",
        2,
        "one person has 4 of 10 series, more than 1 in 4",
        "lower --k to at most 2",
    ),
    "no such column": (
        wide,
        f"{BAD_WIDE.replace('q1..q4', 'q1,q9')} {SOME}",
        2,
        "no column `q9`",
        "the table has",
    ),
    "no such range": (
        wide,
        f"{BAD_WIDE.replace('q1..q4', 'q1..q9')} {SOME}",
        2,
        "no column `q9`",
        "FIRST..LAST",
    ),
    "range backwards": (
        wide,
        f"{BAD_WIDE.replace('q1..q4', 'q4..q1')} {SOME}",
        2,
        "`q1` comes before",
        "q1..q4",
    ),
    "column without role": (
        wide,
        f"{BAD_WIDE.replace('q1..q4', 'q1..q3')} {SOME}",
        2,
        "`q4` has no role",
        "--drop",
    ),
    "column twice": (wide, f"{BAD_WIDE} {SOME} --keep q1", 2, "`q1` has more than one role", "one role"),
    "levels of 0": (
        wide,
        f"{BAD_WIDE} {SOME} --max-level 0",
        2,
        "a whole number from 2 to 52",
        "--max-level 20",
    ),
    "levels beyond letters": (
        wide,
        f"{BAD_WIDE} {SOME} --max-level 53",
        2,
        "a whole number from 2 to 52",
        "--max-level 20",
    ),
    "no such method": (wide, f"{BAD_WIDE} {SOME} --method tga", 2, "method", "adaptive"),
    "no such center": (
        wide,
        f"{BAD_WIDE} {SOME} --center mode",
        2,
        "`center` must be one of mean, median",
        "--center mean",
    ),
    "negative weight": (
        wide,
        f"{BAD_WIDE} {SOME} --shape-weight -1",
        2,
        "`shape_weight` must be a number",
        "10 for both",
    ),
    "weight of nan": (
        wide,
        f"{BAD_WIDE} {SOME} --shape-weight nan",
        2,
        "`shape_weight` must be a number",
        "10 for both",
    ),
    "negative effort": (wide, f"{BAD_WIDE} {SOME} --effort -1", 2, "`effort` must be", "0 is fastest"),
    "rounding of -1": (
        wide,
        f"{BAD_WIDE} {SOME} --round-outward=-1",
        2,
        "`round_outward` must be a whole number from 1 to 15 or off",
        "--round-outward 2",
    ),
    "rounding of no": (
        wide,
        f"{BAD_WIDE} {SOME} --round-outward no",
        2,
        "`round_outward` must be a whole number from 1 to 15 or off",
        "--round-outward 2",
    ),
    "rounding of 0": (
        wide,
        f"{BAD_WIDE} {SOME} --round-outward 0",
        2,
        "`round_outward` must be a whole number",
        "off publishes people's exact values",
    ),
    "a clock that runs late": (
        lambda: long(lambda rows: rows.append({**rows[0], "when": 9999})),
        f"{BAD_LONG} {SOME} --fill linear",
        2,
        "1 of 5 instants have values of fewer than",
        "full hours",
    ),
    "a value that most have and l": (
        lambda: wide(s=[float(NUMBER) + (row > 7) for row in range(10)]),
        f"{BAD_WIDE} {SOME} --l 2",
        3,
        "6 of 10 series (60 %) would be withheld",
        "leave --l out",
    ),
    "no epsilon": (wide, f"{BAD_WIDE} {SOME} --l 2 --l-method perturb", 2, "needs epsilon", "--epsilon 0.5"),
    "an epsilon for nothing": (
        wide,
        f"{BAD_WIDE} {SOME} --l 2 --epsilon 2",
        2,
        "epsilon applies to perturbed numbers only",
        "--l-method perturb",
    ),
    "too small an epsilon": (
        lambda: wide(s=[int(float(NUMBER))] * 7 + [int(float(NUMBER)) + row for row in range(1, 4)]),
        f"{BAD_WIDE} {SOME} --l 2 --l-method perturb --epsilon 0.5",
        2,
        "too few numbers within 0.5",
        "raise --epsilon",
    ),
    "a dash for a range": (
        wide,
        f"{BAD_WIDE.replace('q1..q4', 'q1-q4')} {SOME}",
        2,
        "no column `q1-q4`",
        "two dots: q1..q4",
    ),
    "no such fill": (
        wide,
        f"{BAD_WIDE} {SOME} --fill zero",
        2,
        "`fill` must be one of forward, linear, drop",
        "--fill forward",
    ),
    "no such instant": (wide, f"{BAD_WIDE} {SOME} --publish-values q9", 2, "q9", ""),
    "no such pattern": (wide, f"{BAD_WIDE} {SOME} --publish-pattern q1,s", 2, "`s`", ""),
    "disjoint": (wide, f"{BAD_WIDE} {SOME} --publish-values q1,q2 --publish-pattern q3,q4", 2, "", ""),
    "folder exists": (taken, f"{BAD_WIDE} {SOME}", 2, "`out` exists", "another name"),
    "ledger in the release": (wide, f"{BAD_WIDE} {SOME} --ledger out/l", 2, "which is published", "outside"),
    "no such format": (
        wide,
        f"{BAD_WIDE} {SOME} --format xlsx",
        2,
        "`format` must be one of parquet, csv",
        "--format",
    ),
    "no series": (
        wide,
        f"{BAD_WIDE.replace('--series q1..q4', '')} {SOME}",
        2,
        "neither `series` nor",
        "wide:",
    ),
    "both shapes": (wide, f"{BAD_WIDE} {SOME} --time q1", 2, "wide or long, not both", "long:"),
    "no value column": (
        long,
        f"{BAD_LONG.replace('--value load', '')} {SOME}",
        2,
        "`value` is missing",
        "--time and --value",
    ),
    "no file": (lambda: None, f"{BAD_WIDE} {SOME}", 2, "there is no file `in.parquet`", "spelling"),
    "no rows": (
        lambda: pq.write_table(columns().slice(0, 0), "in.parquet"),
        f"{BAD_WIDE} {SOME}",
        2,
        "no rows",
        "right file",
    ),
    "unequal lengths": (
        lambda: long(list.pop),
        f"{BAD_LONG} {SOME}",
        2,
        "10 people have values at 4 different times, but only 39 of 40",
        "--fill",
    ),
    "two values at a time": (
        lambda: long(lambda rows: rows.append(rows[0])),
        f"{BAD_LONG} {SOME}",
        2,
        "1 row too many: a person has more than one value at a time",
        "one value",
    ),
    "attribute varies": (
        lambda: long(varied),
        f"{BAD_LONG} {SOME}",
        2,
        "`s` varies within a person",
        "one value",
    ),
    "quasi": (wide, f"{BAD_WIDE} {SOME} --quasi q1", 2, "column `q1` has more than one role", ""),
}


@pytest.mark.parametrize("form", ["", " --json"])
@pytest.mark.parametrize("name", CASES)
def test_bad_input(cli: Cli, name: str, form: str) -> None:
    make, line, code, message, hint = CASES[name]
    make()
    before = sorted(Path().rglob("*"))
    said = cli(line + form)
    assert said.code == code, said.err
    assert re.fullmatch(r"error: [^\n]+\n\nhint: [^\n]+\n", said.err), said.err
    told, _, advice = said.err.partition("\n\nhint: ")
    assert message in told
    assert hint in advice
    assert not re.search(r"\w=[\w\"'\[.(]", advice), advice
    for canary in (MARK, NUMBER, "7187", "1873", "Traceback"):
        assert canary not in said.out + said.err
    assert sorted(Path().rglob("*")) == before


def test_a_constant_column_is_fine(cli: Cli) -> None:
    wide(q2=[1.0] * 10)
    assert cli(f"{BAD_WIDE} {SOME}").code == 0


def test_every_instant_constant_is_told(cli: Cli) -> None:
    pq.write_table(columns(**{f"q{i}": [5.0] * 10 for i in range(1, 5)}), "in.parquet")
    said = cli(f"{BAD_WIDE} {SOME}")
    assert said.code == 0
    assert "constant" in said.err


@pytest.mark.parametrize("fill", ["forward", "linear", "drop"])
def test_missing_readings_are_filled_if_asked(cli: Cli, fill: str) -> None:
    wide(q2=[None, *[float(NUMBER)] * 9])
    said = cli(f"{BAD_WIDE} {SOME} --fill {fill} --json")
    assert said.code == 0, said.err
    assert open_release("out").table.num_rows == (9 if fill == "drop" else 10)


WARNED = {
    "rounding off": ("--round-outward off", "the exact value of a member"),
    "representative": ("--method representative", "representative"),
    "kept columns": ("--keep tariff --drop household --series h00..h05", "`tariff` is published unchanged"),
    "k small": ("--k 3 --p 2", "k"),
    "effort of kapra": ("--method kapra --effort 2", "`effort` changes nothing: the method kapra"),
    "effort of naive": ("--method naive --effort 3", "`effort` changes nothing: the method naive"),
    "clocks of a wide table": ("--method naive --zone Europe/Berlin", "`zone` changes nothing: a wide table"),
}


@pytest.mark.parametrize("name", WARNED)
def test_warnings_are_told_and_explained(cli: Cli, name: str) -> None:
    options, warning = WARNED[name]
    line = WIDE if "--series" not in options else "anonymize-series wide.csv --out out"
    said = cli(f"{line} {'' if '--k ' in options else PROMISE} {options}")
    assert said.code == 0, said.err
    assert "warning: " in said.err
    assert warning in said.err
    assert "Warning: " in said.out


@pytest.fixture(scope="module")
def made_of_loads(curves: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loads")
    shutil.copytree(curves, folder, dirs_exist_ok=True)
    return made(folder, f"{WIDE} {PROMISE} --ledger ledger --quiet")


@pytest.fixture
def published(loads: None, made_of_loads: Path) -> None:
    copied(made_of_loads)


@pytest.mark.usefixtures("published")
def test_the_judges_take_series(cli: Cli) -> None:
    assert cli("verify out").out.startswith("holds: `out`, as far as a recipient can see")
    assert cli("verify out --ledger ledger").out.startswith("holds: `out`, by following every series, ")
    told = json.loads(cli("measure out --ledger ledger --json").out)
    assert told["value_loss"] > 0
    assert "1. " in cli("measure out --ledger ledger").out
    said = cli("attack out --ledger ledger --values 2 --tolerance 0.01 --pattern")
    assert said.code == 0, said.err
    assert "An outsider knows" in said.out
    assert 0 < json.loads(cli("attack out --ledger ledger --json").out)["after"]["worst"] <= 1 / 3


QUESTIONS = {
    "all": ("--range h00=:", "60 series exactly"),
    "none": ("--range h00=1000:", "0 series exactly"),
    "some": ("--range h00..h02=0.1:0.4", " series, between "),
    "difference": ("--difference h00,h03=:0", " series, between "),
    "slope": ("--features slope --difference slope=0:", " series, between "),
    "expression": ("--expression '`h00` - h03=:0.1' --expression 'h00/h03=0.2:'", " series, between "),
    "expression and range": ("--expression 'h00 * 0=0:0' --range h00=:", "60 series exactly"),
    "expression and shape": ("--expression h00=: --like 1,2,3,4,5,6 --tolerance 2", " series"),
    "warped": ("--like 1,2,3,4,5,6 --tolerance 0.5 --distance dtw", " series, between "),
    "like": ("--like 1,2,3,4,5,6 --tolerance 0.3", " series, between "),
    "like a file": ("--like shape.txt --tolerance 0.3", " series, between "),
    "combined": ("--range h05=0: --like 1,2,3,4,5,6 --tolerance 2", " series"),
}


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.usefixtures("published")
def test_questions(cli: Cli, name: str) -> None:
    options, text = QUESTIONS[name]
    Path("shape.txt").write_text("1 2\n3,4;5\n6\n")
    said = cli(f"query out {options}")
    assert said.code == 0, said.err
    assert text in said.out
    told = json.loads(cli(f"query out {options} --json").out)
    assert 0 <= told["low"] <= told["value"] <= told["high"] <= 60


BAD_QUESTIONS = {
    "nothing": ("", "nothing is asked"),
    "no number": (f"--range h00={MARK}:", "`ranges` is not of the form"),
    "no colon": ("--range h00=1", "`ranges` is not of the form"),
    "no name": ("--range 1:2", "`ranges` is not of the form"),
    "twice": ("--range h00..h02=1: --range h01=:2", "`ranges` asks for the same thing twice"),
    "expression twice": (
        "--expression h00=1: --expression h00=:2",
        "`expression` asks for the same thing twice",
    ),
    "no instant": ("--range h99=1:2", "no instant `h99`"),
    "no range": ("--range h00..h99=1:2", "no column `h99`"),
    "backwards": ("--range h00=2:1", "ends before it starts"),
    "no expression": ("--expression 'h00 -=1:'", "`h00 -` is not an expression"),
    "no instant in it": ("--expression 'h00 - h99=1:'", "`h99` in `h00 - h99` is not an instant"),
    "a call": ("--expression 'exit(h00)=1:'", "`exit(h00)` is not arithmetic of instants"),
    "distance": ("--like 1,2,3,4,5,6 --tolerance 1 --distance far", "no distance called `far`"),
    "distance alone": ("--distance dtw", "`distance` is set without `like`"),
    "no pair": ("--difference h00=1:2", ""),
    "no tolerance": ("--like 1,2,3,4,5,6", "`like` needs `tolerance`"),
    "tolerance alone": ("--tolerance 0.1", "`tolerance` is set without `like`"),
    "too few": ("--like 1,2,3 --tolerance 0.1", ""),
    "no file": (f"--like {MARK}.txt --tolerance 0.1", "neither numbers nor a file"),
    "no numbers": ("--like wide.csv --tolerance 0.1", "`wide.csv` does not hold numbers"),
    "both shapes": (
        "--like 1,2,3,4,5,6 --tolerance 0.1 --difference h00,h01=0:",
        "both `difference` and `like`",
    ),
    "features": ("--features nose --difference h00,h01=0:", "`nose`"),
    "window": (
        "--between 2024-01-01 2024-02-01",
        "`--between` applies to releases of events or a stream only",
    ),
    "where": ("--where tariff=night", "the release has no column `tariff`"),
    "any": ("--any", "`--any` applies to releases of events or a stream only"),
}


@pytest.mark.parametrize("name", BAD_QUESTIONS)
@pytest.mark.usefixtures("published")
def test_bad_questions(cli: Cli, name: str) -> None:
    options, message = BAD_QUESTIONS[name]
    said = cli(f"query out {options}")
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert "\n\nhint: " in said.err
    assert MARK not in said.err


def test_rows_are_not_asked_about_series(cli: Cli, here: Path) -> None:
    roles = "--respondent who --time day --quasi zip --sensitive result"
    assert cli(f"generalize-time visits.csv --out times {roles} --k 2 --quiet").code == 0
    said = cli("query times --range zip=1:2")
    assert said.code == 2
    assert "`--range` applies to releases of series only" in said.err
    assert cli("plot times --out p.svg").code == 2


@pytest.mark.usefixtures("published")
def test_a_picture(cli: Cli) -> None:
    said = cli("plot out --out overview.svg")
    assert (said.code, said.out, said.err) == (0, "overview.svg: drawn\n", "")
    assert "PRIVATE" not in Path("overview.svg").read_text()
    said = cli("plot out --group 2 --ledger ledger --out mine.svg")
    assert said.err == "`mine.svg` shows original series: keep it to yourself.\n"
    assert "PRIVATE" in Path("mine.svg").read_text()
    assert stat.S_IMODE(Path("mine.svg").stat().st_mode) == 0o600
    for line, message in (
        ("plot out --out mine.svg", "exists already"),
        ("plot out --out out/p.svg", "which is published"),
        ("plot out --group 999 --out p.svg", "there is no group 999"),
        ("plot nowhere --out p.svg", "nowhere"),
    ):
        said = cli(line)
        assert (said.code, said.out) == (2, ""), line
        assert message in said.err
    assert "p.svg" not in names()


def test_no_value_is_told(cli: Cli) -> None:
    wide()
    run = f"{BAD_WIDE} {SOME} --ledger ledger"
    for line in (
        *(run, "verify out --ledger ledger", "measure out --ledger ledger"),
        *("attack out --ledger ledger --values 2", "query out --range q1=0:1", "plot out --out p.svg"),
    ):
        said = cli(line)
        assert said.code == 0, said.err
        assert MARK not in said.out + said.err
        assert "7187" not in said.out + said.err


def test_a_release_that_breaks_its_promise_is_not_written(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from timeveil.domain.judgement import Verdict, Violation

    broken = Verdict("with ledger", ("a check",), (Violation("group-size", "1 group is too small"),))
    monkeypatch.setattr("timeveil.jobs.publish.verify", lambda *_: broken)
    said = cli(f"{WIDE} {PROMISE} --ledger ledger")
    assert said.code == 1
    assert "1 group is too small" in said.out
    assert names() == FILES


def test_an_interrupt_in_the_middle_leaves_nothing(here: Path) -> None:
    """The method itself is interrupted: the signal comes when it first tells how far it is."""
    program = (
        "import os, signal, sys, timeveil.models.series.method\nfrom timeveil.cli import main\n"
        "module = sys.modules['timeveil.models.series.method']\n"
        "real = module.anonymize_series\n"
        "def interrupted(*given, progress, **more):\n"
        "    def tell(doing, share, /):\n"
        "        if share > 0:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "        progress(doing, share)\n"
        "    return real(*given, progress=tell, **more)\n"
        "module.anonymize_series = interrupted\n"
        f"main({shlex.split(f'{WIDE} {PROMISE} --ledger ledger')!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted; nothing was written\n")
    assert names() == FILES


@pytest.mark.parametrize(
    ("method", "phase"), [("adaptive --effort 500", "swapping by shape"), ("kapra", "forming groups")]
)
def test_a_signal_from_outside_while_the_method_runs_leaves_nothing(
    here: Path, method: str, phase: str
) -> None:
    """Another process sends it, whatever the method does at that moment; it ends soon and writes nothing."""
    pq.write_table(uniform(rows=25_000, instants=8, seed=1), "many.parquet")
    line = (
        "anonymize-series many.parquet --out out --series q01..q08 --sensitive s --drop record --k 10 --p 5"
    )
    program = (
        "import sys, timeveil.models.series.method\nfrom timeveil.cli import main\n"
        "module = sys.modules['timeveil.models.series.method']\n"
        "real = module.anonymize_series\n"
        "def told(*given, progress, **more):\n"
        "    def tell(doing, share, /):\n"
        f"        if doing == {phase!r}:\n"
        "            print('there', file=sys.stderr, flush=True)\n"
        "        progress(doing, share)\n"
        "    return real(*given, progress=tell, **more)\n"
        "module.anonymize_series = told\n"
        f"main({shlex.split(f'{line} --method {method}')!r})\n"
    )
    before = names()
    started = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert started.stderr is not None
    watch = threading.Timer(120, started.kill)  # a method that never gets to the phase must not hang the test
    watch.start()
    assert started.stderr.readline() == "there\n"
    watch.cancel()
    begin = time.monotonic()
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out) == (130, "")
    assert err.replace("there\n", "") == "interrupted; nothing was written\n"
    assert names() == before
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("end", ["nan", "1e400", "inf"])
@pytest.mark.usefixtures("published")
def test_an_end_of_a_range_is_a_finite_number(cli: Cli, end: str) -> None:
    said = cli(f"query out --range h03={end}:")
    assert said.code == 2
    assert said.err == (
        "error: `ranges` is not of the form NAME=LOW:HIGH with finite numbers\n\n"
        "hint: write --range h08=0.2:0.5; a side left empty is open\n"
    )


@pytest.mark.usefixtures("published")
def test_the_picture_of_an_attack_on_series(cli: Cli) -> None:
    assert cli("attack out --ledger ledger --values 3 --picture attack.svg").code == 0
    assert ET.parse("attack.svg").getroot().tag.endswith("svg")  # noqa: S314
    assert "P = 3" in Path("attack.svg").read_text(encoding="utf-8")


@pytest.mark.usefixtures("published")
def test_an_attack_on_series_takes_the_pattern_as_known_and_asks_for_the_ledger(cli: Cli) -> None:
    assert "of all instants and the pattern" in cli("attack out --ledger ledger").out
    assert "the pattern" not in cli("attack out --ledger ledger --values 3").out.split("->")[0]
    assert "visits" not in cli("attack out").err
    assert "loads.ledger" in cli("attack --help").out


def test_means_are_published_queried_and_refused_for_small_groups(cli: Cli) -> None:
    said = cli(f"{WIDE} {PROMISE} --means")
    assert said.code == 0, said.err
    release = open_release(Path("out"))
    assert release.manifest["parameters"]["means"] is True
    assert {"h00_lo", "h00_hi", "h00_mean"} <= set(release.table.column_names)
    assert "Means of groups are rounded" in said.out
    assert "n + 1 steps" in Path("out/README.txt").read_text()
    asked = cli("query out --mean h00 --json")
    answer = json.loads(asked.out)
    assert answer["low"] <= answer["value"] <= answer["high"]
    assert answer["of"] == "published"
    assert cli("query out --mean h00 --range h00=0:1").code == 2
    assert cli("query out --mean nothing").code == 2
    refused = cli(f"{WIDE.replace('--out out', '--out two')} --k 3 --p 2 --means")
    assert refused.code == 2
    assert "means need k of at least 4" in refused.err
    assert not Path("two").exists()
