"""Slots as they are published: the tables, and the manifest of a release of one slot or of many.

Table `data` has the quasi-identifiers with a bucket, table `sensitive` the values of each bucket with counts.
Rows are sorted by slot, bucket and all other published columns, so their order says nothing else. Nothing
about moved or withheld records is in the manifest.

A bucket hides which value belongs to whom, but shows exact quasi-identifiers. Generalised groups make those
of at least k records equal and list the values beside them, all in table `data`. The partition is that of
`timeveil.recoding.groups`: an l-eligible slot of at least k records is a group as it is, and no step makes
one that is not. Equal choices are decided by the secret seed or the text of labels, never by the order of
records or by codes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.granularity import GAP
from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.release import Deferred, Release, decode_dictionaries, row_keys
from timeveil.domain.roles import Roles
from timeveil.domain.version import TOOL
from timeveil.domain.wording import counted
from timeveil.errors import InputError, raising
from timeveil.models.stream.method.arrivals import Arrived, Slots
from timeveil.models.stream.method.flow import Stream
from timeveil.models.stream.method.placing import Chance, Final
from timeveil.models.stream.method.settings import Settings
from timeveil.reading.columns import without_nan
from timeveil.recoding.groups import Ladder, listed_levels, partition, usual_hierarchy

Columns = list[tuple[str, str, pa.DataType]]  # name, role and type
TURNS = b"columns"  # what words are drawn for


@dataclass(frozen=True, slots=True)
class PublishedSlot:
    """One final slot. It may leave the building.

    `slot` is its label, or its number where slots are numbers; `index` counts slots without holes. `data`
    has the columns slot, quasi, keep and bucket; `sensitive` slot, bucket, the sensitive column and count.
    With generalised groups `data` has slot, labels, keep, the sensitive column and group. Without buckets
    `data` has the sensitive column itself. Then `sensitive` is None. `release` is all of it as a release of
    one slot, to be written, verified and queried; its tables are made when first read.
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


class Layout:
    """How the records of a stream are published: the columns of both tables, and the manifest.

    `schema` has the types of the records as they came in; `copied` are the columns published as they are, and
    `ladders` the labels of those that are generalised.
    """

    def __init__(self, settings: Settings, roles: Roles, slots: Slots, schema: pa.Schema) -> None:
        self.settings, self.roles, self.slots, self.schema = settings, roles, slots, schema
        options, quasi, self.generalized = settings.options, roles.quasi_columns, settings.options.generalized
        self.bucketed = options.buckets == "anatomy" and not self.generalized
        self.numbered = options.buckets == "anatomy"  # records have the number of a bucket or group
        self.unit = "group" if self.generalized else "bucket"
        stated, self.ladders = settings.hierarchies, dict[str, Ladder]()
        for name in quasi if self.generalized else ():
            self.ladders[name] = Ladder(name, stated.get(name) or usual_hierarchy(schema.field(name).type))
        self.copied = [*(() if self.generalized else quasi), *roles.keep]
        self.copied += () if self.bucketed else roles.sensitive
        role = {**dict.fromkeys(roles.keep, "keep"), roles.sensitive[0]: "sensitive"}
        slot, bucket = ("slot", "slot", slots.labels([]).type), (self.unit, self.unit, pa.int32())
        types, names = decode_dictionaries(schema.empty_table()).schema, (*self.copied, *roles.sensitive)
        *columns, value = ((name, role.get(name, "quasi"), types.field(name).type) for name in names)
        labels = [(name, "quasi", pa.string()) for name in self.ladders]
        unit = [] if options.buckets == "none" else [bucket]
        self.data_columns: Columns = [slot, *labels, *columns, *unit]
        self.sensitive_columns: Columns = [slot, bucket, value, ("count", "count", pa.int64())]
        tables = (self.data_columns, self.sensitive_columns)
        self._stated = self._same_in_every_release()
        self._schemas = [pa.schema([(name, kind) for name, _, kind in table]) for table in tables]

    def learn(self, rows: pa.Table) -> None:
        """Label the values of quasi-identifiers that are generalised: a hierarchy may lack some."""
        for name, ladder in self.ladders.items():
            ladder.learn(rows.column(name))

    def grouped(self, finals: Sequence[Final], store: RowStore) -> Sequence[Final]:
        """Final slots divided into groups, where quasi-identifiers are generalised."""
        if not self.generalized:
            return finals
        rows = store.take(joined(final.records for final in finals), [*self.ladders])
        self.learn(rows)  # after a restart nothing is known
        paths = [ladder.paths(rows.column(name)) for name, ladder in self.ladders.items()]
        options, chance, begin, grouped = self.settings.options, Chance(self.settings.seed), 0, list[Final]()
        for final in finals:
            part = slice(begin, begin := begin + len(final.records))
            turns = chance.words(final.slot, TURNS, len(paths)).argsort().tolist()
            local = [path[:, part] for path in paths]
            labelled = []
            for members, depth in partition(local, final.codes, options.k or options.l, options.l, turns):
                nodes = [path[level, members[0]] for path, level in zip(local, depth, strict=True)]
                labelled.append((tuple(map(Ladder.label, self.ladders.values(), depth, nodes)), members))
            # Numbered by their labels, so that numbers say nothing else.
            labelled.sort(key=lambda group: [(label.text is None, label.text) for label in group[0]])
            number = np.zeros(len(final.records), np.int64)
            for index, (_, members) in enumerate(labelled):
                number[members] = index
            grouped.append(final._replace(buckets=number, labels=tuple(labels for labels, _ in labelled)))
        return grouped

    def release(self, finals: Sequence[Final], names: Sequence[Any], rows: RowStore) -> Release:
        """Final slots, one after another, as a release; tables are made when first read.

        `names` are the sensitive values by code.
        """
        records = joined(final.records for final in finals)
        part = rows.part(records, self.copied)  # now: rows that no later slot can hold are forgotten
        parts = {"data": Deferred(lambda: self._data(*part, finals))}
        if self.bucketed:
            parts["sensitive"] = Deferred(lambda: self._sensitive(finals, names))
        return Release(self.settings.promise, self._manifest(finals), parts)

    def _manifest(self, finals: Sequence[Final]) -> dict[str, Any]:
        counts = {
            "rows": sum(len(final.records) for final in finals),
            "slots": len(finals),
            f"{self.unit}s": sum(int(f.buckets.max(initial=-1)) + 1 for f in finals if f.buckets is not None),
            "first_slot": self.slots.label(finals[0].slot) if finals else None,
            "last_slot": self.slots.label(finals[-1].slot) if finals else None,
        }
        if self.settings.options.recurring == "invariant":
            counts["counterfeits"] = sum(final.counterfeits.shape[1] for final in finals)
        manifest = {**self._stated, "counts": counts}
        if self.bucketed:
            manifest["sensitive_columns"] = _described(self.sensitive_columns)
        if self.generalized:  # the published labels of each column by level, from coarse to fine
            manifest["levels"] = {
                name: listed_levels(ladder, (labels[position] for final in finals for labels in final.labels))
                for position, (name, ladder) in enumerate(self.ladders.items())
            }
        return manifest

    def releases(self, finals: Sequence[Final], names: Sequence[Any], rows: RowStore) -> list[Release]:
        """Final slots, each as a release; the tables of all are made together when one is first read."""
        whole = self.release(finals, names, rows)
        if len(finals) == 1:
            return [whole]

        labels = [self.slots.label(final.slot) for final in finals]

        @cache
        def by_slot(table: str) -> dict[Any, pa.Table]:
            content = whole.parts[table].read()
            runs = pc.run_end_encode(content["slot"].combine_chunks())
            begins = [0, *runs.run_ends.to_pylist()]
            slices = map(content.slice, begins, np.diff(begins).tolist())
            tables = dict.fromkeys(labels, content.schema.empty_table())
            return tables | dict(zip(runs.values.to_pylist(), slices, strict=True))

        def piece(table: str, slot: Any) -> pa.Table:
            # In buffers of its own: what is passed on of a slot has the records of no other.
            own = by_slot(table)[slot]
            return own.take(pa.array(np.arange(own.num_rows)))

        releases = []
        for final, label in zip(finals, labels, strict=True):
            parts = {table: Deferred(partial(piece, table, label)) for table in whole.parts}
            releases.append(Release(self.settings.promise, self._manifest([final]), parts))
        return releases

    def _data(self, part: pa.Table, at: Ints, finals: Sequence[Final]) -> pa.Table:
        """Table `data`: the rows of a part of the store that are at these positions."""
        slot, bucket = slots_of_records(finals), joined(final.buckets for final in finals)
        content = row_keys(part)[at] if self.copied else at  # a table without columns has no rows
        order = np.lexsort((content, bucket, slot) if self.numbered else (content, slot))
        rows = part.take(pa.array(at[order]))
        if any(map(pa.types.is_dictionary, rows.schema.types)):  # a cast is a tenth of what a slot costs
            rows = decode_dictionaries(rows)
        buckets = [pa.array(bucket[order].astype(np.int32))] if self.numbered else []
        labels, groups = [], [labels for final in finals for labels in final.labels]
        for position in range(len(self.ladders)):
            texts = pa.array([group[position].text for group in groups], pa.string())
            # Each group of a slot is a run, and runs are in the order of the labels.
            begins = (np.diff(bucket[order], prepend=0) != 0) | (np.diff(slot, prepend=slot[:1]) != 0)
            labels.append(texts.take(pa.array(begins.cumsum())))
        return pa.table([self._labels(slot), *labels, *rows.columns, *buckets], schema=self._schemas[0])

    def _sensitive(self, finals: Sequence[Final], names: Sequence[Any]) -> pa.Table:
        """Table `sensitive`: how many records of each bucket have each value, counterfeits included."""
        invented = [np.full(final.counterfeits.shape[1], final.slot) for final in finals]
        slot = joined([slots_of_records(finals), *invented])
        bucket = joined([*(f.buckets for f in finals), *(f.counterfeits[0] for f in finals)])
        codes = joined([*(f.codes for f in finals), *(f.counterfeits[1] for f in finals)])
        values = pa.array(names, self.sensitive_columns[2][2])
        order = pc.array_sort_indices(values)
        rank = order.to_numpy().argsort()
        # One number per (slot, bucket, rank of the value): neither codes nor rows leave a trace in the order.
        first = int(slot[0]) if len(slot) else 0
        buckets, ranks = int(bucket.max(initial=0)) + 1, len(names) + 1
        key = ((slot - first) * buckets + bucket) * ranks + rank[codes]
        keys, counts = np.unique(key, return_counts=True)
        columns = [
            self._labels(keys // (buckets * ranks) + first),
            pa.array((keys // ranks % buckets).astype(np.int32)),
            values.take(order.take(pa.array(keys % ranks))),
            pa.array(counts),
        ]
        return pa.table(columns, schema=self._schemas[1])

    def entries(self, origin: Ints, finals: Sequence[Final], withheld: list[tuple[int, int]]) -> pa.Table:
        """The ledger's table: where each input row came from, and where it went.

        `origin` is the slot of each row, or `GAP` if incomplete; `withheld` has pairs of record and packet.
        """
        published = joined(final.records for final in finals)
        incomplete, missing = origin == GAP, np.ones(len(origin), np.bool_)
        missing[published] = False

        def by_row(numbers: Ints) -> Ints:
            column = np.zeros(len(origin), np.int64)
            column[published] = numbers
            return column

        entries = {
            "row": pa.array(np.arange(len(origin))),
            "origin": self._labels(origin, incomplete),
            "slot": self._labels(by_row(slots_of_records(finals)), missing),
            self.unit: pa.nulls(len(origin), pa.int32()),
        }
        if self.numbered:
            buckets = by_row(joined(final.buckets for final in finals))
            entries[self.unit] = pa.array(buckets, pa.int32(), mask=missing)
        if self.settings.options.protect_slot is not None:
            packet = by_row(joined(final.packets for final in finals))
            for record, number in withheld:
                packet[record] = number
            entries["packet"] = pa.array(packet, pa.int64(), mask=incomplete)
        return pa.table(entries)

    def _labels(self, slot: Ints, missing: Flags | None = None) -> pa.Array:
        """Slots as numbers, or as codes into their labels; null where missing."""
        if self.slots.granularity is None:
            return pa.array(slot, mask=missing)
        index, present = np.zeros(len(slot), np.int32), slice(None) if missing is None else ~missing
        distinct, index[present] = np.unique(slot[present], return_inverse=True)
        return pa.DictionaryArray.from_arrays(pa.array(index, mask=missing), self.slots.labels(distinct))

    def _same_in_every_release(self) -> dict[str, Any]:
        axis, rule, settings = self.slots.axis, self.slots.granularity, self.settings
        name, cost = None if rule is None else rule.name, settings.costs.name
        stated = {name: value for name, value in settings.options.as_stated().items() if value is not None}
        return {
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
            "parameters": {
                **stated,
                "slot": name,
                "move_cost": cost if isinstance(cost, str) else list(cost),
            },
        }


def typed(arrived: Arrived, roles: Roles, layout: Layout | None) -> pa.Table:
    """The columns that are needed later, in the types of the first push."""
    person = [] if roles.respondent is None else [roles.respondent]
    columns = [*person, *roles.sensitive, *roles.quasi_columns, *roles.keep]
    rows = arrived.relation.table.select(columns)
    if arrived.incomplete:
        rows = rows.take(pa.array(arrived.rows))
    if layout is None:
        return decode_dictionaries(rows)
    if len(arrived.slot) and arrived.slots != layout.slots:
        message = f"column `{roles.time}` has times of another kind than in earlier snapshots"
        raise InputError(message, hint="use the same kind of times in every snapshot")
    if rows.schema.equals(layout.schema):
        return rows
    rows, cast = decode_dictionaries(rows), list[pa.ChunkedArray]()
    for field, expected in zip(rows.schema, layout.schema, strict=True):
        kinds = f"{field.type} but was {expected.type} in earlier snapshots"
        message = f"column `{field.name}` has type {kinds}"
        error = InputError(message, hint="use the same types in every snapshot")
        with raising(error, on=(pa.ArrowInvalid, pa.ArrowNotImplementedError)):
            cast.append(rows.column(field.name).cast(expected.type))
        if field.name in (*person, *roles.sensitive):
            cast[-1] = without_nan(cast[-1])  # which text may have become
            if count := cast[-1].null_count:
                message = f"column `{field.name}` has {counted(count, 'cell')} without a number"
                raise InputError(message, hint="correct them, or leave those records out", code="nulls")
    return pa.table(cast, schema=layout.schema)


class RowStore:
    """The rows of records that may still be published; records are numbered as they come."""

    def __init__(self) -> None:
        self._blocks: deque[tuple[int, int, pa.Table]] = deque()
        """Of each push its latest slot, the number after its last record, and its rows."""
        self._next = 0

    def add(self, rows: pa.Table, slot: int) -> Ints:
        """Keep rows whose latest slot is `slot`; the numbers of their records."""
        first, self._next = self._next, self._next + rows.num_rows
        self._blocks.append((slot, self._next, rows))
        return np.arange(first, self._next)

    def take(self, records: Ints, columns: list[str]) -> pa.Table:
        part, positions = self.part(records, columns)
        return part.take(pa.array(positions))

    def part(self, records: Ints, columns: list[str]) -> tuple[pa.Table, Ints]:
        """Rows among which those of the records are, and where they are."""
        low, high = int(records.min(initial=self._next)), int(records.max(initial=-1))
        # Only the blocks that hold them, or the last, if there are none.
        blocks = [(end, rows) for _, end, rows in self._blocks if end - rows.num_rows <= high and low < end]
        blocks = blocks or [self._blocks[-1][1:]]
        first = blocks[0][0] - blocks[0][1].num_rows
        return pa.concat_tables(rows.select(columns) for _, rows in blocks), records - first

    def drop(self, slot: int) -> None:
        """Forget what was pushed up to a slot."""
        while len(self._blocks) > 1 and self._blocks[0][0] <= slot:
            self._blocks.popleft()


def joined(parts: Iterable[Ints | None]) -> Ints:
    """Arrays of the slots of a stream as one."""
    arrays = [part for part in parts if part is not None] or [np.zeros(0, np.int64)]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def slots_of_records(finals: Sequence[Final]) -> Ints:
    """The slot of each published record."""
    numbers = np.array([final.slot for final in finals], np.int64)
    return np.repeat(numbers, [len(final.records) for final in finals])


def _described(columns: Columns) -> list[dict[str, str]]:
    return [{"name": name, "role": role, "type": str(kind)} for name, role, kind in columns]


def run_facts(stream: Stream, codes: Ints, origin: Ints, finals: Sequence[Final]) -> dict[str, Any]:
    """Numbers of the run; rows that lack a time, a person or a value are withheld at no cost."""
    tally, settings, names = stream.tally, stream.settings, stream.values.names
    counts = np.bincount(codes, minlength=len(names))
    distance = slots_of_records(finals) - origin[joined(final.records for final in finals)]
    return {
        "rows": tally["read"],
        **{name: tally[name] for name in ("published", "moved", "withheld")},
        "mean_distance": tally["distance"] / tally["moved"] if tally["moved"] else 0.0,
        "largest_distance": int(distance.max(initial=0)),
        "information_loss": settings.costs.amount(tally["loss"]),
        **settings.costs.as_facts(names),
        "values": len(names),
        "largest_share": float(counts.max(initial=0) / max(len(codes), 1)),
        "values_above_share": int(np.count_nonzero(counts * settings.l > len(codes))),
        "seed": settings.seed,
        "duplicates": tally["duplicates"],
        "incomplete": tally["incomplete"],
        **stream.followed,
        **({"few": tally["few"]} if settings.options.k else {}),
    }
