"""Real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import ROLES, names

PROGRAM = [sys.executable, "-m", "timeveil"]


def run(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=120, **more)  # type: ignore[call-overload,no-any-return]


def test_the_module_runs(here: Path) -> None:
    assert run("--version").stdout.startswith("timeveil ")


def test_the_script_runs(here: Path) -> None:
    script = Path(sys.executable).with_name("timeveil")
    done = subprocess.run([script, "granularities"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "midnight to midnight" in done.stdout


def test_results_and_words_go_different_ways(here: Path) -> None:
    done = run(
        "generalize-time", "visits.csv", "--out", "out", *ROLES.split(), "--k", "2", "--ledger", "ledger"
    )
    assert done.returncode == 0
    assert done.stdout.startswith("visits.csv -> 2-anonymous by time, in `out`\n")
    assert done.stderr == "The ledger `ledger` identifies people: keep it private.\n"


def test_a_reader_who_leaves_changes_nothing(here: Path) -> None:
    line = f"{sys.executable} -m timeveil granularities --json | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.stdout == "{0\n"
    assert done.stderr == ""


def test_an_output_that_knows_no_umlauts(here: Path) -> None:
    Path("häuser.csv").write_text("who,day\na,2024-01-01\nb,2024-01-01\n")
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run("profile", "häuser.csv", "--respondent", "who", "--time", "day", "--k", "2", env=plain)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("h?user.csv -> ")


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        (signal.SIGINT, 130, "interrupted; nothing was written\n"),
        (signal.SIGTERM, 143, ""),
        (signal.SIGHUP, 129, ""),
    ],
)
def test_a_signal_ends_it_and_leaves_nothing(here: Path, number: int, code: int, word: str) -> None:
    """The method is made to wait, with a private folder open, until the signal comes."""
    temporary = here / "tmp"
    temporary.mkdir()
    program = (
        "import signal, sys, time\nimport timeveil.models.events.method\nfrom timeveil.cli import main\n"
        "from timeveil.domain.stored import PrivateFolder\n"
        f"signal.signal({number}, signal.default_int_handler if {number} == 2 else signal.SIG_DFL)\n"
        "def wait(*_, **__):\n"
        "    folder = PrivateFolder()\n"
        "    print('waiting', file=sys.stderr, flush=True)\n"
        "    time.sleep(60)\n"
        "sys.modules['timeveil.models.events.method'].generalize_time = wait\n"
        f"main({['generalize-time', 'visits.csv', '--out', 'out', *ROLES.split(), '--k', '2']!r})\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert started.stderr is not None
    assert started.stderr.readline() == "waiting\n"
    assert names("tmp") != []
    time.sleep(0.1)
    started.send_signal(number)
    out, err = started.communicate(timeout=30)
    assert (started.returncode, out, err) == (code, "", word)
    assert names("tmp") == []
    assert names() == ["tmp", "visits.csv"]


@pytest.mark.parametrize("program", [PROGRAM, [str(Path(sys.executable).with_name("timeveil"))]])
def test_an_interrupt_while_it_is_loading_is_quiet(here: Path, program: list[str]) -> None:
    """A slow import stands for a slow machine."""
    slow = here / "slow"
    slow.mkdir()
    (slow / "typer.py").write_text(
        "import sys, time\nprint('loading', file=sys.stderr, flush=True)\ntime.sleep(60)\n"
    )
    started = subprocess.Popen(
        [*program, "--version"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(slow)},
    )
    assert started.stderr is not None
    assert started.stderr.readline() == "loading\n"
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=30)
    assert (started.returncode, out, err) == (-signal.SIGINT, "", "")


def test_a_program_that_imports_it_keeps_its_interrupts(here: Path) -> None:
    program = "import signal, timeveil; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_release_that_is_written_is_told_even_if_stdout_is_full(here: Path, form: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, "generalize-time", "visits.csv", "--out", "out", *ROLES.split(), "--k", "2", *form],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: the result could not be printed; `out` was written\n\nhint: ")
    assert names("out") == ["README.txt", "data.parquet", "release.json"]


@pytest.mark.parametrize(
    ("name", "expected"), [("timeveil", ["0", "system", "no"]), ("x", ["None", "None", "yes"])]
)
def test_a_command_settles_pages_and_pandas_and_a_library_nothing(name: str, expected: list[str]) -> None:
    """Arrow asks for pandas when it makes an array of a list."""
    settings = ("NUMPY_MADVISE_HUGEPAGE", "ARROW_DEFAULT_MEMORY_POOL")
    program = (
        f"import os, sys; sys.argv = ['{name}']; import timeveil; print(*map(os.environ.get, {settings}))\n"
        "import pyarrow as pa; pa.array(['a']); print('yes' if 'pandas' in sys.modules else 'no')"
    )
    plain = {key: value for key, value in os.environ.items() if key not in settings}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=plain)
    assert done.stdout.split() == expected
