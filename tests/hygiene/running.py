"""A folder of marked tables and of what was made of them, and commands run in it that are watched."""

from __future__ import annotations

import logging
import shlex
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.hygiene.canaries import PRIVATE, SEED, TABLES, TOLD, Patterns, cases, leaks, seen, store

from timeveil.cli import run

VISITS = "--respondent who --time when --quasi zip --sensitive ill --drop name --nulls withhold"
CASES = f"{VISITS} --seed {SEED} --l 2 --window 3"
CURVES = "--respondent who --series t0..t5 --fill drop --drop name"
MAKERS = {
    "time": f"generalize-time in/visits.FORM {VISITS} --granularity week --k 3 --suppress 0.05",
    "stream": f"publish-stream in/cases.FORM {CASES}",
    "packets": f"publish-stream in/cases.FORM {CASES} --protect-slot 2 --allow-loss".replace(
        "--l 2", "--l 3"
    ),
    "series": f"anonymize-series in/curves.FORM {CURVES} --keep tariff --k 4 --p 2",
    "patterns": "sanitize-patterns in/baskets.FORM --respondent who --item item --drop name "
    "--k 3 --min-support 9",
}
SERVE = f"publish-stream inbox --state private/s.db --out served {CASES}"
PRIVATE_PLACES = ("in", "inbox", "private", "tmp")


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    def shows(self, patterns: Patterns = TOLD) -> list[str]:
        """Cells in what was said; of those that may be published, too, unless it is told otherwise."""
        return seen((self.out + self.err).encode(), patterns)


Command = Callable[[str], Said]


class House:
    """Where commands run: `in`, `inbox` and `private` stay in the building, all the rest may be seen."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._searched: set[tuple[str, int]] = set()
        for name in PRIVATE_PLACES:
            (root / name).mkdir()
        for name, make in TABLES.items():
            store(make(), root / "in" / f"{name}.csv")
            store(make(numeric=True), root / "in" / f"{name}.parquet")
        for day in range(14):
            store(cases().slice(12 * day, 12), root / "inbox" / f"day-{day:02}.csv")

    def make(self) -> None:
        """A release and a ledger of each model, and a stream in service."""
        for name, line in MAKERS.items():
            places = f"--out {name} --ledger private/{name} --quiet"
            assert run(shlex.split(f"{line.replace('FORM', 'csv')} {places}")) == 0, name
        assert run(shlex.split(f"{SERVE} --quiet")) == 0

    def trouble(self) -> list[str]:
        """What is wrong: private bytes for all to see, private files that others can read, files left."""
        found = [line for path in self._new() for line in leaks(path, PRIVATE)]
        found += [f"{path.name}: left behind" for path in (self.root / "tmp").iterdir()]
        found += [f"{path}: left behind" for path in self.root.rglob("*.partial*")]
        for path in (self.root / "private").iterdir():
            if stat.S_IMODE(path.stat().st_mode) != 0o600:
                found.append(f"{path.name}: others can read it")
        return found

    def _new(self) -> list[Path]:
        """Files that may be seen and were not searched before."""
        files = (path for path in self.root.rglob("*") if path.is_file())
        open_to_all = (path for path in files if path.relative_to(self.root).parts[0] not in PRIVATE_PLACES)
        found = {(str(path), path.stat().st_mtime_ns): path for path in open_to_all}
        new = [path for key, path in found.items() if key not in self._searched]
        self._searched |= found.keys()
        return new


def enter(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in the house, and have temporary files in it."""
    monkeypatch.chdir(house.root)
    monkeypatch.setenv("TMPDIR", str(house.root / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)


def watched(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Command:
    """Run a command line and take down all that it says; a log that shows a cell is an error at once."""

    def call(line: str) -> Said:
        capfd.readouterr()
        with caplog.at_level(logging.DEBUG):
            code = run(shlex.split(line))
        assert seen(caplog.text.encode(), TOLD) == []
        return Said(code, *capfd.readouterr())

    return call
