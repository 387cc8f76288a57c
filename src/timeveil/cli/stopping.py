"""Signals that ask a command to stop are kept in mind, because compiled code may lose what they raise.

While a kernel is loaded or called, the exception of a signal can turn into another one, or into none. So the
command looks again at its next step, and always before it writes.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
SIGNALLED = 128
_asked: list[int] = []


def begin() -> None:
    """Nobody has asked a new command to stop."""
    _asked.clear()


def asked() -> int | None:
    """The exit code of the first signal that asked to stop, None if there was none.

    >>> begin()
    >>> asked() is None
    True
    """
    return _asked[0] if _asked else None


def raise_if_interrupted() -> None:
    """Stop here if that was asked for and got lost."""
    code = asked()
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code is not None:
        sys.exit(code)


def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """What Ctrl-C does."""
    _asked.append(INTERRUPTED)
    raise KeyboardInterrupt


def terminate(number: int, _frame: FrameType | None) -> NoReturn:
    """Leave by the way that removes temporary files."""
    _asked.append(SIGNALLED + number)
    sys.exit(SIGNALLED + number)
