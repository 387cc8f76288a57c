"""The stream publisher: snapshots in, the slots that became final out (Wang et al. 2010).

A snapshot of a day or an hour is small, so its sensitive values are skewed and no l-diverse version of it
exists. The publisher holds a window of slots, withholds as little of each snapshot as it can, lets records
move forward by a slot or two, and publishes every slot in order once nothing can change it any more.

Where we depart from the print
    The first window grows by the same step, or is solved as a program with `first_window="exact"`.
    A record moves by at most window - 1 slots: slot j is final when slot j + window - 1 has arrived.
    Slots without a snapshot are empty ones; withheld records of earlier slots may fill them.
Cost: per slot, its records and the relays made; memory is two windows of records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.errors import InputError, InternalError, ParameterError
from timeveil.models.stream.method.arrivals import Arrivals, arrivals, refuse_wide_gap
from timeveil.models.stream.method.costs import MoveCost, WithholdCost
from timeveil.models.stream.method.manifest import counts_of, manifest_of
from timeveil.models.stream.method.published import (
    PublishedSlot,
    data_columns,
    data_table,
    empty_table,
    sensitive_columns,
    sensitive_table,
    shown_type,
)
from timeveil.models.stream.method.reposition import Filler
from timeveil.models.stream.method.settings import (
    Buckets,
    FirstWindow,
    Late,
    Nulls,
    settings_from,
    whole_number,
)
from timeveil.models.stream.method.slots import Ints, Slots
from timeveil.models.stream.method.state import dump, load, stream_of
from timeveil.models.stream.method.streaming import Final

_LATE = {
    False: 'let late records move on with late="move" (--late move)',
    True: "put late records into the next stream: a packet holds records of one true slot",
}
"""What to do with late records, by whether they would go into packets."""


class StreamPublisher:
    """Publishes a stream slot by slot, each l-diverse.

    `push` takes the records of the next slot or slots and gives the slots that became final; `close` gives
    the rest. `state` is all there is to remember, for `restore` to go on from. `facts` are private.

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
        first_window: FirstWindow = "grow",
        fill_empty: bool = True,
        filler: Filler = "never",
        jitter: int = 0,
        buckets: Buckets = "anatomy",
        late: Late = "refuse",
        nulls: Nulls = "error",
        zone: str | None = None,
        unit: str | None = None,
        protect_slot: int | None = None,
        spread: int = 1,
        fillers: int = 0,
    ) -> None:
        self._settings = settings_from(
            roles,
            l,
            window,
            slot,
            move_cost=move_cost,
            withhold_cost=withhold_cost,
            seed=seed,
            first_window=first_window,
            fill_empty=fill_empty,
            filler=filler,
            jitter=jitter,
            buckets=buckets,
            late=late,
            nulls=nulls,
            zone=zone,
            unit=unit,
            protect_slot=protect_slot,
            spread=spread,
            fillers=fillers,
        )
        self._stream = stream_of(self._settings)
        self._slots: Slots | None = None
        self._schema: pa.Schema | None = None
        self._held: tuple[pa.Table, Ints] | None = None
        self._closed = False

    @classmethod
    def restore(cls, state: bytes, roles: Roles, *arguments: Any, **options: Any) -> StreamPublisher:
        """A publisher that goes on from a state, made with the same parameters; the seed may be left out.

        >>> roles = Roles(time="day", sensitive=["disease"])
        >>> publisher = StreamPublisher(roles, l=2, window=3)
        >>> StreamPublisher.restore(publisher.state(), roles, l=2, window=3).facts == publisher.facts
        True
        """
        publisher = cls(roles, *arguments, **options)
        loaded = load(state, publisher._settings, seed_given=options.get("seed") is not None)
        publisher._settings = loaded.stream.settings
        publisher._stream = loaded.stream
        publisher._slots, publisher._schema = loaded.slots, loaded.schema
        publisher._held, publisher._closed = loaded.held, loaded.closed
        return publisher

    def state(self) -> bytes:
        """Everything needed to go on later, as data. Private: it holds records and the seed."""
        return dump(self._stream, self._slots, self._schema, self._held, closed=self._closed)

    @property
    def facts(self) -> dict[str, Any]:
        """Numbers of the run so far. Private: they tell how much was moved and withheld."""
        stream, tally = self._stream, self._stream.tally
        last, slots = stream.last, self._slots
        return {
            "rows_read": tally["read"],
            "published": tally["published"],
            "moved": tally["moved"],
            "withheld": tally["withheld"],
            "waiting": tally["read"] - tally["published"] - tally["withheld"],
            "late": tally["late"],
            "incomplete": tally["incomplete"],
            "duplicates": tally["duplicates"],
            "values": len(stream.values),
            "slots_published": tally["slots"],
            "slots_in_window": 0 if last is None or stream.emitted is None else last - stream.emitted,
            "last_slot": None if last is None or slots is None else slots.label(last),
            "mean_distance": tally["distance"] / tally["moved"] if tally["moved"] else 0.0,
            "information_loss": self._settings.costs.amount(tally["loss"]),
            "seed": self._settings.seed,
        }

    @property
    def latest(self) -> int | None:
        """The number of the latest slot that has come in, None before the first."""
        return self._stream.last

    def push(
        self, snapshot: Any, *, max_gap: int | None = None, since: int | None = None
    ) -> list[PublishedSlot]:
        """Take the records of the next slot or slots, whole; slots that are left out are empty.

        Nothing is taken if anything is wrong with the snapshot. One that leaves out more than `max_gap` slots
        is wrong: a single date far ahead would end all slots before it. With `since` they are counted from
        there, if that is later than what has come in.
        """
        self._refuse_closed()
        arrived = arrivals(snapshot, self._settings)
        rows = self._rows(arrived)
        rows, slot, came_from = self._in_order(rows, arrived)
        last = self._stream.last
        refuse_wide_gap(slot, last)
        if max_gap is not None:
            whole_number("max_gap", max_gap, 0, "it is how many slots in a row may be empty")
            known = [begin for begin in (last, since) if begin is not None]
            refuse_wide_gap(slot, max(known, default=None), max_gap)
        if len(slot) and self._slots is None:
            self._slots, self._schema = arrived.slots, rows.schema
        tally = self._stream.tally
        tally["read"] += arrived.relation.rows
        tally["incomplete"] += arrived.incomplete
        tally["withheld"] += arrived.incomplete
        tally["late"] += int(np.count_nonzero(came_from != slot)) - self._held_rows()
        self._held = None
        if len(slot) and not np.any(
            came_from == slot
        ):  # nothing but late records: the next slot is open still
            self._held = (rows, came_from)
            return []
        return self._take(rows, slot, came_from)

    def close(self) -> list[PublishedSlot]:
        """Publish every slot that is left; nothing can be pushed after it."""
        self._refuse_closed()
        out: list[PublishedSlot] = []
        if self._held is not None and self._stream.last is not None:
            rows, came_from = self._held
            out += self._take(rows, np.full(len(came_from), self._stream.last + 1), came_from)
        self._held, self._closed = None, True
        return out + [self._published(final) for final in self._stream.end()]

    def _take(self, rows: pa.Table, slot: Ints, came_from: Ints) -> list[PublishedSlot]:
        """Let slots arrive one after another, up to the last that has a record."""
        codes = self._stream.encode(rows.column(self._settings.sensitive)) if len(slot) else []
        ends: list[int] = (np.flatnonzero(np.diff(slot)) + 1).tolist() + [len(slot)] * bool(len(slot))
        begin, out = 0, []
        for end in ends:
            part = rows.slice(begin, end - begin), codes[begin:end], came_from[begin:end].tolist()
            out += self._stream.arrive(int(slot[begin]), *part)
            begin = end
        return [self._published(final) for final in out]

    def _rows(self, arrived: Arrivals) -> pa.Table:
        """The columns that are needed later, in the types of the first push."""
        roles = self._settings.roles
        person = [] if roles.respondent is None else [roles.respondent]
        rows = arrived.rows([*person, *roles.sensitive, *roles.quasi_columns, *roles.keep])
        schema = self._schema or pa.schema([(f.name, shown_type(f.type)) for f in rows.schema])
        if self._slots is not None and len(arrived.slot) and arrived.slots != self._slots:
            raise InputError(
                f"column `{roles.time}` is of another kind than in the snapshots before",
                hint="give every snapshot the same kind of times",
                code="unsupported-input",
            )
        for field, wanted in zip(rows.schema, schema, strict=True):
            try:
                rows.column(field.name).cast(wanted.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                kinds = f"{shown_type(field.type)} where {wanted.type} came before"
            else:
                continue
            raise InputError(
                f"column `{field.name}` is of type {kinds}",
                hint="give every snapshot the same types",
                code="unsupported-input",
            )
        return rows.cast(schema)

    def _in_order(self, rows: pa.Table, arrived: Arrivals) -> tuple[pa.Table, Ints, Ints]:
        """Rows by slot, those that waited first; late ones go to the earliest slot that is open."""
        came_from, last = arrived.slot, self._stream.last
        behind = came_from < (np.iinfo(np.int64).min if last is None else last + 1)
        late = int(np.count_nonzero(behind))
        if late and self._settings.late == "refuse":
            first = int(np.argmax(behind)) + 1
            raise InputError(
                f"{late} records belong to slots that have been taken in already, the first in row {first}",
                hint=f"push whole slots in order, or {_LATE[self._settings.rules is not None]}",
                code="late",
                facts={"late": late, "row": first},
            )
        if self._held is not None:
            rows = pa.concat_tables([self._held[0], rows])
            came_from = np.concatenate([self._held[1], came_from])
        slot = came_from if last is None else np.maximum(came_from, last + 1)
        if np.any(np.diff(slot) < 0):
            order = np.argsort(slot, kind="stable")
            rows, slot, came_from = rows.take(pa.array(order)), slot[order], came_from[order]
        return rows, slot, came_from

    def _held_rows(self) -> int:
        return 0 if self._held is None else len(self._held[1])

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ParameterError(
                "the stream is closed: every slot of it has been published",
                hint="begin a new StreamPublisher",
                code="bad-parameter",
            )

    def _published(self, final: Final) -> PublishedSlot:
        slot, _, codes, bucket = final
        settings, slots, schema = self._settings, self._slots, self._schema
        if slots is None or schema is None:
            raise InternalError(
                "a slot became final before any record came", hint="please report it", code="internal"
            )
        tables = self._tables(final, slots, schema)
        counts = counts_of(len(codes), max(bucket, default=-1) + 1, slots, slot, slot)
        manifest = manifest_of(settings, settings.roles, slots, schema, counts)
        return PublishedSlot(slots.label(slot), slot, Release(settings.promise, manifest, tables))

    def _tables(self, final: Final, slots: Slots, schema: pa.Schema) -> dict[str, pa.Table]:
        slot, rows, codes, bucket = final
        settings, bucketed = self._settings, self._settings.buckets == "anatomy"
        columns = data_columns(settings.roles, slots, schema, settings.buckets)
        if not codes:
            tables = {"data": empty_table(columns)}
            if bucketed:
                tables["sensitive"] = empty_table(sensitive_columns(settings.roles, slots, schema))
            return tables
        copied = [name for name, role, _ in columns if role not in ("slot", "bucket")]
        index = np.full(len(codes), slot)
        tables = {"data": data_table(rows.select(copied), index, bucket, settings, slots)}
        if bucketed:
            values = pa.array(self._stream.values, schema.field(settings.sensitive).type)
            tables["sensitive"] = sensitive_table(index, bucket, codes, values, settings, slots)
        return tables
