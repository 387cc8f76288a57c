"""Codes that are equal exactly where values are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeveil.reading import encoding

TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


def bounds(kind: pa.DataType) -> tuple[int, int]:
    info = np.iinfo(kind.to_pandas_dtype())
    return int(info.min), int(info.max)


def same_partition(codes, values) -> bool:
    pairs = set(zip(np.asarray(codes).tolist(), values, strict=True))
    return len(pairs) == len(set(values)) == len(set(np.asarray(codes).tolist()))


@pytest.mark.parametrize("kind", TYPES, ids=str)
@given(data=st.data())
def test_people_of_any_whole_number_type(kind, data):
    """Narrow types do not overflow, the ends of 64 bits are people too."""
    low, high = bounds(kind)
    near = (
        st.integers(low, min(low + 3, high)) | st.integers(max(high - 3, low), high) | st.integers(low, high)
    )
    values = data.draw(st.lists(near, min_size=1, max_size=20))
    codes, room = encoding.encode_people(pa.chunked_array([pa.array(values, kind)]))
    assert same_partition(codes, values)
    assert codes.min() >= 0
    assert codes.max() < room


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=12), st.integers(1, 4))
def test_chunks_and_repeated_dictionary_values_are_one_value(values, chunks):
    """A dictionary may name a value twice; chunks may have dictionaries of their own."""
    twice = pa.array(["a", "b", "a", "c", "b"])
    pieces = []
    for part in np.array_split(np.arange(len(values)), chunks):
        indices = [
            twice.to_pylist().index(values[i]) + (2 if values[i] == "a" and i % 2 else 0) for i in part
        ]
        pieces.append(pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), twice))
    column = pa.chunked_array(pieces)
    assert same_partition(encoding.encode_people(column)[0], values)
    assert same_partition(encoding.encode(column).codes, values)


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 2), st.sampled_from("xyz")), min_size=1
    )
)
def test_combined_codes_tell_combinations_apart(rows):
    """Null is a value; several columns make one code."""
    columns = [pa.chunked_array([pa.array(column)]) for column in zip(*rows, strict=True)]
    parts = [(c.codes, len(c.values)) for c in map(encoding.encode, columns)]
    codes, size = encoding.combine(parts, len(rows))
    assert same_partition(codes, rows)
    assert codes.max() < size


def test_combinations_beyond_32_bits_are_compacted():
    """Four columns of 60,000 values have more combinations than a code can name."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 60_000, 500).astype(np.int32) for _ in range(4)]
    codes, size = encoding.combine([(c, 60_000) for c in columns], 500)
    assert same_partition(codes, list(zip(*(c.tolist() for c in columns), strict=True)))
    assert codes.dtype == np.int32
    assert codes.max() < size <= encoding.CODE_ROOM


def test_no_columns_make_one_class():
    """Without quasi-identifiers every row is alike."""
    assert encoding.combine([], 3)[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("rows", [[0, 2, 2], [3, 0], [1], []])
def test_values_of_rows_that_were_left_out_have_no_code(rows):
    """A dictionary keeps the values of rows that are gone; counting them would number the others wrongly."""
    column = pa.chunked_array([pa.array(["a", "b", "c", None]).dictionary_encode()]).take(
        pa.array(rows, pa.int64())
    )
    coded = encoding.encode(column)
    assert coded.values.take(pa.array(coded.codes)).to_pylist() == column.to_pylist()
    assert sorted(set(coded.codes.tolist())) == list(range(len(coded.values)))
