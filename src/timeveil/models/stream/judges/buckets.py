"""What a stream release says: its slots in the order of the table, its buckets and their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release
from timeveil.evidence.codes import Coded, Integers, column_of, encode_values, fold, plain_type
from timeveil.evidence.published import classes_of
from timeveil.models.stream.judges.slots import SlotLine

SLOT, BUCKET, COUNT = "slot", "bucket", "count"


def bucketed(release: Release) -> bool:
    """Whether sensitive values stand in a table of their own, joined by bucket."""
    return "sensitive" in release.parts


def sensitive_column(release: Release) -> str:
    """The column that people must not be linked to."""
    columns = release.manifest["sensitive_columns" if bucketed(release) else "columns"]
    return next(str(column["name"]) for column in columns if column["role"] == "sensitive")


def slot_runs(release: Release, table: str = "data") -> pa.ChunkedArray:
    """The slots of a table as they follow each other, each run of equal ones once."""
    runs: list[pa.Array] = []
    kind = pa.string()
    for batch in release.batches(table):
        column = batch.column(SLOT)
        kind = plain_type(column.type)
        values = pc.run_end_encode(column.cast(kind)).values
        if runs and len(values) and runs[-1][-1] == values[0]:
            values = values.slice(1)
        if len(values):
            runs.append(values)
    return pa.chunked_array(runs, kind)


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets of a release in order of (slot, bucket), from the table of sensitive values.

    `owner` is, per entry of that table, the bucket it belongs to, `value` the sensitive value and `often` how
    many records of the bucket have it. `size` is the number of records of a bucket.
    """

    slot: Integers
    number: Integers
    size: Integers
    owner: Integers
    value: Coded
    often: Integers


def buckets_of(release: Release, line: SlotLine) -> Buckets:
    """Read the table of sensitive values; missing numbers count as -1."""
    part = release.parts["sensitive"]
    place = line.places(column_of(part, SLOT))
    number, often = (_whole(column_of(part, name)) for name in (BUCKET, COUNT))
    value = encode_values(column_of(part, sensitive_column(release)))
    owner, first = _numbered(place, number)
    size = np.bincount(owner, weights=often, minlength=len(first)).astype(np.int64)
    return Buckets(place[first], number[first], size, owner, value, often)


@dataclass(frozen=True, slots=True)
class Records:
    """How many rows of the table `data` stand in each bucket, in order of (slot, bucket)."""

    slot: Integers
    number: Integers
    rows: Integers


def records_of(release: Release, line: SlotLine, counted: pa.Table | None = None) -> Records:
    """Count the rows of every bucket, or take them from `counted` (slot, bucket, rows)."""
    found = classes_of(release, [SLOT, BUCKET]) if counted is None else counted
    place, number = line.places(found.column(0)), _whole(found.column(1))
    owner, first = _numbered(place, number)
    rows = np.bincount(owner, weights=np.asarray(found["rows"]), minlength=len(first)).astype(np.int64)
    return Records(place[first], number[first], rows)


def matched(left: Buckets | Records, right: Buckets | Records) -> tuple[Integers, Integers]:
    """Positions on both sides of the buckets that both have."""
    both = np.concatenate([left.slot, right.slot]), np.concatenate([left.number, right.number])
    owner, first = _numbered(*both)
    ours = np.full(len(first), -1)
    theirs = np.full(len(first), -1)
    ours[owner[: len(left.slot)]] = np.arange(len(left.slot))
    theirs[owner[len(left.slot) :]] = np.arange(len(right.slot))
    shared = (ours >= 0) & (theirs >= 0)
    return ours[shared], theirs[shared]


def _numbered(place: Integers, number: Integers) -> tuple[Integers, Integers]:
    """Per row its (slot, bucket) numbered in that order, and one row of each."""
    slots, slot = np.unique(place, return_inverse=True)
    numbers, bucket = np.unique(number, return_inverse=True)
    owner, count = fold([(slot.ravel(), len(slots)), (bucket.ravel(), len(numbers))], len(place))
    first = np.zeros(count, dtype=np.int64)
    first[owner] = np.arange(len(place))
    return owner, first


def _whole(column: pa.ChunkedArray) -> Integers:
    return np.asarray(pc.fill_null(column.cast(pa.int64()), -1)).astype(np.int64, copy=False)
