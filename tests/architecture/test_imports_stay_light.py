"""Importing timeveil, or asking it for help, loads nothing heavy."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("duckdb", "pandas", "polars", "scipy")
ARRAYS = ("numpy", "pyarrow")
REPORT = f"""
import sys
loaded = sorted({{name.split('.')[0] for name in sys.modules}} & set({(*HEAVY, *ARRAYS)!r}))
sys.stderr.write('loaded: ' + ' '.join(loaded))
"""
HELP = """
import sys
from timeveil.cli import main
for arguments in {lines!r}:
    sys.argv = ['timeveil', *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (arguments, end.code)
"""


def loaded_by(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code + REPORT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stderr.rpartition("loaded: ")[2].split()


def commands() -> list[str]:
    from tests.architecture.commands import command_names

    return command_names()


def test_the_check_sees_a_heavy_import() -> None:
    assert "duckdb" in loaded_by("import duckdb")


def test_import_timeveil() -> None:
    assert loaded_by("import timeveil") == []


@pytest.mark.parametrize("module", ["timeveil.datasets", "timeveil.errors"])
def test_import_of_a_part(module: str) -> None:
    assert set(loaded_by(f"import {module}")) <= set(ARRAYS)


def test_help() -> None:
    assert loaded_by(HELP.format(lines=[["--help"]])) == []


def test_help_makes_the_options_of_no_command() -> None:
    count = "import typer\nmade, option = [], typer.Option\n"
    count += "typer.Option = lambda *names, **rest: made.append(names) or option(*names, **rest)\n"
    expected = "assert len(made) < 10, made\n"
    assert loaded_by(f"{count}{HELP.format(lines=[['--help']])}{expected}") == []


def test_help_of_every_command() -> None:
    assert len(commands()) > 15
    assert loaded_by(HELP.format(lines=[[name, "--help"] for name in commands()])) == []


def test_help_answers_at_once(tmp_path: Path) -> None:
    """In processor time, the best of three; it takes 0.11 s, and twice that on a busy machine."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    times = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "timeveil", "--help"],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    # The first of them compiles everything.
    assert min(times[1:]) <= 0.25
