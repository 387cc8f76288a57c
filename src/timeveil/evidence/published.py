"""What a time release says, read from its tables and manifest alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import instants
from timeveil.domain.relation import TimeAxis
from timeveil.domain.release import Release
from timeveil.evidence.codes import Integers, plain_type

# Bounds of a granule that reaches beyond the calendar; far outside of any instant, and their
# difference still fits.
LOWEST, HIGHEST = -(2**61), 2**61
_PARTIAL_ROWS = 1_000_000


def schema_of(release: Release, name: str = "data") -> pa.Schema:
    """The schema of a table, read without its rows where it lies on disk."""
    part = release.parts[name]
    found = getattr(part, "schema", None)
    return part.read().schema if found is None else found


def columns_of(release: Release, *roles: str) -> list[str]:
    """The published columns that play one of these roles, in published order."""
    return [str(column["name"]) for column in release.manifest["columns"] if column["role"] in roles]


def promised(release: Release, name: str) -> int:
    """The number in a release's promise, such as `k` or `l`."""
    return int(release.guarantee.as_dict()[name])


def axis_of(release: Release) -> TimeAxis:
    """How the published start and end are to be understood."""
    time = release.manifest["time"]
    kind = plain_type(schema_of(release).field(f"{time['column']}_start").type)
    return TimeAxis(time["kind"], kind, zone=time.get("zone"), unit=time.get("unit"))


def classes_of(
    release: Release,
    keys: Sequence[str],
    among: Callable[[pa.RecordBatch], pa.Array | None] = lambda _batch: None,
) -> pa.Table:
    """Each combination of the columns `keys` that occurs, and in the last column in how many rows.

    The release is read a batch at a time; memory grows with the number of combinations. `among` gives
    a mask of the rows to count. Columns are named by position, for a column may be called `rows`.
    """
    schema = schema_of(release)
    types = [plain_type(schema.field(key).type) for key in keys]
    names = [str(place) for place in range(len(keys))]
    shape = pa.schema([*zip(names, types, strict=True), ("rows", pa.int64())])
    partial, waiting = [shape.empty_table()], 0
    for batch in release.batches():
        mask = among(batch)
        counted = batch if mask is None else batch.filter(mask)
        columns = [counted.column(key).cast(kind) for key, kind in zip(keys, types, strict=True)]
        ones = pa.array(np.ones(counted.num_rows, dtype=np.int64))
        partial.append(_total(pa.table([*columns, ones], schema=shape), names))
        waiting += partial[-1].num_rows
        if waiting > _PARTIAL_ROWS + 2 * partial[0].num_rows:
            partial, waiting = [_total(pa.concat_tables(partial), names)], 0
    return _total(pa.concat_tables(partial), names)


def _total(counts: pa.Table, names: list[str]) -> pa.Table:
    if not names:
        total = pc.sum(counts["rows"]).as_py() or 0
        return pa.table({"rows": pa.array([total] if total else [], pa.int64())})
    if not counts.num_rows:
        return counts
    summed = counts.group_by(names).aggregate([("rows", "sum")])
    return summed.select([*names, "rows_sum"]).rename_columns([*names, "rows"])


@dataclass(frozen=True, slots=True)
class Granules:
    """The granules of a release in order of time, as instants; `end` is exclusive.

    `reach` is the earliest instant that a row of the granule can have had: its start, or, where rows in
    a gap of the calendar were moved to the next granule, the end of the granule before.
    """

    start: Integers
    end: Integers
    reach: Integers

    def containing(self, moments: Integers) -> Integers:
        """Place of the granule that a row of each instant was published in; -1 where there is none."""
        if not len(self.start):
            return np.full(len(moments), -1, dtype=np.int64)
        place = np.searchsorted(self.end, moments, side="right")
        inside = np.minimum(place, len(self.end) - 1)
        return np.where((place < len(self.end)) & (self.reach[inside] <= moments), place, -1)


def bounds_of(axis: TimeAxis, start: pa.ChunkedArray, end: pa.ChunkedArray) -> tuple[Integers, Integers]:
    """Published starts and ends as instants, a missing one beyond every instant."""
    return _instants_or(axis, start, LOWEST), _instants_or(axis, end, HIGHEST)


def granules_of(release: Release, start: Integers, end: Integers) -> Granules:
    """The distinct granules among these bounds."""
    pairs = np.unique(np.stack([start, end], axis=1), axis=0) if len(start) else np.zeros((0, 2), np.int64)
    first, last = pairs[:, 0].copy(), pairs[:, 1].copy()
    reach = first
    if moves_to_next(release) and len(first):
        reach = np.concatenate([[LOWEST], last[:-1]])
    return Granules(first, last, reach)


def moves_to_next(release: Release) -> bool:
    """Whether rows in a gap of the calendar carry the granule after it."""
    parameters = release.manifest.get("parameters", {})
    chosen = release.manifest.get("candidates", {}).get(release.manifest.get("granularity"), {})
    return bool(parameters.get("gaps") == "next" and chosen.get("rows_in_gaps", 1) != 0)


def _instants_or(axis: TimeAxis, column: pa.ChunkedArray, missing: int) -> Integers:
    known = np.asarray(column.is_valid())
    out = np.full(len(column), missing, dtype=np.int64)
    out[known] = instants(axis, column.drop_null())
    return out
