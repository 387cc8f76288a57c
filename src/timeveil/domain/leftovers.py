"""What a killed process leaves behind, and how the next one knows that it may be removed.

A process that makes a temporary file or folder holds a lock as long as it lives; the system lets go of it
whatever the process dies of. What is there and can be locked belongs to nobody any more. Where the system has
no such locks, nothing is removed.
"""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import ExitStack
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".held"
"""The file in a temporary folder that is locked while the folder is in use."""


def hold(path: Path, mode: int = 0o600) -> int | None:
    """Make a new file, for its owner alone, and lock it; None if it was swept away in the same moment."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    if _lock(handle) is not False and _is_still(path, handle):
        return handle
    os.close(handle)
    return None


def hold_beside(place: Path, mode: int = 0o600) -> tuple[Path, int]:
    """A new hidden file beside a place, to be given its name once it is whole; those left by others go."""
    prefix = f".{place.name}.partial-"
    sweep(place.parent, prefix)
    handle = None
    while handle is None:
        hidden = place.parent / f"{prefix}{secrets.token_hex(8)}"
        handle = hold(hidden, mode)
    return hidden, handle


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
    """No link is followed, and nothing is removed but the very thing whose lock was to be had."""
    with ExitStack() as handles:
        try:
            if path.is_dir():
                thing = _opened(handles, path, os.O_RDONLY | os.O_DIRECTORY)
                lock = _opened(handles, LOCK, os.O_RDWR, folder=thing)
            else:
                thing = lock = _opened(handles, path, os.O_RDWR | os.O_NONBLOCK)
        except OSError:
            return
        if _is_ours(thing) and _is_ours(lock) and _lock(lock) and _is_still(path, thing):
            if thing == lock:
                path.unlink(missing_ok=True)
            else:
                shutil.rmtree(path, ignore_errors=True)


def _opened(handles: ExitStack, path: Path | str, how: int, folder: int | None = None) -> int:
    handle = os.open(path, how | os.O_NOFOLLOW, dir_fd=folder)
    handles.callback(os.close, handle)
    return handle


def _is_ours(handle: int) -> bool:
    return os.fstat(handle).st_uid == os.getuid()


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


def _is_still(path: Path, handle: int) -> bool:
    try:
        there, ours = path.lstat(), os.fstat(handle)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
