"""Every command where nothing is writable but its output, as in a container with a read-only file system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.csv
from tests.architecture.commands import command_names

import timeveil as tv

VISITS = "--respondent patient --time taken_at --quasi zip --drop-rest"
CASES = "--respondent person --time day --quasi age_band --sensitive diagnosis --drop-rest"
CURVES = "--series h00..h05 --drop-rest"
COMMANDS = {
    f"profile visits.csv {VISITS.removesuffix(' --drop-rest')} --k 3": 1,
    f"generalize-time visits.csv --out OUT/time --ledger OUT/time.l {VISITS} --k 3 --suppress 0.1": 0,
    f"generalize-time visits.csv --out OUT/coarse {VISITS} --k 4 --suppress 0.1": 0,
    f"generalize-time visits.csv --out OUT/duck {VISITS} --k 3 --suppress 0.1 --engine duckdb": 2,
    f"generalize-time visits.csv --out new {VISITS} --k 3 --suppress 0.1": 2,
    f"publish-stream cases.csv --out OUT/stream --ledger OUT/stream.l {CASES} --l 2 --window 3": 0,
    f"publish-stream inbox --out OUT/served --state OUT/s.db {CASES} --l 2 --window 3": 0,
    f"anonymize-series curves.csv --out OUT/series --ledger OUT/series.l {CURVES} --k 4 --p 2": 0,
    "sanitize-patterns OUT/series --out OUT/patterns --ledger OUT/patterns.l --k 3 --min-support 9": 0,
    "stream-status --state OUT/s.db": 0,
    f"explore visits.csv {VISITS} --k 2,3 --suppress 0.1 --picture OUT/explored.svg": 0,
    "verify OUT/time --ledger OUT/time.l --rewrite OUT/clean": 0,
    "verify OUT/time --rewrite clean": 2,
    "measure OUT/time --ledger OUT/time.l": 0,
    "measure OUT/patterns --ledger OUT/patterns.l": 0,
    "attack OUT/time --ledger OUT/time.l --picture OUT/attack.svg": 0,
    "attack OUT/stream --ledger OUT/stream.l": 0,
    "attack OUT/series --ledger OUT/series.l --picture attack.svg": 2,
    "query OUT/time": 0,
    "compare OUT/time OUT/coarse --out OUT/compared.svg": 0,
    "plot OUT/series --out OUT/plot.svg": 0,
    "report OUT/time --ledger OUT/time.l --out OUT/report.html": 0,
    "report OUT/series": 0,
    "run job.toml": 0,
    "schema": 0,
    "granularities --graph OUT/order.svg": 0,
    "shift-dates visits.csv --respondent patient --time taken_at --drop-rest --out OUT/shifted.csv": 0,
    "hierarchy visits.csv --column age --intervals 5 --out OUT/age.csv": 0,
    "hierarchy visits.csv --column age --intervals 5 --out age.csv": 2,
    "suggest visits.csv --out OUT/visits.toml": 0,
    "serve --root nowhere": 2,
    "demo --out OUT/demo": 0,
    "demo": 2,
}
CONTAINER = """
import errno, os, sys, tempfile
from pathlib import Path
from timeveil.cli import run

out, lines = Path(sys.argv[1]).resolve(), sys.argv[2:]
WRITES = ["os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod"]
FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT

def read_only(event, arguments):
    writes = event in WRITES or (event == "open" and (arguments[2] or 0) & FLAGS)
    path = arguments[0] if writes else None
    if isinstance(path, (str, Path)) and path != os.devnull and out not in Path(path).resolve().parents:
        raise OSError(errno.EROFS, "Read-only file system")

tempfile.tempdir = None
sys.addaudithook(read_only)
for line in lines:
    print("\\nexit", run(line.replace("OUT", str(out)).split()), flush=True)
"""


def test_nothing_but_the_output_needs_to_be_writable(tmp_path: Path) -> None:
    assert {line.split()[0] for line in COMMANDS} == set(command_names())
    data, out = tmp_path / "data", tmp_path / "out"
    (data / "inbox").mkdir(parents=True)
    out.mkdir()
    tables = {
        "visits.csv": tv.datasets.clinic_visits(400),
        "cases.csv": tv.datasets.daily_cases(12),
        "inbox/cases.csv": tv.datasets.daily_cases(12),
        "curves.csv": tv.datasets.load_curves(40, instants=6),
    }
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, data / name)
    roles = 'respondent = "patient"\ntime = "taken_at"\nquasi = ["zip"]\ndrop = "rest"\n'
    (data / "job.toml").write_text(
        f'command = "generalize-time"\nin = "visits.csv"\nout = "{out}/job"\n{roles}k = 3\nsuppress = 0.1\n'
    )
    before = sorted(data.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-c", CONTAINER, str(out), *COMMANDS], cwd=data, capture_output=True, text=True
    )
    codes = [int(line.removeprefix("exit ")) for line in done.stdout.split("\n") if line.startswith("exit ")]
    assert dict(zip(COMMANDS, codes, strict=True)) == COMMANDS, done.stderr
    assert done.stderr.count("error: the folder for temporary files cannot be written") == 2  # duckdb, demo
    assert sorted(data.rglob("*")) == before
