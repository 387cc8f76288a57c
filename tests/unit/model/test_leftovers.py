"""What a killed process leaves goes with the next one; what a living one uses stays."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile

import pytest

from timeveil.model.leftovers import LOCK, hold, sweep
from timeveil.model.stored import PrivateFolder, private_file

KILLED = """
import os, signal
from timeveil.model.stored import PrivateFolder
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
    another = "from timeveil.model.stored import PrivateFolder; PrivateFolder().close()"
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


def test_a_file_goes_when_nobody_holds_it(tmp_path):
    path = tmp_path / ".x.partial-1"
    handle = hold(path)
    assert handle is not None
    sweep(tmp_path, ".x.partial-")
    assert path.exists()
    os.close(handle)
    sweep(tmp_path, ".y.partial-")
    assert path.exists()
    sweep(tmp_path, ".x.partial-")
    assert not path.exists()
    sweep(tmp_path / "nowhere", ".x")


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
