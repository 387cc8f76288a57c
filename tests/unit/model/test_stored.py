"""What a killed process leaves goes with the next one; what a living one uses stays."""

from __future__ import annotations

import datetime as dt
import errno
import os
import stat
import subprocess
import sys
import tempfile

import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.domain import stored
from timeveil.domain.stored import LOCK, PrivateFolder, hold, hold_beside, private_file, sweep
from timeveil.engines.duckdb import DuckDBEvents

KILLED = """
import os, signal
from timeveil.domain.stored import PrivateFolder
folder = PrivateFolder()
(folder.path / "rows").write_text("x")
print(folder.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_the_folder_of_a_killed_process_goes_with_the_next_one(temporary):
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True)
    (left,) = temporary.iterdir()
    assert str(left) == done.stdout.strip()
    folder = PrivateFolder()
    assert list(temporary.iterdir()) == [folder.path]
    folder.close()
    assert list(temporary.iterdir()) == []


def test_folders_in_use_stay(temporary):
    folders = [PrivateFolder() for _ in range(3)]
    assert all(folder.path.is_dir() for folder in folders)
    another = "from timeveil.domain.stored import PrivateFolder; PrivateFolder().close()"
    assert subprocess.run([sys.executable, "-c", another]).returncode == 0
    assert {folder.path for folder in folders} == set(temporary.iterdir())


def test_what_is_not_ours_stays(temporary):
    """A folder without a lock, such as that of the demo, and a link to somewhere else."""
    (temporary / "timeveil-demo-x").mkdir()
    other = temporary / "other"
    other.mkdir()
    (other / LOCK).touch()
    (temporary / "timeveil-link").symlink_to(other)
    PrivateFolder().close()
    assert sorted(p.name for p in temporary.iterdir()) == ["other", "timeveil-demo-x", "timeveil-link"]
    assert (other / LOCK).exists()


def test_a_link_in_place_of_the_lock_is_not_followed(temporary):
    """Whoever may write to the folder for temporary files cannot have others' files removed."""
    mine = temporary / "mine"
    mine.touch(0o600)
    folder = temporary / "timeveil-abcdefgh"
    folder.mkdir()
    (folder / LOCK).symlink_to(mine)
    os.mkfifo(temporary / "timeveil-pipe0123")
    sweep(temporary)
    assert (folder / LOCK).is_symlink()
    assert mine.exists()


def test_a_folder_that_was_exchanged_stays(temporary, monkeypatch):
    """Between the look at its lock and its removal, another one was put in its place."""
    folder = temporary / "timeveil-abcdefgh"
    folder.mkdir()
    (folder / LOCK).touch(0o600)
    locked = stored._lock

    def exchange(handle):
        folder.rename(temporary / "moved")
        folder.mkdir()
        (folder / "rows").touch()
        return locked(handle)

    monkeypatch.setattr(stored, "_lock", exchange)
    sweep(temporary)
    assert (folder / "rows").exists()


def test_a_forked_process_leaves_the_folder_alone(temporary):
    program = (
        "import os, sys\nfrom timeveil.domain.stored import PrivateFolder\nfolder = PrivateFolder()\n"
        "child = os.fork()\nif child == 0:\n    sys.exit(0)\nos.waitpid(child, 0)\n"
        "print(folder.path.is_dir())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
    assert list(temporary.iterdir()) == []


def test_a_half_written_file_goes_with_the_next_of_its_name(tmp_path):
    left, handle = hold_beside(tmp_path / "picture.svg", 0o666)
    os.close(handle)
    other, kept = hold_beside(tmp_path / "other.svg")
    again, handle = hold_beside(tmp_path / "picture.svg")
    assert sorted(tmp_path.iterdir()) == sorted([other, again])
    assert left.name.startswith(".picture.svg.partial-")
    os.close(handle)
    os.close(kept)


def test_all_that_duckdb_works_on_is_private(temporary):
    """Files that DuckDB makes itself for what does not fit in memory lie in a folder that lets nobody in."""
    visits = pa.table({"who": ["a", "b"], "day": [dt.date(2024, 1, 1)] * 2})
    relation = tv.read(visits, tv.Roles(respondent="who", time="day"))
    before = os.umask(0)
    try:
        events = DuckDBEvents(relation)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in temporary.rglob("*")}
        events.close()
    finally:
        os.umask(before)
    folder = modes.pop(next(name for name in modes if name.startswith("timeveil-")))
    assert (folder, modes.pop("spill")) == (0o700, 0o700)
    modes.pop("work.duckdb.wal", None)
    assert modes == {LOCK: 0o600, "source.parquet": 0o600, "work.duckdb": 0o600}
    del events
    assert list(temporary.iterdir()) == []


def test_a_file_goes_when_nobody_holds_it(tmp_path):
    path, other = tmp_path / ".x.partial-0123456789abcdef", tmp_path / ".x.partial"
    other.touch()
    handle = hold(path)
    assert handle is not None
    sweep(tmp_path)
    assert path.exists()
    os.close(handle)
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [other]
    sweep(tmp_path / "nowhere")


def test_a_folder_that_could_not_be_removed_goes_with_the_next(temporary, monkeypatch):
    folder = PrivateFolder()
    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", lambda *_, **__: (_ for _ in ()).throw(OSError(errno.EBUSY, "busy")))
        folder.close()
    assert list(folder.path.iterdir()) == []
    PrivateFolder().close()
    assert list(temporary.iterdir()) == []


def test_private_files_are_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        private_file(tmp_path / "rows").close()
        handle = hold(tmp_path / "lock")
    finally:
        os.umask(before)
    assert handle is not None
    os.close(handle)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
