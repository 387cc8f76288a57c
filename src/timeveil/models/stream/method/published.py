"""Slots as they are published: one table of quasi-identifiers, one of sensitive values by bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.ordering import canonical
from timeveil.domain.release import Release, decode_dictionaries
from timeveil.domain.roles import Roles
from timeveil.models.stream.method.settings import Settings
from timeveil.models.stream.method.slots import Ints, Slots


@dataclass(frozen=True, slots=True)
class PublishedSlot:
    """One final slot. It may leave the building.

    `slot` is its label, or its number where slots are numbers; `index` counts slots without holes. `data`
    has the columns slot, quasi, keep and bucket; `sensitive` slot, bucket, the sensitive column and count.
    Without buckets `data` has the sensitive column itself and `sensitive` is None. `release` is all of it as
    a release of one slot, to be written, verified and asked.
    """

    slot: str | int
    index: int
    release: Release

    @property
    def data(self) -> pa.Table:
        """Quasi-identifiers by bucket."""
        return self.release.table

    @property
    def sensitive(self) -> pa.Table | None:
        """Sensitive values by bucket."""
        return self.release.tables.get("sensitive")

    def __repr__(self) -> str:
        return f"<PublishedSlot {self.slot}: {self.data.num_rows} rows>"


def shown_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def data_columns(roles: Roles, slots: Slots, schema: pa.Schema, buckets: str) -> list[tuple[str, str, Any]]:
    """Name, role and type of the columns of table `data`."""
    copied = [*((name, "quasi") for name in roles.quasi_columns), *((name, "keep") for name in roles.keep)]
    if buckets == "none":
        copied.append((roles.sensitive[0], "sensitive"))
    columns = [(name, role, shown_type(schema.field(name).type)) for name, role in copied]
    own = [] if buckets == "none" else [("bucket", "bucket", pa.int32())]
    return [("slot", "slot", slots.type), *columns, *own]


def sensitive_columns(roles: Roles, slots: Slots, schema: pa.Schema) -> list[tuple[str, str, Any]]:
    """Name, role and type of the columns of table `sensitive`."""
    value = roles.sensitive[0]
    return [
        ("slot", "slot", slots.type),
        ("bucket", "bucket", pa.int32()),
        (value, "sensitive", shown_type(schema.field(value).type)),
        ("count", "count", pa.int64()),
    ]


def data_table(rows: pa.Table, index: Ints, bucket: Any, settings: Settings, slots: Slots) -> pa.Table:
    """Published rows in an order that follows from what is published; `rows` has the copied columns."""
    table = pa.table({"slot": pa.array(index), **{name: rows.column(name) for name in rows.column_names}})
    by = ["slot"]
    if settings.buckets != "none":
        table = table.append_column("bucket", pa.array(np.asarray(bucket), pa.int32()))
        by.append("bucket")
    return labelled(decode_dictionaries(canonical(table, by=by)), slots)


def sensitive_table(
    index: Ints, bucket: Any, codes: Any, values: pa.Array, settings: Settings, slots: Slots
) -> pa.Table:
    """How often each value stands in each bucket."""
    bucket, codes = np.asarray(bucket, np.int64), np.asarray(codes, np.int64)
    low = int(index.min(initial=0)) if len(index) else 0
    sizes = (int(bucket.max(initial=0)) + 1, max(len(values), 1))
    key = ((index - low) * sizes[0] + bucket) * sizes[1] + codes
    found, often = np.unique(key, return_counts=True)
    table = pa.table(
        {
            "slot": found // (sizes[0] * sizes[1]) + low,
            "bucket": pa.array(found // sizes[1] % sizes[0], pa.int32()),
            settings.sensitive: values.take(pa.array(found % sizes[1])),
            "count": pa.array(often, pa.int64()),
        }
    )
    return labelled(decode_dictionaries(canonical(table, by=["slot", "bucket"])), slots)


def labelled(table: pa.Table, slots: Slots) -> pa.Table:
    """A table, ordered by slot, with the slots' labels instead of their numbers."""
    if slots.granularity is None or table.num_rows == 0:
        return table.set_column(0, "slot", table["slot"].cast(slots.type))
    distinct, place = np.unique(table["slot"].to_numpy(), return_inverse=True)
    return table.set_column(0, "slot", slots.labels(distinct).take(pa.array(place)))


def empty_table(columns: Sequence[tuple[str, str, Any]]) -> pa.Table:
    """A table without rows."""
    return pa.table({name: pa.array([], kind) for name, _, kind in columns})
