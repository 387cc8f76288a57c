"""New files and folders: nothing that exists is ever overwritten, and failures are reported in our words."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from timeveil.errors import BundleError, raising

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_EXISTS = (errno.EEXIST, errno.ENOTEMPTY)


def refuse_taken(path: Path) -> None:
    """Refuse a path that exists, or whose parent folder does not."""
    refuse_unnameable(path)
    if os.path.lexists(path):
        raise _exists(path.name)
    if not path.parent.is_dir():
        raise BundleError(
            f"there is no folder `{path.parent.name}` to write `{path.name}` into",
            hint="make that folder first",
            code="folder-missing",
        )


def refuse_unnameable(path: Path) -> None:
    """Refuse a zero byte in a path, which no file system accepts."""
    if "\0" in str(path):
        raise BundleError("a path has a zero byte in it", hint="choose another name", code="folder-missing")


def translate_os_errors(name: str) -> raising:
    """A block in which failures to write, whose text may quote data, become errors of ours."""
    return raising(
        lambda cause: write_error(name, getattr(cause, "errno", None)), on=(OSError, pa.ArrowException)
    )


def write_error(name: str, number: int | None) -> BundleError:
    """The error for something that could not be written, by the operating system's number."""
    if number in _FULL:
        return BundleError(
            f"the disk is full: `{name}` was not written",
            hint="free some space, or write to another disk; nothing was left behind",
            code="disk-full",
        )
    if number in _FORBIDDEN:
        return BundleError(
            f"no permission to write `{name}`", hint="write to a folder of your own", code="no-permission"
        )
    if number in _EXISTS:
        return _exists(name)
    return BundleError(
        f"`{name}` could not be written",
        hint="check that the disk is mounted and healthy",
        code="not-written",
    )


def new_file(path: Path) -> BinaryIO:
    """A new file that everyone may read, open for writing."""
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o644))


def write_file(path: Path, content: bytes) -> None:
    """Write a new file, safe against loss of power."""
    with new_file(path) as file:
        file.write(content)
        sync(file)


def sync(file: BinaryIO) -> None:
    """Make the content of a file safe against loss of power."""
    # First out of Python's buffer, then out of the system's.
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder safe against loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _exists(name: str) -> BundleError:
    return BundleError(
        f"`{name}` exists already", hint="choose another name, or remove it first", code="folder-exists"
    )
