"""How a stream in service is doing, and what watches and stops it: Prometheus, log lines as JSON, signals.

A status is private, because it reveals how much was withheld. The numbers for Prometheus say how the service
does and not what it withholds: so anyone on this machine may read them, on the loopback address only.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

from timeveil.domain.judgement import PlainData
from timeveil.domain.wording import counted
from timeveil.errors import BundleError, ParameterError, TimeveilError, raising
from timeveil.folder.opening import stream_folder
from timeveil.page.wording import share
from timeveil.reading.files import translate_os_errors
from timeveil.service.state_file import StateFile, StreamRecord, now

MUCH_WITHHELD = 0.01
MUCH_REPEATED = 0.25
EVERY = 10.0  # seconds between two times that the file is written
_ENDING = ".prom"


@dataclass(slots=True)
class Tally(PlainData):
    """What one run did, in numbers.

    `left` files may still be written and wait for the next run. `unmoved` files are bad, and could not be
    moved to quarantine. Of a broker, `records` were taken and `rejected` ones put into quarantine.
    """

    taken: int = 0
    already_taken: int = 0
    copies: int = 0
    quarantined: int = 0
    unmoved: int = 0
    changed: int = 0
    left: int = 0
    not_snapshots: int = 0
    published: int = 0
    found_published: int = 0
    held: int = 0
    records: int | None = None
    rejected: int = 0
    closed: bool = False

    @property
    def clean(self) -> bool:
        return not (self.quarantined or self.unmoved or self.changed or self.held or self.rejected)


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """One stream. `folder` is where it is published, "" where no column separates streams.

    `lag` is how many slots have arrived and are not in their folder yet: those of the window, and those that
    are final and wait to be written. `withheld_share` is of the records that were dealt with,
    `recent_withheld_share` of those since before the last `recent_slots`. `repeated` records are of a person
    who has another one in the same slot.
    """

    folder: str
    slots_published: int
    slots_in_window: int
    lag: int
    last_slot: str | int | None
    last_published: str | None
    rows_read: int
    rows_published: int
    rows_waiting: int
    withheld: int
    moved: int
    late: int
    values: int
    withheld_share: float
    repeated: int
    recent_slots: int
    recent_withheld_share: float


@dataclass(frozen=True, slots=True)
class Status(PlainData):
    """A state file in numbers; `source` and `feed` are of a broker that records come from.

    Of the feed, `records` came, `rejected` ones are in quarantine, `held` ones are of open slots, and
    `behind` messages had not been read when it was last asked.
    """

    parameters: dict[str, Any]
    closed: bool
    files_taken: int
    files_copies: int
    files_changed: int
    files_quarantined: int
    slots_to_write: int
    slots_held: int
    last_error: dict[str, Any] | None
    source: str | None
    feed: dict[str, Any] | None
    streams: tuple[StreamStatus, ...]

    @property
    def warnings(self) -> list[str]:
        """What an operator should look into."""
        l, warnings = self.parameters["l"], []
        if self.slots_held:
            few = max(stream.values for stream in self.streams if stream.values < l)
            warnings.append(
                f"{counted(self.slots_held, 'slot')} held back: fewer than {l} different values have arrived "
                f"({few} at most), so none could have a record. If no others exist, l is too large."
            )
        repeating = [each for each in self.streams if each.repeated > MUCH_REPEATED * each.rows_read]
        if repeating:
            most = max(stream.repeated / stream.rows_read for stream in repeating)
            streams = counted(len(repeating), "stream")
            warnings.append(
                f"up to {share(most)} of the records of {streams} are of people who have another one in the "
                "same slot. A slot shows each person once, so most of these will be withheld. Provide one "
                "record per person and slot."
            )
        much = [stream for stream in self.streams if stream.recent_withheld_share > MUCH_WITHHELD]
        if much:
            worst = max(much, key=lambda stream: stream.recent_withheld_share)
            records = f"{share(worst.recent_withheld_share)} of the records"
            warnings.append(
                f"{counted(len(much), 'stream')} withheld up to {records} of the last "
                f"{counted(worst.recent_slots, 'slot')}. Final slots cannot be taken back. A value is held "
                f"by more than 1 in {l}, fewer than {l} values occur, people have several records in a slot, "
                "or the window is too small for how unevenly values arrive."
            )
        return warnings


def status(state: Path) -> Status:
    """Read a state file; a publisher may be using it."""
    if not state.is_file():
        hint = "name the {state} file of `publish-stream`"
        raise BundleError(f"there is no state file `{state.name}`", hint=hint, code="file-missing")
    with closing(StateFile(state)) as file:
        return status_of(file)


def status_of(file: StateFile) -> Status:
    """The status of the stream in an open state file."""
    parameters, outcomes = file.meta("parameters"), file.outcomes()
    several = parameters["stream_by"] is not None
    waiting, records = file.pending_by_stream(), file.streams()
    short = set() if file.meta("closed") else {r.id for r in records if r.facts["values"] < parameters["l"]}
    return Status(
        parameters=parameters,
        closed=file.meta("closed"),
        files_taken=outcomes.get("taken", 0) + outcomes.get("changed", 0),
        files_copies=outcomes.get("copy", 0),
        files_changed=outcomes.get("changed", 0),
        files_quarantined=outcomes.get("bad", 0),
        slots_to_write=sum(waiting.values()),
        slots_held=sum(slots for stream, slots in waiting.items() if stream in short),
        last_error=file.meta("last_error"),
        source=file.meta("source"),
        feed=file.meta("feed"),
        streams=tuple(_stream(record, waiting.get(record.id, 0), several=several) for record in records),
    )


def _stream(record: StreamRecord, waiting: int, *, several: bool) -> StreamStatus:
    facts, settled = record.facts, record.facts["withheld"] + record.facts["published"]
    recent = facts.get("recent_withheld", 0) + facts.get("recent_published", 0)
    same = ("slots_in_window", "last_slot", "rows_read", "withheld", "moved", "late", "values")
    return StreamStatus(
        folder=stream_folder(record.name) if several else "",
        slots_published=record.published,
        lag=facts["slots_in_window"] + waiting,
        last_published=record.last_published,
        rows_published=facts["published"],
        rows_waiting=facts["waiting"],
        withheld_share=facts["withheld"] / max(settled, 1),
        repeated=facts.get("repeated", 0),  # not in a state file of an earlier version
        recent_slots=facts.get("recent_slots", 0),
        recent_withheld_share=facts.get("recent_withheld", 0) / max(recent, 1),
        **{name: facts[name] for name in same},
    )


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

    def write() -> None:
        # The file is replaced as a whole, so that nobody reads half of it.
        text, hidden = metrics_text(status(state)), path.with_name(f".{path.name}.partial")
        with translate_os_errors(path.name):
            hidden.write_text(text, "utf-8")
            hidden.replace(path)

    def write_often() -> None:
        while not stop.wait(EVERY):
            with suppress(TimeveilError):  # what is wrong with it, the service itself says
                write()

    thread = threading.Thread(target=write_often, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(EVERY)
        with suppress(BundleError):  # where there is no state file, nothing was done
            write()


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
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


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
