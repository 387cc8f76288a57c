"""What SQLite says when it fails, in our words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from timeveil.errors import BundleError
from timeveil.folder.trouble import write_error

RECOVERY = "`Run a stream in service` of the documentation"


@contextmanager
def sqlite_plainly(name: str) -> Iterator[None]:
    """Turn errors of SQLite, whose text could carry data, into ours."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as cause:
        number = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    else:
        return
    raise _error(name, number)


def damaged(name: str) -> BundleError:
    """The file is not a state file, or not a whole one."""
    return BundleError(
        f"`{name}` is damaged, or is no state file of this version",
        hint=f"leave it as it is and follow `Recover` in {RECOVERY}; nothing was published",
        code="state-damaged",
    )


def _error(name: str, number: int) -> BundleError:
    if number == sqlite3.SQLITE_FULL:
        return BundleError(
            f"the disk is full: `{name}` was not changed",
            hint="make room and start again; it goes on where it was",
            code="disk-full",
        )
    if number in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return BundleError(
            f"no permission to read and write `{name}` and to make files beside it",
            hint="keep it in a folder of your own",
            code="no-permission",
        )
    if number in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BundleError(
            f"`{name}` is held by another program",
            hint="stop that one first, or give this stream a state file of its own",
            code="state-locked",
        )
    if number == sqlite3.SQLITE_IOERR:
        return BundleError(
            f"`{name}` could not be read or written",
            hint="see that the disk is there, sound and not full, and start again; it goes on where it was",
            code="not-written",
        )
    return damaged(name)


@contextmanager
def said_plainly(name: str) -> Iterator[None]:
    """Turn errors of the operating system, which name files and no data, into ours."""
    try:
        yield
    except OSError as cause:
        raise write_error(name, cause.errno) from None
