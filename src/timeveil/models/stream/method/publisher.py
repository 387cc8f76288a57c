"""The two ways to publish a stream (Wang et al. 2010): slot by slot, and a whole table at once.

A snapshot of a day or an hour is small, so its sensitive values are skewed and no l-diverse version of it
exists. The publisher keeps a window of slots, withholds as little of each snapshot as it can, lets records
move forward by a slot or two, and publishes every slot in order once nothing can change it any more. A whole
table goes through the same steps, slot after slot: the result is that of pushing under the same seed.

Where we depart from the print
    The first window grows by the same step, or is solved as a program with `first_window="exact"`.
    A record moves by at most window - 1 slots: slot j is final when slot j + window - 1 has arrived.
    Slots without a snapshot are empty ones; withheld records of earlier slots may fill them.
Cost: per slot, its records and the relays made. Memory: two windows of records; for a whole table the input
and some 40 bytes a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import GAP, Granularity
from timeveil.domain.arrays import Ints
from timeveil.domain.lines import Decimal, Delimiter
from timeveil.domain.parameter import Parameter
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError
from timeveil.models.stream.method.arrivals import Arrived, codes_of, python_values, reader_of, refuse_gap
from timeveil.models.stream.method.flow import PacketStream, stream_of
from timeveil.models.stream.method.placing import Arrivals, Final
from timeveil.models.stream.method.reposition import Filler
from timeveil.models.stream.method.settings import MoveCost, WithholdCost, settings_from
from timeveil.models.stream.method.state import Loaded, dump, load
from timeveil.models.stream.method.tables import Layout, PublishedSlot, RowStore, run_facts, typed
from timeveil.models.stream.parameters import ServiceParameters, StreamParameters
from timeveil.reading.columns import taken
from timeveil.reading.encoding import Coded, encode, encode_people
from timeveil.reading.spellings import Spellings
from timeveil.recoding import Hierarchy

SINCE = Parameter("since", "whole", "Slot that a gap is counted from.", optional=True, example=7)


def publish_stream(
    table: Any,
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
    groups: Literal["buckets", "generalize"] = "buckets",
    hierarchies: Mapping[str, Hierarchy | str | Path | pa.Table] | None = None,
    k: int | None = None,
    buckets: Literal["anatomy", "none"] = "anatomy",
    late: Literal["refuse", "move"] = "refuse",
    nulls: Literal["error", "withhold"] = "error",
    zone: str | None = None,
    unit: str | None = None,
    time_format: str | None = None,
    decimal: Decimal | None = None,
    delimiter: Delimiter | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    fold_spellings: bool = False,
    accept_risk: Sequence[str] = (),
    allow_loss: bool = False,
    after: Sequence[Ledger] = (),
    force: bool = False,
    protect_slot: int | None = None,
    spread: int = 1,
    fillers: int = 0,
    recurring: Literal["ignore", "withhold", "invariant"] = "ignore",
    forget_after: int | None = None,
    progress: Progress = silent,
) -> tuple[Release, Ledger]:
    """Publish a complete stream, every slot l-diverse.

    The result is that of pushing its slots one by one into a `StreamPublisher` and closing it. Rows need not
    be sorted: a whole table has no late records. `after` has ledgers of earlier streams, which are refused if
    they show the same people and do not end before this one begins, unless `force` is set.

    >>> import pyarrow as pa
    >>> cases = pa.table({"day": [1, 1, 1, 2, 2], "age": [30, 40, 50, 60, 70],
    ...                   "disease": ["flu", "flu", "flu", "cold", "mumps"]})
    >>> roles = Roles(time="day", quasi=["age"], sensitive=["disease"])
    >>> release, ledger = publish_stream(cases, roles, l=2, window=2, seed=1)
    >>> release.table["slot"].to_pylist(), sorted(release.tables["sensitive"]["disease"].to_pylist())
    ([2, 2, 2, 2], ['cold', 'flu', 'flu', 'mumps'])
    >>> ledger.facts["moved"], ledger.facts["withheld"]
    (2, 1)
    """
    settings = settings_from(roles, StreamParameters.from_call(locals()))
    progress("reading", 0.0)
    arrived, stream = Arrived(table, settings, reader_of(roles, settings.options)), stream_of(settings)
    relation, person = arrived.relation, arrived.relation.roles.respondent
    progress("encoding", 0.3)
    # Stable: within a slot, records stay in the order in which pushing would number them.
    order = arrived.slot.argsort(kind="stable")
    slots, rows = arrived.slot[order], arrived.rows[order]
    refuse_gap(slots)
    codes = codes_of(arrived.coded, stream.values, rows)
    distinct = len(stream.values.names)
    hint = f"use {{l={distinct}}} or less" if distinct >= 2 else "name another {sensitive} column"
    settings.refuse_few_values(distinct, hint)
    people = None
    if person is not None:
        people = encode_people(taken(relation.table.column(person), rows))[0].tolist()
    stream.count(read=relation.rows, incomplete=arrived.incomplete, withheld=arrived.incomplete)
    arriving = Arrivals(slots, rows, codes, None, people)
    finals = stream.arrive(arriving, lambda doing, share: progress(doing, 0.6 + 0.35 * share))
    # Packets that were given up, and those that still wait.
    withheld = [pair for final in finals for pair in final.withheld]
    waiting = stream.waiting.packets if isinstance(stream, PacketStream) else []
    withheld += [(record, packet.number) for packet in waiting for record in packet.records]
    finals += stream.end()
    stream.refuse_loss(len(codes) // max(int(np.bincount(codes).max(initial=0)), 1))
    progress("done", 1.0)
    layout, store = Layout(settings, relation.roles, arrived.slots, relation.data.schema), RowStore()
    store.add(relation.table, stream.last or 0)
    layout.learn(relation.table)  # a ledger maps all values to labels, published or not
    finals, mappings = list(layout.grouped(finals, store)), layout.ladders.items()
    release = layout.release(finals, stream.values.names, store)
    origin = np.full(relation.rows, GAP)
    origin[rows] = slots
    stated = {name: release.manifest[name] for name in ("parameters", "time")}
    facts = {**run_facts(stream, codes, origin, finals), **relation.exceptions, **stated}
    entries = layout.entries(origin, finals, withheld)
    return release, Ledger("stream", entries, relation, {n: ladder.mapping for n, ladder in mappings}, facts)


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
        groups: Literal["buckets", "generalize"] = "buckets",
        hierarchies: Mapping[str, Hierarchy | str | Path | pa.Table] | None = None,
        k: int | None = None,
        buckets: Literal["anatomy", "none"] = "anatomy",
        late: Literal["refuse", "move"] = "refuse",
        nulls: Literal["error", "withhold"] = "error",
        zone: str | None = None,
        unit: str | None = None,
        time_format: str | None = None,
        decimal: Decimal | None = None,
        delimiter: Delimiter | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        fold_spellings: bool = False,
        accept_risk: Sequence[str] = (),
        allow_loss: bool = False,
        after: Sequence[Ledger] = (),
        force: bool = False,
        protect_slot: int | None = None,
        spread: int = 1,
        fillers: int = 0,
        recurring: Literal["ignore", "withhold", "invariant"] = "ignore",
        forget_after: int | None = None,
    ) -> None:
        self._settings = settings_from(roles, StreamParameters.from_call(locals()))
        self._stream = stream_of(self._settings)
        self._reader = reader_of(roles, self._settings.options)
        self._layout: Layout | None = None
        self._rows = RowStore()
        self._held_back: tuple[pa.Table, Ints] | None = None
        self._closed = False
        self._other_forms: set[str] = set()  # columns that had texts in another form than the normal one

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
        settings = publisher._settings = loaded.stream.settings
        publisher._stream = loaded.stream
        publisher._held_back, publisher._closed = loaded.held_back, loaded.closed
        publisher._other_forms = set(settings.roles.columns)  # which of them is not known any more
        if loaded.slots is not None and loaded.rows is not None:
            publisher._layout = Layout(settings, settings.roles, loaded.slots, loaded.rows.schema)
            publisher._rows.add(loaded.rows, loaded.stream.last or 0)
        return publisher

    def state(self) -> bytes:
        """Everything needed to resume later. Private: it holds records and the seed."""
        layout = self._layout
        if layout is None:
            return dump(Loaded(self._stream, None, None, None, self._closed))
        waiting = [record for _, records, _ in self._stream.unpublished() for record in records]
        rows = self._rows.take(np.array(waiting, np.int64), layout.schema.names)
        return dump(Loaded(self._stream, layout.slots, rows, self._held_back, self._closed))

    @property
    def facts(self) -> dict[str, Any]:
        """Numbers of the run so far. Private: they reveal how much was moved and withheld."""
        stream, layout = self._stream, self._layout
        tally, last = stream.tally, stream.last
        same = ("published", "moved", "withheld", "late", "incomplete", "duplicates", "folded", "repeated")
        return {
            "rows_read": tally["read"],
            **{name: tally[name] for name in same},
            "waiting": tally["read"] - tally["published"] - tally["withheld"],
            "recent_slots": len(stream.totals) - 1,
            "recent_published": tally["published"] - stream.totals[0][0],
            "recent_withheld": tally["withheld"] - stream.totals[0][1],
            "values": len(stream.values.names),
            "slots_published": tally["slots"],
            "slots_in_window": 0 if last is None or stream.emitted is None else last - stream.emitted,
            "last_slot": None if last is None or layout is None else layout.slots.label(last),
            "mean_distance": tally["distance"] / tally["moved"] if tally["moved"] else 0.0,
            "information_loss": self._settings.costs.amount(tally["loss"]),
            "seed": self._settings.seed,
            **stream.followed,
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
        return self.publish(self.take(snapshot, max_gap=max_gap, since=since))

    def take(self, snapshot: Any, *, max_gap: int | None = None, since: int | None = None) -> list[Final]:
        """The first half of `push`: what became final by several snapshots may be published together."""
        self._refuse_closed()
        since, max_gap = SINCE.check(since), ServiceParameters.table()["max_gap"].check(max_gap)
        arrived, last = Arrived(snapshot, self._settings, self._reader), self._stream.last
        rows, true_slot = typed(arrived, self._settings.roles, self._layout), arrived.slot
        if last is not None and self._settings.options.late == "refuse":
            arrived.refuse_late(last, self._settings.options)
        coded = None if arrived.incomplete or self._held_back else arrived.coded
        if self._held_back is not None:
            rows = pa.concat_tables([self._held_back[0], rows])
            true_slot = np.concatenate([self._held_back[1], true_slot])
        self._refuse_spellings(rows, arrived.relation.normal)
        # Late records go to the earliest slot that is open.
        slot = true_slot if last is None else np.maximum(true_slot, last + 1)
        refuse_gap(np.sort(slot), last)
        if max_gap is not None:
            begin = [number for number in (last, since) if number is not None]
            refuse_gap(np.sort(slot), max(begin, default=None), max_gap)
        if len(slot) and self._layout is None:
            self._layout = Layout(self._settings, self._settings.roles, arrived.slots, rows.schema)
        if self._layout is not None:
            self._layout.learn(rows)  # a value without a label is refused before anything is taken
        relation, late = arrived.relation, int(np.count_nonzero(true_slot != slot))
        self._stream.count(read=relation.rows, folded=sum(relation.folded.values()))
        self._stream.count(incomplete=arrived.incomplete, withheld=arrived.incomplete)
        # Records that were held back counted as late when they first came.
        self._stream.count(late=late - (len(true_slot) - len(arrived.slot)))
        self._held_back = None
        if late and late == len(slot):  # nothing but late records: the next slot is still open
            self._held_back = (rows, true_slot)
            return []
        return self._take(rows, slot, true_slot, coded)

    def close(self) -> list[PublishedSlot]:
        """Publish every slot that is left; nothing can be pushed after it."""
        self._refuse_closed()
        finals = list[Final]()
        if self._held_back is not None and self._stream.last is not None:
            rows, true_slot = self._held_back
            finals = self._take(rows, np.full(len(true_slot), self._stream.last + 1), true_slot)
        self._held_back, self._closed = None, True
        return self.publish(finals + self._stream.end())

    def _take(self, rows: pa.Table, slot: Ints, true_slot: Ints, coded: Coded | None = None) -> list[Final]:
        """Let records arrive, those of one slot together; `coded` has their sensitive values if known."""
        if len(slot) == 0:
            return []
        settings, stream, person = self._settings, self._stream, self._settings.roles.respondent
        order = slot.argsort(kind="stable")
        if coded is None or coded.values.type != rows.schema.field(settings.sensitive).type:
            coded = encode(rows.column(settings.sensitive))
        codes = codes_of(coded, stream.values, None if np.array_equal(slot[order], slot) else order)
        people = None if person is None else python_values(taken(rows.column(person), order))
        origins = None if np.array_equal(slot, true_slot) else true_slot[order].tolist()
        records = self._rows.add(rows, int(slot.max()))[order]
        return stream.arrive(Arrivals(slot[order], records, codes, origins, people))

    def _refuse_spellings(self, rows: pa.Table, normal: frozenset[str]) -> None:
        """Refuse other spellings of values that came before, and of people who may still be published."""
        stream, person = self._stream, self._settings.roles.respondent
        for role, name in (("sensitive", self._settings.sensitive), ("respondent", person)):
            # Where all texts are in their normal form, as most are, no two can be spellings of one.
            if name is None or (name in normal and name not in self._other_forms):
                continue
            self._other_forms.add(name)
            spellings = Spellings(name, role, fold=self._settings.options.fold_spellings)
            column, earlier = rows.column(name), stream.values.names
            if name == person:
                earlier = [*stream.people.values(), *(stream.recurrence.known if stream.recurrence else ())]
            cells = pa.chunked_array([*column.chunks, pa.array(earlier, column.type)])
            spellings.note(cells)
            spellings.refuse([cells])

    def _refuse_closed(self) -> None:
        if self._closed:
            message = "the stream is closed: all of its slots have been published"
            raise ParameterError(message, hint="start a new StreamPublisher")

    def publish(self, finals: Sequence[Final]) -> list[PublishedSlot]:
        """The other half: final slots with their tables. Rows that no later slot can hold are forgotten."""
        layout, stream = self._layout, self._stream
        if layout is None or not finals:
            return []
        finals = layout.grouped(finals, self._rows)
        releases = layout.releases(finals, stream.values.names, self._rows)
        if stream.emitted is not None:
            self._rows.drop(stream.emitted - self._settings.options.reach + 1)
        pairs = zip(finals, releases, strict=True)
        return [PublishedSlot(layout.slots.label(final.slot), final.slot, each) for final, each in pairs]
