"""The state of a stream as bytes: a line that says what it is, a digest, numbers as JSON, records as Arrow.

Only records that may still be published are in it, written afresh. A state resumes under the parameters that
it was made with and no others. States of version 1 held the published records of the window as well, and
cells in the order of arrival; they resume too.
"""

import hashlib
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.domain.arrays import Ints
from timeveil.domain.relation import TimeAxis
from timeveil.errors import BundleError, ParameterError, raising
from timeveil.models.stream.method import flow
from timeveil.models.stream.method.arrivals import Slots, codes_of, python_values
from timeveil.models.stream.method.flow import PacketStream, Stream, WindowStream
from timeveil.models.stream.method.packets import Packet
from timeveil.models.stream.method.placing import Values
from timeveil.models.stream.method.recurring import Returning
from timeveil.models.stream.method.reposition import Published
from timeveil.models.stream.method.settings import Settings
from timeveil.reading.encoding import encode

MAGIC = b"timeveil stream state 2\n"
VERSION_1 = b"timeveil stream state 1\n"
DIGEST = 32
BOOKKEEPING = ("arrived", "came_from", "standing")
"""Columns added to those of a record: the slot it arrived in, its true slot, and what it waits for."""

_BROKEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, pa.ArrowException)
"""What reading damaged content raises."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What is in a state: `rows` are those of `stream.unpublished()`, in its order."""

    stream: Stream
    slots: Slots | None
    rows: pa.Table | None
    held_back: tuple[pa.Table, Ints] | None
    closed: bool


def dump(content: Loaded) -> bytes:
    """Everything that a stream must remember."""
    stream = content.stream
    numbers: dict[str, Any] = {
        "parameters": stream.settings.remembered(),
        "seed": str(stream.settings.seed),
        "first": stream.first,
        "last": stream.last,
        "emitted": stream.emitted,
        "closed": content.closed,
        "tally": dict(stream.tally),
        "totals": list(stream.totals),
        "slots": None if content.slots is None else _described(content.slots),
    }
    if isinstance(stream, PacketStream):
        # Packets with the positions of their records among the rows of the state.
        numbers["next_packet"], numbers["packets"], position = stream.waiting.number, [], count()
        for packet in stream.waiting.packets:
            records = list(islice(position, len(packet.records)))
            entry = [packet.number, packet.origin, packet.due, packet.filler, packet.values, records]
            numbers["packets"].append(entry)
    if isinstance(stream, WindowStream):
        slots, numbers["solved"] = stream.window.slots.values(), stream.solved
        cells = ((slot.number, value, cell) for slot in slots for value, cell in slot.published.items())
        numbers["published"] = sorted([*at, origin, n] for *at, cell in cells for origin, n in cell.items())
        numbers["withheld"] = sorted([slot.number, v, n] for slot in slots for v, n in slot.withheld.items())
    tables = [] if content.rows is None else _tables(content, content.rows)
    body = framed([json.dumps(numbers).encode(), *map(arrow_bytes, tables)])
    # The digest covers all that follows it, so that a damaged state is refused before it is parsed.
    return MAGIC + hashlib.sha256(body).digest() + body


def framed(parts: Iterable[bytes]) -> bytes:
    """Parts one after another, each after its length."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def frames(body: bytes) -> list[bytes]:
    """The parts again."""
    parts = []
    while body:
        end = 8 + int.from_bytes(body[:8], "big")
        parts.append(body[8:end])
        body = body[end:]
    return parts


def arrow_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _tables(content: Loaded, rows: pa.Table) -> Iterator[pa.Table]:
    stream, bookkeeping = content.stream, []
    for slot, records, standing in stream.unpublished():
        bookkeeping += [(slot, stream.true_slots.get(record, slot), standing) for record in records]
    if content.held_back is not None:
        rows = pa.concat_tables([rows, content.held_back[0]])
        bookkeeping += [(0, slot, flow.HELD_BACK) for slot in content.held_back[1].tolist()]
    numbers = np.array(bookkeeping, np.int64).reshape(-1, len(BOOKKEEPING))
    # Columns are named by position, since a column of the input may have the name of one of ours.
    names = [*map(str, range(rows.num_columns)), *BOOKKEEPING]
    columns = [*rows.combine_chunks().columns, *(pa.array(column) for column in numbers.T)]
    yield pa.table(columns, names=names)
    yield pa.table(
        {"values": pa.array(stream.values.names, rows.schema.field(stream.settings.sensitive).type)}
    )
    yield pa.table({"names": pa.array(rows.schema.names)})
    if stream.recurrence is not None:
        signatures, person = stream.recurrence.known, str(stream.settings.roles.respondent)
        yield pa.table(
            {
                "people": pa.array(list(signatures), rows.schema.field(person).type),
                "slot": pa.array([slot for slot, _ in signatures.values()], pa.int64()),
                "signature": pa.array([codes for _, codes in signatures.values()], pa.list_(pa.int32())),
            }
        )


def load(state: bytes, settings: Settings, *, check_seed: bool) -> Loaded:
    """The stream that a state holds, if it was made with these parameters."""
    message = "the state of the stream is damaged, or was written by another version"
    hint = "restore a copy of it; without one, begin a new stream after the last slot that was published"
    damaged = BundleError(message, hint=hint, code="state-damaged")
    if not isinstance(state, bytes | bytearray | memoryview):
        raise damaged
    state = bytes(state)
    magic, digest, body = state[: len(MAGIC)], state[len(MAGIC) :][:DIGEST], state[len(MAGIC) + DIGEST :]
    if magic not in (MAGIC, VERSION_1) or hashlib.sha256(body).digest() != digest or not body:
        raise damaged
    with raising(damaged, on=_BROKEN):
        text, *tables = frames(body)
        numbers = json.loads(text)
        differ = settings.options.differing(settings.remembered(), numbers["parameters"])
        if check_seed and str(settings.seed) != numbers["seed"]:
            differ.append("seed")
        if not differ:
            stream = flow.stream_of(replace(settings, seed=int(numbers["seed"])))
            return _loaded(stream, numbers, tables, in_order=magic == MAGIC)
    message = f"the state was made with other parameters: {', '.join(differ)}"
    hint = "use the parameters that the stream began with, or begin a new stream"
    raise ParameterError(message, hint=hint, code="state-mismatch", facts={"differ": differ})


def _loaded(stream: Stream, numbers: Mapping[str, Any], tables: Sequence[bytes], *, in_order: bool) -> Loaded:
    stream.first, stream.last, stream.emitted = (numbers[name] for name in ("first", "last", "emitted"))
    stream.tally = Counter(numbers["tally"])
    # A state of an earlier version has none: its latest slots are counted from here.
    so_far = [(stream.tally["published"], stream.tally["withheld"])]
    stream.totals.clear()
    stream.totals.extend(map(tuple, numbers.get("totals", so_far)))
    slots = None if numbers["slots"] is None else _slots(numbers["slots"])
    rows = held_back = None
    if tables:
        records, values, names, *followed = (pa.ipc.open_stream(table).read_all() for table in tables)
        stream.values = Values(python_values(values["values"]))
        bookkeeping = np.array([records[name].to_numpy() for name in BOOKKEEPING])
        standing = bookkeeping[2]
        rows = pa.table(records.columns[: -len(BOOKKEEPING)], names=names["names"].to_pylist())
        late = np.flatnonzero(standing == flow.HELD_BACK)
        if len(late):
            held_back = rows.take(pa.array(late)), bookkeeping[1, late]
        live = np.flatnonzero((standing != flow.HELD_BACK) & (standing != flow.PUBLISHED))
        rows = rows.take(pa.array(live))
        person = stream.settings.roles.respondent
        if person is not None:
            stream.people = dict(enumerate(python_values(rows.column(person))))
        if stream.recurrence is not None:
            people, slot, signatures = (python_values(column) for column in followed[0].columns)
            entries = zip(slot, map(tuple, signatures), strict=True)
            stream.recurrence.known = dict(zip(people, entries, strict=True))
        if isinstance(stream, WindowStream):
            _put_back(stream, rows, bookkeeping[:, live], numbers, in_order=in_order)
    if isinstance(stream, PacketStream):
        # Records are numbered anew, in the order of the rows.
        stream.waiting.number, position = numbers["next_packet"], count()
        for number, origin, due, filler, packet_values, positions in numbers["packets"]:
            renumbered = list(islice(position, len(positions)))
            stream.waiting.packets.append(Packet(number, origin, packet_values, renumbered, due, filler))
    return Loaded(stream, slots, rows, held_back, numbers["closed"])


def _put_back(
    stream: WindowStream, rows: pa.Table, bookkeeping: Ints, numbers: Mapping[str, Any], *, in_order: bool
) -> None:
    """Records into cells, snapshots and plans, as they were; `in_order` if cells are in their order."""
    arrived, true_slot, standing = bookkeeping
    codes = codes_of(encode(rows.column(stream.settings.sensitive)), stream.values)
    late = np.flatnonzero(arrived != true_slot)
    stream.true_slots = dict(zip(late.tolist(), true_slot[late].tolist(), strict=True))
    if stream.recurrence is not None:
        for record in np.flatnonzero(standing == flow.RETURNING).tolist():
            slot = int(arrived[record])
            returning = Returning(record, int(codes[record]), slot)
            stream.recurrence.waiting.setdefault(slot, []).append(returning)
        in_window = np.flatnonzero(standing == flow.WAITING).tolist()
        stream.recurrence.under_way = {stream.people[record] for record in in_window}
    for slot in dict.fromkeys(arrived[standing != flow.RETURNING].tolist()):
        records = np.flatnonzero((arrived == slot) & (standing != flow.RETURNING))
        if standing[records[0]] == flow.DELAYED:
            stream.delayed[slot] = [(records, codes[records])]
            continue
        # Records come in order of arrival, and draws depend on seed and slot only: same secret order.
        snapshot = stream.placement.snapshot(slot, records, codes[records])
        if stream.emitted is None or slot > stream.emitted:
            stream.placement.snapshots[slot] = snapshot
        else:
            # Some records of a final slot are gone, so its order cannot be drawn anew: the rows have it.
            ordered = records if in_order else snapshot.records
            cells = {code: ordered[codes[ordered] == code] for code in snapshot.counts}
            stream.placement.unplaced[slot] = cells
    stream.solved = numbers["solved"]
    published: dict[int, Published] = defaultdict(dict)
    withheld: dict[int, dict[int, int]] = defaultdict(dict)
    for number, value, origin, size in numbers["published"]:
        published[number].setdefault(value, {})[origin] = size
    for number, value, size in numbers["withheld"]:
        withheld[number][value] = size
    if stream.last is not None and stream.emitted is not None:
        for number in range(stream.emitted + 1, stream.last + 1):
            stream.window.place(number, published[number], withheld[number])


def _described(slots: Slots) -> dict[str, Any]:
    axis, granularity = slots.axis, slots.granularity
    return {
        "kind": axis.kind,
        "type": {pa.date32(): "date", pa.int64(): "number"}.get(axis.type, "timestamp"),
        "zone": axis.zone,
        "unit": axis.unit,
        "granularity": None if granularity is None else granularity.as_dict(),
    }


def _slots(described: Mapping[str, Any]) -> Slots:
    types = {"date": pa.date32(), "number": pa.int64(), "timestamp": pa.timestamp("ms", described["zone"])}
    axis = TimeAxis(described["kind"], types[described["type"]], described["zone"], described["unit"])
    rule = described["granularity"]
    return Slots(axis, None if rule is None else Granularity.from_dict(rule))
