"""A stream whose records come one by one from a broker or a growing table, not in files of whole slots.

A record's slot follows from its own time. A slot is complete once a record, or a heartbeat, is `close_after`
past its end, by the records' own times and never by the clock: so what is published follows from the records
in their order, however they are cut into batches and however often the service is killed.

What follows from a batch is stored in one transaction, with the position after it. A record that cannot be
taken is put into quarantine with the reason.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from timeveil.domain.roles import Roles
from timeveil.domain.wording import counted
from timeveil.errors import InputError, ParameterError, TimeveilError
from timeveil.models.stream.method import PublishedSlot
from timeveil.models.stream.method.arrivals import slots_of
from timeveil.reading.files import sync, sync_folder, translate_os_errors
from timeveil.reading.table import read
from timeveil.service import running
from timeveil.service.parameters import SINGLE
from timeveil.service.ports import Batch, Source, shown
from timeveil.service.records import REFUSED, Columns, Record, form_of, reason_of, sifted
from timeveil.service.running import Service
from timeveil.service.status import Stop, Tally

Final: TypeAlias = list[tuple[str, list[PublishedSlot]]]
IDLE, MOST_IDLE = 1.0, 30  # seconds to wait for a message, as often as a stop is noticed; and how often
_NAME = re.compile(r"[0-9A-Za-z_.-]{1,100}")


@dataclass
class Progress:
    """How far a feed is: kept in the state file with what follows from it.

    Slots up to `closed` are complete, `latest` is the latest that a record has come for, and `axis` how the
    first record wrote its time.
    """

    position: Any = None
    closed: int | None = None
    latest: int | None = None
    axis: str | None = None
    records: int = 0
    rejected: int = 0
    held: int = 0
    behind: int | None = None


class FeedService(Service):
    """A `Service` that reads records from a `Source`."""

    def __init__(self, source: Source, address: str, *arguments: Any, close_after: int = 0, **options: Any):
        self._source, self._address, self._grace = source, address, close_after
        with ExitStack() as opened:
            opened.callback(source.close)
            super().__init__(None, *arguments, **options)
            self._open_files.push(opened.pop_all())

    def _prepare(self, _inbox: Path | None) -> None:
        stored = self._state.meta("source")
        if stored not in (None, shown(self._address)):
            remedy = "name the source that it was made with, or"
            raise running.mismatch(self._state, "another source", remedy, ["source"])
        if stored is None and self._state.outcomes():
            raise running.mismatch(self._state, "an inbox", "use", ["source"])
        self._feed = Progress(**(self._state.meta("feed") or {}))
        self._quarantine = self._state.path.with_name(f"{self._state.path.name}.quarantine")
        self._held = dict[int, list[Record]]()
        by, roles = self._parameters.stream_by, self._parameters.settings.roles
        self._columns = Columns(roles, by)
        options = self._parameters.settings.options
        stated = {name: getattr(options, name) for name in ("zone", "unit", "time_format")}
        self._reading: Any = {
            "roles": Roles(time=roles.time),
            "needs": ("time",),
            "slot_numbers": True,
            **stated,
        }
        self._is_guessing = options.time_format is None
        self._bad, self.tally.records = list[tuple[Record, TimeveilError]](), 0
        held = [(slot, self._columns.parsed(name, raw)) for slot, name, raw in self._state.held()]
        list(self._placed([record for _, record in held]))
        for slot, record in held:
            self._held.setdefault(slot, []).append(record)

    def run(self) -> Tally:
        """Take every message that is there, and publish what becomes final."""
        self._publish()
        idle = 0
        while (took_some := self._pass(Stop())) or (self._feed.behind and idle < MOST_IDLE):
            idle = 0 if took_some else idle + 1
        self._warn()
        return self.tally

    def close_streams(self) -> Tally:
        """Publish every remaining slot, those that are still open too."""
        if not self._state.meta("closed"):
            if self._feed.behind != 0:
                message = "the stream is not closed: there are messages that cannot be read yet"
                raise ParameterError(message, hint="run the command again when all are written")
            self._bad = []
            final = self._close_up_to(max(self._held)) if self._held else []
            with self._state.transaction():
                self._store(final, [])
                running.boundary()
            self._put_out()
        return super().close_streams()

    def _pass(self, stop: Stop, *, only_new: bool = False) -> bool:  # noqa: ARG002 (a message is always new)
        """Take the messages that are there, or come within a second; whether there were any."""
        position = self._feed.position
        batch = self._retried(lambda: self._source.fetch(position, IDLE), stop) or Batch([], [], position)
        if batch.payloads:
            self._take_batch(batch)
        elif batch.behind != self._feed.behind:
            self._feed.behind = batch.behind
            with self._state.transaction():
                self._state.set_meta("feed", asdict(self._feed))
        return bool(batch.payloads)

    def _take_batch(self, batch: Batch) -> None:
        """Take the records of some messages and keep all that follows in one transaction; then publish."""
        self._require_open("no further record can be taken")
        before, self._bad = self._feed, []
        self._feed = replace(before, position=batch.position, behind=batch.behind)
        try:
            records = list(self._records(batch))
            wrong = [error for _, error in self._bad if not isinstance(error, InputError)]
            if wrong and not before.records and not records:
                raise wrong[0]  # every record of the very first batch is bad: the command may be wrong
            final, new = self._arrive(records)
            running.boundary()
            with self._state.transaction():
                self._store(final, new)
                running.boundary()
        except BaseException:
            # What is in memory may have taken what was not committed.
            self._publishers.clear()
            self._feed = before
            raise
        running.boundary()
        self.tally.records = (self.tally.records or 0) + self._feed.records - before.records
        self._publish()

    def _publish(self) -> None:
        super()._publish()
        self._put_out()

    def _store(self, final: Final, new: list[tuple[int, Record]]) -> None:
        """Everything that follows from a batch, in the current transaction."""
        slots: dict[str, list[PublishedSlot]] = {}
        for name, published in final:
            slots.setdefault(name, []).extend(published)
        self._keep_all([*slots.items()])
        closed = self._feed.closed
        if closed is not None:
            self._state.drop_held(closed)
        waiting = ((slot, record) for slot, record in new if closed is None or slot > closed)
        self._state.add_held((slot, record.name, record.raw) for slot, record in waiting)
        self._state.add_rejected((record.name, record.raw, reason_of(error)) for record, error in self._bad)
        self._feed.rejected += len(self._bad)
        self._feed.held = sum(map(len, self._held.values()))
        self._state.set_meta("feed", asdict(self._feed))
        if self._state.meta("source") is None:
            self._state.set_meta("source", shown(self._address))

    def _records(self, batch: Batch) -> Iterator[Record]:
        """The records of messages, one for each line; what is none is put aside."""
        for name, payload in zip(batch.names, batch.payloads, strict=True):
            lines = [payload]
            if b"\n" in payload:
                lines = [line for line in payload.splitlines() if line.strip()] or [b""]
            for number, line in enumerate(lines):
                own_name = f"{name}.{number}" if number else name
                self._feed.records += 1
                try:
                    record = self._columns.parsed(own_name, line)
                except REFUSED as error:
                    self._reject(Record(own_name, line, {}), error)
                else:
                    yield record

    def _reject(self, record: Record, error: TimeveilError) -> None:
        self._bad.append((record, error))

    def _arrive(self, records: list[Record]) -> tuple[Final, list[tuple[int, Record]]]:
        """Let records arrive in their order: what became final, and what now waits in open slots."""
        feed, moves_late = self._feed, self._parameters.settings.options.late == "move"
        final: Final = []
        new: list[tuple[int, Record]] = []
        waiting, open_since = list[Record](), None
        for record, slot, mark in self._placed(records):
            if (slot, mark) == open_since and len(record.cells) > 1:  # like the record before
                waiting.append(record)
                new.append((slot, record))
                continue
            is_late = feed.closed is not None and slot <= feed.closed
            gap = 0 if feed.latest is None else slot - feed.latest - 1
            if gap > self._max_gap:
                most = f"at most {self._max_gap:,} are allowed"
                message = f"gap of {gap:,} empty slots before the record; {most}"
                hint = "check for a wrong clock, because all of these slots would become final"
                self._reject(record, InputError(message, hint=hint, code="gap", facts={"gap": gap}))
                continue
            if len(record.cells) == 1:
                feed.records -= 1  # a heartbeat
                open_since = None
            elif is_late and not moves_late:
                hint = 'raise {close_after} to wait longer, or move late records on with {late="move"}'
                message = "the record belongs to a slot that is complete"
                self._reject(record, InputError(message, hint=hint, code="late"))
                continue
            else:
                open_slot = slot if not is_late else int(feed.closed or 0) + 1
                waiting = self._held.setdefault(open_slot, [])
                waiting.append(record)
                new.append((open_slot, record))
                open_since = None if is_late else (slot, mark)
            feed.latest = slot if feed.latest is None else max(feed.latest, slot)
            if mark - 1 > (min(self._held, default=mark) - 1 if feed.closed is None else feed.closed):
                final += self._close_up_to(mark - 1)
        return final, new

    def _placed(self, records: list[Record]) -> Iterator[tuple[Record, int, int]]:
        """Each record with its slot, and the first slot that is not yet complete at its time."""
        placed: dict[int, tuple[int, int]] = {}
        forms: dict[Any, list[int]] = {}
        for number, record in enumerate(records):
            if self._feed.axis is None:  # the first that can be read decides how times are written
                self._place([number], records, placed)
            else:
                forms.setdefault(form_of(record.cells[self._columns.time]), []).append(number)
        for numbers in forms.values():
            self._place(numbers, records, placed)
        return ((record, *placed[number]) for number, record in enumerate(records) if number in placed)

    def _place(self, numbers: list[int], records: list[Record], placed: dict[int, tuple[int, int]]) -> None:
        """The slots of records whose times are written alike; one that has none is put aside."""

        def check(tried: Sequence[int]) -> None:
            texts = pa.array([records[number].cells[self._columns.time] for number in tried], pa.string())
            relation = read(pa.table({self._columns.time: texts}), **self._reading)
            column, axis = relation.table.column(self._columns.time), relation.clock
            # How a time is read must not depend on which others are read with it.
            if self._is_guessing and "dates" in relation.decided:
                hint = "write dates like 2024-03-31, or say how they are written with {time_format}"
                raise InputError("the date could be read in two ways", hint=hint, code="bad-time")
            if self._feed.axis not in (None, repr(axis)):
                hint = "write all times alike: dates, times of day, or times with a zone"
                message = "the time is written unlike that of the first record"
                raise InputError(message, hint=hint, code="bad-time")
            slots = slots_of(self._parameters.settings.options.slot, axis)
            ends = zip(slots.index(column).tolist(), slots.index(column, self._grace).tolist(), strict=True)
            physical = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
            self._feed.axis, self._time_type = repr(axis), column.type
            moments = physical.cast(pa.int64()).to_pylist()
            for number, pair, at in zip(tried, ends, moments, strict=True):
                placed[number], records[number].at = pair, at

        sifted(numbers, check, lambda number, error: self._reject(records[number], error), alone=True)

    def _close_up_to(self, slot: int) -> Final:
        """Push the records of every open slot up to this one, in order, each stream by itself."""
        final = []
        for number in sorted(open_slot for open_slot in self._held if open_slot <= slot):
            by = self._parameters.stream_by
            records = self._held.pop(number)
            if by is None:
                final.append((SINGLE, self._push(SINGLE, records)))
                continue
            ordered = sorted(records, key=lambda record: record.cells[by] or "")
            for name, group in groupby(ordered, key=lambda record: record.cells[by]):
                part = list(group)
                if name is None:
                    message = f"column `{by}`, which separates streams, is null"
                    hint = "fill it in: every record belongs to a stream"
                    error = InputError(message, hint=hint, code="nulls")
                    self._bad += [(record, error) for record in part]
                else:
                    final.append((name, self._push(name, part)))
        self._feed.closed = slot if self._feed.closed is None else max(self._feed.closed, slot)
        return final

    def _push(self, name: str, records: list[Record]) -> list[PublishedSlot]:
        """Push the records of a slot; if it is refused, without those that are to blame."""
        publisher = self._publisher(name)
        try:
            return publisher.push(self._columns.table(records, self._time_type))
        except REFUSED:
            state = publisher.state()

        def check(tried: Sequence[Record]) -> None:
            # On a copy: what is pushed cannot be taken back.
            table = self._columns.table(tried, self._time_type)
            self._parameters.publisher(name, self._seed, state).push(table)

        accepted = sifted(records, check, self._reject)
        return publisher.push(self._columns.table(accepted, self._time_type)) if accepted else []

    def _put_out(self) -> None:
        """Write rejected records to the quarantine, each once, whatever happens between."""
        rejected = self._state.rejected()
        if not rejected:
            return
        with translate_os_errors(self._quarantine.name):
            self._quarantine.mkdir(mode=0o700, exist_ok=True)
            for number, name, raw, reason in rejected:
                stem = name if _NAME.fullmatch(name) else str(number)
                for ending, content in ((".json", raw), (".reason.txt", reason.encode())):
                    path = self._quarantine / f"{stem}{ending}"
                    with suppress(FileNotFoundError):
                        path.unlink()  # of a run that was killed while it wrote
                    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                        file.write(content)
                        sync(file)
            sync_folder(self._quarantine)
        running.boundary()
        with self._state.transaction():
            self._state.forget_rejected(max(number for number, *_ in rejected))
        self.tally.rejected += len(rejected)
        codes = sorted({reason.rsplit("code: ", 1)[-1].strip() for *_, reason in rejected})
        records = counted(len(rejected), "record")
        self._say(f"{records} put into `{self._quarantine.name}`: {', '.join(codes)}")
