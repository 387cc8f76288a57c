"""What a killed process leaves behind, and how the next one knows that it may be removed.

A process that makes a temporary file or folder holds a lock as long as it lives; the system lets go of it
whatever the process dies of. What is there and can be locked belongs to nobody any more. Where the system has
no such locks, nothing is removed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".held"
"""The file in a temporary folder that is locked while the folder is in use."""


def hold(path: Path) -> int | None:
    """Make a new file for its owner alone and lock it; None if it was swept away in the same moment."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if _lock(handle) is not False and _is_still_there(path, handle):
        return handle
    os.close(handle)
    return None


def sweep(folder: Path, prefix: str) -> None:
    """Remove the files and folders of ours with names of this prefix that no living process holds."""
    if fcntl is None:
        return
    try:
        found = [Path(entry.path) for entry in os.scandir(folder) if entry.name.startswith(prefix)]
    except OSError:
        return
    for path in found:
        _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    is_folder = path.is_dir() and not path.is_symlink()
    try:
        handle = os.open(path / LOCK if is_folder else path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if os.fstat(handle).st_uid == os.getuid() and _lock(handle):
            if is_folder:
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Whether the lock could be had; None if there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_still_there(path: Path, handle: int) -> bool:
    try:
        there, ours = path.stat(), os.fstat(handle)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
