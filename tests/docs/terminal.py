"""What a command of a console session prints, and its exit code, as a terminal would show them.

A line that is nothing but a `timeveil` command runs in this process: starting a new one for each costs more
than most of them do. `tests/cli/test_process.py` has the command as a process of its own.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from timeveil.cli import run

PLAIN = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "PYTHONUTF8": "1"}
FOR_A_SHELL = re.compile(r"[^\w\s.,:=/+%@'\"-]")
SECONDS = 400


def shell(command: str, last_status: int) -> tuple[int, str]:
    """Exit code and output of one command, stdout and stderr as they come; `$?` is the status before."""
    if command.startswith("timeveil ") and not FOR_A_SHELL.search(command):
        return _here(shlex.split(command)[1:])
    return _in_bash(f"(exit {last_status}); {command}")


def _here(arguments: list[str]) -> tuple[int, str]:
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as screen,
        Path(os.devnull).open(encoding="utf-8") as nothing,
        patch.dict(os.environ, PLAIN),
        patch.object(sys, "stdin", nothing),
        redirect_stdout(screen),
        redirect_stderr(screen),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        status = run(arguments)
        screen.seek(0)
        return status, screen.read()


def _in_bash(command: str) -> tuple[int, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **PLAIN, "PATH": path},
        timeout=SECONDS,
    )
    return done.returncode, done.stdout.decode("utf-8")
