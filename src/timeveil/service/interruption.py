"""How a run ends before its time: stopped by a signal, or killed."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

CRASH_AT = "TIMEVEIL_CRASH_AT"
"""Number of the step boundary at which to be killed; set by tests of crash safety and by nothing else."""

_passed = 0


def boundary() -> None:
    """A point between two steps. Every step boundary of a run passes here."""
    global _passed  # noqa: PLW0603 counts over the life of the process
    crash_at = os.environ.get(CRASH_AT)
    if crash_at is None:
        return
    _passed += 1
    if _passed == int(crash_at):
        os.kill(os.getpid(), signal.SIGKILL)


class Stop:
    """Whether a run was asked to stop; `wait` ends at once when it is."""

    def __init__(self) -> None:
        self.requested = False
        self._read, self._write = os.pipe()

    def request(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Stop after the current step. May be called by a signal."""
        if not self.requested:
            self.requested = True
            os.write(self._write, b".")

    def wait(self, seconds: float) -> None:
        """Sleep, unless a stop is requested."""
        if not self.requested:
            select.select([self._read], [], [], seconds)

    def close(self) -> None:
        """Release the pipe."""
        os.close(self._read)
        os.close(self._write)


@contextmanager
def stopped_by_signals() -> Iterator[Stop]:
    """A `Stop` that SIGTERM and SIGINT request."""
    stop = Stop()
    before = {number: signal.signal(number, stop.request) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop.close()
