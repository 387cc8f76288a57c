"""Everything that judges of a stream read: its tables, its ledger, and the way of each record.

Each part is computed when first needed, and once. The slot that a record belongs to follows from its original
time; where it was published is what the ledger lists.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.release import Ledger, Release
from timeveil.errors import TimeveilError, raising
from timeveil.evidence import codes
from timeveil.evidence.codes import Coded, align, column_of, encode, encode_values, fold, ranked
from timeveil.evidence.labels import LabelledEvidence
from timeveil.evidence.published import classes_of, schema_of
from timeveil.models.stream.parameters import reach_of
from timeveil.models.stream.slots import NOWHERE, SlotLine, line_of

LEDGER_FAULTS = {
    "ledger:model": "the ledger is not that of this release",
    "columns:quasi": "the quasi columns are not those of the original",
    "columns:keep": "the keep columns are not those of the original",
    "columns:sensitive": "the sensitive column is not that of the original",
    "ledger:columns": "the ledger lacks a column of a stream's ledger",
    "ledger-rows:number": "the ledger lists {listed} rows, not the {rows} of the original",
}
"""What shows that a ledger belongs to another release, by the name of the fact."""


class Buckets:
    """The buckets of both tables, in order of (slot, number).

    `rows` is the number of rows that the table `data` has in a bucket. `owner`, `value` and `often` are the
    entries of the table `sensitive`: a bucket's index, a value, and how many of its records have it. `size`
    is the sum of a bucket's counts, `counterfeits` the number of them that no record has, and `listed` marks
    the buckets of that table.
    """

    def __init__(self, evidence: Evidence) -> None:
        release, numbers_of = evidence.release, evidence.line.numbers
        entries, classes = release.parts["sensitive"], classes_of(release, ["slot", "bucket"])
        listed, slot = len(column := column_of(entries, "slot")), numbers_of(column)
        slot = np.concatenate([slot, numbers_of(classes.column(0))])
        numbers = column_of(entries, "bucket"), classes.column(1)
        number = np.concatenate([whole_numbers(column) for column in numbers])
        # One numbering for both tables, in order of (slot, number).
        owner, count = number_of_pairs(slot, number)
        example = np.zeros(count, dtype=np.int64)
        example[owner] = np.arange(len(slot))
        self.slot, self.number = slot[example], number[example]
        self.owner, self.often = owner[:listed], whole_numbers(column_of(entries, "count"))
        self.value = encode_values(column_of(entries, evidence.sensitive_column))
        self.rows = np.bincount(owner[listed:], np.asarray(classes["rows"]), count).astype(np.int64)
        self.size = np.bincount(self.owner, self.often, count).astype(np.int64)
        self.listed = np.bincount(self.owner, minlength=count) > 0
        self.counterfeits = self.size - self.rows

    def index(self, slot: Ints, number: Ints) -> Ints:
        """The index of each (slot, number), which must be a bucket of the release."""
        slots, numbers = np.unique(self.slot), np.unique(self.number)
        keys = np.searchsorted(slots, self.slot) * len(numbers) + np.searchsorted(numbers, self.number)
        sought = np.searchsorted(slots, slot) * len(numbers) + np.searchsorted(numbers, number)
        return np.searchsorted(keys, sought)


class Journeys:
    """Per original record where it came from and where it was published.

    `origin` is the slot of its time and `noted` the origin that the ledger lists; `slot` is where it was
    published. Each is `NOWHERE` where there is none; `bucket` is -1 there. `value` is the sensitive value,
    `quasi` numbers the quasi-identifiers and `person` the respondents: each record is a person of its own
    where there is no such column. `complete` records have a slot, a sensitive value and, where there is such
    a column, a respondent.
    """

    def __init__(self, evidence: Evidence) -> None:
        time, private = evidence.release.manifest["time"], evidence.private
        axis, roles, data = private.original.clock, private.original.roles, private.original.data
        if (axis.kind, axis.zone, axis.unit) != (time["kind"], time["zone"], time["unit"]):
            raise codes.mismatch("the times of the ledger's original are of another kind than the release's")
        # Anything may go wrong with columns of another table; none of its texts may be quoted.
        causes = (pa.ArrowException, TypeError, ValueError, OverflowError, TimeveilError)
        error = codes.mismatch("the ledger's original has times and slots of another kind than the release")
        with raising(error, on=causes):
            times = column_of(data, str(roles.time))
            nothing = pa.nulls(len(times), pa.int64())
            bucket = private.table.column(evidence.unit) if evidence.grouped else nothing
            columns = [evidence.original_column(name) for name in roles.quasi_columns]
            self.person, named = np.arange(len(times)), np.ones(len(times), dtype=bool)
            if roles.respondent is not None:
                respondent = column_of(data, roles.respondent)
                self.person, named = codes.encode(respondent).codes, np.asarray(respondent.is_valid())
            self.origin = line_of(evidence.release, times.type).origins(times)
            self.noted = evidence.line.numbers(private.table.column("origin"))
            self.slot = evidence.line.numbers(private.table.column("slot"))
            self.bucket = whole_numbers(bucket)
            self.value = encode_values(column_of(data, roles.sensitive[0]))
            self.quasi = fold([(coded.codes, coded.size) for coded in columns], len(times))[0]
        valued = np.asarray(self.value.values.is_valid())[self.value.codes]
        self.complete = (self.origin != NOWHERE) & valued & named
        self.published = self.slot != NOWHERE

    @property
    def distance(self) -> Ints:
        """The number of slots by which each published record was moved; 0 for the others."""
        return np.where(self.published & (self.origin != NOWHERE), self.slot - self.origin, 0)


class Evidence(LabelledEvidence):
    """A stream release and its ledger, read once for all judges.

    Of the promise, `k` records share their generalised quasi-identifiers, `true_slot` stands for 1 in so many
    against someone who knows the true slot, and `recurring` is what people have who come back, or None.
    """

    def __init__(self, release: Release, ledger: Ledger | None = None) -> None:
        super().__init__(release, ledger)
        promise = release.guarantee.as_dict()
        self.l, self.k = int(promise["l"]), int(promise.get("k", 0))
        self.true_slot: int | None = promise.get("true_slot")
        self.recurring: str | None = promise.get("recurring")

    @cached_property
    def reach(self) -> int:
        """A record is published fewer than this many slots late."""
        return reach_of(self.release.manifest["parameters"])

    @cached_property
    def bucketed(self) -> bool:
        """Whether sensitive values are in a table of their own, joined by bucket."""
        return "sensitive" in self.release.parts

    @cached_property
    def generalized(self) -> bool:
        """Whether records are in groups whose quasi-identifiers were made equal."""
        return bool(self.release.manifest["parameters"].get("groups") == "generalize")

    @property
    def grouped(self) -> bool:
        """Whether a record's value is one of several, those of its bucket or group."""
        return self.bucketed or self.generalized

    @property
    def unit(self) -> str:
        """The column that numbers buckets or groups."""
        return "group" if self.generalized else "bucket"

    @cached_property
    def labels(self) -> dict[str, Coded]:
        """What the group of each original record is published with; -1 where it is in no group."""
        names, journeys = self.columns("quasi"), self.journeys
        classes = classes_of(self.release, ["slot", "group", *names])
        numbers = self.line.numbers(classes.column(0)), whole_numbers(classes.column(1))
        # One numbering for the groups of the release and of the ledger.
        sides = zip(numbers, (journeys.slot, journeys.bucket), strict=True)
        key, keys = number_of_pairs(*map(np.concatenate, sides))
        group = np.full(keys, -1, np.int64)
        group[key[: len(classes)]] = np.arange(len(classes))
        group = np.where(journeys.published, group[key[len(classes) :]], -1)
        columns = {name: encode(classes.column(2 + position)) for position, name in enumerate(names)}
        return {name: Coded(np.append(c.codes, -1)[group], c.values) for name, c in columns.items()}

    @cached_property
    def sensitive_column(self) -> str:
        columns = self.release.manifest["sensitive_columns" if self.bucketed else "columns"]
        return next(str(column["name"]) for column in columns if column["role"] == "sensitive")

    @cached_property
    def line(self) -> SlotLine:
        return line_of(self.release)

    def slot_runs(self, table: str = "data") -> pa.Array:
        """The slots of a table in its order, each run of equal ones once."""
        kind = codes.plain_type(schema_of(self.release, table).field("slot").type)
        batches = self.release.batches(table)
        runs = [pc.run_end_encode(batch.column("slot").cast(kind)).values for batch in batches]
        # Once more, because a run may go on in the next batch.
        return pc.run_end_encode(pa.chunked_array(runs, kind).combine_chunks()).values

    @cached_property
    def buckets(self) -> Buckets:
        """The buckets of both tables; a missing number or count is -1."""
        return Buckets(self)

    @cached_property
    def journeys(self) -> Journeys:
        """The journeys of all records, as the ledger lists them."""
        return Journeys(self)

    @cached_property
    def alone(self) -> Flags:
        """Which original records are published in a bucket with counterfeits."""
        journeys, alone = self.journeys, np.zeros(len(self.journeys.slot), dtype=bool)
        if self.recurring == "invariant":
            published = np.flatnonzero(journeys.published)
            index = self.buckets.index(journeys.slot[published], journeys.bucket[published])
            # A damaged ledger may name a bucket after the last.
            inside = index < len(self.buckets.size)
            alone[published[inside]] = self.buckets.counterfeits[index[inside]] > 0
        return alone

    @cached_property
    def counterfeits(self) -> tuple[Ints, Ints]:
        """Per counterfeit the original record that shares its bucket, and the code of its value."""
        journeys, buckets, records = self.journeys, self.buckets, np.flatnonzero(self.alone)
        record_of = np.full(len(buckets.size), -1)
        record_of[buckets.index(journeys.slot[records], journeys.bucket[records])] = records
        record = record_of[buckets.owner]
        original, released = align(journeys.value, buckets.value)
        # From the joint numbering back to that of the original, which has every value.
        code = np.zeros(original.size, dtype=np.int64)
        code[original.codes] = journeys.value.codes
        invented = (record >= 0) & (released.codes != original.codes[record])
        return record[invented], code[released.codes[invented]]

    @cached_property
    def packets(self) -> Ints | None:
        """Per original record the number of its packet or -1; None where the ledger lists none."""
        if "packet" not in self.private.entries.schema.names:
            return None
        column = self.private.table.column("packet")
        return whole_numbers(column) if pa.types.is_integer(column.type) else None

    @cached_property
    def ledger_facts(self) -> dict[str, bool]:
        """Whether the ledger has the model, the columns and the rows of the release, by name of the fact."""
        entries, original, roles = self.private.entries, self.private.original, self.private.original.roles
        needed = {"row", "origin", "slot", *([self.unit] if self.grouped else [])}
        same_time = self.release.manifest["time"]["column"] == roles.time
        return {
            "ledger:model": self.private.model == "stream" and same_time,
            "columns:quasi": self.columns("quasi") == list(roles.quasi_columns),
            "columns:keep": self.columns("keep") == list(roles.keep),
            "columns:sensitive": [self.sensitive_column] == list(roles.sensitive),
            "ledger:columns": needed <= set(entries.schema.names),
            "ledger-rows:number": entries.num_rows == original.rows,
        }

    @cached_property
    def linked(self) -> Journeys:
        """The journeys of all records; a ledger of another release is refused."""
        for name, holds in self.ledger_facts.items():
            if not holds:
                listed, rows = self.private.entries.num_rows, self.private.original.rows
                raise codes.mismatch(LEDGER_FAULTS[name].format(listed=f"{listed:,}", rows=f"{rows:,}"))
        count, stated = int(self.journeys.published.sum()), self.release.manifest["counts"]["rows"]
        if count != stated:
            raise codes.mismatch(f"the ledger places {count:,} records in the release, which has {stated:,}")
        if self.true_slot is not None and self.packets is None:
            raise codes.mismatch("the ledger lacks the packets that the release promises")
        return self.journeys


def least_packet_sizes(slot: Ints, value: Ints, promise: int) -> Ints:
    """Per record the least size of a packet of its slot, by the counts of the slot's values.

    That is the number promised, or, where a slot's commonest value leaves no room for it,
    floor(records of the slot / records of that value).
    """
    index, size, most = commonest(slot, value)
    return np.asarray(np.minimum(promise, size // most)[index], dtype=np.int64)


def ineligible_slots(slot: Ints, value: Ints, l: int, often: Ints | None = None) -> int:
    """The number of slots, or other groups, in which a value is held by more than 1 in l records."""
    _, size, most = commonest(slot, value, often)
    return int((most * l > size).sum())


def commonest(group: Ints, value: Ints, often: Ints | None = None) -> tuple[Ints, Ints, Ints]:
    """The index of each record's group; the size of each group; how many hold its commonest value.

    Where records are counted already, `often` says how many each stands for.
    """
    (_, index), (pair, pairs) = ranked(group), number_of_pairs(group, value)
    owner = np.zeros(pairs, np.int64)
    owner[pair] = index
    size, holders = (np.bincount(column, often).astype(np.int64) for column in (index, pair))
    most = np.zeros(len(size), np.int64)
    np.maximum.at(most, owner, holders)
    return index, size, most


def number_of_pairs(first: Ints, second: Ints) -> tuple[Ints, int]:
    """Pairs of numbers as codes in their order, and how many different ones there are."""
    return fold(((index, len(values)) for values, index in map(ranked, (first, second))), len(first))


def whole_numbers(column: pa.ChunkedArray | pa.Array) -> Ints:
    """Whole numbers; -1 for a missing one."""
    return np.asarray(pc.fill_null(column.cast(pa.int64()), -1)).astype(np.int64, copy=False)
