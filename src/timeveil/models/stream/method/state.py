"""The state of a stream as bytes: a line that says what it is, its digest, numbers as JSON, records as Arrow.

Records are written afresh, so nothing that was published or withheld before is left in the bytes. A state
goes on under the parameters that it was made with and no others.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.domain.relation import TimeAxis
from timeveil.errors import BundleError, ParameterError, TimeveilError
from timeveil.models.stream.method.closed import PacketStream
from timeveil.models.stream.method.mixture import Packet
from timeveil.models.stream.method.settings import Settings
from timeveil.models.stream.method.slots import Ints, Slots
from timeveil.models.stream.method.streaming import Stream

MAGIC = b"timeveil stream state 1\n"
OWN = ("arrived", "came_from", "standing")
WAITING, TAKEN, PUBLISHED, DELAYED, HELD = range(5)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was in a state."""

    stream: Stream | PacketStream
    slots: Slots | None
    schema: pa.Schema | None
    held: tuple[pa.Table, Ints] | None
    closed: bool


def stream_of(settings: Settings) -> Stream | PacketStream:
    """A new stream, by the method that the settings ask for."""
    return Stream(settings) if settings.rules is None else PacketStream(settings, settings.rules)


def dump(
    stream: Stream | PacketStream,
    slots: Slots | None,
    schema: pa.Schema | None,
    held: tuple[pa.Table, Ints] | None,
    *,
    closed: bool,
) -> bytes:
    """All that a stream must remember."""
    numbers: dict[str, Any] = {
        "parameters": parameters(stream.settings),
        "seed": str(stream.settings.seed),
        "first": stream.first,
        "last": stream.last,
        "emitted": stream.emitted,
        "closed": closed,
        "tally": dict(stream.tally),
        "slots": None if slots is None else _described(slots),
        **(_packets(stream) if isinstance(stream, PacketStream) else _window(stream)),
    }
    body = json.dumps(numbers).encode()
    tables = b"" if schema is None else _records(stream, schema, held)
    content = len(body).to_bytes(8, "big") + body + tables
    return MAGIC + hashlib.sha256(content).digest() + content


def _window(stream: Stream) -> dict[str, Any]:
    window = stream.window
    return {
        "solved": stream.solved,
        "published": [
            [slot, value, origin, count]
            for slot, cells in window.published.items()
            for value, cell in cells.items()
            for origin, count in cell.items()
        ],
        "withheld": [
            [slot, value, count] for slot, cells in window.withheld.items() for value, count in cells.items()
        ],
    }


def _packets(stream: PacketStream) -> dict[str, Any]:
    return {
        "next_record": stream.records,
        "next_packet": stream.waiting.number,
        "packets": [
            [one.number, one.origin, one.due, one.filler, one.values, one.records]
            for one in stream.waiting.packets
        ],
    }


def load(state: bytes, settings: Settings, *, seed_given: bool) -> Loaded:
    """The stream that a state holds, if it was made with these parameters."""
    numbers, tables = _opened(state)
    _refuse_other(numbers, settings, seed_given=seed_given)
    try:
        return _loaded(numbers, tables, replace(settings, seed=int(numbers["seed"])))
    except TimeveilError:
        raise
    except Exception:  # noqa: BLE001
        raise _damaged() from None


def parameters(settings: Settings) -> dict[str, Any]:
    """The parameters as a state remembers them; withhold costs by value as a digest."""
    roles, costs = settings.roles, settings.costs
    by_value = sorted((repr(value), cost) for value, cost in costs.withhold_by_value.items())
    slot = settings.slot.as_dict() if isinstance(settings.slot, Granularity) else settings.slot
    known = {
        **settings.published(),
        "slot": slot,
        "move_cost": [str(cost * costs.unit) for cost in costs.move],
        "withhold_cost": [
            str(costs.withhold * costs.unit),
            hashlib.sha256(json.dumps(by_value).encode()).hexdigest(),
        ],
        "zone": settings.zone,
        "unit": settings.unit,
        "roles": [
            roles.respondent,
            roles.time,
            list(roles.quasi_columns),
            roles.sensitive[0],
            list(roles.keep),
        ],
    }
    plain: dict[str, Any] = json.loads(json.dumps(known))
    return plain


def _opened(state: bytes) -> tuple[dict[str, Any], bytes]:
    begin = len(MAGIC) + 32
    if not isinstance(state, bytes | bytearray | memoryview):
        raise _damaged()
    state = bytes(state)
    content = state[begin:]
    whole = state.startswith(MAGIC) and hashlib.sha256(content).digest() == state[len(MAGIC) : begin]
    if not whole or len(content) < 8:
        raise _damaged()
    size = int.from_bytes(content[:8], "big")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def _refuse_other(numbers: Mapping[str, Any], settings: Settings, *, seed_given: bool) -> None:
    ours, theirs = parameters(settings), numbers["parameters"]
    differ = [name for name in ours if ours[name] != theirs.get(name)]
    if seed_given and str(settings.seed) != numbers["seed"]:
        differ.append("seed")
    if differ:
        raise ParameterError(
            f"the state was made with other parameters: {', '.join(differ)}",
            hint="give the parameters that the stream began with, or begin a new stream",
            code="state-mismatch",
            facts={"differ": differ},
        )


def _damaged() -> BundleError:
    return BundleError(
        "the state of the stream is damaged, or not one of this version",
        hint="restore a copy of it; without one, begin a new stream after the last slot that was published",
        code="state-damaged",
    )


def _described(slots: Slots) -> dict[str, Any]:
    axis, granularity = slots.axis, slots.granularity
    kind = axis.type
    return {
        "kind": axis.kind,
        "type": "date" if pa.types.is_date32(kind) else "number" if pa.types.is_int64(kind) else "timestamp",
        "zone": axis.zone,
        "unit": axis.unit,
        "granularity": None if granularity is None else granularity.as_dict(),
    }


def _slots(described: Mapping[str, Any]) -> Slots:
    types = {"date": pa.date32(), "number": pa.int64(), "timestamp": pa.timestamp("ms", described["zone"])}
    axis = TimeAxis(described["kind"], types[described["type"]], described["zone"], described["unit"])
    rule = described["granularity"]
    return Slots(axis, None if rule is None else Granularity.from_dict(rule))


def _records(stream: Stream | PacketStream, schema: pa.Schema, held: tuple[pa.Table, Ints] | None) -> bytes:
    """Every record that is still needed, then every value that has been seen, as two Arrow streams."""
    parts = _in_packets(stream) if isinstance(stream, PacketStream) else _in_window(stream)
    if held is not None:
        parts.append(_with(held[0], 0, held[1], HELD))
    own = [pa.field(name, pa.int64()) for name in OWN]
    whole = pa.schema([pa.field(str(i), field.type) for i, field in enumerate(schema)] + own)
    records = pa.concat_tables(parts) if parts else whole.empty_table()
    fresh = records.take(pa.array(np.arange(records.num_rows))).replace_schema_metadata(None)
    names = pa.table({"names": pa.array(schema.names)})
    values = pa.table({"values": pa.array(stream.values, schema.field(stream.settings.sensitive).type)})
    return b"".join(map(_framed, (fresh, values, names)))


def _in_window(stream: Stream) -> list[pa.Table]:
    parts = []
    for slot, one in stream.snapshots.items():
        standing = np.full(len(one.values), WAITING, np.int8)
        standing[one.taken] = TAKEN
        standing[list(one.published)] = PUBLISHED
        parts.append(_with(one.rows, slot, one.came_from, standing))
    for slot, waiting in stream.delayed.items():
        parts += [_with(rows, slot, came_from, DELAYED) for rows, _, came_from in waiting]
    return parts


def _in_packets(stream: PacketStream) -> list[pa.Table]:
    if stream.held is None:
        return []
    origins = [packet.origin for packet in stream.waiting.packets for _ in packet.records]
    return [_with(stream.held, 0, origins, WAITING)]


def _with(rows: pa.Table, slot: int, came_from: Any, standing: Any) -> pa.Table:
    count = rows.num_rows
    numbered = rows.rename_columns([str(i) for i in range(rows.num_columns)])
    columns = (np.full(count, slot), np.asarray(came_from), np.broadcast_to(standing, count))
    for name, column in zip(OWN, columns, strict=True):
        numbered = numbered.append_column(name, pa.array(column.astype(np.int64)))
    return numbered


def _framed(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return len(sink.getvalue()).to_bytes(8, "big") + sink.getvalue()


def _tables(content: bytes) -> list[pa.Table]:
    found = []
    while content:
        size = int.from_bytes(content[:8], "big")
        with pa.ipc.open_stream(content[8 : 8 + size]) as reader:
            found.append(reader.read_all())
        content = content[8 + size :]
    return found


def _loaded(numbers: Mapping[str, Any], content: bytes, settings: Settings) -> Loaded:
    stream = stream_of(settings)
    stream.first, stream.last = numbers["first"], numbers["last"]
    stream.tally = Counter(numbers["tally"])
    schema, held = None, None
    if content:
        records, values, names = _tables(content)
        stream.values = values["values"].to_pylist()
        stream.codes = {value: code for code, value in enumerate(stream.values)}
        kinds = [field.type for field in records.schema][: -len(OWN)]
        schema = pa.schema(list(zip(names["names"].to_pylist(), kinds, strict=True)))
        held = _put_back(stream, records, schema)
    if isinstance(stream, PacketStream):
        _fill_packets(stream, numbers)
    else:
        stream.emitted, stream.solved = numbers["emitted"], numbers["solved"]
        _fill_window(stream, numbers)
    slots = None if numbers["slots"] is None else _slots(numbers["slots"])
    return Loaded(stream, slots, schema, held, numbers["closed"])


def _put_back(
    stream: Stream | PacketStream, records: pa.Table, schema: pa.Schema
) -> tuple[pa.Table, Ints] | None:
    """Records into snapshots, delays and the held ones, as they were."""
    arrived, came_from, standing = (records[name].to_numpy() for name in OWN)
    rows = pa.table(records.columns[: -len(OWN)], schema=schema)
    held = np.flatnonzero(standing == HELD)
    if isinstance(stream, PacketStream):
        waiting = np.flatnonzero(standing == WAITING)
        stream.held = rows.take(pa.array(waiting)) if len(waiting) else None
        return (rows.take(pa.array(held)), came_from[held]) if len(held) else None
    for slot in dict.fromkeys(arrived[standing != HELD].tolist()):
        here = np.flatnonzero((arrived == slot) & (standing != HELD))
        part = rows.take(pa.array(here))
        codes = stream.encode(part.column(stream.settings.sensitive))
        origins, how = came_from[here].tolist(), standing[here]
        if how[0] == DELAYED:
            stream.delayed[slot] = [(part, codes, origins)]
            continue
        taken = np.flatnonzero(how != WAITING).tolist()
        stream.snapshots[slot] = stream.snapshot(slot, part, codes, origins, taken)
        stream.snapshots[slot].published = set(np.flatnonzero(how == PUBLISHED).tolist())
    return (rows.take(pa.array(held)), came_from[held]) if len(held) else None


def _fill_packets(stream: PacketStream, numbers: Mapping[str, Any]) -> None:
    stream.records, stream.waiting.number = numbers["next_record"], numbers["next_packet"]
    stream.waiting.packets = [
        Packet(number, origin, values, records, due, filler)
        for number, origin, due, filler, values, records in numbers["packets"]
    ]
    stream.places = [record for packet in stream.waiting.packets for record in packet.records]


def _fill_window(stream: Stream, numbers: Mapping[str, Any]) -> None:
    if stream.last is None or stream.first is None:
        return
    begin = max(stream.first, stream.last - stream.settings.window + 1)
    published: dict[int, dict[int, dict[int, int]]] = {s: {} for s in range(begin, stream.last + 1)}
    withheld: dict[int, dict[int, int]] = {s: {} for s in range(begin, stream.last + 1)}
    for slot, value, origin, count in numbers["published"]:
        published[slot].setdefault(value, {})[origin] = count
    for slot, value, count in numbers["withheld"]:
        withheld[slot][value] = count
    for slot in range(begin, stream.last + 1):
        stream.window.place(slot, published[slot], withheld[slot])
