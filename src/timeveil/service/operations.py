"""What watches and stops a stream in service: numbers for Prometheus, log lines as JSON, and signals.

Numbers say how the service does, not what it withholds, which is private: so anyone on this machine may read
them. The port is on the loopback address only.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType

from timeveil.errors import BundleError, ParameterError, TimeveilError, raising
from timeveil.reading.files import translate_os_errors
from timeveil.service.state_file import now
from timeveil.service.status import Status, status

EVERY = 10.0  # seconds between two times that the file is written
_ENDING = ".prom"


class Stop:
    """Whether a run was asked to stop; `wait` ends at once when it is."""

    def __init__(self) -> None:
        self.requested = False
        # Unlike an event, it can be written to by a signal handler while it is being waited for.
        self._requests: SimpleQueue[None] = SimpleQueue()

    def request(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Stop after the current step. May be called by a signal."""
        self.requested = True
        self._requests.put(None)

    def wait(self, seconds: float) -> None:
        with suppress(Empty):
            self._requests.get(timeout=seconds)


def metrics_text(state: Status) -> str:
    """A status in the text format of Prometheus."""
    feed, lag = state.feed or {}, max((stream.lag for stream in state.streams), default=0)
    published = sum(stream.slots_published for stream in state.streams)
    numbers: dict[str, tuple[str, str, float | None]] = {
        "files_taken_total": ("counter", "Files of the inbox that were taken.", state.files_taken),
        "files_quarantined_total": ("counter", "Files in quarantine.", state.files_quarantined),
        "records_total": ("counter", "Records that came from the broker.", feed.get("records")),
        "records_rejected_total": ("counter", "Records in quarantine.", feed.get("rejected")),
        "records_held": ("gauge", "Records of slots that are still open.", feed.get("held")),
        "messages_behind": ("gauge", "Messages that were not read when last asked.", feed.get("behind")),
        "slots_to_write": ("gauge", "Final slots that are not yet published.", state.slots_to_write),
        "slots_held": ("gauge", "Slots held back for too few values.", state.slots_held),
        "slots_published_total": ("counter", "Slots published.", published),
        "slots_lag": ("gauge", "Most slots of a stream not published.", lag),
        "failing": ("gauge", "1 while the last error lasts.", int(state.last_error is not None)),
        "closed": ("gauge", "1 once the stream is closed.", int(state.closed)),
    }
    lines = []
    for name, (kind, meaning, number) in numbers.items():
        if number is not None:
            lines += [f"# HELP timeveil_{name} {meaning}", f"# TYPE timeveil_{name} {kind}"]
            lines.append(f"timeveil_{name} {number}")
    return "\n".join(lines) + "\n"


@contextmanager
def observed(state: Path, target: str | None) -> Iterator[None]:
    """A block in which the numbers of a state file can be read at a port, or in a file."""
    if target is None:
        yield
        return
    with _file_written(state, Path(target)) if target.endswith(_ENDING) else _served(state, target):
        yield


@contextmanager
def _file_written(state: Path, path: Path) -> Iterator[None]:
    stop = threading.Event()

    def write_often() -> None:
        while not stop.wait(EVERY):
            with suppress(TimeveilError):  # what is wrong with it, the service itself says
                _write(state, path)

    thread = threading.Thread(target=write_often, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(EVERY)
        with suppress(BundleError):  # where there is no state file, nothing was done
            _write(state, path)


def _write(state: Path, path: Path) -> None:
    """Replace the file as a whole, so that nobody reads half of it."""
    text = metrics_text(status(state))
    hidden = path.with_name(f".{path.name}.partial")
    with translate_os_errors(path.name):
        hidden.write_text(text, "utf-8")
        os.replace(hidden, path)  # noqa: PTH105 (the same)


@contextmanager
def _served(state: Path, port: str) -> Iterator[None]:
    class Numbers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                content, code = metrics_text(status(state)).encode(), 200
            except TimeveilError:
                content, code = b"", 503
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Requests are not logged."""

    message = "`metrics` is neither a free port of this machine nor a file that ends in .prom"
    error = ParameterError(message, hint="use another port, such as {metrics=9464}")
    with raising(error, on=(ValueError, OSError, OverflowError)):
        server = ThreadingHTTPServer(("127.0.0.1", int(port)), Numbers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def as_lines(say: Callable[[str], None]) -> Callable[[str], None]:
    """What is said, as one line of JSON with its time and level."""

    def log(text: str) -> None:
        message = text.removeprefix("warning: ")
        line = {"at": now(), "level": "info" if message == text else "warning", "message": message}
        say(json.dumps(line, ensure_ascii=False))

    return log


@contextmanager
def errors_logged(log: Callable[[str], None]) -> Iterator[None]:
    """A block whose error is said, too, before it ends the service."""
    try:
        yield
    except TimeveilError as error:
        log(f"{error.code}: {error.message}")
        raise
