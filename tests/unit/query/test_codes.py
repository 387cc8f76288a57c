"""Values as small integers."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.domain.stored import Stored
from timeveil.errors import InputError
from timeveil.evidence.codes import (
    align,
    encode,
    encode_values,
    fold,
    plain_type,
    ranked,
    same_values,
    within_room,
)
from timeveil.evidence.conditions import matches, share_of
from timeveil.evidence.published import Evidence

VALUES = st.lists(st.one_of(st.none(), st.sampled_from("abc")), max_size=12)


@settings(max_examples=100, deadline=None)
@given(VALUES, VALUES, st.booleans())
def test_codes_stand_for_their_values(first, second, dictionary):
    """Whatever the chunks, the layout and the nulls, taking the values by their codes gives the column."""
    chunks = [pa.array(part, pa.large_string()) for part in (first, second)]
    if dictionary:
        chunks = [chunk.dictionary_encode() for chunk in chunks]
    coded = encode(pa.chunked_array(chunks))
    assert coded.values.take(pa.array(coded.codes)).to_pylist() == first + second


def test_a_dictionary_may_hold_a_value_twice_and_a_null():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["x", "x", None]))
    assert encode(column).codes.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.0, float("nan"), float("nan"), None]),
        pa.array([[1], [2], [2], None], pa.list_(pa.int64())),
        pa.array([True, False, False, None]),
    ],
)
def test_every_kind_of_value_has_codes(column):
    assert encode(column).codes.tolist() == [0, 1, 1, 2]


def test_entries_of_a_dictionary_that_no_row_has_are_no_values():
    coded = encode(pa.DictionaryArray.from_arrays([2, 0, 2], ["a", "b", "c"]))
    assert coded.values.take(coded.codes).to_pylist() == ["c", "a", "c"]
    assert sorted(coded.values.to_pylist()) == ["a", "c"]


def test_a_column_of_nothing_and_an_empty_column():
    assert encode(pa.nulls(2)).codes.tolist() == [0, 0]
    assert encode(pa.chunked_array([], pa.string())).codes.tolist() == []


def test_two_columns_under_one_numbering():
    left, right = align(encode(pa.array([1, 2])), encode(pa.array([2, 3, 1], pa.int32())))
    assert left.codes.tolist() == [right.codes[2], right.codes[0]]


def test_columns_that_cannot_be_compared_are_refused_without_a_value():
    with pytest.raises(InputError) as caught:
        align(encode(pa.array(["canary"])), encode(pa.array([1])))
    assert caught.value.code == "ledger-mismatch"
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**40), st.integers(0, 2**40)), max_size=20))
def test_folding_numbers_combinations_in_order(rows):
    """Also where the codes together leave no room in one integer."""
    columns = [np.array([row[n] for row in rows], dtype=np.int64) for n in range(3)]
    codes, count = fold(list(zip(columns, (4, 2**41, 2**41), strict=True)), len(rows))
    order = {row: place for place, row in enumerate(sorted(set(rows)))}
    assert codes.tolist() == [order[row] for row in rows]
    assert count == len(order)


@pytest.mark.parametrize("far", [9, 2_000_000])
def test_values_are_ranked_whether_many_or_few_of_those_between_occur(far):
    values, index = ranked(np.array([far, -3, far, 4]))
    assert (values.tolist(), index.tolist()) == ([-3, 4, far], [2, 0, 2, 1])


@pytest.mark.parametrize("least", [0, -3, -(2**62)])
def test_values_however_far_apart_are_ranked(least):
    values, index = ranked(np.array([2**61, least, 5, least, 2**61]))
    assert (values.tolist(), index.tolist()) == ([least, 5, 2**61], [2, 0, 1, 0, 2])


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.large_binary(), pa.binary()),
        (pa.binary_view(), pa.binary()),
        (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
        (pa.int16(), pa.int16()),
    ],
)
def test_a_type_is_that_of_its_values_whatever_their_layout(kind, plain):
    assert plain_type(kind) == plain


def test_columns_have_the_same_values_if_each_is_as_frequent():
    more, fewer = (pa.chunked_array([list(values)]) for values in ("aab", "abb"))
    assert same_values(more, pa.chunked_array([["b", "a"], ["a"]]))
    assert not same_values(more, fewer)
    assert not same_values(fewer, more)


def test_pieces_are_read_as_long_as_there_is_room_for_all_of_them():
    file = SimpleNamespace(room=24, path=Path("data.parquet"))
    pieces = [(np.zeros(1),)] * 7
    assert len(list(within_room(file, pieces[:3]))) == 3
    assert len(list(within_room(file, pieces[:6], rooms=2))) == 6
    byte = (np.zeros(1, np.int8),)
    for too_many, rooms in (([*pieces[:3], byte], 1), (pieces, 2)):
        with pytest.raises(InputError, match="would take more than 24 bytes in memory"):
            list(within_room(file, too_many, rooms))


@pytest.mark.parametrize(
    ("numbers", "alone", "beside"),
    [(8, True, True), (13, False, True), (36, False, True), (42, False, False)],
)
def test_four_times_as_much_is_read_of_a_release_beside_its_ledger(numbers, alone, beside, tmp_path):
    """Ledgers are larger than releases, so that who has one has the memory, too."""

    class Sent(Stored):
        room = 80

    table = pa.table({"x": range(numbers)})
    pq.write_table(table, tmp_path / "data.parquet")
    release = Release(KAnonymity(2), {}, {"data": Sent(tmp_path / "data.parquet")})
    ledger = Ledger("time", table, Relation(Roles(), table))
    for evidence, fits in ((Evidence(release), alone), (Evidence(release, ledger), beside)):
        with contextlib.nullcontext() if fits else pytest.raises(InputError, match="more than 80 bytes"):
            assert evidence.released_column("x").size == numbers


def test_values_that_look_the_same_are_one():
    assert encode_values(pa.array([0.0, -0.0, float("nan"), None])).codes.tolist() == [0, 0, 1, 1]


def test_a_range_includes_both_ends_and_no_null():
    ages = pa.array([29, 30, 31, None])
    assert matches("age", ages, (30, None)).to_pylist() == [False, True, True, False]
    assert matches("age", ages, (None, 30)).to_pylist() == [True, True, False, False]
    assert matches("age", ages, None).to_pylist() == [False, False, False, True]


def test_the_name_of_a_level_says_what_its_labels_may_contain():
    assert share_of("10 wide", "[30, 40)", 37) == (0.1, 0.0, 1.0)
    assert share_of("first 3", "201**", "20133") == share_of("*", "*", "M") == (0.5, 0.0, 1.0)
