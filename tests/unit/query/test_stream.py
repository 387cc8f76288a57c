"""Window counts on a stream release."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.oracles import judges_stream as oracle

from timeveil.domain.judgement import Estimate
from timeveil.domain.release import Deferred
from timeveil.errors import ParameterError, RolesError
from timeveil.evidence.published import WindowCount
from timeveil.judging import answer

ROWS = [
    {"person": f"{step}{n}", "step": step, "zip": "1" if n < 2 else "2", "sex": "f", "ward": n, "ill": ill}
    for step in range(3)
    for n, ill in enumerate(["flu", "tbc", "hiv", "nor"])
]


@pytest.fixture
def release():
    """Three days of four records each, every day one bucket of four different values."""
    return oracle.build(oracle.Case(ROWS, l=4))[0]


def test_published_columns_are_counted_exactly(release):
    assert answer(release, WindowCount()) == Estimate(12.0, low=12, high=12)
    assert answer(release, WindowCount(where={"zip": "1"})) == Estimate(6.0, low=6, high=6)
    window = WindowCount(between=("2024-03-25", "2024-03-27"), where={"zip": "1", "ward": (1, None)})
    assert answer(release, window) == Estimate(2.0, low=2, high=2)


def test_values_are_estimated_through_the_buckets(release):
    """Two of the four of a bucket have the zip, one has the value: half a record, at least none."""
    assert answer(release, WindowCount(where={"ill": "flu"})) == Estimate(3.0, low=3, high=3)
    assert answer(release, WindowCount(where={"ill": "flu", "zip": "1"})) == Estimate(1.5, low=0, high=3)
    several = WindowCount(where={"ill": ("hiv", "tbc"), "zip": "1"})  # hiv, nor, tbc
    assert answer(release, several) == Estimate(4.5, low=3, high=6)
    assert answer(release, WindowCount(where={"ill": "measles"})) == Estimate(0.0, low=0, high=0)


def test_without_buckets_values_are_exact():
    release, _ = oracle.build(oracle.Case(ROWS, l=4, buckets="none"))
    assert answer(release, WindowCount(where={"ill": "flu", "zip": "1"})) == Estimate(3.0, low=3, high=3)


def test_a_window_is_half_open_and_may_be_open(release):
    def rows(*between):
        return answer(release, WindowCount(between=between)).value

    assert rows("2024-03-26", "2024-03-26") == 0
    assert rows("2024-03-26", None) == 8
    assert rows(None, "2024-03-26") == 4
    assert rows("1999-01-01", "2099-01-01") == 12


def test_slot_numbers_and_relative_time():
    numbers, _ = oracle.build(oracle.Case(ROWS, l=4, axis=oracle.NUMBERS))
    assert answer(numbers, WindowCount(between=(-2, 0))).value == 8
    days, _ = oracle.build(oracle.Case(ROWS, l=4, axis=oracle.DAYS, slot="week"))
    assert answer(days, WindowCount(between=(-14, -7))).value == 4
    assert answer(days, WindowCount(between=("week -2", "week -1"))).value == 4


def test_an_empty_release_has_nothing_in_it():
    release, _ = oracle.build(oracle.Case([], l=2))
    assert answer(release, WindowCount(where={"ill": "flu"})) == Estimate(0.0, low=0, high=0)


def test_tables_may_be_deferred_and_coded(release):
    data, sensitive = release.tables["data"], release.tables["sensitive"]
    coded = data.set_column(0, "slot", data["slot"].dictionary_encode())
    parts = {"data": Deferred(lambda: coded), "sensitive": Deferred(lambda: sensitive)}
    query = WindowCount(between=("2024-03-25", "2024-03-26"), where={"ill": "flu"})
    assert answer(replace(release, parts=parts), query).value == 1


@pytest.mark.parametrize(
    ("query", "error", "code"),
    [
        (WindowCount(where={"person": "canary"}), RolesError, "column-missing"),
        (WindowCount(where={"bucket": 0}), RolesError, "column-missing"),
        (WindowCount(where={"ward": "canary"}), ParameterError, "bad-parameter"),
        (WindowCount(where={"ill": ("a", "b", "canary")}), ParameterError, "bad-parameter"),
        (WindowCount(between=("canary", None)), ParameterError, "bad-time"),
        (WindowCount(between=("2024-03-26", "2024-03-25")), ParameterError, "bad-parameter"),
        (WindowCount(between="canary"), ParameterError, "bad-parameter"),
        ("canary", ParameterError, "bad-parameter"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_without_a_value(release, query, error, code):
    with pytest.raises(error) as caught:
        answer(release, query)
    assert caught.value.code == code
    assert "canary" not in str(caught.value)


def test_slots_in_many_batches_are_one_run(release):
    """A slot that goes on in the next batch is not another slot."""
    pieces = release.table.to_batches(max_chunksize=3)
    cut = replace(release, parts={**release.parts, "data": pa.Table.from_batches(pieces)})
    assert answer(cut, WindowCount(where={"ill": "flu"})).value == 3
