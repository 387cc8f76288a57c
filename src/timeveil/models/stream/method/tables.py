"""Slots as they are published: the tables, and the manifest of a release of one slot or of many.

Table `data` has the quasi-identifiers with a bucket, table `sensitive` the values of each bucket with counts.
Rows are sorted by slot, bucket and all other published columns, so their order says nothing else. Nothing
about moved or withheld records is in the manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.ordering import canonical
from timeveil.domain.release import Release, decode_dictionaries
from timeveil.domain.roles import Roles
from timeveil.domain.version import TOOL
from timeveil.models.stream.method.arrivals import Slots
from timeveil.models.stream.method.chance import Ints
from timeveil.models.stream.method.settings import Settings

Columns = list[tuple[str, str, pa.DataType]]
"""Name, role and type."""


@dataclass(frozen=True, slots=True)
class PublishedSlot:
    """One final slot. It may leave the building.

    `slot` is its label, or its number where slots are numbers; `index` counts slots without holes. `data`
    has the columns slot, quasi, keep and bucket; `sensitive` slot, bucket, the sensitive column and count.
    Without buckets `data` has the sensitive column itself and `sensitive` is None. `release` is all of it as
    a release of one slot, to be written, verified and queried.
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


@dataclass(frozen=True)
class Layout:
    """How the records of a stream are published: the columns of both tables, and the manifest.

    `schema` has the types of the records as they came in.
    """

    settings: Settings
    roles: Roles
    slots: Slots
    schema: pa.Schema

    @cached_property
    def copied(self) -> list[str]:
        """Columns that are published as they came in."""
        sensitive = self.roles.sensitive if self.settings.options.buckets == "none" else ()
        return [*self.roles.quasi_columns, *self.roles.keep, *sensitive]

    @cached_property
    def data_columns(self) -> Columns:
        """The columns of table `data`."""
        role = {**dict.fromkeys(self.roles.keep, "keep"), **dict.fromkeys(self.roles.sensitive, "sensitive")}
        columns = [(name, role.get(name, "quasi"), self._type(name)) for name in self.copied]
        bucket = [("bucket", "bucket", pa.int32())] if self.settings.options.buckets == "anatomy" else []
        return [("slot", "slot", self.slots.type), *columns, *bucket]

    @cached_property
    def sensitive_columns(self) -> Columns:
        """The columns of table `sensitive`."""
        value = self.roles.sensitive[0]
        return [
            ("slot", "slot", self.slots.type),
            ("bucket", "bucket", pa.int32()),
            (value, "sensitive", self._type(value)),
            ("count", "count", pa.int64()),
        ]

    def sorted_values(self, values: Sequence[Any]) -> SortedValues:
        """The sensitive values of a stream, to be made anew when there are more of them."""
        return SortedValues(values, self.sensitive_columns[2][2])

    def _type(self, name: str) -> pa.DataType:
        return value_type(self.schema.field(name).type)

    def data(self, rows: pa.Table, slot: Ints, bucket: Ints | None) -> pa.Table:
        """Table `data` of the copied columns of published rows; `slot` and `bucket` are those of each."""
        columns = dict(zip(self.copied, rows.columns, strict=True))
        if bucket is not None:
            columns["bucket"] = pa.array(bucket, pa.int32())
        if len(slot) and slot[0] == slot[-1]:  # one slot: it need not be sorted by
            table = canonical(pa.table(columns), by=["bucket"] if bucket is not None else [])
            return self._data(slot, table)
        by = ["slot"] if bucket is None else ["slot", "bucket"]
        table = canonical(pa.table({"slot": pa.array(slot), **columns}), by=by)
        return self._data(table["slot"].to_numpy(), table.drop_columns(["slot"]))

    def _data(self, slot: Ints, table: pa.Table) -> pa.Table:
        if any(pa.types.is_dictionary(kind) for kind in table.schema.types):
            table = decode_dictionaries(table)
        return _table([self._labels(slot), *table.columns], self.data_columns)

    def sensitive(self, slot: Ints, bucket: Ints, codes: Ints, values: SortedValues) -> pa.Table:
        """Table `sensitive`: how many records of each bucket have each value."""
        # One number per (slot, bucket, rank of the value): neither codes nor rows leave a trace in the order.
        first = int(slot[0]) if len(slot) else 0
        buckets, ranks = int(bucket.max(initial=0)) + 1, len(values.rank) + 1
        keys, counts = np.unique(
            ((slot - first) * buckets + bucket) * ranks + values.rank[codes], return_counts=True
        )
        columns = [
            self._labels(keys // (buckets * ranks) + first),
            pa.array(keys // ranks % buckets, pa.int32()),
            values.sorted.take(pa.array(keys % ranks)),
            pa.array(counts, pa.int64()),
        ]
        return _table(columns, self.sensitive_columns)

    def _labels(self, slot: Ints) -> pa.Array:
        """Labels of sorted slots."""
        if self.slots.granularity is None:
            return pa.array(slot)
        if len(slot) and slot[0] == slot[-1]:
            return pa.repeat(self.slots.labels(slot[:1])[0], len(slot))
        distinct, position = np.unique(slot, return_inverse=True)
        return self.slots.labels(distinct).take(pa.array(position))

    def manifest(self, rows: int, buckets: int, first: int | None, last: int | None) -> dict[str, Any]:
        """What a release says about itself; `first` to `last` are its slots."""
        axis, rule, settings = self.slots.axis, self.slots.granularity, self.settings
        name = None if rule is None else rule.name
        manifest: dict[str, Any] = {
            "format": 1,
            "model": "stream",
            "tool": TOOL,
            "guarantee": settings.promise.as_dict(),
            "time": {
                "column": self.roles.time,
                "kind": axis.kind,
                "zone": axis.zone,
                "unit": axis.unit,
                "slot": name,
                "slot_definition": None if rule is None else rule.as_dict(),
            },
            "columns": _described(self.data_columns),
            "parameters": {**settings.published(), "slot": name},
            "counts": {
                "rows": rows,
                "slots": 0 if first is None or last is None else last - first + 1,
                "buckets": buckets,
                "first_slot": None if first is None else self.slots.label(first),
                "last_slot": None if last is None else self.slots.label(last),
            },
        }
        if settings.options.buckets == "anatomy":
            manifest["sensitive_columns"] = _described(self.sensitive_columns)
        return manifest


class SortedValues:
    """The sensitive values in their order, and the rank of each by code."""

    def __init__(self, values: Sequence[Any], kind: pa.DataType) -> None:
        names = pa.array(values, kind)
        order = pc.array_sort_indices(names)
        self.sorted = names.take(order)
        # The inverse of the sorting order: where the value of each code is in `sorted`.
        self.rank = np.empty(len(names), np.int64)
        self.rank[order.to_numpy()] = np.arange(len(names))


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values, whether or not it has a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _table(columns: Sequence[Any], described: Columns) -> pa.Table:
    return pa.table(columns, schema=pa.schema([(name, kind) for name, _, kind in described]))


def _described(columns: Columns) -> list[dict[str, str]]:
    return [{"name": name, "role": role, "type": str(kind)} for name, role, kind in columns]
