"""An order of rows that follows from what is published and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

ROOM = np.iinfo(np.int64).max


def canonical(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """Rows sorted by the columns of `by`, then by all others, nulls last.

    Equal tables give equal orders, whatever order their rows came in: nothing of the input's order is
    left to learn from.

    >>> canonical(pa.table({"a": [2, None, 1], "b": ["x", "y", "z"]}), by=["a"])["b"].to_pylist()
    ['z', 'x', 'y']
    """
    names = [*by, *(name for name in table.column_names if name not in by)]
    keys: list[npt.NDArray[np.int64]] = []
    room = 0
    for name in names:
        rank, size = _ranks(table[name])
        if keys and room * size < ROOM:
            keys[-1] = keys[-1] * size + rank
            room *= size
        else:
            keys.append(rank)
            room = size
    return table if not keys else table.take(pa.array(np.lexsort(keys[::-1])))


def _ranks(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], int]:
    """Each value's place among the distinct values, and how many places there are."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    merged = encoded.unify_dictionaries().combine_chunks()
    whole = merged if isinstance(merged, pa.DictionaryArray) else pa.concat_arrays(encoded.chunks)
    values = whole.dictionary
    rank = np.empty(len(values) + 1, np.int64)
    rank[:-1] = pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64) - 1
    rank[-1] = len(values)
    codes = pc.fill_null(whole.indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)
    return rank[codes], len(values) + 1
