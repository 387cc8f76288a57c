"""An order of rows that follows from what is published and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]

ROOM = 2**62  # keys are compacted before they would exceed this


def canonical(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """Rows sorted by the columns of `by`, then by all others, nulls last.

    Equal tables give equal orders, whatever order their rows came in, so the input's order does not show.

    >>> canonical(pa.table({"a": [2, None, 1], "b": ["x", "y", "z"]}), by=["a"])["b"].to_pylist()
    ['z', 'x', 'y']
    """
    if table.num_rows == 0:
        return table
    return table.take(pa.array(np.argsort(row_keys(table, by))))  # rows with the same key are equal


def row_keys(table: pa.Table, by: Sequence[str] = ()) -> Ints:
    """A number for each row in that order; rows have the same number if and only if they are equal.

    >>> row_keys(pa.table({"a": [2, 1, 2], "b": [[1, 3], [9], [1]]})).argsort().tolist()
    [1, 2, 0]
    """
    key, size = np.zeros(table.num_rows, np.int64), 1
    if table.num_rows == 0:
        return key
    for name in [*by, *(name for name in table.column_names if name not in by)]:
        for ranks, bound in _all_ranks(table[name]):
            rank, count = ranks, bound
            if size * count > ROOM and count > table.num_rows:
                rank, count = _dense(rank)
            if size * count > ROOM:
                key, size = _dense(key)
            key, size = key * count + rank, size * count
    return key


def _all_ranks(column: pa.ChunkedArray) -> Iterator[tuple[Ints, int]]:
    """The ranks of a column; of lists, those of each position in turn, a shorter list before a longer one."""
    if not pa.types.is_list(column.type):
        yield _ranks(column)
        return
    yield pc.is_null(column).to_numpy().astype(np.int64), 2
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    starts, items = np.cumsum(lengths) - lengths, pc.list_flatten(column)
    for position in range(int(lengths.max(initial=0))):
        reaches = lengths > position
        rank, count = _ranks(items.take(pa.array(starts[reaches] + position)))
        spread = np.zeros(len(lengths), np.int64)
        spread[reaches] = rank + 1
        yield spread, count + 1


def _dense(key: Ints) -> tuple[Ints, int]:
    """Keys in the same order as the smallest numbers from 0 on, and how many there are."""
    order = np.argsort(key)
    steps = np.concatenate([[0], np.cumsum(np.diff(key[order]) != 0)])
    dense = np.empty_like(key)
    dense[order] = steps
    return dense, int(steps[-1]) + 1


def _ranks(column: pa.ChunkedArray) -> tuple[Ints, int]:
    """Whole numbers in the order of the values, null last, and a bound on them."""
    kind = column.type
    is_float = pa.types.is_float64(kind) or pa.types.is_float32(kind)
    if not is_float and (not pa.types.is_integer(kind) or pa.types.is_uint64(kind)):
        return _dictionary_ranks(column)
    values = (pc.fill_null(column, 0) if column.null_count else column).to_numpy(zero_copy_only=False)
    if is_float:  # the bits of floats sort like whole numbers, once those of negative ones are turned
        bits = np.where(np.isnan(values), np.nan, values.astype(np.float64)).view(np.int64)
        values = np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low + 2 > ROOM:
        values, low = _dense(values.astype(np.int64))[0], 0
        high = int(values.max(initial=0))
    rank = values.astype(np.int64, copy=False) - low
    if column.null_count:
        rank[pc.is_null(column).to_numpy(zero_copy_only=False)] = high - low + 1
    return rank, high - low + 2


def _dictionary_ranks(column: pa.ChunkedArray) -> tuple[Ints, int]:
    """The rank of each value among the distinct ones, null last, and how many ranks there are."""
    is_coded = pa.types.is_dictionary(column.type)
    encoded = column.unify_dictionaries() if is_coded else column.dictionary_encode()
    values = encoded.chunks[-1].dictionary  # that of all chunks
    rank = np.empty(len(values) + 1, np.int64)
    rank[:-1] = pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64) - 1
    rank[-1] = len(values)
    codes = [pc.fill_null(chunk.indices.cast(pa.int64()), len(values)) for chunk in encoded.chunks]
    return rank[np.concatenate([code.to_numpy(zero_copy_only=False) for code in codes])], len(values) + 1
