"""A whole stream at once: its slots go through the publisher's step one after another.

The result is the same as that of pushing slot by slot under the same seed. Values are numbered once, records
are never copied, and the tables of the release are made when first read.

Cost: one pass over the records, plus the relays. Memory: the input and some 40 bytes a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress, silent
from timeveil.domain.release import Deferred, Release
from timeveil.domain.roles import Roles
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
    fates = _fates(records, stream)
    progress("done", 1.0)
    return _release(arrived, stream, fates), _ledger(arrived, stream, records, fates)


@dataclass(frozen=True, slots=True)
class Records:
    """Complete records in the order of arrival: `order` numbers their rows, `true_slot` is sorted."""

    order: Ints
    true_slot: Ints
    codes: Ints
    people: list[int] | None


@dataclass(frozen=True, slots=True)
class Fates:
    """What became of complete records: per record, in row order, its slot and bucket (-1 if withheld).

    `published` numbers the published ones and `codes` are their values. `packet` is each record's packet, if
    records went in packets; `first` to `last` are the slots published.
    """

    published: Ints
    codes: Ints
    slot: Ints
    bucket: Ints | None
    packet: Ints | None
    buckets: int
    first: int | None
    last: int | None


def _records(arrived: Arrivals, stream: Stream | PacketStream) -> Records:
    """Number values and people; sort by slot what is not sorted."""
    roles, slot, order = arrived.relation.roles, arrived.slot, np.arange(len(arrived.slot))
    values = arrived.rows([roles.sensitive[0]]).column(0)
    if np.any(np.diff(slot) < 0):
        order = np.argsort(slot, kind="stable")
        slot, values = slot[order], values.take(pa.array(order))
    refuse_wide_gap(slot)
    codes = codes_of(values, stream.values)
    distinct, l = len(stream.values.names), stream.settings.l
    if len(codes) and distinct < l:
        raise ParameterError(
            f"l is {l} but the sensitive column has {distinct} different values: no slot could be published",
            hint=f"use {{l={distinct}}} or less" if distinct >= 2 else "name another {sensitive} column",
            code="bad-parameter",
            facts={"l": l, "values": distinct},
        )
    people = None
    if roles.respondent is not None:
        people = encode_people(arrived.rows([roles.respondent]).column(0))[0][order].tolist()
    return Records(order, slot, codes, people)


def _fates(records: Records, stream: Stream | PacketStream) -> Fates:
    """Run every slot and put the result into the order of the rows."""
    rows = len(records.codes)
    waiting: list[tuple[int, int]] = []
    finals = list(_finals(records, stream))
    if isinstance(stream, PacketStream):
        waiting = [(record, packet.number) for packet in stream.waiting.packets for record in packet.records]
    finals += stream.end()
    none = [np.zeros(0, np.int64)]
    published = np.concatenate(none + [final.records for final in finals])
    sizes = [len(final.records) for final in finals]
    slot = np.full(rows, -1, np.int64)
    bucket = packet = None
    buckets = 0
    at = records.order[published]
    slot[at] = np.repeat(np.array([final.slot for final in finals], np.int64), sizes)
    if stream.settings.options.buckets == "anatomy":
        bucket = np.full(rows, -1, np.int64)
        parts = [final.buckets for final in finals if final.buckets is not None]
        bucket[at] = np.concatenate(none + parts)
        buckets = sum(int(part.max(initial=-1)) + 1 for part in parts)
    if isinstance(stream, PacketStream):
        packet = np.full(rows, -1, np.int64)
        packet[at] = np.concatenate(none + [final.packets for final in finals if final.packets is not None])
        pairs = np.array([*waiting, *(pair for final in finals for pair in final.withheld)], np.int64)
        packet[records.order[pairs.reshape(-1, 2)[:, 0]]] = pairs.reshape(-1, 2)[:, 1]
    codes = np.concatenate(none + [final.codes for final in finals])
    return Fates(at, codes, slot, bucket, packet, buckets, stream.first, stream.last)


def _finals(records: Records, stream: Stream | PacketStream) -> Iterator[Final]:
    slot, codes, people = records.true_slot, records.codes, records.people
    numbers = np.arange(len(slot))
    heads = np.flatnonzero(np.diff(slot, prepend=slot[:1] - 1, append=slot[-1:] + 1)).tolist()
    for begin, end in pairwise(heads):
        arrival = Arrival(numbers[begin:end], codes[begin:end], None, people and people[begin:end])
        yield from stream.arrive(int(slot[begin]), arrival)


def _release(arrived: Arrivals, stream: Stream | PacketStream, fates: Fates) -> Release:
    """The release; its tables are made when first read."""
    relation, settings = arrived.relation, stream.settings
    layout = Layout(settings, relation.roles, arrived.slots, relation.data.schema)
    parts = {"data": Deferred(partial(_data, arrived, layout, fates))}
    if fates.bucket is not None:
        parts["sensitive"] = Deferred(partial(_sensitive, layout, fates, stream.values.names))
    manifest = layout.manifest(len(fates.published), fates.buckets, fates.first, fates.last)
    return Release(settings.promise, manifest, parts)


def _data(arrived: Arrivals, layout: Layout, fates: Fates) -> pa.Table:
    at = fates.published
    rows = at if arrived.complete is None else arrived.complete[at]
    bucket = None if fates.bucket is None else fates.bucket[at]
    columns = arrived.relation.table.select(layout.copied).take(pa.array(rows))
    return layout.data(columns, fates.slot[at], bucket)


def _sensitive(layout: Layout, fates: Fates, values: list[Any]) -> pa.Table:
    at = fates.published
    bucket = np.zeros(0, np.int64) if fates.bucket is None else fates.bucket[at]
    return layout.sensitive(fates.slot[at], bucket, fates.codes, layout.sorted_values(values))


def _ledger(arrived: Arrivals, stream: Stream | PacketStream, records: Records, fates: Fates) -> Ledger:
    """One row per input row: where it came from, where it went."""
    relation, slots, complete = arrived.relation, arrived.slots, arrived.complete
    layout = Layout(stream.settings, relation.roles, slots, relation.data.schema)
    manifest = layout.manifest(0, 0, None, None)
    rows = relation.rows
    lacking = np.zeros(rows, np.bool_)

    def spread(column: Ints) -> Ints:
        """A column of complete rows over all rows."""
        if complete is None:
            return column
        everywhere = np.full(rows, -1, np.int64)
        everywhere[complete] = column
        return everywhere

    if complete is not None:
        lacking[:] = True
        lacking[complete] = False
    published = np.zeros(len(arrived.slot), np.bool_)
    published[fates.published] = True
    withheld = spread(published.astype(np.int64)) != 1
    bucket = pa.nulls(rows, pa.int32())
    if fates.bucket is not None:
        bucket = pa.array(spread(fates.bucket), pa.int32(), mask=withheld)
    entries = {
        "row": pa.array(np.arange(rows, dtype=np.int64)),
        "origin": _labels(spread(arrived.slot), lacking, slots),
        "slot": _labels(spread(fates.slot), withheld, slots),
        "bucket": bucket,
    }
    if fates.packet is not None:
        entries["packet"] = pa.array(spread(fates.packet), pa.int64(), mask=lacking)
    distance = (fates.slot - arrived.slot)[fates.published]
    facts = {
        **_facts(stream, records, int(distance.max(initial=0)), arrived.incomplete),
        "parameters": manifest["parameters"],
        "time": manifest["time"],
    }
    return Ledger("stream", pa.table(entries), relation, facts=facts)


def _facts(
    stream: Stream | PacketStream, records: Records, largest_distance: int, incomplete: int
) -> dict[str, Any]:
    """Numbers of the run; rows that lack a time, a person or a value are withheld at no cost."""
    tally, settings, total = stream.tally, stream.settings, len(records.codes)
    counts = np.bincount(records.codes, minlength=len(stream.values.names))
    return {
        "rows": total + incomplete,
        "published": tally["published"],
        "moved": tally["moved"],
        "withheld": tally["withheld"] + incomplete,
        "mean_distance": tally["distance"] / tally["moved"] if tally["moved"] else 0.0,
        "largest_distance": largest_distance,
        "information_loss": settings.costs.amount(tally["loss"]),
        "withhold_cost": settings.costs.told(stream.values.names),
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
    distinct, place = np.unique(slot[~missing], return_inverse=True)
    if len(distinct) == 0:
        return pa.nulls(len(slot), pa.string()).dictionary_encode()
    index = np.zeros(len(slot), np.int32)
    index[~missing] = place
    return pa.DictionaryArray.from_arrays(pa.array(index, mask=missing), slots.labels(distinct))
