"""stdout and stderr: a reader who left is no reason to stop, a full disk is reported.

What a command has written to disk is noted here, so that a later message can state it truly.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from timeveil.errors import EngineError

_written: list[str] = []


def begin() -> None:
    """A new command has written nothing yet."""
    _written.clear()


def note_written(*paths: str | Path) -> None:
    """These files or folders are there now, whole."""
    _written.extend(str(path) for path in paths)


def what_was_written() -> str:
    """What the command left on disk, in words.

    >>> begin()
    >>> what_was_written()
    'nothing was written'
    >>> note_written("published", "visits.ledger")
    >>> what_was_written()
    '`published` and `visits.ledger` were written'
    """
    if not _written:
        return "nothing was written"
    names = [f"`{path}`" for path in _written]
    return f"{' and '.join(names)} {'was' if len(names) == 1 else 'were'} written"


def to_stdout(text: str) -> None:
    """Print to stdout. Whoever reads it may have left; what is left to do is done all the same."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
    except OSError:
        _discard(sys.stdout)
        raise EngineError(
            f"the result could not be printed; {what_was_written()}",
            hint="see that the file or device that stdout goes to can be written and has room",
            code="not-written",
        ) from None


def to_stderr(text: str) -> None:
    """Print to stderr, if anyone listens."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def flush() -> None:
    """Make sure that all was said before the interpreter ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _discard(stream)


def _discard(stream: TextIO) -> None:
    """Let the interpreter's own last flush go nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), stream.fileno())
