"""Rows in an order that follows from their content."""

from __future__ import annotations

import datetime as dt
import math
from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from timeveil.domain.release import canonical, row_keys, row_order

COLUMNS = {
    "number": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 0, 2**63 - 1])),
    "share": (pa.float64(), st.floats(allow_nan=False)),
    "text": (pa.string(), st.text(max_size=3)),
    "day": (pa.date32(), st.dates()),
    "moment": (pa.timestamp("ms"), st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 1, 1))),
    "flag": (pa.bool_(), st.booleans()),
}
rows = st.lists(st.tuples(*(st.none() | values for _, values in COLUMNS.values())), max_size=25)


def table_of(drawn, *, coded: bool) -> pa.Table:
    columns = {
        name: pa.array([row[i] for row in drawn], kind) for i, (name, (kind, _)) in enumerate(COLUMNS.items())
    }
    if coded:
        columns["text"] = columns["text"].dictionary_encode()
    return pa.table(columns)


def sort_key(row):
    """Nulls last; of the two zeros the negative one is first."""
    signs = {value: math.copysign(1, value) for value in row.values() if isinstance(value, float)}
    return [
        (
            value is None,
            value if value is not None else 0,
            signs.get(value, 0) if isinstance(value, float) else 0,
        )
        for value in row.values()
    ]


@given(rows, st.randoms(use_true_random=False), st.booleans())
def test_any_order_of_the_rows_gives_the_same_table(drawn, random, coded):
    """Shuffling what comes in changes nothing of what comes out."""
    table = table_of(drawn, coded=coded)
    shuffled = table.take(pa.array(random.sample(range(len(drawn)), len(drawn)), pa.int64()))
    assert canonical(table, by=["day"]).to_pylist() == canonical(shuffled, by=["day"]).to_pylist()


@given(rows)
def test_rows_are_sorted_by_value_with_nulls_last(drawn):
    """The order is the one a reader expects."""
    table = table_of(drawn, coded=False)
    expected = sorted(table.to_pylist(), key=sort_key)
    assert canonical(table, by=[]).to_pylist() == expected


@given(rows)
def test_keys_are_in_the_order_of_the_rows_and_equal_where_rows_are(drawn):
    table = table_of(drawn, coded=True)
    keys = row_keys(table)[row_order(table)].tolist()
    ordered = canonical(table, by=[]).to_pylist()
    assert keys == sorted(keys)
    assert [a == b for a, b in pairwise(keys)] == [sort_key(a) == sort_key(b) for a, b in pairwise(ordered)]


@given(st.lists(st.none() | st.lists(st.integers(-3, 3), max_size=4), max_size=12))
def test_lists_are_sorted_as_words_are_with_null_last(drawn):
    table = canonical(pa.table({"a": pa.array(drawn, pa.list_(pa.int16()))}), by=[])
    assert table["a"].to_pylist() == sorted(drawn, key=lambda found: (found is None, found or []))
