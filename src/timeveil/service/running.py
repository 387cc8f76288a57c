"""A stream in service: take what has arrived, publish what is final, resume where it was.

A run may end before its time, stopped by a signal or killed: every step is repeated entirely or not at all.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from timeveil.domain.stored import sweep
from timeveil.domain.wording import Progress, counted, silent
from timeveil.errors import BundleError, InputError, ParameterError, RolesError, TimeveilError, raising
from timeveil.folder.placing import refuse_inside, refuse_nested
from timeveil.models.stream.method import PublishedSlot, StreamPublisher
from timeveil.service import folders
from timeveil.service.folders import Arrival
from timeveil.service.parameters import Parameters
from timeveil.service.ports import AWAY, MessageSink
from timeveil.service.state_file import FileRecord, StateFile, damaged, locked, make_state_file
from timeveil.service.status import MUCH_REPEATED, Stop, Tally, status_of

USUAL_GAP = 31  # empty slots allowed before a file, unless the window is longer or another number is set
ATTEMPTS, FIRST_DELAY, LONGEST_DELAY = 10, 0.5, 30.0  # of what a broker that is away is asked for
T = TypeVar("T")
SETTLE = 2.0  # seconds without a change after which a file whose last line does not end is complete


def boundary() -> None:
    """A point between two steps, where a crash must do no harm; tests of that put a crash in its place."""


def mismatch(state: StateFile, made_with: str, remedy: str, differ: list[str]) -> ParameterError:
    """A state file was made with something else than it is used with."""
    message, hint = f"`{state.path.name}` was made with {made_with}", f"{remedy} a new {{state}} file"
    facts = {"differ": differ}
    return ParameterError(message, hint=f"{hint} and a new folder", code="state-mismatch", facts=facts)


class Service:
    """One stream, or several separated by a column, with one state file.

    A state file that does not exist is made; one that exists is resumed. `say` gets messages for the
    operator; no cell value is in them. `note` gets the path of each slot before it is written.
    """

    def __init__(
        self,
        inbox: Path | None,
        out: Path | MessageSink,
        state: Path,
        parameters: Parameters,
        *,
        seed: int | None = None,
        max_gap: int | None = None,
        settle: float | None = None,
        say: Callable[[str], None] = lambda _: None,
        note: Callable[[Path], None] = lambda _: None,
        progress: Progress = silent,
    ) -> None:
        parameters.check()
        # The published folder holds nothing private.
        folder = None if isinstance(out, MessageSink) else out
        for noun, path in {"the state file": state, "the inbox": inbox}.items():
            if path is not None:
                refuse_inside(path, noun, out=folder)
        if folder is not None:
            refuse_nested(folder)
        state = state.resolve()
        if not state.parent.is_dir():
            message = f"the folder for `{state.name}` does not exist"
            raise BundleError(message, hint="create it first", code="folder-missing")
        if inbox is not None:
            # Looked at once before anything is made: an inbox that cannot be read stops here.
            folders.arrivals_in(inbox)
        self._inbox, self._parameters, self._say, self._progress = inbox, parameters, say, progress
        self._settle = SETTLE if settle is None else settle
        self._max_gap = max(USUAL_GAP, parameters.settings.options.window) if max_gap is None else max_gap
        self._publishers: dict[str, StreamPublisher] = {}
        self._sink = out if isinstance(out, MessageSink) else folders.Sink(out, parameters, note)
        self.tally, self._announced = Tally(), set[str]()
        with ExitStack() as opened:
            opened.callback(self._sink.close)
            # Before the state file is opened or made: two publishers must never work on one.
            opened.enter_context(locked(state))
            self._state, self._seed = self._opened(state, seed)
            opened.callback(self._state.close)
            self._state.upgrade()
            for stream in self._state.streams():
                pending = self._state.pending(self._sink.most, stream=stream.id)
                self._retried(partial(self._sink.refuse_foreign, stream, pending))
            self._sink.tidy()
            self._prepare(inbox)
            self._open_files = opened.pop_all()

    def _prepare(self, inbox: Path | None) -> None:
        """Get ready to take files; a state file that another source was read with is refused."""
        if self._state.meta("source") is not None or inbox is None:
            raise mismatch(self._state, "a broker as its source", "name that source, or", ["source"])
        sweep(inbox / folders.QUARANTINE, folders.LEFT_IN_QUARANTINE)  # what killed runs left there
        # Files that need not be looked up in the state file as long as they look the same.
        self._settled = self._state.looks()

    def _retried(self, action: Callable[[], T], stop: Stop | None = None) -> T | None:
        """The result of an action; while a broker is away it is tried again, for a while and ever later."""
        delay = FIRST_DELAY
        for attempt in range(ATTEMPTS):
            try:
                result = action()
            except TimeveilError as error:
                if error.code != AWAY or attempt == ATTEMPTS - 1:
                    raise
                self._state.note_error(error)
                self._say(f"{error.message}: trying again in {delay:g} s")
                (stop or Stop()).wait(delay)
                if stop is not None and stop.requested:
                    return None
                delay = min(2 * delay, LONGEST_DELAY)
            else:
                if attempt:
                    self._state.note_error(None)
                return result
        return None

    def __enter__(self) -> Service:
        return self

    def __exit__(self, _type: Any, error: BaseException | None, _traceback: Any) -> None:
        if error is None or isinstance(error, Exception):
            self._state.note_error(error)
        self._open_files.close()

    def _is_news(self, text: str) -> bool:
        """Whether something has not been announced yet; it counts as announced from then on."""
        news = text not in self._announced
        self._announced.add(text)
        return news

    def _opened(self, path: Path, seed: int | None) -> tuple[StateFile, int]:
        """The state file, new or existing, and the seed in it."""
        parameters = self._parameters
        if not path.exists():
            self._sink.refuse_any()
            make_state_file(path, parameters.as_dict(), secrets.randbits(128) if seed is None else seed)
            boundary()
        state = StateFile(path)
        stored_seed = int(state.meta("seed"))
        differ = parameters.differing(state.meta("parameters"))
        if seed is not None and seed != stored_seed:
            differ.append("seed")
        if differ:
            state.close()
            names = f"other parameters: `{'`, `'.join(differ)}`"
            raise mismatch(state, names, "use the parameters that it was made with, or", differ)
        return state, stored_seed

    def run(self) -> Tally:
        """Take every new file of the inbox, and publish what becomes final."""
        self._publish()
        self._pass(Stop())
        self._warn()
        return self.tally

    def follow(self, stop: Stop, poll: float) -> Tally:
        """Keep taking what arrives, until a stop is requested."""
        self._publish()
        self._warn()
        took_some = False
        while not stop.requested:
            # Straight after files were taken only new ones count: the others were looked at just now.
            took_some = self._pass(stop, only_new=took_some)
            if took_some:
                self._warn()
            elif self._inbox is not None:  # a broker is waited for when it is asked
                stop.wait(poll)
        return self.tally

    def close_streams(self) -> Tally:
        """Publish every remaining slot. Nothing can be taken afterwards."""
        if self.tally.left:
            message = f"the stream is not closed: {counted(self.tally.left, 'file')} may still be written"
            raise ParameterError(message, hint="run the command again when all files are complete")
        if not self._state.meta("closed"):
            # Where fewer than l values ever arrived, there are only empty slots to publish.
            values = max((record.facts["values"] for record in self._state.streams()), default=0)
            hint = "start again with a smaller {l} and a new {state} file, or another {sensitive} column"
            self._parameters.settings.refuse_few_values(values, hint)
            with self._state.transaction():
                for record in self._state.streams():
                    self._keep(record.name, self._publisher(record.name).close())
                self._state.set_meta("closed", value=True)
                boundary()
            boundary()
        self.tally.closed = True
        self._publish()
        self._warn()
        return self.tally

    def _warn(self) -> None:
        """Say what an operator should know before it is too late, each thing once; give back empty room."""
        self._state.shrink()
        status = status_of(self._state)
        self.tally.held = status.slots_held
        for warning in filter(self._is_news, status.warnings):
            self._say(f"warning: {warning}")

    def _pass(self, stop: Stop, *, only_new: bool = False) -> bool:
        """Look at the inbox once; whether anything was taken."""
        assert self._inbox is not None  # noqa: S101 (a feed has none, and takes batches)
        ways: Any = {"only_new": only_new, "progress": self._progress}
        files, ignored = folders.arrivals_in(self._inbox, self._settled, **ways)
        before = self.tally.taken
        self.tally.not_snapshots, self.tally.already_taken = ignored, 0
        self.tally.left = self.tally.unmoved = 0
        for arrival in files:
            if arrival is None:
                self.tally.already_taken += 1
                continue
            try:
                goes_on = not stop.requested and self._deal_with(arrival)
            except BaseException as error:
                # Publishers may have taken what was not committed: the next use restores what was.
                self._publishers.clear()
                # What the system does not let us read is not bad: it stops the run, unless it has gone.
                if not isinstance(error, InputError) or os.path.lexists(arrival.path):
                    raise
                continue
            if not goes_on:
                break
        return self.tally.taken > before

    def _deal_with(self, arrival: Arrival) -> bool:
        """Take, skip or quarantine one file; False if the files after it must wait."""
        record = FileRecord(*arrival[:3], sha256="")
        if not arrival.is_named_in_unicode:
            hint = "rename it and put it back"
            error = InputError("the name of the file is not UTF-8", hint=hint, code="bad-encoding")
            return self._put_aside(arrival, record._replace(name=arrival.printable), error)
        earlier = self._state.file(arrival.name)
        # A bad file was moved away; one of the same name is a new attempt.
        if earlier is not None and earlier.outcome != "bad":
            untouched = earlier[:3] == arrival[:3]
            if untouched or earlier.outcome != "copy" or arrival.digest() == earlier.sha256:
                return self._skip(arrival, earlier, untouched=untouched)
        if arrival.is_unsettled(self._settle):
            change = f"changed less than {self._settle:g} s ago and its last line does not end"
            return self._leave(arrival, change)
        record = record._replace(sha256=arrival.digest())
        # Taking the same records twice would count people twice, whatever the file is called.
        twin = self._state.name_of_content(record.sha256)
        if twin is None:
            return self._take(arrival, record)
        self.tally.copies += 1
        self._say(f"`{arrival.printable}` is identical to `{twin}`, already processed; skipped.")
        with self._state.transaction():
            self._state.put_file(record._replace(outcome="copy"))
        return True

    def _skip(self, arrival: Arrival, earlier: FileRecord, *, untouched: bool) -> bool:
        """Pass over a file that was taken; one with another size or time may be another file by now."""
        self.tally.already_taken += 1
        outcome = earlier.outcome
        if not untouched:
            same = arrival.digest() == earlier.sha256
            outcome = "changed" if not same else "copy" if outcome == "copy" else "taken"
            note = None if same else "changed after it was taken"
            with self._state.transaction():
                self._state.put_file(FileRecord(*arrival[:3], earlier.sha256, earlier.rows, outcome, note))
        if outcome == "changed" and self._is_news(arrival.name):
            self.tally.changed += 1
            self._say(
                f"`{arrival.name}` was changed after it was taken: it is not taken again. Put new records "
                "into a file of their own, and restore or remove the old one."
            )
        elif outcome != "changed":
            self._settled[arrival.name] = arrival[:3]
        return True

    def _leave(self, arrival: Arrival, change: str) -> bool:
        """Leave a file that may still be written, and those after it, for the next look."""
        self.tally.left += 1
        if self._is_news(f"{arrival.name} {change}"):
            self._say(f"`{arrival.printable}` {change}: it waits for the next look.")
        return False

    def _take(self, arrival: Arrival, record: FileRecord) -> bool:
        """Push one file and keep everything that follows from it in one transaction; then publish."""
        self._require_open(f"`{arrival.printable}` cannot be taken")
        problem: TimeveilError | None = None
        try:
            rows, final, latest = 0, list[tuple[str, list[PublishedSlot]]](), self._state.meta("latest")
            for name, relation in folders.snapshots_of(arrival.path, self._parameters):
                rows += relation.rows
                slots = self._publisher(name).push(relation, max_gap=self._max_gap, since=latest)
                final.append((name, slots))
        except (InputError, RolesError, ParameterError) as error:
            if "errno" in error.facts:
                raise
            self._publishers.clear()
            problem = error
        # Checked after reading and before committing: what was read may be half of a file.
        if arrival.touched(record.sha256):
            self._publishers.clear()
            return self._leave(arrival, "changed while it was read")
        if problem is not None:
            return self._put_aside(arrival, record, problem)
        boundary()
        # State, final slots and the file's record together: a crash repeats all of it or none.
        with self._state.transaction():
            self._keep_all(final)
            self._state.put_file(record._replace(rows=rows))
            boundary()
        boundary()
        self.tally.taken += 1
        facts = [self._publisher(name).facts for name, _ in final]
        if any(fact["repeated"] > MUCH_REPEATED * fact["rows_read"] for fact in facts):
            self._warn()  # before slots are published, which cannot be taken back
        self._publish()
        return True

    def _put_aside(self, arrival: Arrival, record: FileRecord, error: TimeveilError) -> bool:
        """Quarantine a bad file and carry on; but if the very first fails, the command may be wrong."""
        if not isinstance(error, InputError) and not self._state.outcomes().get("taken"):
            message = f"`{arrival.printable}`: {error.message}"
            raise type(error)(message, hint=error.template, code=error.code, facts=error.facts)
        with self._state.transaction():
            self._state.put_file(record._replace(outcome="bad", note=error.code))
        boundary()
        # After the record, so that a crash in between leaves a file that is known to be bad.
        try:
            target = folders.quarantine(arrival, record.sha256, error)
        except BundleError as cause:
            # It stays in the inbox, is tried again at the next look, and is in nobody's way.
            self.tally.unmoved += 1
            if self._is_news(f"{arrival.name} {cause.message}"):
                problem = f"`{arrival.printable}` cannot be taken: {error.message}"
                self._say(f"{problem}. It stays in the inbox: {cause.message}; {cause.hint}.")
            return True
        boundary()
        self.tally.quarantined += 1
        self._say(f"`{arrival.printable}` was moved to `{target.parent.name}`: {error.message}")
        return True

    def _publisher(self, name: str) -> StreamPublisher:
        """The publisher of a stream as it was last committed, or a new one."""
        if name not in self._publishers:
            with raising(damaged(self._state.path.name), on=BundleError):
                self._publishers[name] = self._parameters.publisher(name, self._seed, self._state.state(name))
        return self._publishers[name]

    def _require_open(self, consequence: str) -> None:
        if self._state.meta("closed"):
            message = f"the stream is closed: {consequence}"
            hint = "start a new stream with a new {state} file and a new folder"
            raise ParameterError(message, hint=hint, code="stream-closed")

    def _keep_all(self, final: Sequence[tuple[str, list[PublishedSlot]]]) -> None:
        """Store what became final of each stream, in the current transaction."""
        for name, slots in final:
            self._keep(name, slots)
        # The latest slot of all streams, from which a gap is counted.
        latest = [self._state.meta("latest"), *(self._publisher(name).latest for name, _ in final)]
        self._state.set_meta("latest", max((slot for slot in latest if slot is not None), default=None))

    def _keep(self, name: str, slots: list[PublishedSlot]) -> None:
        """Store the state of a stream and what it made final, in the current transaction."""
        publisher = self._publisher(name)
        facts = {key: value for key, value in publisher.facts.items() if key != "seed"}
        number = self._state.put_stream(name, publisher.state(), facts)
        for slot in slots:
            tables = folders.packed(slot.release.tables)
            self._state.add_pending(number, slot.index, slot.slot, slot.release.manifest, tables)

    def _publish(self) -> None:
        """Write every stored slot to its folder, in order, and mark it; until l values came, hold all."""
        # With fewer than l values so far every slot is empty, which may be a wrong column: hold them.
        least = 0 if self._state.meta("closed") else self._parameters.settings.l
        while pending := self._state.pending(self._sink.most, least):
            boundary()
            (stream,) = self._state.streams(pending[0].stream)
            if not stream.published:
                self._retried(partial(self._sink.refuse_foreign, stream, pending))
            with raising(damaged(self._state.path.name), on=(KeyError, OSError, ValueError)):
                releases = [folders.release_of(slot) for slot in pending]
            # Folder first, mark second. A crash in between finds the folder and only marks it.
            publish = partial(self._sink.publish, pending, releases, boundary)
            new, digest = self._retried(publish) or (0, "")
            boundary()
            with self._state.transaction():
                self._state.mark_published(pending, digest)
            boundary()
            self.tally.published += new
            self.tally.found_published += len(pending) - new
