"""Streams in service: snapshots or records in, a folder or a message per slot out, whatever happens between.

    inbox, broker -> one transaction (state, position, slots to publish) -> slots -> marked as published

A slot is stored in the state file in the same transaction as the state that made it final, then written to
its folder, then marked. A run that starts after a crash first writes what was stored and not marked.
"""

import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.run import Run
from timeveil.domain.wording import Progress, counted, silent
from timeveil.errors import ParameterError
from timeveil.models.stream.parameters import ServiceParameters
from timeveil.reading.database import is_address
from timeveil.service.feed import FeedService
from timeveil.service.parameters import Parameters
from timeveil.service.ports import MessageSink, is_broker, open_port
from timeveil.service.running import Service
from timeveil.service.status import Status, Stop, Tally, as_lines, errors_logged, observed, status

__all__ = ["Parameters", "Service", "Status", "Tally", "is_service", "serve", "status", "tally_text"]

POLL = 5.0  # seconds between two looks at the inbox


def is_service(run: Run) -> bool:
    """Whether an inbox is worked on; options that belong to the other way of publishing are refused."""
    if run.model != "stream":
        return False
    # A table of a database is published at once, unless a state file says that it grows.
    from_broker = is_broker(run.source) and not (is_address(run.source) and "state" not in run.service)
    if not from_broker and not Path(run.source).is_dir():
        for name in run.service:
            message = f"`{name}` applies to an inbox folder or a broker, and IN is neither"
            hint = f"name that folder, or leave {{{name}}} out to publish one table at once"
            raise ParameterError(message, hint=hint)
        if is_broker(run.out) and not is_address(run.out):
            message = "only a stream in service publishes to a broker"
            raise ParameterError(message, hint="name a folder with {out}")
        return False
    if "state" not in run.service:
        hint = 'name a private state file: {state="stream.db"}'
        raise ParameterError("IN is a folder or a broker, and `state` is missing", hint=hint)
    name, kind = ("settle", "an inbox") if from_broker else ("close_after", "a broker")
    if name in run.service:
        message = f"`{name}` applies to {kind}, which IN is not"
        raise ParameterError(message, hint=f"leave {{{name}}} out")
    if run.ledger is not None:
        message = "a stream in service has no ledger; its state file is what is private"
        raise ParameterError(message, hint="leave {ledger} out")
    if run.values.get("after"):
        message = "`after` applies to a table that is published at once, not to a stream in service"
        raise ParameterError(message, hint="leave {after} out: the state file has what was published before")
    for name in ("dry_run", "overwrite"):
        if getattr(run, name):
            message = f"`{name}` does not apply to a stream in service, which adds a folder for each slot"
            raise ParameterError(message, hint=f"leave {{{name}}} out, or name a table instead of an inbox")
    return True


def serve(
    run: Run,
    say: Callable[[str], None],
    note: Callable[..., None] = lambda *_: None,
    progress: Progress = silent,
) -> Tally:
    """Take the files of the inbox, publish every slot that becomes final, and say what was done.

    `note` is called with the path of each slot before it is written, `progress` with each file unless the
    inbox is followed, which has no end.
    """
    options = ServiceParameters(**run.service)
    run.table(**run.values)  # checks them
    values = {name: value for name, value in run.values.items() if name != "seed"}
    parameters = Parameters(run.roles, values, options.stream_by, run.format)  # type: ignore[arg-type]  # a stream has roles
    state, several = Path(run.service["state"]), options.stream_by is not None
    out = MessageSink(run.out, several=several) if is_broker(run.out) else Path(run.out)
    log = as_lines(say) if options.log_json else say
    more: Any = {"max_gap": options.max_gap, "settle": options.settle, "seed": run.values.get("seed")}
    more |= {"say": log, "note": note, "progress": silent if options.follow else progress}

    def opened() -> Service:
        if not is_broker(run.source):
            return Service(Path(run.source), out, state, parameters, **more)
        source, grace = open_port(run.source, "Records"), options.close_after or 0
        return FeedService(source, run.source, out, state, parameters, close_after=grace, **more)

    logging = errors_logged(log) if options.log_json else nullcontext()
    with logging, observed(state, options.metrics), opened() as service:
        gc.freeze()  # what was imported lasts: it is not searched again with every few thousand records
        if options.follow:
            with _stopped_by_signals(Stop()) as stop:
                service.follow(stop, options.poll or POLL)
        else:
            service.run()
        if options.close:
            service.close_streams()
        return service.tally


@contextmanager
def _stopped_by_signals(stop: Stop) -> Iterator[Stop]:
    pa.enable_signal_handlers(False)  # they would end the reading of a file with an error
    before = {number: signal.signal(number, stop.request) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        pa.enable_signal_handlers(True)


def tally_text(tally: Tally) -> str:
    """What a service did, in words."""
    end = ", the stream is closed." if tally.closed else "."
    arrivals = counted(tally.taken, "file") if tally.records is None else counted(tally.records, "record")
    lines = [f"{arrivals} taken, {counted(tally.published, 'slot')} published{end}"]
    files = {
        "already processed": tally.already_taken,
        "identical to one already processed; skipped": tally.copies,
        "moved to quarantine": tally.quarantined,
        "bad, and could not be moved to quarantine": tally.unmoved,
        "changed after being processed": tally.changed,
        "left for the next run": tally.left,
        "neither CSV nor Parquet by name; ignored": tally.not_snapshots,
    }
    slots = {"held back": tally.held, "already published by an earlier run": tally.found_published}
    records = {"put into quarantine": tally.rejected}
    for noun, outcomes in {"file": files, "record": records, "slot": slots}.items():
        lines += [f"{counted(number, noun)} {outcome}." for outcome, number in outcomes.items() if number]
    return "\n".join(lines)
