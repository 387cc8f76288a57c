"""The stream publisher: snapshots in, the slots that became final out (Wang et al. 2010).

A snapshot of a day or an hour is small, so its sensitive values are skewed and no l-diverse version of it
exists. The publisher keeps a window of slots, withholds as little of each snapshot as it can, lets records
move forward by a slot or two, and publishes every slot in order once nothing can change it any more.

Where we depart from the print
    The first window grows by the same step, or is solved as a program with `first_window="exact"`.
    A record moves by at most window - 1 slots: slot j is final when slot j + window - 1 has arrived.
    Slots without a snapshot are empty ones; withheld records of earlier slots may fill them.
Cost: per slot, its records and the relays made; memory is two windows of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.errors import InputError, InternalError, ParameterError
from timeveil.models.stream.method.arrivals import Arrivals, Slots, arrivals, codes_of, refuse_wide_gap
from timeveil.models.stream.method.chance import Ints
from timeveil.models.stream.method.costs import MoveCost, WithholdCost
from timeveil.models.stream.method.reposition import Filler
from timeveil.models.stream.method.settings import settings_from
from timeveil.models.stream.method.state import Loaded, dump, load
from timeveil.models.stream.method.stream import Arrival, Final, stream_of
from timeveil.models.stream.method.tables import Layout, PublishedSlot, SortedValues, value_type
from timeveil.models.stream.parameters import ServiceParameters, StreamParameters


class StreamPublisher:
    """Publishes a stream slot by slot, each l-diverse.

    `push` takes the records of the next slot or slots and returns the slots that became final; `close`
    returns the remaining ones. `state` is everything a publisher must remember, for `restore` to resume
    from. `facts` are private.

    >>> import pyarrow as pa
    >>> roles = Roles(time="day", quasi=["age"], sensitive=["disease"])
    >>> publisher = StreamPublisher(roles, l=2, window=2, seed=1)
    >>> publisher.push(pa.table({"day": [1, 1, 1], "age": [30, 40, 50], "disease": ["flu", "flu", "flu"]}))
    []
    >>> publisher.push(pa.table({"day": [2, 2], "age": [60, 70], "disease": ["cold", "mumps"]}))
    [<PublishedSlot 1: 0 rows>]
    >>> publisher.close()
    [<PublishedSlot 2: 4 rows>]
    >>> publisher.facts["moved"], publisher.facts["withheld"]
    (2, 1)
    """

    def __init__(
        self,
        roles: Roles,
        l: int = 3,
        window: int = 7,
        slot: str | Granularity = "day",
        *,
        move_cost: MoveCost = "linear",
        withhold_cost: WithholdCost = None,
        seed: int | None = None,
        first_window: Literal["grow", "exact"] = "grow",
        fill_empty: bool = True,
        filler: Filler = "never",
        jitter: int = 0,
        buckets: Literal["anatomy", "none"] = "anatomy",
        late: Literal["refuse", "move"] = "refuse",
        nulls: Literal["error", "withhold"] = "error",
        zone: str | None = None,
        unit: str | None = None,
        protect_slot: int | None = None,
        spread: int = 1,
        fillers: int = 0,
    ) -> None:
        self._settings = settings_from(roles, StreamParameters.from_call(locals()))
        self._stream = stream_of(self._settings)
        self._layout: Layout | None = None
        self._values: SortedValues | None = None
        self._rows = RowStore()
        self._held_back: tuple[pa.Table, Ints] | None = None
        self._closed = False

    @classmethod
    def restore(cls, state: bytes, roles: Roles, *arguments: Any, **options: Any) -> StreamPublisher:
        """A publisher that resumes from a state, made with the same parameters; the seed may be left out.

        >>> roles = Roles(time="day", sensitive=["disease"])
        >>> publisher = StreamPublisher(roles, l=2, window=3)
        >>> StreamPublisher.restore(publisher.state(), roles, l=2, window=3).facts == publisher.facts
        True
        """
        publisher = cls(roles, *arguments, **options)
        loaded = load(state, publisher._settings, check_seed=options.get("seed") is not None)
        publisher._settings, publisher._stream = loaded.stream.settings, loaded.stream
        publisher._held_back, publisher._closed = loaded.held_back, loaded.closed
        if loaded.slots is not None and loaded.rows is not None:
            publisher._begin(loaded.slots, loaded.rows.schema)
            publisher._rows.add(loaded.rows, loaded.stream.last or 0)
        return publisher

    def state(self) -> bytes:
        """Everything needed to resume later. Private: it holds records and the seed."""
        layout = self._layout
        if layout is None:
            return dump(Loaded(self._stream, None, None, None, self._closed))
        waiting = [record for _, records, _ in self._stream.unpublished() for record in records]
        rows, order = self._rows.take(np.array(waiting, np.int64), layout.schema.names)
        # `take` returns rows block by block; the inverse order restores that of `unpublished`.
        rows = rows.take(pa.array(np.argsort(order)))
        return dump(Loaded(self._stream, layout.slots, rows, self._held_back, self._closed))

    @property
    def facts(self) -> dict[str, Any]:
        """Numbers of the run so far. Private: they reveal how much was moved and withheld."""
        stream, tally, layout = self._stream, self._stream.tally, self._layout
        last = stream.last
        return {
            "rows_read": tally["read"],
            "published": tally["published"],
            "moved": tally["moved"],
            "withheld": tally["withheld"],
            "waiting": tally["read"] - tally["published"] - tally["withheld"],
            "late": tally["late"],
            "incomplete": tally["incomplete"],
            "duplicates": tally["duplicates"],
            "values": len(stream.values.names),
            "slots_published": tally["slots"],
            "slots_in_window": 0 if last is None or stream.emitted is None else last - stream.emitted,
            "last_slot": None if last is None or layout is None else layout.slots.label(last),
            "mean_distance": tally["distance"] / tally["moved"] if tally["moved"] else 0.0,
            "information_loss": self._settings.costs.amount(tally["loss"]),
            "seed": self._settings.seed,
        }

    @property
    def latest(self) -> int | None:
        """The number of the latest slot that has arrived, None before the first."""
        return self._stream.last

    def push(
        self, snapshot: Any, *, max_gap: int | None = None, since: int | None = None
    ) -> list[PublishedSlot]:
        """Take all records of the next slot or slots; slots that are left out are empty.

        Nothing is taken if anything is wrong with the snapshot. A snapshot that leaves out more than
        `max_gap` slots is wrong: a single date far ahead would end all slots before it. With `since` they are
        counted from that slot, if it is later than what has arrived.
        """
        self._refuse_closed()
        arrived = arrivals(snapshot, self._settings)
        rows, slot, true_slot = self._in_order(self._typed(arrived), arrived)
        last = self._stream.last
        refuse_wide_gap(slot, last)
        if max_gap is not None:
            ServiceParameters.table()["max_gap"].check(max_gap)
            begin = [number for number in (last, since) if number is not None]
            refuse_wide_gap(slot, max(begin, default=None), max_gap)
        if len(slot) and self._layout is None:
            self._begin(arrived.slots, rows.schema)
        tally, late = self._stream.tally, int(np.count_nonzero(true_slot != slot))
        tally["read"] += arrived.relation.rows
        tally["incomplete"] += arrived.incomplete
        tally["withheld"] += arrived.incomplete
        # Records that were held back counted as late when they first came.
        tally["late"] += late - (0 if self._held_back is None else len(self._held_back[1]))
        self._held_back = None
        if late and late == len(slot):  # nothing but late records: the next slot is still open
            self._held_back = (rows, true_slot)
            return []
        return self._take(rows, slot, true_slot)

    def close(self) -> list[PublishedSlot]:
        """Publish every slot that is left; nothing can be pushed after it."""
        self._refuse_closed()
        slots: list[PublishedSlot] = []
        if self._held_back is not None and self._stream.last is not None:
            rows, true_slot = self._held_back
            slots += self._take(rows, np.full(len(true_slot), self._stream.last + 1), true_slot)
        self._held_back, self._closed = None, True
        return slots + self._publish(self._stream.end())

    def _begin(self, slots: Slots, schema: pa.Schema) -> None:
        self._layout = Layout(self._settings, self._settings.roles, slots, schema)

    def _take(self, rows: pa.Table, slot: Ints, true_slot: Ints) -> list[PublishedSlot]:
        """Let slots arrive one after another, up to the last that has a record."""
        if len(slot) == 0:
            return []
        settings, stream = self._settings, self._stream
        codes = codes_of(rows.column(settings.sensitive), stream.values)
        person = settings.roles.respondent
        people = None if person is None else rows.column(person).to_pylist()
        origins = None if np.array_equal(slot, true_slot) else true_slot.tolist()
        records = self._rows.add(rows, int(slot[-1]))
        finals: list[Final] = []
        begin = 0
        for end in [*(np.flatnonzero(np.diff(slot)) + 1).tolist(), len(slot)]:
            part = slice(begin, end)
            arrival = Arrival(records[part], codes[part], origins and origins[part], people and people[part])
            finals += stream.arrive(int(slot[begin]), arrival)
            begin = end
        return self._publish(finals)

    def _typed(self, arrived: Arrivals) -> pa.Table:
        """The columns that are needed later, in the types of the first push."""
        roles, layout = self._settings.roles, self._layout
        person = [] if roles.respondent is None else [roles.respondent]
        rows = arrived.rows([*person, *roles.sensitive, *roles.quasi_columns, *roles.keep])
        if layout is None:
            return rows.cast(pa.schema([(field.name, value_type(field.type)) for field in rows.schema]))
        if len(arrived.slot) and arrived.slots != layout.slots:
            raise InputError(
                f"column `{roles.time}` has times of another kind than in earlier snapshots",
                hint="use the same kind of times in every snapshot",
            )
        if rows.schema.equals(layout.schema):
            return rows
        # Column by column, so that the error names the one that does not fit.
        for field, expected in zip(rows.schema, layout.schema, strict=True):
            try:
                rows.column(field.name).cast(expected.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                kinds = f"{value_type(field.type)} but was {expected.type} in earlier snapshots"
            else:
                continue
            raise InputError(
                f"column `{field.name}` has type {kinds}", hint="use the same types in every snapshot"
            )
        return rows.cast(layout.schema)

    def _in_order(self, rows: pa.Table, arrived: Arrivals) -> tuple[pa.Table, Ints, Ints]:
        """Rows by slot, those held back first; late ones go to the earliest slot that is open."""
        true_slot, last = arrived.slot, self._stream.last
        behind = true_slot < (np.iinfo(np.int64).min if last is None else last + 1)
        late = int(np.count_nonzero(behind))
        if late and self._settings.options.late == "refuse":
            first = int(np.argmax(behind)) + 1
            raise InputError(
                f"{late} records belong to slots that have already arrived, the first in row {first}",
                hint=_LATE_HINTS[self._settings.rules is not None],
                code="late",
                facts={"late": late, "row": first},
            )
        if self._held_back is not None:
            rows = pa.concat_tables([self._held_back[0], rows])
            true_slot = np.concatenate([self._held_back[1], true_slot])
        slot = true_slot if last is None else np.maximum(true_slot, last + 1)
        if np.any(np.diff(slot) < 0):
            order = np.argsort(slot, kind="stable")
            rows, slot, true_slot = rows.take(pa.array(order)), slot[order], true_slot[order]
        return rows, slot, true_slot

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ParameterError(
                "the stream is closed: all of its slots have been published",
                hint="start a new StreamPublisher",
            )

    def _publish(self, finals: Sequence[Final]) -> list[PublishedSlot]:
        """The tables of final slots; rows that no later slot can hold are forgotten."""
        slots = [self._published(final) for final in finals]
        if self._stream.emitted is not None:
            settings = self._settings
            # A record comes at most window - 1 + jitter slots late: older blocks can hold nothing to publish.
            self._rows.drop(self._stream.emitted - settings.window - settings.options.jitter + 1)
        return slots

    def _published(self, final: Final) -> PublishedSlot:
        layout, (slot, records, codes, buckets, *_) = self._layout, final
        if layout is None:
            raise InternalError("a slot became final before any record came", hint="please report it")
        rows, order = self._rows.take(records, layout.copied)
        index = np.full(len(records), slot)
        tables = {"data": layout.data(rows, index, None if buckets is None else buckets[order])}
        number = 0
        if buckets is not None:
            names = self._stream.values.names
            if self._values is None or len(self._values.rank) < len(names):
                self._values = layout.sorted_values(names)
            tables["sensitive"] = layout.sensitive(index, buckets, codes, self._values)
            number = int(buckets.max(initial=-1)) + 1
        release = Release(self._settings.promise, layout.manifest(len(records), number, slot, slot), tables)
        return PublishedSlot(layout.slots.label(slot), slot, release)


_LATE_HINTS = {
    False: 'push whole slots in order, or move late records on with {late="move"}',
    True: "push whole slots in order, or put late records into the next stream: a packet holds records of "
    "one true slot",
}
"""What to do with late records, by whether they would go into packets."""


class RowStore:
    """The rows of records that may still be published, in the blocks in which they came.

    Records are numbered through all blocks.
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[int, int, pa.Table]] = []
        self._next = 0

    def add(self, rows: pa.Table, slot: int) -> Ints:
        """Keep a block whose latest slot is `slot`; the numbers of its records."""
        first, self._next = self._next, self._next + rows.num_rows
        self._blocks.append((first, slot, rows))
        return np.arange(first, self._next)

    def take(self, records: Ints, columns: list[str]) -> tuple[pa.Table, Ints]:
        """Columns of the rows of records, and the order of the records that they are in."""
        # Blocks are numbered in order, so a binary search finds the block of each record.
        firsts = np.array([first for first, _, _ in self._blocks])
        block = firsts.searchsorted(records, side="right") - 1
        order = np.argsort(block, kind="stable")
        parts = [self._blocks[0][2].select(columns).slice(0, 0)]
        for at in np.unique(block).tolist():
            rows = self._blocks[at][2].select(columns)
            parts.append(rows.take(pa.array(records[block == at] - firsts[at])))
        return pa.concat_tables(parts[-1:] if len(parts) == 2 else parts), order

    def drop(self, slot: int) -> None:
        """Forget blocks up to a slot."""
        # One block always stays: `take` reads the schema from it, even for no records.
        while self._blocks and self._blocks[0][1] <= slot and len(self._blocks) > 1:
            self._blocks.pop(0)
