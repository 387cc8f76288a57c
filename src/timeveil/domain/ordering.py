"""An order of rows that follows from what is published and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

ROOM = 2**62


def canonical(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """Rows sorted by the columns of `by`, then by all others, nulls last.

    Equal tables give equal orders, whatever order their rows came in: nothing of the input's order is
    left to learn from.

    >>> canonical(pa.table({"a": [2, None, 1], "b": ["x", "y", "z"]}), by=["a"])["b"].to_pylist()
    ['z', 'x', 'y']
    """
    if table.num_rows == 0:
        return table
    key = row_keys(table, by)
    return table.take(pa.array(np.argsort(key)))  # rows of one key are equal, so their order tells nothing


def row_keys(table: pa.Table, by: Sequence[str] = ()) -> npt.NDArray[np.int64]:
    """A number for each row in that order; equal rows, and no others, have the same.

    >>> row_keys(pa.table({"a": [2, 1, 2], "b": [[1, 3], [9], [1]]})).argsort().tolist()
    [1, 2, 0]
    """
    key, size = np.zeros(table.num_rows, np.int64), 1
    if table.num_rows == 0:
        return key
    for name in [*by, *(name for name in table.column_names if name not in by)]:
        for rank, count in _all_ranks(table[name]):
            if size * count > ROOM and count > table.num_rows:
                rank, count = _dense(rank)  # noqa: PLW2901
            if size * count > ROOM:
                key, size = _dense(key)
            key, size = key * count + rank, size * count
    return key


def _all_ranks(column: pa.ChunkedArray) -> Iterator[tuple[npt.NDArray[np.int64], int]]:
    """The ranks of a column; of lists those of each place in turn, an ended list before one that goes on."""
    if not pa.types.is_list(column.type):
        yield _ranks(column)
        return
    missing = pc.is_null(column).to_numpy()
    yield missing.astype(np.int64), 2
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    starts, items = np.cumsum(lengths) - lengths, pc.list_flatten(column)
    for place in range(int(lengths.max(initial=0))):
        there = lengths > place
        rank, count = _ranks(items.take(pa.array(starts[there] + place)))
        spread = np.zeros(len(lengths), np.int64)
        spread[there] = rank + 1
        yield spread, count + 1


def _dense(key: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    """The same order in the smallest numbers."""
    order = np.argsort(key)
    steps = np.concatenate([[0], np.cumsum(np.diff(key[order]) != 0)])
    out = np.empty_like(key)
    out[order] = steps
    return out, int(steps[-1]) + 1


def _ranks(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], int]:
    """Whole numbers in the order of the values, null after all others, and how many there may be."""
    numbers = _numbers(column)
    if numbers is None:
        return _dictionary_ranks(column)
    whole = pc.fill_null(numbers, 0) if numbers.null_count else numbers
    values = whole.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f":
        bits = values.astype(np.float64).view(np.int64)
        values = np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low + 2 > ROOM:
        values, low = _dense(values.astype(np.int64))[0], 0
        high = int(values.max(initial=0))
    rank = values.astype(np.int64, copy=False) - low
    if numbers.null_count:
        rank[pc.is_null(numbers).to_numpy(zero_copy_only=False)] = high - low + 1
    return rank, high - low + 2


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The column, if it is worth ordering by number rather than by its few distinct values."""
    kind = column.type
    if pa.types.is_float64(kind) or pa.types.is_float32(kind):
        return column
    return column if pa.types.is_integer(kind) and not pa.types.is_uint64(kind) else None


def _dictionary_ranks(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], int]:
    """Each value's place among the distinct values, and how many places there are."""
    encoded = (
        column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    ).unify_dictionaries()
    values = encoded.chunk(0).dictionary
    rank = np.empty(len(values) + 1, np.int64)
    rank[:-1] = pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64) - 1
    rank[-1] = len(values)
    codes = [pc.fill_null(chunk.indices.cast(pa.int64()), len(values)) for chunk in encoded.chunks]
    return rank[np.concatenate([c.to_numpy(zero_copy_only=False) for c in codes])], len(values) + 1
