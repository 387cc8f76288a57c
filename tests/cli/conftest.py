"""Run the command line in process, in an empty folder, and look at all that it says."""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from timeveil.cli import run

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


def made(folder: Path, line: str) -> Path:
    """The folder in which a command was run, of which tests take copies; it must succeed and say nothing."""
    words = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(words), contextlib.redirect_stderr(words):
        assert (run(shlex.split(line)), words.getvalue()) == (0, "")
    return folder


def copied(folder: Path) -> None:
    """Into the working folder, all that is in another one, with its permissions."""
    shutil.copytree(folder, Path.cwd(), dirs_exist_ok=True)


@pytest.fixture(scope="session")
def made_of_visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("visits")
    (folder / "visits.csv").write_text(VISITS)
    return made(folder, f"generalize-time visits.csv --out out --ledger ledger {ROLES} --k 2 --quiet")


@pytest.fixture
def published(here: Path, made_of_visits: Path) -> str:
    """A release and its ledger; the options that name both."""
    copied(made_of_visits)
    return "out --ledger ledger"
