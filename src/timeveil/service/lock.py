"""One publisher at a time for each state file."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from timeveil.errors import BundleError
from timeveil.service.trouble import said_plainly


class Lock:
    """Held from its making to `close`; the operating system lets go of it when the process dies.

    It is a file of its own beside the state file, because closing any handle of a file that SQLite has
    open would take SQLite's own locks away. It lies beside the file that a symbolic link leads to, so that
    one state file has one lock; see `Store` for names that cannot be told from each other.
    """

    def __init__(self, state: Path) -> None:
        state = state.resolve()
        place = state.with_name(f"{state.name}.lock")
        with said_plainly(place.name):
            self._handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
        else:
            return
        raise BundleError(
            f"another publisher is at work on `{state.name}`",
            hint="stop that one first, or give this stream a state file of its own",
            code="state-locked",
        )

    def close(self) -> None:
        """Let the next one in."""
        os.close(self._handle)
