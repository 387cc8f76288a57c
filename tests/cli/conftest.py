"""Run the command line in process, in an empty folder, and look at all that it says."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from timeveil.cli.frame import run

ROLES = "--respondent who --time day --quasi zip --sensitive result"
VISITS = """\
who,day,zip,result
anna,2024-01-01,10,ok
bert,2024-01-02,10,ok
cleo,2024-01-03,10,bad
anna,2024-01-08,10,ok
bert,2024-01-09,10,bad
cleo,2024-01-10,10,ok
dora,2024-01-02,20,ok
emil,2024-01-04,20,ok
fred,2024-01-06,20,ok
dora,2024-01-15,20,ok
dora,2024-01-16,20,ok
emil,2024-01-17,20,bad
"""


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


Cli = Callable[[str], Said]


def names(folder: str = ".") -> list[str]:
    """What is in a folder, hidden files too."""
    return sorted(path.name for path in Path(folder).iterdir())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(VISITS)
    return tmp_path


@pytest.fixture
def cli(here: Path, capfd: pytest.CaptureFixture[str]) -> Cli:
    def call(line: str) -> Said:
        capfd.readouterr()
        code = run(shlex.split(line))
        out, err = capfd.readouterr()
        return Said(code, out, err)

    return call


@pytest.fixture
def published(cli: Cli) -> str:
    """A release and its ledger; the options that name both."""
    said = cli(f"generalize-time visits.csv --out out --ledger ledger {ROLES} --k 2 --quiet")
    assert (said.code, said.out, said.err) == (0, "", "")
    return "out --ledger ledger"
