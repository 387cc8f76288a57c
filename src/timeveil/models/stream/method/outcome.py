"""From what became of every record to a release and its ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Deferred, Release
from timeveil.models.stream.method.arrivals import Arrivals
from timeveil.models.stream.method.manifest import counts_of, manifest_of
from timeveil.models.stream.method.published import (
    data_columns,
    data_table,
    empty_table,
    sensitive_columns,
    sensitive_table,
)
from timeveil.models.stream.method.settings import Settings
from timeveil.models.stream.method.slots import Ints, Slots


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of every complete record: its slot, its bucket and whether it was published.

    `came_from` is its true slot; `codes` number `values`; `first` to `last` is the span of published slots.
    `packet` is the number of its packet, if records went in packets.
    """

    came_from: Ints
    slot: Ints
    bucket: Any
    published: Any
    codes: Any
    values: pa.Array
    first: int | None
    last: int | None
    buckets: int
    packet: Any = None


def assemble(
    arrived: Arrivals, settings: Settings, fate: Fate, facts: Mapping[str, Any]
) -> tuple[Release, Ledger]:
    """The pair that a method returns."""
    relation, slots = arrived.relation, arrived.slots
    rows, buckets = int(np.count_nonzero(fate.published)), fate.buckets * (settings.buckets == "anatomy")
    counts = counts_of(rows, buckets, slots, fate.first, fate.last)
    manifest = manifest_of(settings, relation.roles, slots, relation.data.schema, counts)
    parts: dict[str, Any] = {"data": Deferred(partial(_data, arrived, settings, fate))}
    if settings.buckets == "anatomy":
        parts["sensitive"] = Deferred(partial(_sensitive, arrived, settings, fate))
    told = {**facts, "parameters": manifest["parameters"], "time": manifest["time"]}
    ledger = Ledger("stream", _entries(arrived, settings, fate), relation, facts=told)
    return Release(settings.promise, manifest, parts), ledger


def _data(arrived: Arrivals, settings: Settings, fate: Fate) -> pa.Table:
    roles, slots = arrived.relation.roles, arrived.slots
    columns = data_columns(roles, slots, arrived.relation.data.schema, settings.buckets)
    copied = [name for name, role, _ in columns if role not in ("slot", "bucket")]
    there = np.flatnonzero(fate.published)
    if len(there) == 0:
        return empty_table(columns)
    rows = there if arrived.complete is None else arrived.complete[there]
    table = arrived.relation.table.select(copied).take(pa.array(rows))
    bucket = None if fate.bucket is None else fate.bucket[there]
    return data_table(table, fate.slot[there], bucket, settings, slots)


def _sensitive(arrived: Arrivals, settings: Settings, fate: Fate) -> pa.Table:
    there = np.flatnonzero(fate.published)
    if len(there) == 0:
        schema = arrived.relation.data.schema
        return empty_table(sensitive_columns(arrived.relation.roles, arrived.slots, schema))
    bucket, codes = fate.bucket[there], fate.codes[there]
    return sensitive_table(fate.slot[there], bucket, codes, fate.values, settings, arrived.slots)


def _entries(arrived: Arrivals, settings: Settings, fate: Fate) -> pa.Table:
    """One row per input row: where it came from, where it went."""
    rows, slots = arrived.relation.rows, arrived.slots
    came_from, slot, gone = fate.came_from, fate.slot, ~fate.published
    bucket, lost = fate.bucket, None
    if arrived.complete is not None:
        lost = np.ones(rows, np.bool_)
        lost[arrived.complete] = False
        came_from, slot = (_spread(part, arrived.complete, rows) for part in (came_from, slot))
        gone = _spread(gone, arrived.complete, rows) | lost
        bucket = None if bucket is None else _spread(bucket, arrived.complete, rows)
    if settings.buckets == "none":
        buckets = pa.nulls(rows, pa.int32())
    else:
        buckets = pa.array(bucket, pa.int32(), mask=gone)
    entries = {
        "row": pa.array(np.arange(rows, dtype=np.int64)),
        "origin": _shown(came_from, lost, slots),
        "slot": _shown(slot, gone, slots),
        "bucket": buckets,
    }
    if fate.packet is not None:
        packet = fate.packet if arrived.complete is None else _spread(fate.packet, arrived.complete, rows)
        entries["packet"] = pa.array(packet, pa.int64(), mask=lost)
    return pa.table(entries)


def _spread(part: Any, places: Ints, rows: int) -> Any:
    out = np.zeros(rows, part.dtype)
    out[places] = part
    return out


def _shown(slot: Ints, missing: Any, slots: Slots) -> pa.Array:
    """Slots as numbers, or as codes into their labels."""
    if slots.granularity is None:
        return pa.array(slot, mask=missing)
    known = slot if missing is None else slot[~missing]
    if len(known) == 0:
        return pa.nulls(len(slot), pa.string()).dictionary_encode()
    low, span = int(known.min()), int(known.max() - known.min()) + 1
    if span <= 4 * len(slot) + 100_000:
        distinct, place = np.arange(low, low + span), slot - low
    else:
        distinct = np.unique(known)
        place = np.searchsorted(distinct, slot)
    place = np.clip(place, 0, len(distinct) - 1).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(place, mask=missing), slots.labels(distinct))
