"""How a run ends before its time: asked to by a signal, or killed."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

CRASH_AT = "TIMEVEIL_CRASH_AT"
"""Number of the step boundary at which to be killed; set by tests of crash safety and by nobody else."""

_passed = 0


def boundary() -> None:
    """A place between two steps. Every step boundary of a run passes here."""
    global _passed  # noqa: PLW0603
    wanted = os.environ.get(CRASH_AT)
    if wanted is None:
        return
    _passed += 1
    if _passed == int(wanted):
        os.kill(os.getpid(), signal.SIGKILL)


class Stop:
    """Whether somebody asked to stop; `wait` ends at once when they do."""

    def __init__(self) -> None:
        self.asked = False
        self._read, self._write = os.pipe()

    def ask(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Ask to stop after the step at hand. May be called by a signal."""
        if not self.asked:
            self.asked = True
            os.write(self._write, b".")

    def wait(self, seconds: float) -> None:
        """Sleep, unless somebody asked to stop."""
        if not self.asked:
            select.select([self._read], [], [], seconds)

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._read)
        os.close(self._write)


@contextmanager
def stopped_by_signals() -> Iterator[Stop]:
    """A `Stop` that SIGTERM and SIGINT ask."""
    stop = Stop()
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop.close()
