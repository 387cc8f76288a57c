"""Bad input: its exit code, a message with a hint, no traceback, nothing written, and no cell value told."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Cli, Said, names

MARK = "Zk9canary"
YEAR = "1873"
TIMES = [f"{YEAR}-05-{day:02} 04:03:02" for day in range(10, 18)]
RUN = "generalize-time in.csv --out out --respondent who --time when --quasi where --sensitive what"


def columns(**other: list[object]) -> pa.Table:
    plain: dict[str, list[object]] = {
        "who": [f"{MARK}-who-{row}" for row in range(8)],
        "when": list(TIMES),
        "where": [f"{MARK}-where"] * 8,
        "what": [f"{MARK}-what-{row}" for row in range(8)],
    }
    return pa.table({**plain, **other})


def csv(**other: list[object]) -> None:
    pyarrow.csv.write_csv(columns(**other), "in.csv")


def without(name: str) -> None:
    pyarrow.csv.write_csv(columns().drop_columns([name]), "in.csv")


def times(*first: str) -> None:
    csv(when=[*first, *TIMES[len(first) :]])


def truncated() -> None:
    pq.write_table(columns(), "in.parquet", compression="none", use_dictionary=False)
    content = Path("in.parquet").read_bytes()
    Path("in.parquet").write_bytes(content[: len(content) // 2])


def junk() -> None:
    Path("in.csv").write_bytes(bytes(range(256)) * 20 + MARK.encode())


def junk_parquet() -> None:
    Path("in.parquet").write_bytes(MARK.encode() * 50)


def invalid_text() -> None:
    Path("in.csv").write_bytes(f"who,when,where,what\n{MARK},{TIMES[0]},é,{MARK}".encode() + b"\xff\n")


def empty_file() -> None:
    Path("in.csv").write_bytes(b"")


def no_rows() -> None:
    Path("in.csv").write_text("who,when,where,what\n")


def ragged() -> None:
    Path("in.csv").write_text(f"who,when,where,what\n{MARK},{TIMES[0]},{MARK},{MARK},{MARK}\n")


def taken() -> None:
    csv()
    Path("out").mkdir()
    Path("out/mine.txt").write_text("mine")


def piped() -> None:
    Path("in.csv").write_text(f"who|when|where|what\n{MARK}|{TIMES[0]}|{MARK}|{MARK}\n")


PARQUET = RUN.replace("in.csv", "in.parquet")
# what is made, the command line, exit code, what the message says, what the hint says
CASES: dict[str, tuple[Callable[[], None], str, int, str, str]] = {
    "missing file": (lambda: None, f"{RUN} --k 2", 2, "there is no file `in.csv`", "spelling"),
    "truncated Parquet": (truncated, f"{PARQUET} --k 2", 2, "not a Parquet file, or is incomplete", "again"),
    "junk as CSV": (junk, f"{RUN} --k 2", 2, "`in.csv` contains zero bytes", "UTF-8"),
    "junk as Parquet": (junk_parquet, f"{PARQUET} --k 2", 2, "not a Parquet file", "again"),
    "invalid UTF-8": (invalid_text, f"{RUN} --k 2", 2, "`in.csv` is not text in UTF-8", "--encoding cp1252"),
    "empty file": (empty_file, f"{RUN} --k 2", 2, "`in.csv` is empty", "first line"),
    "empty table": (no_rows, f"{RUN} --k 2", 2, "`in.csv` has no rows", "right file"),
    "stated wrongly": (piped, f"{RUN} --k 2 --delimiter comma", 2, "1 column", "is the header missing"),
    "a folder": (
        lambda: None,
        f"{RUN.replace('in.csv', 'none')} --k 2",
        2,
        "there is no file `none`",
        "path",
    ),
    "ragged": (ragged, f"{RUN} --k 2", 2, "data row 1 has 5 cells", "every row"),
    "missing column": (lambda: without("where"), f"{RUN} --k 2", 2, "no column `where`", "did you mean"),
    "unknown column": (lambda: csv(more=[MARK] * 8), f"{RUN} --k 2", 2, "`more` has no role", "--drop"),
    "list of columns": (
        csv,
        f"{RUN.replace('--quasi where --sensitive what', '--quasi where,what')} --k 2",
        2,
        "no column `where,what`",
        "at a time: --quasi where --quasi what",
    ),
    "unparseable time": (
        lambda: times(TIMES[0], MARK),
        f"{RUN} --k 2",
        2,
        "1 value that is not a time, the first in data row 2",
        "",
    ),
    "mixed zones": (
        lambda: times(TIMES[0], f"{TIMES[1]}+02:00"),
        f"{RUN} --k 2",
        2,
        "1 time with an offset and 7 without",
        "",
    ),
    "no zone": (lambda: csv(when=[f"{t}+02:00" for t in TIMES]), f"{RUN} --k 2", 2, "zone", "--zone"),
    "no unit": (lambda: csv(when=list(range(1873, 1881))), f"{RUN} --k 2", 2, "when", "unit"),
    "null time": (
        lambda: csv(when=[None, *TIMES[1:]]),
        f"{RUN} --k 2",
        2,
        "1 null, the first in data row 1",
        "--nulls",
    ),
    "null person": (
        lambda: csv(who=[*(f"{MARK}{row}" for row in range(7)), None]),
        f"{RUN} --k 2",
        2,
        "`who` has 1 null, the first in data row 8",
        "--nulls withhold",
    ),
    "k of 0": (csv, f"{RUN} --k 0", 2, "`k` must be a whole number of at least 2, got 0", "different people"),
    "k of 1": (csv, f"{RUN} --k 1", 2, "got 1", "different people"),
    "k of -3": (csv, f"{RUN} --k -3", 2, "got -3", "different people"),
    "k of a": (csv, f"{RUN} --k a", 2, "`--k` is not a whole number", "--k 5"),
    "no k": (csv, RUN, 2, "`--k` is missing", "--k 5"),
    "k above the people": (csv, f"{RUN} --k 9", 3, "about 8 different people", "well below 8"),
    "unknown granularity": (
        csv,
        f"{RUN} --k 2 --granularity weeek",
        2,
        "`weeek` is not a granularity",
        "`week`",
    ),
    "list of granularities": (
        csv,
        f"{RUN} --k 2 --granularity day,week",
        2,
        "`day,week` is not a granularity",
        "--granularity day --granularity week",
    ),
    "infeasible": (
        lambda: csv(where=[f"{MARK}{row % 3}" for row in range(8)]),
        f"{RUN} --k 5",
        3,
        "best reached: 2",
        "hierarchy",
    ),
    "infeasible by the day": (csv, f"{RUN} --k 2 --granularity day", 3, "8 of 8 rows", "k"),
    "folder exists": (taken, f"{RUN} --k 2", 2, "`out` exists already", "another name"),
    "no folder to write into": (
        csv,
        f"{RUN} --k 2".replace("--out out", "--out no/out"),
        2,
        "no folder `no`",
        "make that folder",
    ),
    "ledger in the release": (csv, f"{RUN} --k 2 --ledger out/ledger", 2, "which is published", "outside"),
    "ledger exists": (csv, f"{RUN} --k 2 --ledger in.csv", 2, "`in.csv` exists already", "another name"),
    "no such format": (csv, f"{RUN} --k 2 --format xlsx", 2, "`format` must be one of", "--format"),
    "no such engine": (csv, f"{RUN} --k 2 --engine hive", 2, "`engine` must be one of", "duckdb"),
    "text file in Spark": (csv, f"{RUN} --k 2 --engine spark", 2, "guesses the types", "DataFrame"),
    "memory limit without DuckDB": (
        csv,
        f"{RUN} --k 2 --memory-limit 1GB",
        2,
        "`memory_limit` applies to the engine duckdb only",
        "--engine duckdb",
    ),
    "suppress of 2": (csv, f"{RUN} --k 2 --suppress 2", 2, "`suppress` must be a number", "0.01"),
    "no such cycle": (csv, f"{RUN} --k 2 --cyclic tide", 2, "`tide` cannot be derived", "weekday"),
    "hierarchy without a column": (csv, f"{RUN} --k 2 --hierarchy x", 2, "needs COLUMN=HOW", "age="),
    "hierarchy of another": (csv, f"{RUN} --k 2 --hierarchy x=suppression", 2, "`x`", "quasi"),
    "intervals of text": (csv, f"{RUN} --k 9 --hierarchy where=intervals:5", 3, "8 different people", ""),
    "no calendar file": (csv, f"{RUN} --k 2 --calendar no.toml", 2, "no file `no.toml`", "spelling"),
    "both drops": (csv, f"{RUN} --k 2 --drop x --drop-rest", 2, "--drop-rest", ""),
}


def assert_in_form(said: Said) -> None:
    assert re.fullmatch(r"error: [^\n]+\n\nhint: [^\n]+\n", said.err), said.err


def assert_no_value(said: str) -> None:
    assert MARK not in said
    assert YEAR not in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", CASES)
def test_bad_input(cli: Cli, here: Path, name: str) -> None:
    make, line, code, message, hint = CASES[name]
    make()
    before = sorted(Path().rglob("*"))
    said = cli(line)
    assert said.code == code
    assert said.out == ""
    assert_in_form(said)
    told, _, advice = said.err.partition("\n\nhint: ")
    assert message in told
    assert hint in advice
    assert_no_value(said.err)
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("name", CASES)
def test_bad_input_as_data(cli: Cli, here: Path, name: str) -> None:
    make, line, code, message, hint = CASES[name]
    make()
    said = cli(f"{line} --json")
    error = json.loads(said.out)["error"]
    assert said.code == code
    assert set(error) == {"code", "message", "hint", "facts"}
    assert message in error["message"]
    assert hint in error["hint"]
    assert said.err == f"error: {error['message']}\n\nhint: {error['hint']}\n"
    assert_no_value(said.out)


def test_profile_of_an_empty_table(cli: Cli, here: Path) -> None:
    no_rows()
    said = cli("profile in.csv --respondent who --time when --k 2")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: `in.csv` has no rows\n\nhint: ")


def test_nobody_in_the_table_gives_an_empty_release(cli: Cli, here: Path) -> None:
    csv(who=[None] * 8)
    said = cli(f"{RUN} --k 2 --nulls withhold --allow-loss")
    assert said.code == 0, said.err
    assert "1. Read 8 rows about 0 people.\n2. No row has both a person and a time" in said.out
    assert "Withheld 8 rows (100 %), all without a person or a time." in said.out
    assert cli("verify out").code == 0


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose parents anyone may pass."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        monkeypatch.chdir(name)
        csv()
        yield Path(name)
        Path(name).chmod(0o755)


def as_nobody(line: str) -> subprocess.CompletedProcess[str]:
    """Root may read and write anything, so do it once to import all, then become somebody else."""
    program = (
        "import os, tempfile\nfrom timeveil.cli import main, run\n"
        f"line, out = {line.split()!r}, {line.split().index('out')}\n"
        "with tempfile.TemporaryDirectory() as name:\n"
        "    os.chmod('in.csv', 0o644)\n"
        "    assert run([*line[:out], name + '/out', *line[out + 1 :], '--quiet']) == 0\n"
        "os.chmod('in.csv', int(os.environ['MODE'], 8))\n"
        "if os.geteuid() == 0:\n    os.seteuid(65534)\n"
        "main(line)\n"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_no_permission_to_write(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODE", "644")
    open_folder.chmod(0o555)
    done = as_nobody(f"{RUN} --k 2")
    assert done.returncode == 2, done.stderr
    assert done.stderr == "error: no permission to write `out`\n\nhint: write to a folder of your own\n"
    assert names() == ["in.csv"]


def test_no_permission_to_read(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODE", "000")
    done = as_nobody(f"{RUN} --k 2")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: no permission to read `in.csv`\n\nhint: ")
    assert names() == ["in.csv"]


def test_disk_full(here: Path) -> None:
    """A limit on the size of files stands for a full disk: the system refuses to write more."""
    rows = 40_000
    table = {
        "who": [f"{MARK}{row}" for row in range(rows)],
        "when": [TIMES[row % 8] for row in range(rows)],
        "where": ["x"] * rows,
        "what": [f"{MARK}-{row * 7919}" for row in range(rows)],
    }
    pyarrow.csv.write_csv(pa.table(table), "in.csv")
    program = (
        "import resource\nfrom timeveil.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        f"main({f'{RUN} --k 2 --ledger ledger'.split()!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    # Ledger and release are written at the same time: either may be the first that does not fit.
    message = "error: the disk is full: `{}` was not written\n\nhint: free some space"
    assert done.stderr.startswith((message.format("ledger"), message.format("out"))), done.stderr
    assert_no_value(done.stderr)
    assert names() == ["in.csv", "visits.csv"]
