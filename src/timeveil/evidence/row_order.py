"""Do rows stand in an order that follows from what they say?

The order in which rows came in can tell who is who. Published rows are therefore sorted by some columns, then
by all others, nulls last. Neighbours are compared, a batch at a time. Where two numbers differ in nothing but
the sign of a zero, or one is not a number, engines may order them as they like.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence.codes import plain_type
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import schema_of

Mask = npt.NDArray[np.bool_]


def check_row_order(
    release: Release, by: Sequence[str], findings: Findings, table: str = "data", within: str | None = None
) -> None:
    """Refuse rows out of the order of `by` and then of all other columns of the table.

    Where the runs of a column are in an order of their own, rows are looked at `within` each of its runs.
    """
    of = "" if table == "data" else f" of table `{table}`"
    findings.check(f"rows{of} stand in an order that follows from their values alone")
    names = [*by, *(name for name in schema_of(release, table).names if name not in by and name != within)]
    wrong = sum(_descents(rows, names, within) for rows in _overlapping(release.batches(table)))
    if wrong:
        findings.refuse("row-order", f"{counted(wrong, 'row')} not in the order that follows from the values")


def _overlapping(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches, each with the last row of the one before at its head."""
    last: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            yield pa.Table.from_batches([*last, batch])
            last = [batch.slice(batch.num_rows - 1)]


def _descents(rows: pa.Table, names: Sequence[str], within: str | None = None) -> int:
    """How many rows come before the row that they stand after."""
    before, after = rows.slice(0, rows.num_rows - 1), rows.slice(1)
    falls, _ = compared_rows(before, after, names)
    if within is not None:
        falls &= compared_rows(before, after, [within])[1]
    return int(falls.sum())


def compared_rows(before: pa.Table, after: pa.Table, names: Sequence[str]) -> tuple[Mask, Mask]:
    """Where the row of one table comes after that of the other, and where both say the same."""
    undecided: Mask = np.ones(before.num_rows, dtype=bool)
    wrong: Mask = np.zeros(before.num_rows, dtype=bool)
    for name in names:
        if not undecided.any():
            break
        for one, other in zip(_parts(before.column(name)), _parts(after.column(name)), strict=True):
            falls, same = _compared(_comparable(one), _comparable(other))
            wrong |= undecided & falls
            undecided &= same
    return wrong, undecided


def _parts(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """The column, or of lists the items, which are compared from the first to the last."""
    if not pa.types.is_list(column.type):
        return [column]
    longest = pc.max(pc.list_value_length(column)).as_py() or 0
    padded = pc.list_slice(column, 0, longest, return_fixed_size_list=True)
    return [pc.list_element(padded, place) for place in range(longest)]


def _comparable(column: pa.ChunkedArray) -> pa.Array:
    kind = plain_type(column.type)
    if pa.types.is_null(kind):
        kind = pa.string()
    column = column.cast(pa.float32() if pa.types.is_float16(kind) else kind)
    return pa.concat_arrays(column.chunks)


def _compared(before: pa.Array, after: pa.Array) -> tuple[Mask, Mask]:
    """Where the value before is the greater one, and where both are the same."""
    null_before, null_after = _mask(before.is_null()), _mask(after.is_null())
    falls = _mask(pc.fill_null(pc.greater(before, after), False)) | (null_before & ~null_after)
    same = _mask(pc.fill_null(pc.equal(before, after), False)) | (null_before & null_after)
    if pa.types.is_floating(before.type):
        zero = _mask(pc.fill_null(pc.equal(before, pa.scalar(0.0, before.type)), False))
        same &= ~zero | (np.signbit(_numbers(before)) == np.signbit(_numbers(after)))
        strange = np.isnan(_numbers(before)) | np.isnan(_numbers(after))
        falls &= ~strange | null_before
        same &= ~strange | null_before
    return falls, same


def _mask(values: pa.Array) -> Mask:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)


def _numbers(values: pa.Array) -> npt.NDArray[np.float64]:
    return np.asarray(pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False), dtype=np.float64)
