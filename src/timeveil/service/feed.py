"""A stream whose records come one by one from a broker or a growing table, not in files of whole slots.

A record's slot follows from its own time. A slot is complete once a record, or a heartbeat, is `close_after`
past its end, by the records' own times and never by the clock: so what is published follows from the records
in their order, however they are cut into batches and however often the service is killed.

What follows from a batch is stored in one transaction, with the position after it. A record that cannot be
taken is put into quarantine with the reason.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import GAP
from timeveil.domain.roles import Roles
from timeveil.domain.wording import counted
from timeveil.errors import InputError, ParameterError, TimeveilError
from timeveil.models.stream.method import PublishedSlot
from timeveil.models.stream.method.arrivals import slots_of
from timeveil.models.stream.method.placing import Final
from timeveil.reading.files import sync, sync_folder, translate_os_errors
from timeveil.reading.table import read
from timeveil.service import running
from timeveil.service.parameters import SINGLE
from timeveil.service.ports import Batch, Source, shown
from timeveil.service.records import REFUSED, Columns, Record, forms_of, reason_of, sifted
from timeveil.service.running import Service
from timeveil.service.status import Stop, Tally

Published: TypeAlias = list[tuple[str, list[PublishedSlot]]]
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
            final = self._push(self._closed_up_to(max(self._held))) if self._held else []
            with self._state.transaction():
                self._store(final, {})
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
            stored = {slot: len(held) for slot, held in self._held.items()}
            final = self._arrive(records)
            running.boundary()
            with self._state.transaction():
                self._store(final, stored)
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

    def _store(self, final: Published, stored: Mapping[int, int]) -> None:
        """Everything that follows from a batch, in the current transaction; `stored` is counts by slot."""
        self._keep_all(final)
        if self._feed.closed is not None:
            self._state.drop_held(self._feed.closed)
        new = ((slot, held[stored.get(slot, 0) :]) for slot, held in self._held.items())
        self._state.add_held((slot, record.name, record.raw) for slot, records in new for record in records)
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
                    self._reject([Record(own_name, line, {})], error)
                else:
                    yield record

    def _reject(self, records: Sequence[Record], error: TimeveilError) -> None:
        self._bad += [(record, error) for record in records]

    def _arrive(self, records: list[Record]) -> Published:
        """Let records arrive in their order, and wait in open slots: what became final."""
        feed, moves_late = self._feed, self._parameters.settings.options.late == "move"
        complete = list[list[Record]]()
        # Records one after another that are alike have one fate.
        for (slot, mark, cells), alike in groupby(
            self._placed(records), lambda record: (record.slot, record.mark, len(record.cells))
        ):
            run = list(alike)
            is_late = feed.closed is not None and slot <= feed.closed
            gap = 0 if feed.latest is None else slot - feed.latest - 1
            if gap > self._max_gap:
                most = f"at most {self._max_gap:,} are allowed"
                message = f"gap of {gap:,} empty slots before the record; {most}"
                hint = "check for a wrong clock, because all of these slots would become final"
                self._reject(run, InputError(message, hint=hint, code="gap", facts={"gap": gap}))
                continue
            if cells == 1:
                feed.records -= len(run)  # heartbeats
            elif is_late and not moves_late:
                hint = 'raise {close_after} to wait longer, or move late records on with {late="move"}'
                message = "the record belongs to a slot that is complete"
                self._reject(run, InputError(message, hint=hint, code="late"))
                continue
            else:
                open_slot = slot if not is_late else int(feed.closed or 0) + 1
                self._held.setdefault(open_slot, []).extend(run)
            feed.latest = slot if feed.latest is None else max(feed.latest, slot)
            if mark - 1 > (min(self._held, default=mark) - 1 if feed.closed is None else feed.closed):
                complete += self._closed_up_to(mark - 1)
        return self._push(complete) if complete else []

    def _placed(self, records: list[Record]) -> Iterator[Record]:
        """The records that have a slot, each with it and the first slot not yet complete at its time."""
        begin = 0
        while self._feed.axis is None and begin < len(records):
            # The first that can be read decides how times are written.
            self._place(records[begin : begin + 1])
            begin += 1
        rest = records[begin:]
        forms = forms_of([record.cells[self._columns.time] for record in rest])
        for form in np.unique(forms):
            self._place([rest[number] for number in np.flatnonzero(forms == form)])
        return (record for record in records if record.slot != GAP)

    def _place(self, records: list[Record]) -> None:
        """The slots of records whose times are written alike; one that has none is put aside."""

        def check(tried: Sequence[Record]) -> None:
            texts = pa.array([record.cells[self._columns.time] for record in tried], pa.string())
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
            placed = slots.index(column).tolist(), slots.index(column, self._grace).tolist()
            physical = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
            self._feed.axis, self._time_type = repr(axis), column.type
            moments = physical.cast(pa.int64()).to_pylist()
            for record, slot, mark, at in zip(tried, *placed, moments, strict=True):
                record.slot, record.mark, record.at = slot, mark, at

        sifted(records, check, self._reject, alone=True)

    def _closed_up_to(self, slot: int) -> list[list[Record]]:
        """Close every open slot up to this one: the records of each, in order."""
        self._feed.closed = slot if self._feed.closed is None else max(self._feed.closed, slot)
        return [self._held.pop(number) for number in sorted(self._held) if number <= slot]

    def _push(self, complete: list[list[Record]]) -> Published:
        """Push the records of slots, one slot after another, each stream by itself."""
        by, parts = self._parameters.stream_by, list[tuple[str, list[Record]]]()
        for records in complete:
            if by is None:
                parts.append((SINGLE, records))
                continue
            ordered = sorted(records, key=lambda record: record.cells[by] or "")
            for name, group in groupby(ordered, key=lambda record: record.cells[by]):
                if name is None:
                    message = f"column `{by}`, which separates streams, is null"
                    hint = "fill it in: every record belongs to a stream"
                    self._reject(list(group), InputError(message, hint=hint, code="nulls"))
                else:
                    parts.append((name, list(group)))
        finals = dict[str, list[Final]]()
        # One table for all of them, of which each slot is a slice.
        table, begin = self._table([record for _, records in parts for record in records]), 0
        for name, records in parts:
            part = table.slice(begin, len(records))
            finals.setdefault(name, []).extend(self._taken(name, records, part))
            begin += len(records)
        return [(name, self._publisher(name).publish(slots)) for name, slots in finals.items()]

    def _table(self, records: Sequence[Record]) -> pa.Table:
        return self._columns.table(records, self._time_type)

    def _taken(self, name: str, records: list[Record], table: pa.Table) -> list[Final]:
        """What becomes final by the records of a slot; if they are refused, without those to blame."""
        publisher = self._publisher(name)
        try:
            return publisher.take(table)
        except REFUSED:
            state = publisher.state()

        def check(tried: Sequence[Record]) -> None:
            # On a copy: what is pushed cannot be taken back.
            self._parameters.publisher(name, self._seed, state).push(self._table(tried))

        accepted = sifted(records, check, self._reject)
        return publisher.take(self._table(accepted)) if accepted else []

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
