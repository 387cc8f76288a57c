"""A whole stream at once: its slots go through the publisher's step one after another.

The result is the same as that of pushing slot by slot under the same seed. Values are numbered once, records
are never copied, and the tables of the release are made when first read.

Cost: one pass over the records, plus the relays. Memory: the input and some 40 bytes a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.domain.release import Deferred, Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError
from timeveil.models.stream.method.arrivals import Arrivals, Slots, arrivals, codes_of, refuse_wide_gap
from timeveil.models.stream.method.chance import Ints
from timeveil.models.stream.method.costs import MoveCost, WithholdCost
from timeveil.models.stream.method.reposition import Filler
from timeveil.models.stream.method.settings import settings_from
from timeveil.models.stream.method.stream import Arrival, Final, PacketStream, Stream, stream_of
from timeveil.models.stream.method.tables import Layout
from timeveil.models.stream.parameters import StreamParameters
from timeveil.reading.encoding import encode_people

Mask = np.ndarray[Any, np.dtype[np.bool_]]


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
    buckets: Literal["anatomy", "none"] = "anatomy",
    late: Literal["refuse", "move"] = "refuse",
    nulls: Literal["error", "withhold"] = "error",
    zone: str | None = None,
    unit: str | None = None,
    protect_slot: int | None = None,
    spread: int = 1,
    fillers: int = 0,
    progress: Progress = silent,
) -> tuple[Release, Ledger]:
    """Publish a complete stream, every slot l-diverse.

    The result is that of pushing its slots one by one into a `StreamPublisher` and closing it. Rows need not
    be sorted: a whole table has no late records.

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
    arrived = arrivals(table, settings)
    progress("encoding", 0.3)
    stream = stream_of(settings)
    records = _records(arrived, stream)
    progress("repositioning", 0.6)
    fates = _fates(arrived.relation.rows, records, stream)
    progress("done", 1.0)
    layout = Layout(settings, arrived.relation.roles, arrived.slots, arrived.relation.data.schema)
    release = _release(arrived, layout, stream, fates)
    facts = {
        **_facts(stream, records, fates, arrived.incomplete),
        "parameters": release.manifest["parameters"],
        "time": release.manifest["time"],
    }
    entries = _entries(arrived.slots, records, fates)
    return release, Ledger("stream", entries, arrived.relation, facts=facts)


@dataclass(frozen=True, slots=True)
class Records:
    """Complete records in the order of arrival: the input row of each, its slot, value and person."""

    rows: Ints
    slot: Ints
    codes: Ints
    people: list[int] | None


@dataclass(frozen=True, slots=True)
class Fates:
    """What became of the input rows: slot, bucket and, in the packet method, packet of each.

    `published` numbers the published rows, by slot; `codes` are their values and `distance` is how late the
    latest of them is. What a row that is not published has is undefined.
    """

    published: Ints
    codes: Ints
    distance: int
    slot: Ints
    bucket: Ints | None
    packet: Ints | None
    buckets: int


def _records(arrived: Arrivals, stream: Stream | PacketStream) -> Records:
    """Number values and people; sort by slot what is not sorted."""
    roles, slot, order = arrived.relation.roles, arrived.slot, np.arange(len(arrived.slot))
    values = arrived.rows([roles.sensitive[0]]).column(0)
    if np.any(np.diff(slot) < 0):
        # Stable: within a slot, records stay in the order in which pushing would number them.
        order = np.argsort(slot, kind="stable")
        slot, values = slot[order], values.take(pa.array(order))
    refuse_wide_gap(slot)
    codes = codes_of(values, stream.values)
    distinct, l = len(stream.values.names), stream.settings.l
    if len(codes) and distinct < l:
        raise ParameterError(
            f"l is {l} but the sensitive column has {distinct} different values: no slot could be published",
            hint=f"use {{l={distinct}}} or less" if distinct >= 2 else "name another {sensitive} column",
            facts={"l": l, "values": distinct},
        )
    people = None
    if roles.respondent is not None:
        people = encode_people(arrived.rows([roles.respondent]).column(0))[0][order].tolist()
    rows = order if arrived.complete is None else arrived.complete[order]
    return Records(rows, slot, codes, people)


def _fates(rows: int, records: Records, stream: Stream | PacketStream) -> Fates:
    """Run every slot, and collect the result by input row."""
    finals = list(_arrive(records, stream))
    # Packets that were given up, and those that still wait; collected now, because `end` forgets them.
    pairs = [pair for final in finals for pair in final.withheld]
    if isinstance(stream, PacketStream):
        pairs += [(record, packet.number) for packet in stream.waiting.packets for record in packet.records]
    finals += stream.end()

    def joined(parts: Iterable[Ints | None]) -> Ints:
        return np.concatenate([np.zeros(0, np.int64), *(part for part in parts if part is not None)])

    numbers = joined(final.records for final in finals)
    published = records.rows[numbers]
    slots = np.repeat([final.slot for final in finals], [len(final.records) for final in finals])
    # From records in order of arrival to rows in order of the input.
    slot, bucket, packet = (np.full(rows, -1, np.int64) for _ in range(3))
    slot[published] = slots
    buckets = [final.buckets for final in finals if final.buckets is not None]
    bucketed = stream.settings.options.buckets == "anatomy"
    if bucketed:
        bucket[published] = joined(buckets)
    if isinstance(stream, PacketStream):
        packet[published] = joined(final.packets for final in finals)
        withheld = np.array(pairs, np.int64).reshape(-1, 2)
        packet[records.rows[withheld[:, 0]]] = withheld[:, 1]
    return Fates(
        published,
        joined(final.codes for final in finals),
        int((slots - records.slot[numbers]).max(initial=0)),
        slot,
        bucket if bucketed else None,
        packet if isinstance(stream, PacketStream) else None,
        sum(int(part.max(initial=-1)) + 1 for part in buckets),
    )


def _arrive(records: Records, stream: Stream | PacketStream) -> Iterator[Final]:
    """Let slot after slot arrive, as the publisher does."""
    slot, codes, people = records.slot, records.codes, records.people
    numbers = np.arange(len(slot))
    # Where the slot changes, both ends included; no rows have no heads.
    heads = np.flatnonzero(np.diff(slot, prepend=slot[:1] - 1, append=slot[-1:] + 1)).tolist()
    for begin, end in pairwise(heads):
        arrival = Arrival(numbers[begin:end], codes[begin:end], None, people and people[begin:end])
        yield from stream.arrive(int(slot[begin]), arrival)


def _release(arrived: Arrivals, layout: Layout, stream: Stream | PacketStream, fates: Fates) -> Release:
    """The release; its tables are made when first read."""
    published, bucket = fates.published, fates.bucket
    slot = fates.slot[published]

    def data() -> pa.Table:
        rows = arrived.relation.table.select(layout.copied).take(pa.array(published))
        return layout.data(rows, slot, None if bucket is None else bucket[published])

    parts = {"data": Deferred(data)}
    if bucket is not None:
        inside = bucket[published]
        names = stream.values.names
        parts["sensitive"] = Deferred(
            lambda: layout.sensitive(slot, inside, fates.codes, layout.sorted_values(names))
        )
    manifest = layout.manifest(len(published), fates.buckets, stream.first, stream.last)
    return Release(stream.settings.promise, manifest, parts)


def _entries(slots: Slots, records: Records, fates: Fates) -> pa.Table:
    """The ledger's table: where each input row came from, and where it went."""
    rows = len(fates.slot)
    # Withheld until published, incomplete until it turns up among the records.
    withheld, incomplete = np.ones(rows, np.bool_), np.ones(rows, np.bool_)
    withheld[fates.published], incomplete[records.rows] = False, False
    origin = np.zeros(rows, np.int64)
    origin[records.rows] = records.slot
    bucket = pa.nulls(rows, pa.int32())
    if fates.bucket is not None:
        bucket = pa.array(fates.bucket, pa.int32(), mask=withheld)
    entries = {
        "row": pa.array(np.arange(rows, dtype=np.int64)),
        "origin": _labels(origin, incomplete, slots),
        "slot": _labels(fates.slot, withheld, slots),
        "bucket": bucket,
    }
    if fates.packet is not None:
        entries["packet"] = pa.array(fates.packet, pa.int64(), mask=incomplete)
    return pa.table(entries)


def _facts(stream: Stream | PacketStream, records: Records, fates: Fates, incomplete: int) -> dict[str, Any]:
    """Numbers of the run; rows that lack a time, a person or a value are withheld at no cost."""
    tally, settings, total = stream.tally, stream.settings, len(records.codes)
    counts = np.bincount(records.codes, minlength=len(stream.values.names))
    return {
        "rows": total + incomplete,
        "published": tally["published"],
        "moved": tally["moved"],
        "withheld": tally["withheld"] + incomplete,
        "mean_distance": tally["distance"] / tally["moved"] if tally["moved"] else 0.0,
        "largest_distance": fates.distance,
        "information_loss": settings.costs.amount(tally["loss"]),
        "withhold_cost": settings.costs.by_name(stream.values.names),
        "values": len(stream.values.names),
        "largest_share": float(counts.max(initial=0) / total) if total else 0.0,
        "values_above_share": int(np.count_nonzero(counts * settings.l > total)),
        "seed": settings.seed,
        "duplicates": tally["duplicates"],
        "incomplete": incomplete,
    }


def _labels(slot: Ints, missing: Mask, slots: Slots) -> pa.Array:
    """Slots as numbers, or as codes into their labels; null where missing."""
    if slots.granularity is None:
        return pa.array(slot, mask=missing)
    distinct, position = np.unique(slot[~missing], return_inverse=True)
    if len(distinct) == 0:
        return pa.nulls(len(slot), pa.string()).dictionary_encode()
    index = np.zeros(len(slot), np.int32)
    index[~missing] = position
    return pa.DictionaryArray.from_arrays(pa.array(index, mask=missing), slots.labels(distinct))
