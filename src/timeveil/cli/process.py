"""The process of a command: the signals that stop it, what it prints, and what it has left on disk.

Compiled code can lose the exception of a signal, or turn it into another one. So the exit code of a signal is
remembered: the command looks at it at its next step, and always before it writes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

from timeveil.errors import EngineError

INTERRUPTED = 130
SIGNALLED = 128
_stop_codes: list[int] = []
_written: list[str] = []


def begin() -> None:
    """A new command has written nothing, and nobody has asked it to stop."""
    _stop_codes.clear()
    _written.clear()


def stop_code() -> int | None:
    """The exit code of the first signal that asked to stop, None if there was none."""
    return _stop_codes[0] if _stop_codes else None


def raise_if_interrupted(*_progress: object) -> None:
    """Stop if a signal asked for it and its exception was lost."""
    code = stop_code()
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code is not None:
        sys.exit(code)


def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """What Ctrl-C does."""
    _stop_codes.append(INTERRUPTED)
    raise KeyboardInterrupt


def terminate(number: int, _frame: FrameType | None) -> NoReturn:
    """Leave by the way that removes temporary files."""
    _stop_codes.append(SIGNALLED + number)
    sys.exit(SIGNALLED + number)


def note_written(*paths: str | Path) -> None:
    """These files or folders are complete; a later message can say so."""
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
    names = [f"`{path}`" for path in _written]
    return f"{' and '.join(names) or 'nothing'} {'were' if len(names) > 1 else 'was'} written"


def to_stdout(text: str) -> None:
    """Print to stdout. Its reader may have left; the rest of the work is done all the same."""
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


def to_stderr(text: str = "") -> None:
    """Print to stderr, if anyone listens."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def flush() -> None:
    """Print what is left before the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard(sys.stdout)
    to_stderr()


def _discard(stream: TextIO) -> None:
    """Let the interpreter's own last flush go nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), stream.fileno())
