"""A stream in service: take what came in, publish what is final, go on where it was."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from timeveil.errors import (
    BundleError,
    InputError,
    InternalError,
    ParameterError,
    PrivateArtifactError,
    RolesError,
    TimeveilError,
)
from timeveil.models.stream.method import PublishedSlot, StreamPublisher
from timeveil.models.stream.parameters import ServiceParameters, StreamParameters
from timeveil.service.inbox import Arrival, arrivals_in, quarantine
from timeveil.service.interruption import Stop, boundary
from timeveil.service.lock import Lock
from timeveil.service.parameters import Parameters
from timeveil.service.sink import Sink, packed
from timeveil.service.snapshots import check_streams_roles, snapshots_of
from timeveil.service.status import status_of
from timeveil.service.store import FileRecord, Store, make_store
from timeveil.service.trouble import damaged

Say = Callable[[str], None]
USUAL_GAP = 31
"""Slots without a record that may lie before a file, unless the window is longer or another number given."""


@dataclass(slots=True)
class Tally:
    """What one run did, in numbers. `left` files changed while they were read and stay for the next run."""

    taken: int = 0
    already_taken: int = 0
    copies: int = 0
    quarantined: int = 0
    changed: int = 0
    left: int = 0
    not_snapshots: int = 0
    published: int = 0
    found_published: int = 0
    held: int = 0
    closed: bool = False
    _told: set[str] = field(default_factory=set, repr=False)

    @property
    def clean(self) -> bool:
        """Whether every file could be taken as it was and no slot is held back."""
        return not (self.quarantined or self.changed or self.held)

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {name: value for name, value in asdict(self).items() if not name.startswith("_")}


class Service:
    """One stream, or several told apart by a column, at work on one state file.

    Made with a state file that does not exist yet, it makes one; with one that exists it goes on from it.
    `say` is told what an operator should know; no cell value is in it.
    """

    def __init__(
        self,
        inbox: Path,
        out: Path,
        state: Path,
        parameters: Parameters,
        *,
        seed: int | None = None,
        max_gap: int | None = None,
        say: Say = lambda _: None,
    ) -> None:
        parameters.check()
        check_streams_roles(parameters.roles, parameters.stream_by)
        _refuse_public(inbox, out, state)
        state = state.resolve()
        arrivals_in(inbox)
        self._inbox, self._parameters, self._say = inbox, parameters, say
        self._max_gap = max(USUAL_GAP, parameters.settings.window) if max_gap is None else max_gap
        ServiceParameters.table()["max_gap"].check(self._max_gap)
        self._publishers: dict[str, StreamPublisher] = {}
        self._sink = Sink(out, parameters.format, several=parameters.stream_by is not None)
        self.tally = Tally()
        self._lock = Lock(state)
        try:
            self._store, self._seed = self._opened(state, seed)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Service:
        return self

    def __exit__(self, _type: Any, error: BaseException | None, _traceback: Any) -> None:
        if error is None or isinstance(error, TimeveilError):
            self._store.note_error(error)
        elif isinstance(error, Exception):  # whose text could carry data
            self._store.note_error(
                InternalError(
                    f"an error that should not happen ({type(error).__name__})",
                    hint="start again; if it comes back, please report it with what the command said",
                    code="internal",
                )
            )
        try:
            self._store.close()
        finally:
            self._lock.close()

    def _opened(self, path: Path, seed: int | None) -> tuple[Store, int]:
        parameters = self._parameters
        StreamParameters.table()["seed"].check(seed)
        if not path.exists():
            make_store(path, parameters.as_dict(), secrets.randbits(128) if seed is None else seed)
            boundary()
        store = Store(path)
        stored, own = store.meta("parameters"), int(store.meta("seed"))
        differ = parameters.differing(stored)
        if seed is not None and seed != own:
            differ.append("seed")
        if differ:
            store.close()
            options = ", ".join(f"`{name}`" for name in differ)
            raise ParameterError(
                f"the state in `{path.name}` was made with other parameters: {options}",
                hint="give those that it was made with, or a new state file and a new folder",
                code="state-mismatch",
                facts={"differ": differ},
            )
        return store, own

    def run(self) -> Tally:
        """Take every file of the inbox that is new, and publish what becomes final."""
        self._publish()
        self._pass(Stop())
        self._warn()
        return self.tally

    def follow(self, stop: Stop, poll: float) -> Tally:
        """Keep taking what comes in, until somebody asks to stop."""
        self._publish()
        self._warn()
        while not stop.asked:
            if self._pass(stop):
                self._warn()
            else:
                stop.wait(poll)
        return self.tally

    def close_streams(self) -> Tally:
        """Publish every slot that is left. Nothing can be taken afterwards."""
        if not self._store.meta("closed"):
            self._refuse_few_values()
            with self._store.transaction():
                for record in self._store.streams():
                    self._keep(record.name, self._publisher(record.name).close())
                self._store.set_meta("closed", value=True)
                boundary()
            boundary()
        self.tally.closed = True
        self._publish()
        self._warn()
        return self.tally

    def _refuse_few_values(self) -> None:
        """A stream in which fewer than l values ever came has nothing but empty slots to publish."""
        l, found = self._parameters.settings.l, self._store.values()
        if found and max(found) < l:
            raise ParameterError(
                f"l is {l}, and the sensitive column has {max(found)} different values: no slot could be "
                "published",
                hint="begin again with a smaller l and a new state file, or name another sensitive column",
                code="bad-parameter",
                facts={"l": l, "values": max(found)},
            )

    def _warn(self) -> None:
        """Tell what an operator should see before it is too late, each thing once."""
        told = status_of(self._store)
        self.tally.held = told.slots_held
        for warning in told.warnings:
            if warning not in self.tally._told:
                self.tally._told.add(warning)
                self._say(f"warning: {warning}")

    def _pass(self, stop: Stop) -> bool:
        """One look at the inbox; whether anything was taken."""
        files, others = arrivals_in(self._inbox)
        before = self.tally.taken
        self.tally.not_snapshots, self.tally.already_taken = others, 0
        self.tally.left = 0
        for arrival in files:
            if stop.asked or not self._deal_with(arrival):
                break
        return self.tally.taken > before

    def _deal_with(self, arrival: Arrival) -> bool:
        """What is to be done about one file; False if the files after it must wait."""
        if not arrival.is_named_in_unicode:
            record = FileRecord(arrival.shown, arrival.size, arrival.changed_at, "")
            self._put_aside(arrival, record, _not_unicode())
            return True
        known = self._store.file(arrival.name)
        if known is not None and known.outcome != "bad":
            if (known.size, known.changed_at) == (arrival.size, arrival.changed_at):
                self._seen_again(known)
                return True
            if known.outcome != "copy" or arrival.holds(known.sha256):
                return self._look_again(arrival, known)
        record = FileRecord(arrival.name, arrival.size, arrival.changed_at, "")
        try:
            sha256 = arrival.digest()
        except InputError as error:
            self._put_aside(arrival, record, error)
            return True
        record = replace(record, sha256=sha256)
        twin = self._store.taken_content(sha256)
        if twin is not None:
            self.tally.copies += 1
            self._say(f"`{arrival.shown}` is the same as `{twin}`, which was taken before: not taken again.")
            with self._store.transaction():
                self._store.put_file(replace(record, outcome="copy"))
            return True
        return self._take(arrival, record)

    def _seen_again(self, known: FileRecord) -> None:
        self.tally.already_taken += 1
        if known.outcome == "changed":
            self._tell_changed(known.name)

    def _look_again(self, arrival: Arrival, known: FileRecord) -> bool:
        """A file that was taken has another size or time: is it another file?"""
        same = arrival.holds(known.sha256)
        outcome = "changed" if not same else "copy" if known.outcome == "copy" else "taken"
        note = None if same else "changed after it was taken"
        with self._store.transaction():
            self._store.put_file(
                replace(known, size=arrival.size, changed_at=arrival.changed_at, outcome=outcome, note=note)
            )
        self.tally.already_taken += 1
        if not same:
            self._tell_changed(arrival.name)
        return True

    def _tell_changed(self, name: str) -> None:
        if name not in self.tally._told:
            self.tally._told.add(name)
            self.tally.changed += 1
            self._say(
                f"`{name}` was changed after it was taken: it is not taken again. Put what is new into a "
                "file of its own, and put the old one back or away."
            )

    def _take(self, arrival: Arrival, record: FileRecord) -> bool:
        """Push one file and keep everything that follows from it in one transaction; then publish."""
        if self._store.meta("closed"):
            raise ParameterError(
                f"the stream is closed: `{arrival.shown}` cannot be taken",
                hint="begin a new stream with a new state file and a new folder",
                code="stream-closed",
            )
        try:
            rows, final, latest = 0, [], self._store.meta("latest")
            for name, relation in snapshots_of(arrival.path, self._parameters):
                rows += relation.rows
                pushed = self._publisher(name).push(relation, max_gap=self._max_gap, since=latest)
                final.append((name, pushed))
        except (InputError, RolesError, ParameterError) as error:
            self._forget()
            self._put_aside(arrival, record, error)
            return True
        if arrival.touched(record.sha256):
            self._forget()
            self.tally.left += 1
            self._say(f"`{arrival.shown}` changed while it was read: it is left for the next look.")
            return False
        boundary()
        with self._store.transaction():
            for name, slots in final:
                self._keep(name, slots)
            self._keep_latest(name for name, _ in final)
            self._store.put_file(replace(record, rows=rows))
            boundary()
        boundary()
        self.tally.taken += 1
        self._publish()
        return True

    def _put_aside(self, arrival: Arrival, record: FileRecord, error: TimeveilError) -> None:
        """A bad file goes, the rest goes on; but what is wrong with the very first may be the command."""
        wrong_command = not isinstance(error, InputError) and not self._store.outcomes().get("taken")
        if wrong_command:
            raise type(error)(
                f"`{arrival.shown}`: {error.message}", hint=error.hint, code=error.code, facts=error.facts
            )
        with self._store.transaction():
            self._store.put_file(replace(record, outcome="bad", note=error.code))
        boundary()
        place = quarantine(arrival, record.sha256, error)
        boundary()
        self.tally.quarantined += 1
        self._say(f"`{arrival.shown}` was put into `{place.parent.name}`: {error.message}")

    def _forget(self) -> None:
        """Nothing in memory goes beyond what was committed."""
        self._publishers.clear()

    def _publisher(self, name: str) -> StreamPublisher:
        """The publisher of a stream as it was last committed, or a new one."""
        if name not in self._publishers:
            record = self._store.stream(name)
            state = None if record is None else record.state
            try:
                self._publishers[name] = self._parameters.publisher(name, self._seed, state)
            except BundleError:
                raise damaged(self._store.path.name) from None
        return self._publishers[name]

    def _keep(self, name: str, slots: list[PublishedSlot]) -> None:
        """The state of a stream and what it made final, for the transaction at hand."""
        publisher = self._publisher(name)
        facts = {key: value for key, value in publisher.facts.items() if key != "seed"}
        number = self._store.put_stream(name, publisher.state(), facts)
        for slot in slots:
            release = slot.release
            self._store.add_pending(number, slot.index, slot.slot, release.manifest, packed(release.tables))

    def _keep_latest(self, names: Iterable[str]) -> None:
        """The latest slot of all streams, from which a gap is counted."""
        known = [self._store.meta("latest"), *(self._publisher(name).latest for name in names)]
        self._store.set_meta("latest", max((slot for slot in known if slot is not None), default=None))

    def _publish(self) -> None:
        """Write every stored slot to its folder, in order, and mark it; until l values came, hold all."""
        least = 0 if self._store.meta("closed") else self._parameters.settings.l
        while (pending := self._store.pending(least)) is not None:
            boundary()
            new = self._sink.publish(pending)
            boundary()
            with self._store.transaction():
                self._store.mark_published(pending)
            boundary()
            self.tally.published += new
            self.tally.found_published += not new


def _not_unicode() -> InputError:
    return InputError(
        "the name of the file is not UTF-8", hint="give it another name and put it back", code="bad-encoding"
    )


def _refuse_public(inbox: Path, out: Path, state: Path) -> None:
    """The folder that is published holds nothing private; the private files lie elsewhere."""
    for what, place in {"the state file": state, "the inbox": inbox}.items():
        if place.resolve().is_relative_to(out.resolve()):
            raise PrivateArtifactError(
                f"{what} would lie in the folder that is published, and it holds records of people",
                hint="keep it outside of the folder given with --out",
                code="ledger-in-release",
            )
    if not state.absolute().parent.is_dir():
        raise BundleError(
            f"there is no folder to put `{state.name}` into", hint="make it first", code="folder-missing"
        )
