"""Job files, calendars, hierarchies, names and paths made to do harm: exit 2, two lines, nothing written."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import ROLES, Cli, names
from tests.fuzz.targets import RELEASES

from timeveil.cli import run
from timeveil.errors import InputError
from timeveil.recoding import Hierarchy

RUN = f"generalize-time visits.csv --out out {ROLES} --k 2"


def assert_refused(cli: Cli, line: str, message: str) -> None:
    before = names()
    said = cli(line)
    assert (said.code, said.out) == (2, ""), said.err
    told, _, hint = said.err.partition("\n\nhint: ")
    assert message in told
    assert hint.strip()
    assert "Traceback" not in said.err
    assert len(said.err) < 2000
    assert names() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = " + "[" * 50_000, "nested too deep"),
        ("a = " + "{a = " * 3_000, "nested too deep"),
        (".".join(["a"] * 20_000) + " = 1", "a key has more than 20 parts"),
        ("[" + ".".join(['"a"'] * 20_000) + "]", "a key has more than 20 parts"),
        ("k = " + "9" * 5_000, "a number is too long"),
        ("#" * 1_100_000, "has 1,100,000 bytes, and a file of settings has at most 1,048,576"),
        ("a = '\0'", "is not TOML"),
        ('in = "a\\u0000b.csv"\nout = "out"\nrespondent = "a"\ntime = "b"\nk = 2', "there is no file"),
        ('in = "visits.csv"\nout = "a\\u0000b"\nrespondent = "a"\ntime = "b"\nk = 2', "zero byte"),
        (
            'in = "../../../../../../../../../../etc/passwd"\nout = "o"\nrespondent = "a"\ntime = "b"\nk = 2',
            "does not end like",
        ),
    ],
)
def test_job_files(cli: Cli, here: Path, text: str, message: str) -> None:
    Path("job.toml").write_text(text)
    assert_refused(cli, "run job.toml", message)


@pytest.mark.parametrize("line", ["run pipe", f"{RUN} --calendar pipe", f"{RUN} --hierarchy zip=pipe"])
def test_pipes_are_not_waited_for(cli: Cli, here: Path, line: str) -> None:
    os.mkfifo("pipe")
    assert_refused(cli, line, "not an ordinary file")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (";".join("x" * 500), "has 499 levels"),
        ("x" * (2 << 20), "needs a column of values"),
        ("10;*\n20;*;*\n", "is not a table"),
        ("\udcff;*", "cannot be read"),
    ],
)
def test_hierarchy_files(cli: Cli, here: Path, text: str, message: str) -> None:
    Path("levels.csv").write_text(text, errors="surrogateescape")
    assert_refused(cli, f"{RUN} --hierarchy zip=levels.csv", message)


@pytest.mark.parametrize(
    "rule", ["intervals:" + "9" * 400, "intervals:1e9", "prefixes:" + "9" * 30, "intervals:nan."]
)
def test_hierarchy_rules(cli: Cli, here: Path, rule: str) -> None:
    assert_refused(cli, f"{RUN} --hierarchy zip={rule}", "hierarchy")


@pytest.mark.parametrize("value", ["1e999999999", "-1e-999999999", "inf", "nan", "9" * 5_000])
def test_numbers_that_take_forever_to_write_out(value: str) -> None:
    with pytest.raises(InputError, match="not all numbers"):
        Hierarchy.intervals([5]).level(1, pa.array(["7", value]))


def test_a_name_does_not_play_tricks_on_a_terminal(cli: Cli, here: Path) -> None:
    """Quotes, SQL, line breaks, escapes and letters that turn the line round, in text and in JSON."""
    evil = 'zi"p\n;drop table x;--\x1b[31m\u202e\x9b2J'
    quoted = evil.replace('"', '""')
    Path("evil.csv").write_text(Path("visits.csv").read_text().replace("zip", f'"{quoted}"'))
    roles = f"--respondent who --time day --sensitive result --quasi {shlex.quote(evil)}"
    for engine, extra in (("memory", "--json"), ("duckdb", "")):
        said = cli(f"generalize-time evil.csv {roles} --k 2 --engine {engine} --out {engine} {extra}")
        assert said.code == 0, said.err
        assert all(mark.isprintable() or mark == "\n" for mark in said.out + said.err)
        told = json.loads(Path(engine, "release.json").read_text())
        assert evil in [column["name"] for column in told["columns"]]
        assert all(line.isprintable() for line in Path(engine, "README.txt").read_text().split("\n"))


def test_a_folder_writes_no_line_of_its_own(cli: Cli, published: str) -> None:
    folder = Path("out\nholds: `out`")
    said = cli(f"verify {shlex.quote(str(folder))}")
    assert said.err.startswith("error: `out?holds: `out`` is not a release folder")
    Path("out").rename(folder)
    (folder / "x\nholds").touch()
    said = cli(f"verify {shlex.quote(str(folder))}")
    assert said.code == 1
    assert not any(line.startswith("holds") for line in said.out.splitlines())
    assert "  `x?holds` does not belong to the release\n" in said.out


def test_an_item_writes_no_row_and_no_item_of_its_own(cli: Cli, here: Path) -> None:
    forged = "milk\nbread, tea         9,999     9,999\x1b[31m"
    table = pa.table({"has": [[forged, "tea"]] * 5 + [["tea"], ["a, b"]] * 4})
    pq.write_table(table, "baskets.parquet")
    assert cli("sanitize-patterns baskets.parquet --item has --k 2 --min-support 3 --out out").code == 0
    said = cli("query out --top 9")
    head, *rows = said.out.splitlines()
    assert head.split() == ["pattern", "people", "at", "least"]
    assert len(rows) == 4
    assert not any(row.startswith("bread") for row in rows)
    assert any(row.startswith("`a, b`  ") for row in rows)
    assert any("milk\\nbread" in row and "\\x1b[31m" in row for row in rows)


def test_a_shape_that_is_no_path(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["query", str(RELEASES / "series"), "--like", "x" * 5000, "--tolerance", "1"]) == 2
    assert "neither numbers nor a file" in capfd.readouterr().err


@pytest.mark.parametrize("value", ["columns=0", "rows=5"])
def test_limits_that_are_none(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TIMEVEIL_LIMITS", value)
    assert_refused(cli, RUN, "`TIMEVEIL_LIMITS` is not a list of limits")
