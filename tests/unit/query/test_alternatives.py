"""Conditions that are negated or of which any will do, and the published rows that may fit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv

VISITS = pa.table(
    {
        "who": [f"p{n}" for n in range(8)],
        "when": ["2024-01-0" + day for day in "11112222"],
        "sex": list("ffffmmmm"),
        "age": [31, 32, 41, 42, 33, 34, 43, 44],
        "exam": ["ct", "ct", "mri", None, "ct", "mri", "mri", "mri"],
    }
)
ROLES = tv.Roles(respondent="who", time="when", quasi=["sex", "age"], keep=["exam"])


@pytest.fixture(scope="module")
def release() -> tv.Release:
    return tv.generalize_time(
        VISITS,
        ROLES,
        k=2,
        hierarchies={"age": "intervals:10"},
        levels={"age": 1},
        choose="day",
        accept_risk=["exam"],
    )[0]


def count(release: tv.Release, where: object) -> tuple[float, float, float]:
    answer = tv.answer(release, tv.WindowCount(where=where))  # type: ignore[arg-type]
    return answer.value, answer.low, answer.high


def test_what_a_condition_does_not_select_is_the_rest(release: tv.Release) -> None:
    assert count(release, {"exam": tv.Not("ct")}) == (5, 5, 5)
    assert count(release, {"exam": tv.Not(["ct", None])}) == (4, 4, 4)
    assert count(release, {"sex": tv.Not("f"), "exam": tv.Not("mri")}) == (1, 1, 1)


def test_a_label_that_may_contain_a_value_may_lack_it(release: tv.Release) -> None:
    """Of four rows in [30, 40) any may be 31, so any may not."""
    value, low, high = count(release, {"age": 31})
    assert (low, high) == (0, 4)
    assert count(release, {"age": tv.Not(31)}) == (8 - value, 4, 8)
    assert count(release, {"age": tv.Not("[30, 40)")}) == (4, 4, 4)


def test_rows_that_meet_any_of_several_sets_count_once(release: tv.Release) -> None:
    assert count(release, [{"sex": "f"}, {"exam": "ct"}]) == (5, 5, 5)
    assert count(release, [{"sex": "f"}, {}]) == (8, 8, 8)
    assert count(release, [{"age": "[30, 40)", "sex": "f"}, {"age": "[40, 50)", "sex": "m"}]) == (4, 4, 4)
    value, low, high = count(release, [{"age": 31}, {"age": 32}])
    assert (low, high) == (0, 4)
    assert 0 < value < 4


def test_buckets_bound_what_differs_by_set() -> None:
    """One bucket of two records: exactly one has flu, and if it is not the first it is the second."""
    table = pa.table({"who": ["a", "b"], "day": ["2024-01-01"] * 2, "zip": ["1", "2"], "ill": ["flu", "tbc"]})
    roles = tv.Roles(respondent="who", time="day", quasi=["zip"], sensitive=["ill"])
    release, _ = tv.publish_stream(table, roles, l=2, window=1, seed=1)
    assert count(release, {"ill": tv.Not("flu")}) == (1, 1, 1)
    assert count(release, [{"zip": "1", "ill": "flu"}, {"zip": "2"}]) == (1.5, 1, 2)
    assert count(release, [{"ill": "flu"}, {"ill": "tbc", "zip": "1"}]) == (1.5, 1, 2)
    rows = tv.answer(release, tv.WindowCount(where={"zip": "1", "ill": "flu"}), rows=True).rows
    assert rows is not None
    assert rows.select(["zip", "bucket"]).to_pylist() == [{"zip": "1", "bucket": 0}]
    assert tv.answer(release, tv.WindowCount(where={"ill": "measles"}), rows=True).rows.num_rows == 0


def test_the_rows_that_may_fit_are_listed(release: tv.Release) -> None:
    rows = tv.answer(release, tv.WindowCount(where={"age": 31, "exam": tv.Not("mri")}), rows=True).rows
    assert rows is not None
    assert [(row["sex"], row["age"], row["exam"]) for row in rows.to_pylist()] == [
        ("f", "[30, 40)", "ct"),
        ("f", "[30, 40)", "ct"),
        ("m", "[30, 40)", "ct"),
    ]
    assert tv.answer(release, tv.WindowCount()).rows is None


def test_series_that_may_fit_are_listed() -> None:
    table = pa.table({"a": [1.0, 2.0, 8.0, 9.0], "b": [5.0, 7.0, 3.0, 4.0]})
    release, _ = tv.anonymize_series(table, tv.Roles(series=["a", "b"]), k=2, p=2)
    rows = tv.answer(release, tv.RangeCount({"a": (None, 5)}), rows=True).rows
    assert rows is not None
    assert rows["group"].to_pylist() == [1, 1]


def test_what_cannot_be_asked() -> None:
    table = pa.table({"has": [["a"], ["a"], ["a", "b"], ["b"]]})
    release, _ = tv.sanitize_patterns(table, tv.Roles(item="has"), k=2, min_support=2)
    with pytest.raises(tv.ParameterError, match="without rows of people"):
        tv.answer(release, tv.PatternSupport(["a"]), rows=True)


@pytest.mark.parametrize("where", [[], [{}] * 33])
def test_a_list_has_some_sets_and_not_too_many(release: tv.Release, where: object) -> None:
    with pytest.raises(tv.ParameterError, match="sets of conditions"):
        count(release, where)


@pytest.mark.parametrize(
    "condition", [tv.Not(tv.Not(31)), [tv.Not(31), 32], tv.Not([[31]]), {"a": 1}, tv.Not(np.array([31, 32]))]
)
@pytest.mark.parametrize("column", ["age", "exam"])
def test_what_is_neither_a_value_nor_a_range_is_refused(
    release: tv.Release, column: str, condition: object
) -> None:
    with pytest.raises(tv.ParameterError, match=f"the condition on column `{column}` has something in it"):
        count(release, {column: condition})
