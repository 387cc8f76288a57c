"""Columns as small whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes = npt.NDArray[np.int32]
CODE_ROOM = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as codes into the distinct values that occur; `values` holds null last, if it does."""

    codes: Codes
    values: pa.Array

    def at(self, level: pa.Table | None) -> tuple[Codes, int]:
        """Codes and how many there are, with values replaced by what `level` publishes for them."""
        if level is None:
            return self.codes, len(self.values)
        published = publish_values(self.values, level).dictionary_encode(null_encoding="encode")
        return published.indices.to_numpy().astype(np.int32)[self.codes], len(published.dictionary)


def encode(column: pa.ChunkedArray) -> Coded:
    """Codes of a quasi-identifier. Null is a value of its own."""
    encoded = _one_dictionary(column)
    if pa.types.is_dictionary(column.type):
        encoded = _of_values_that_occur(encoded)
    codes = encoded.indices
    values = encoded.dictionary
    if codes.null_count:
        # Null gets the last code, so that rows without a value are a group like any other.
        codes = pc.fill_null(codes, len(values))
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return Coded(codes.to_numpy(zero_copy_only=False).astype(np.int32, copy=False), values)


def encode_people(column: pa.ChunkedArray) -> tuple[Codes, int]:
    """Codes of respondents and a bound on them. Dense whole numbers need no hashing."""
    if pa.types.is_integer(column.type) and len(column):
        low, high = pc.min(column).as_py(), pc.max(column).as_py()
        # Numbers are their own codes where a table over their range is no larger than a few columns.
        if high - low < min(4 * len(column) + 1_000_000, CODE_ROOM) and high <= np.iinfo(np.int64).max:
            numbers = whole(column).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
            return (numbers - low).astype(np.int32), high - low + 1
    encoded = _one_dictionary(column)
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False), len(
        encoded.dictionary
    )


def combine(parts: list[tuple[Codes, int]], rows: int) -> tuple[Codes, int]:
    """One code for several columns; only equality of their combinations matters."""
    code: npt.NDArray[Any] = np.zeros(rows, np.int32)
    size = 1
    for codes, count in parts:
        if size * count > CODE_ROOM:
            code, size = _compact(code)
        # After compacting, at most rows times count combinations: that fits in 64 bits, if not in 32.
        code = code.astype(np.int64 if size * count > CODE_ROOM else np.int32, copy=False)
        code = codes if size == 1 else code * code.dtype.type(count) + codes
        size *= count
    if size > CODE_ROOM:
        code, size = _compact(code)
    return code.astype(np.int32, copy=False), size


def _compact(code: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], int]:
    distinct, codes_of = np.unique(code, return_inverse=True)
    return codes_of, len(distinct)


def publish_values(values: pa.Array, level: pa.Table) -> pa.Array:
    """What a level publishes for each value."""
    index = pc.index_in(values, level["value"].combine_chunks(), skip_nulls=False)
    return level["published"].combine_chunks().take(index)


def _one_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    if pa.types.is_dictionary(column.type):
        encoded = whole(column.unify_dictionaries())
        if not encoded.dictionary.null_count and len(encoded.dictionary.unique()) == len(encoded.dictionary):
            return encoded
        column = column.cast(column.type.value_type)
    return whole(column.dictionary_encode().unify_dictionaries())


def _of_values_that_occur(encoded: pa.DictionaryArray) -> pa.DictionaryArray:
    """A dictionary that came with the column may hold values of rows that were left out since."""
    size = len(encoded.dictionary)
    used = np.bincount(encoded.indices.drop_null().to_numpy(zero_copy_only=False), minlength=size) > 0
    if used.all():
        return encoded
    number = pa.array(np.cumsum(used) - 1, pa.int32())
    return pa.DictionaryArray.from_arrays(
        number.take(encoded.indices), encoded.dictionary.filter(pa.array(used))
    )


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without a dictionary, which may hold values that no row has, in the order they came in."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
