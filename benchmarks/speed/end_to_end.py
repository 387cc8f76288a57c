"""Whole commands as processes, on a generated CSV file, next to a script that does the same work in DuckDB.

The script reads the file, counts distinct people by week, joins the counts to the rows and writes those of
large groups as sorted Parquet. Goals, at 3,000,000 rows: publishing with ledger and verification takes at
most 2 times as long, `verify --ledger` at most 1.5 times, `report` at most 1.5 times as long as publishing,
and the DuckDB engine with a memory limit at most twice as long as the engine in memory. Not all are reached:
`docs/how-to/read-data.md` has what was measured.

The first run of each command is cold as far as a process can be: nothing is imported, files may be cached.
Commands alternate, and the least of the later runs is warm. Seconds of the processor are given as well,
because other work on the machine disturbs them less, and the most memory that the process held.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.csv as pcsv

from benchmarks.generated import events

SCRIPT = """
import duckdb
duckdb.execute("CREATE TABLE events AS SELECT * FROM read_csv('events.csv')")
duckdb.execute('''CREATE TABLE groups AS SELECT zip, sex, date_trunc('week', happened_at) AS week,
    count(DISTINCT person) AS people FROM events GROUP BY ALL''')
duckdb.execute('''COPY (SELECT events.zip, events.sex, week, result FROM events JOIN groups
    ON events.zip = groups.zip AND events.sex = groups.sex AND date_trunc('week', happened_at) = week
    WHERE people >= 5 ORDER BY ALL) TO 'script.parquet' (FORMAT parquet)''')
"""
ROLES = (
    "--respondent person --time happened_at --quasi zip --quasi sex --sensitive result --k 5 --suppress 0.05"
)
COMMANDS = {
    "publish": f"generalize-time events.csv --out published --ledger private.ledger --quiet {ROLES}",
    "publish by DuckDB": "generalize-time events.csv --out by-duckdb --ledger by-duckdb.ledger --quiet "
    f"{ROLES} --engine duckdb --memory-limit 1GB",
    "verify": "verify published",
    "verify --ledger": "verify published --ledger private.ledger",
    "measure": "measure published --ledger private.ledger",
    "attack": "attack published --ledger private.ledger",
    "report": "report published --ledger private.ledger --out report.html",
}
FLOORS = {"publish": ("script", 2.0), "verify --ledger": ("script", 1.5)} | {
    "report": ("publish", 1.5),
    "publish by DuckDB": ("publish", 2.0),
}
"""The most time that a command may take, as a multiple of another's."""


def run(rows: int, repeat: int) -> dict[str, dict[str, float]]:
    """Per command the cold and the least warm seconds, of the clock and of the processor, and its memory."""
    timeveil = [sys.executable, "-m", "timeveil"]
    lines = {"script": [sys.executable, "-c", SCRIPT]}
    lines |= {name: [*timeveil, *command.split()] for name, command in COMMANDS.items()}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in lines}
    with tempfile.TemporaryDirectory(prefix="timeveil-end-to-end-") as folder:
        _make(rows, Path(folder) / "events.csv")
        for _ in range(max(repeat, 1)):
            _clear(Path(folder))
            for name, line in lines.items():
                runs[name].append(_timed(line, folder))
    return {name: _summary(measured) for name, measured in runs.items()}


def _make(rows: int, path: Path) -> None:
    """A tenth as many people as rows over three years, two quasi-identifiers, a result of two digits."""
    table = events(rows, people=max(rows // 10, 1), days=3 * 365, seed=1)
    result = pc.round(table["value"], 1)
    pcsv.write_csv(table.set_column(4, "result", result), path)


def _clear(folder: Path) -> None:
    """Remove what the round before wrote: no command overwrites anything."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "events.csv":
            path.unlink()


def _timed(line: list[str], folder: str) -> dict[str, float]:
    """Seconds and memory of one process; it may store compiled modules, as it would for a user."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    silent: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
    process = subprocess.Popen(line, cwd=folder, env=environment, **silent)  # noqa: S603
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise AssertionError(f"`{' '.join(line[2:4])[:40]}` ended with {process.returncode}")
    return {"wall": seconds, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss / 1024}


def _summary(measured: Sequence[dict[str, float]]) -> dict[str, float]:
    warm = measured[1:] or measured
    return {
        "cold_s": measured[0]["wall"],
        "wall_s": min(m["wall"] for m in warm),
        "cpu_s": min(m["cpu"] for m in warm),
        "peak_mb": max(m["peak"] for m in measured),
    }


def table(rows: int, results: dict[str, dict[str, Any]]) -> str:
    """The numbers as text, with ratios of warm runs and the floors."""
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    lines = [
        f"whole commands on a CSV file of {rows:,} rows, {machine}",
        f"{'':>18} {'cold':>8} {'warm':>8} {'CPU':>8} {'memory':>9}   ratio of the clock, of the CPU",
    ]
    for name, r in results.items():
        base, most = FLOORS.get(name, ("script", None))
        clock, cpu = (r[unit] / results[base][unit] for unit in ("wall_s", "cpu_s"))
        floor = "" if most is None else f" (at most {most:g})"
        seconds = f"{r['cold_s']:>7.1f}s {r['wall_s']:>7.1f}s {r['cpu_s']:>7.1f}s {r['peak_mb']:>6,.0f} MB"
        lines.append(f"{name:>18} {seconds}   {clock:.2f}, {cpu:.2f} of `{base}`{floor}")
    return "\n".join(lines)


if __name__ == "__main__":
    size = int(sys.argv[1]) if sys.argv[1:] else 3_000_000
    print(table(size, run(size, 2)))
