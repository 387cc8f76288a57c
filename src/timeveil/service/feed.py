"""A stream whose records come one by one from a broker or a growing table, not in files of whole slots.

A record's slot follows from its own time. A slot is complete once a record, or a heartbeat, is `close_after`
past its end, by the records' own times and never by the clock: so what is published follows from the records
in their order, however they are cut into batches and however often the service is killed.

What follows from a batch is stored in one transaction, with the position after it. A record that cannot be
taken is put into quarantine with the reason.
"""

import os
import re
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.granularity import GAP
from timeveil.domain.arrays import Ints
from timeveil.domain.roles import Roles
from timeveil.domain.wording import counted
from timeveil.errors import InputError, ParameterError, TimeveilError
from timeveil.models.stream.method import PublishedSlot
from timeveil.models.stream.method.arrivals import slots_of
from timeveil.models.stream.method.placing import Final
from timeveil.reading.files import sync, sync_folder, translate_os_errors
from timeveil.reading.risks import reads_as_time
from timeveil.reading.table import read
from timeveil.service import running
from timeveil.service.parameters import SINGLE
from timeveil.service.ports import Batch, Source, shown
from timeveil.service.records import REFUSED, Columns, cell, forms_of, picked, reason_of, sifted
from timeveil.service.running import Service
from timeveil.service.state_file import damaged
from timeveil.service.status import Stop, Tally

Published: TypeAlias = list[tuple[str, list[PublishedSlot]]]
Rejected: TypeAlias = tuple[str, bytes, TimeveilError]  # its name, and how it was written
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
        self._roles, options = self._parameters.settings.roles, self._parameters.settings.options
        self._columns = Columns(self._roles, self._parameters.stream_by)
        self._reading: Any = {name: getattr(options, name) for name in ("zone", "unit", "time_format")}
        self._reading |= {"roles": Roles(time=self._roles.time), "needs": ("time",), "slot_numbers": True}
        self._is_guessing = options.time_format is None
        self._bad, self.tally.records = list[Rejected](), 0
        self._harmless = set[Any]()  # sensitive values that do not read as times
        self._held = list[pa.Table]()
        if held := self._state.held():
            slots, names, lines = map(list, zip(*held, strict=True))
            rows = self._placed(self._read(names, lines))
            if self._bad:
                raise damaged(self._state.path.name)
            self._held.append(rows.set_column(rows.column_names.index("slot"), "slot", pa.array(slots)))

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
            final = self._closed_up_to(int(self._feed.latest or 0)) if self._held else []
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
            rows = self._read(*batch.lines())
            self._feed.records += rows.num_rows + len(self._bad)
            wrong = [error for *_, error in self._bad if not isinstance(error, InputError)]
            if wrong and not before.records and not rows.num_rows:
                raise wrong[0]  # every record of the very first batch is bad: the command may be wrong
            final, held = self._arrive(self._placed(rows))
            running.boundary()
            with self._state.transaction():
                self._store(final, held)
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

    def _store(self, final: Published, held: list[tuple[int, str, bytes]]) -> None:
        """Everything that follows from a batch, in the current transaction; `held` came for open slots."""
        self._keep_all(final)
        if self._feed.closed is not None:
            self._state.drop_held(self._feed.closed)
        self._state.add_held(held)
        self._state.add_rejected((name, line, reason_of(error)) for name, line, error in self._bad)
        self._feed.rejected += len(self._bad)
        self._feed.held = sum(rows.num_rows for rows in self._held)
        self._state.set_meta("feed", asdict(self._feed))
        if self._state.meta("source") is None:
            self._state.set_meta("source", shown(self._address))

    def _read(self, names: Sequence[str], lines: list[bytes]) -> pa.Table:
        """The records of lines, with the name and the text of each; what is none is put aside."""

        def reject(number: int, error: TimeveilError) -> None:
            self._bad.append((names[number], lines[number], error))

        rows = self._columns.read(lines, reject)
        origins = pa.table({"name": pa.array(names, pa.string()), "raw": pa.array(lines, pa.binary())})
        origins = picked(origins, rows.column("line").to_numpy())
        return rows.append_column("name", origins["name"]).append_column("raw", origins["raw"])

    def _reject(self, rows: pa.Table, numbers: Ints, error: TimeveilError) -> None:
        bad = picked(rows.select(["name", "raw"]), numbers)
        self._bad += [(*origin, error) for origin in zip(*bad.to_pydict().values(), strict=True)]

    def _placed(self, rows: pa.Table) -> pa.Table:
        """The records that have a slot, with it, their time, and the first slot not yet complete by then."""
        times = rows.column(cell(self._columns.time)).combine_chunks()
        numbers = np.full((3, rows.num_rows), GAP)
        begin = 0
        while self._feed.axis is None and begin < rows.num_rows:
            # The first that can be read decides how times are written.
            self._place(rows, times, np.array([begin]), numbers)
            begin += 1
        forms = forms_of(times.slice(begin))
        for form in np.unique(forms):
            self._place(rows, times, begin + np.flatnonzero(forms == form), numbers)
        for name, column in zip(("slot", "mark", "at"), numbers, strict=True):
            rows = rows.append_column(name, pa.array(column))
        return picked(rows, np.flatnonzero(numbers[0] != GAP))

    def _place(self, rows: pa.Table, times: pa.Array, part: Ints, numbers: Ints) -> None:
        """Find the slots of records whose times are written alike; one that has none is put aside."""

        def check(tried: Ints) -> None:
            texts = times if len(tried) == len(times) else times.take(pa.array(tried))
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
            physical = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
            moments = physical.cast(pa.int64()).to_numpy()
            numbers[:, tried] = slots.index(column), slots.index(column, self._grace), moments
            self._feed.axis, self._time_type = repr(axis), column.type

        sifted(part, check, partial(self._reject, rows), alone=True)

    def _arrive(self, rows: pa.Table) -> tuple[Published, list[tuple[int, str, bytes]]]:
        """Let records arrive in their order: what became final by them, and those that wait in open slots."""
        feed, before = self._feed, self._feed.closed
        moves_late = self._parameters.settings.options.late == "move"
        slots, marks, beats = (rows.column(name).to_numpy() for name in ("slot", "mark", "beat"))
        open_slots = np.full(len(slots), GAP)
        first = None
        if before is None:
            first = min((pc.min(held["slot"]).as_py() for held in self._held), default=None)
        # Records one after another that are alike have one fate.
        alike = (np.diff(slots) == 0) & (np.diff(marks) == 0) & (np.diff(beats) == 0)
        for begin, end in pairwise([0, *(np.flatnonzero(~alike) + 1).tolist(), len(slots)]):
            if begin == end:
                continue
            slot, mark, run = int(slots[begin]), int(marks[begin]), np.arange(begin, end)
            is_late = feed.closed is not None and slot <= feed.closed
            gap = 0 if feed.latest is None else slot - feed.latest - 1
            if gap > self._max_gap:
                most = f"at most {self._max_gap:,} are allowed"
                message = f"gap of {gap:,} empty slots before the record; {most}"
                hint = "check for a wrong clock, because all of these slots would become final"
                self._reject(rows, run, InputError(message, hint=hint, code="gap", facts={"gap": gap}))
                continue
            if beats[begin]:
                feed.records -= end - begin
            elif is_late and not moves_late:
                hint = 'raise {close_after} to wait longer, or move late records on with {late="move"}'
                message = "the record belongs to a slot that is complete"
                self._reject(rows, run, InputError(message, hint=hint, code="late"))
                continue
            else:
                open_slot = slot if not is_late else int(feed.closed or 0) + 1
                open_slots[begin:end] = open_slot
                first = open_slot if first is None else min(first, open_slot)
            feed.latest = slot if feed.latest is None else max(feed.latest, slot)
            if feed.closed is not None or (first is not None and first < mark):
                feed.closed = mark - 1 if feed.closed is None else max(feed.closed, mark - 1)
        rows = rows.set_column(rows.column_names.index("slot"), "slot", pa.array(open_slots))
        rows = picked(rows, np.flatnonzero(open_slots != GAP))
        if rows.num_rows:
            self._held.append(rows)
        final = self._closed_up_to(feed.closed) if feed.closed is not None and feed.closed != before else []
        complete = GAP if feed.closed is None else feed.closed
        waiting = picked(
            rows.select(["slot", "name", "raw"]), np.flatnonzero(rows["slot"].to_numpy() > complete)
        )
        return final, list(zip(*waiting.to_pydict().values(), strict=True))

    def _closed_up_to(self, slot: int) -> Published:
        """Close every open slot up to this one: push its records, and keep those of later ones."""
        self._feed.closed = slot if self._feed.closed is None else max(self._feed.closed, slot)
        if not self._held:
            return []
        rows = pa.concat_tables(self._held).combine_chunks()
        slots = rows.column("slot").to_numpy()
        complete, waiting = np.flatnonzero(slots <= slot), picked(rows, np.flatnonzero(slots > slot))
        self._held = [waiting] if waiting.num_rows else []
        # Slot by slot, those of each in the order in which they came.
        return self._push(picked(rows, complete[slots[complete].argsort(kind="stable")]))

    def _push(self, rows: pa.Table) -> Published:
        """Push the records of complete slots, each stream by itself."""
        final, streams = list[tuple[str, list[PublishedSlot]]](), {SINGLE: rows} if rows.num_rows else {}
        if (by := self._parameters.stream_by) is not None:
            names = rows.column(cell(by)).combine_chunks()
            if names.null_count:
                message = f"column `{by}`, which separates streams, is null"
                hint = "fill it in: every record belongs to a stream"
                nulls = np.flatnonzero(names.is_null())
                self._reject(rows, nulls, InputError(message, hint=hint, code="nulls"))
                rows, names = rows.filter(names.is_valid()), names.drop_null()
            coded = names.dictionary_encode()
            order = np.asarray(coded.indices).argsort(kind="stable")
            begins = np.flatnonzero(np.diff(np.asarray(coded.indices)[order])) + 1
            parts = [picked(rows, part) for part in np.split(order, begins)]
            streams = dict(zip(coded.dictionary.to_pylist(), parts, strict=False))
        for name, part in streams.items():
            final.append((name, self._publisher(name).publish(self._taken(name, part))))
        return final

    def _taken(self, name: str, rows: pa.Table) -> list[Final]:
        """What becomes final by the records of slots; if some are refused, without those to blame."""
        publisher, table = self._publisher(name), self._columns.table(rows, self._time_type)
        if self._is_taken_alike(table):
            with suppress(*REFUSED):
                return publisher.take(table)  # nothing is taken where anything is wrong
        slots, final = rows.column("slot").to_numpy(), list[Final]()
        for begin, end in pairwise([0, *(np.flatnonzero(np.diff(slots)) + 1).tolist(), len(slots)]):
            part = table.slice(begin, end - begin)
            try:
                final += publisher.take(part)
            except REFUSED:
                final += self._taken_without_bad(name, rows.slice(begin, end - begin), part)
        return final

    def _taken_without_bad(self, name: str, rows: pa.Table, table: pa.Table) -> list[Final]:
        publisher = self._publisher(name)
        state = publisher.state()

        def check(tried: Sequence[int]) -> None:
            # On a copy: what is pushed cannot be taken back.
            self._parameters.publisher(name, self._seed, state).push(table.take(pa.array(tried)))

        accepted = sifted(np.arange(len(rows)), check, partial(self._reject, rows))
        return publisher.take(table.take(pa.array(accepted))) if accepted else []

    def _is_taken_alike(self, table: pa.Table) -> bool:
        """Whether slots that are all right can be taken together as well as one after another.

        Not where a check is of all records of a slot: whether a column is unique, or reads as a time.
        """
        roles, sensitive = self._roles, table.column(self._roles.sensitive[0])
        if roles.keep or self._parameters.settings.options.late == "move" or sensitive.null_count:
            return False
        if pa.types.is_integer(self._time_type) or (roles.respondent and table[roles.respondent].null_count):
            return False
        values = {*sensitive.unique().to_pylist()}
        self._harmless |= {each for each in values - self._harmless if not reads_as_time(pa.array([each]))}
        return values <= self._harmless

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
