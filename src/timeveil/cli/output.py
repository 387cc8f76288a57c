"""Where words go: results to stdout, everything else to stderr, and what was asked for to new files.

Text that came from outside (column and file names) is shown without control characters, so that no file can
play tricks on a terminal. A new file is written completely or not at all, and never over another.

Compiled code can lose the exception of a signal, or turn it into another one. So the exit code of a signal is
remembered: the command looks at it at its next step, and always before it writes.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

import timeveil as tv
from timeveil.domain.wording import Progress, printable
from timeveil.errors import EngineError, TimeveilError

INTERRUPTED = 130
SIGNALLED = 128
_stop_codes: list[int] = []
_written: dict[str, int | None] = {}
"""What is to be written, with the number of the file or folder that was there before."""

PLAIN_WIDTH, NARROWEST = 100, 40
PATIENCE = 1.0  # seconds after which work is long enough for a progress bar

_STYLES = (
    (r"^error:", "bold red"),
    (r"^hint:", "bold cyan"),
    (r"^\S.* -> .*$", "bold"),
    (r"^[A-Z].*:$", "bold"),
    (r"^\d+\.(?= )", "cyan"),
    (r"^  \$ .*$", "green"),
    (r"`[^`\n]+`", "cyan"),
    (r"[█▇]+", "magenta"),
    (r"^(holds|kept):?.*$", "bold green"),
    (r"^(violated|broken):?.*$", "bold red"),
)


@dataclass(kw_only=True)
class Output:
    """How one command speaks."""

    as_json: bool = False
    quiet: bool = False

    @property
    def width(self) -> int:
        """Columns to fill with prose."""
        if not sys.stdout.isatty():
            return PLAIN_WIDTH
        return max(NARROWEST, min(PLAIN_WIDTH, shutil.get_terminal_size().columns))

    def result(self, text: str, data: Any) -> None:
        """The outcome of a command: text, or with `--json` data; with `--quiet` no text."""
        if self.as_json:
            to_stdout(as_json(data))
        elif not self.quiet:
            self.print(text if text.endswith("\n") else text + "\n")

    def print(self, text: str) -> None:
        """Text to stdout, with headings in bold on a terminal."""
        _show(printable(text, other="\n"), sys.stdout)

    def ledger(self, path: str, after: Iterable[str] | None = None) -> tv.Ledger:
        """Open a ledger and those of earlier releases, and warn if others could, too."""
        from timeveil.reading.database import is_address

        ledger = tv.open_ledger(path, after=[self.ledger(earlier) for earlier in after or ()])
        if os.name == "posix" and not is_address(path) and stat.S_IMODE(Path(path).stat().st_mode) & 0o077:
            self.say(
                f"warning: others can read or change the ledger `{path}`; shut them out: chmod 600 {path}"
            )
        return ledger

    def say(self, text: str) -> None:
        """A word on stderr, next to the result."""
        if not self.quiet:
            to_stderr(printable(text, other="\n") + "\n")

    def error(self, error: TimeveilError) -> None:
        """What went wrong and what to do about it."""
        if self.as_json:
            data = {"code": error.code, "message": error.message, "hint": error.hint, "facts": error.facts}
            with suppress(EngineError):
                to_stdout(as_json({"error": data}))
        # Names in it start no line of their own.
        _show(f"error: {printable(error.message)}\n\nhint: {printable(error.hint)}\n", sys.stderr)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """A bar on stderr, if someone is watching and the work takes a while; and a place to be stopped."""
        if self.quiet or not sys.stderr.isatty():
            yield raise_if_interrupted
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        bar = Bar(*columns, console=Console(stderr=True), transient=True)
        task = bar.add_task("starting", total=1.0)
        timer = threading.Timer(PATIENCE, bar.start)
        timer.daemon = True
        timer.start()

        def report(doing: str, share: float, /) -> None:
            raise_if_interrupted()
            bar.update(task, description=doing, completed=share)

        try:
            yield report
        finally:
            timer.cancel()
            timer.join()  # it may be starting the bar at this moment
            if bar.live.is_started:
                bar.stop()


def _show(text: str, stream: TextIO) -> None:
    """Print; on a terminal in colours, put on finished text, so that the words are the same without."""
    if not stream.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb":
        (to_stdout if stream is sys.stdout else to_stderr)(text)
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    for pattern, style in _STYLES:
        styled.highlight_regex(f"(?m){pattern}", style)
    Console(file=stream, highlight=False, soft_wrap=True).print(styled, end="")


def as_json(data: Any) -> str:
    """JSON in which every letter shows; others are written as their number, which means the same."""
    text = json.dumps(data, indent=2, ensure_ascii=False, default=lambda other: type(other).__name__) + "\n"
    if text.isascii():
        return text
    return "".join(m if m.isprintable() or m == "\n" else json.dumps(m)[1:-1] for m in text)


def refuse_file(path: str | None, what: str = "the picture", *, private: bool = False) -> None:
    """Refuse a file before any work is done: one that exists, and one inside of what is published."""
    from timeveil.folder.placing import refuse_inside
    from timeveil.reading.files import refuse_taken

    if path is not None:
        refuse_inside(Path(path), what, private=private)
        refuse_taken(Path(path))


def write_file(path: str, content: str, *, private: bool = False) -> None:
    """Write text to a new file; a private one only its owner may read."""
    from timeveil.domain.stored import hold_beside, rename_held
    from timeveil.reading.files import translate_os_errors

    raise_if_interrupted()
    target = Path(path)
    refuse_file(path, private=private)
    with translate_os_errors(target.name):
        hidden, handle = hold_beside(target, 0o600 if private else 0o666)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(content)
                note_written(target)
                rename_held(hidden, file, target)
        finally:
            hidden.unlink(missing_ok=True)


def begin() -> None:
    """A new command has written nothing, and nobody has asked it to stop."""
    _stop_codes.clear()
    _written.clear()


def stop_code() -> int | None:
    """The exit code of the first signal that asked to stop, None if there was none."""
    return _stop_codes[0] if _stop_codes else None


def raise_if_interrupted(*_progress: object) -> None:
    """Stop if a signal asked for it and its exception was lost."""
    if (code := stop_code()) == INTERRUPTED:
        raise KeyboardInterrupt
    if code is not None:
        sys.exit(code)


def stop(number: int, _frame: FrameType | None) -> None:
    """What a signal does: leave by the way that removes temporary files."""
    _stop_codes.append(SIGNALLED + number)
    raise_if_interrupted()


def note_written(*paths: str | Path) -> None:
    """These files or folders are about to appear or be replaced; a later message says which were."""
    _written.update((str(path), _inode(path)) for path in paths)


def _inode(path: str | Path) -> int | None:
    return Path(path).stat().st_ino if Path(path).exists() else None


def what_was_written() -> str:
    """What the command left on disk, in words: `published` and `visits.ledger` were written."""
    from timeveil.folder.in_store import is_elsewhere

    appeared = (p for p, before in _written.items() if is_elsewhere(p) or _inode(p) not in (None, before))
    names = [f"`{path}`" for path in appeared]
    if len(names) > 3:
        names[1:] = [f"{len(names) - 1:,} more"]
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
        message = f"the result could not be printed; {what_was_written()}"
        hint = "see that the file or device that stdout goes to can be written and has room"
        raise EngineError(message, hint=hint, code="not-written") from None


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
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 (a device, not a path)
        os.dup2(nowhere.fileno(), stream.fileno())
