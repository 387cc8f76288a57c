"""Commands work where Unix's own modules and habits are missing.

Windows is imitated: there is no `fcntl`, no folder can be opened, and a file that is open can neither be
renamed nor removed. What this process has open is read from /proc, so the imitation needs Linux.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.service import inboxes

from timeveil.datasets import clinic_visits

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are read from /proc")

WINDOWS = """
import errno, os, shutil, signal, sys, types
import duckdb, pyarrow.parquet, scipy.spatial  # what is not ours sees the system as it is
sys.modules.update(dict.fromkeys(("fcntl", "grp", "pwd", "resource", "termios")))
open_file, locks = os.open, {}
for name in ("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fork", "getuid", "geteuid", "fchmod"):
    delattr(os, name)
del signal.SIGHUP, signal.SIGALRM
os.name, shutil._use_fd_functions = "another system", False

def opened(path, flags, mode=0o777, **more):
    if not isinstance(path, int) and os.path.isdir(path):
        raise PermissionError(errno.EACCES, "a folder cannot be opened")
    return open_file(path, flags, mode, **more)

def unless_open(function):
    def guarded(path, *more, **options):
        for number in os.listdir("/proc/self/fd"):
            try:
                held = os.readlink(f"/proc/self/fd/{number}")
            except OSError:
                continue
            if held == os.path.abspath(path) or held.startswith(os.path.abspath(path) + os.sep):
                raise PermissionError(errno.EACCES, f"{held} is open")
        return function(path, *more, **options)
    return guarded

def locking(handle, mode, size):
    path = os.readlink(f"/proc/self/fd/{handle}")
    if locks.get(path, handle) != handle and os.path.exists(f"/proc/self/fd/{locks[path]}"):
        raise PermissionError(errno.EACCES, "locked")
    locks[path] = handle

os.open = opened
for name in ("rename", "replace", "unlink", "remove", "rmdir"):
    setattr(os, name, unless_open(getattr(os, name)))
sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=locking)
"""
RUN = """
from timeveil.cli import run
for line in sys.argv[1:]:
    code = run(line.split())
    if code:
        sys.exit(f"{line}: {code}")
"""


def on_windows(folder: Path, *lines: str) -> str:
    folder.mkdir(exist_ok=True)
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", WINDOWS + RUN, *lines],
        cwd=folder,
        env={"TMPDIR": str(temporary), "TIMEVEIL_DEBUG": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert not list(temporary.iterdir())
    assert not list(folder.rglob(".*"))
    return done.stdout


def test_publish_check_and_report(tmp_path: Path) -> None:
    from pyarrow import csv

    csv.write_csv(clinic_visits(rows=600, seed=1), tmp_path / "visits.csv")
    roles = "--respondent patient --time taken_at --quasi sex --drop-rest --k 3 --suppress 0.05"
    said = on_windows(
        tmp_path,
        f"generalize-time visits.csv --out memory --ledger memory.ledger {roles}",
        f"generalize-time visits.csv --out duckdb --ledger duckdb.ledger --engine duckdb {roles}",
        "verify memory --ledger memory.ledger --rewrite clean",
        "attack duckdb --ledger duckdb.ledger --picture attack.svg",
        "report duckdb --ledger duckdb.ledger --out report.html",
    )
    assert said.count("holds: ") == 1
    data = [(tmp_path / name / "data.parquet").read_bytes() for name in ("memory", "duckdb", "clean")]
    assert data[0] == data[1] == data[2]


def test_a_stream_in_service(tmp_path: Path) -> None:
    inboxes.fill(tmp_path / "inbox", days=6)
    (tmp_path / "inbox" / "2024-02-01.csv").write_text("no,table\n")
    service = f"publish-stream inbox --state stream.db --out published {inboxes.OPTIONS} --allow-loss"
    with pytest.raises(AssertionError, match=": 2"):  # a bad file was put aside
        on_windows(tmp_path, service)
    assert (tmp_path / "inbox" / "quarantine" / "2024-02-01.csv.reason.txt").read_text().count("hint:") == 1
    on_windows(tmp_path, service, "verify published", "stream-status --state stream.db")


def test_one_publisher_at_a_time_on_windows(tmp_path: Path) -> None:
    (tmp_path / "lock.py").write_text(
        f"{WINDOWS}\n"
        "from pathlib import Path\n"
        "from timeveil.errors import BundleError\n"
        "from timeveil.service.state_file import locked\n"
        "state = Path('stream.db')\n"
        "with locked(state):\n"
        "    try:\n"
        "        with locked(state):\n"
        "            sys.exit('locked twice')\n"
        "    except BundleError as error:\n"
        "        assert error.code == 'state-locked'\n"
        "with locked(state):\n"
        "    pass\n"
    )
    subprocess.run([sys.executable, "lock.py"], cwd=tmp_path, check=True, timeout=60)
