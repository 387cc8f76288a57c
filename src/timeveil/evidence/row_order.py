"""The order of published rows: it follows from their values, or else it could carry a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import schema_of

Mask: TypeAlias = npt.NDArray[np.bool_]


def check_row_order(
    release: Release, by: Sequence[str], findings: Findings, table: str = "data", within: str | None = None
) -> None:
    """Expect rows in the order of `by`, and then of all other columns of the table.

    Where the runs of a column have an order of their own, rows are compared `within` each of its runs.
    """
    of_table = "" if table == "data" else f" of table `{table}`"
    findings.check(f"rows{of_table} are sorted by their values, so that their order reveals nothing")
    names = [*by, *(name for name in schema_of(release, table).names if name not in by and name != within)]
    wrong, last = 0, list[pa.RecordBatch]()
    for batch in filter(len, release.batches(table)):
        # The last row leads the next batch, so that neighbours across the border are compared too.
        rows = pa.Table.from_batches([*last, batch])
        last = [batch.slice(batch.num_rows - 1)]
        before, after = rows.slice(0, rows.num_rows - 1), rows.slice(1)
        falls, _ = compared_rows(before, after, names)
        if within is not None:
            falls &= compared_rows(before, after, [within])[1]
        wrong += int(falls.sum())
    findings.expect("row-order", not wrong, rows=wrong)


def compared_rows(before: pa.Table, after: pa.Table, names: Sequence[str]) -> tuple[Mask, Mask]:
    """Where the row of `before` sorts after that of `after`, and where the two are equal."""
    undecided: Mask = np.ones(before.num_rows, dtype=bool)
    wrong: Mask = np.zeros(before.num_rows, dtype=bool)
    for name in names:
        if not undecided.any():
            break
        for left, right in zip(_items(before.column(name)), _items(after.column(name)), strict=True):
            falls, same = _compared(_comparable(left), _comparable(right))
            wrong |= undecided & falls
            # The next column decides only where all columns so far are equal.
            undecided &= same
    return wrong, undecided


def _items(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """The column itself; of a column of lists, the items by position."""
    if not pa.types.is_list(column.type):
        return [column]
    # Shorter lists are padded with nulls, which sort last, as in the published order.
    longest = pc.max(pc.list_value_length(column)).as_py() or 0
    padded = pc.list_slice(column, 0, longest, return_fixed_size_list=True)
    return [pc.list_element(padded, position) for position in range(longest)]


def _comparable(column: pa.ChunkedArray) -> pa.Array:
    kind = plain_type(column.type)
    if pa.types.is_null(kind):
        kind = pa.string()
    column = column.cast(pa.float32() if pa.types.is_float16(kind) else kind)
    return pa.concat_arrays(column.chunks)


def _compared(before: pa.Array, after: pa.Array) -> tuple[Mask, Mask]:
    """Where the value before is greater, and where the two are equal."""
    same = _mask(pc.fill_null(pc.equal(before, after), False))
    if before.null_count:
        same |= _mask(before.is_null()) & _mask(after.is_null())
    if pa.types.is_floating(before.type):
        zero = _mask(pc.fill_null(pc.equal(before, pa.scalar(0.0, before.type)), False))
        # 0.0 and -0.0 are equal, but only the same sign says that the next column decides.
        same &= ~zero | (np.signbit(_numbers(before)) == np.signbit(_numbers(after)))
        # NaN sorts after every number and before null; two of them are equal, so the next column decides.
        same |= np.isnan(_numbers(before)) & np.isnan(_numbers(after))
    # Neighbours are mostly equal: only where they differ, one is looked for that falls.
    falls, differ = np.zeros(len(before), dtype=bool), np.flatnonzero(~same)
    falls[differ] = _falling(before.take(pa.array(differ)), after.take(pa.array(differ)))
    return falls, same


def _falling(before: pa.Array, after: pa.Array) -> Mask:
    null_before, null_after = _mask(before.is_null()), _mask(after.is_null())
    falls = _mask(pc.fill_null(pc.greater(before, after), False)) | (null_before & ~null_after)
    if pa.types.is_floating(before.type):
        falls |= np.isnan(_numbers(before)) & ~np.isnan(_numbers(after)) & ~null_after
    return falls


def _mask(values: pa.Array) -> Mask:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)


def _numbers(values: pa.Array) -> npt.NDArray[np.float64]:
    return np.asarray(pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False), dtype=np.float64)
