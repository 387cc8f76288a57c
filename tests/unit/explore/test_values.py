"""The settings that are tried."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeveil.errors import ParameterError
from timeveil.explore.sweep import MOST, settings_of

GOOD = {
    "2..9": (2, 3, 4, 5, 6, 7, 8, 9),
    "5..5": (5,),
    "2..50": (2, 3, 5, 7, 10, 15, 20, 30, 50),
    "3,2,3": (2, 3),
    " 2 .. 4 ": (2, 3, 4),
    "0.1": (0.1,),
    "0.01..0.1": (0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1),
}
BAD = ["", "2..", "..5", "9..2", "a..b", "2,,3", "2..5..9", "inf,2", "nan..5", "2,x", "\u0665..9"]


@pytest.mark.parametrize("text", list(GOOD))
def test_a_text(text: str) -> None:
    assert settings_of("k", text) == GOOD[text]


def test_a_list_is_sorted() -> None:
    assert settings_of("k", [10, 2, 5]) == (2, 5, 10)


@pytest.mark.parametrize("text", BAD)
def test_a_text_that_is_none(text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        settings_of("k", text)
    assert caught.value.code == "bad-parameter"
    assert "`k`" in caught.value.message


@pytest.mark.parametrize("given_list", [[], [True], ["2"], [float("nan")], list(range(MOST + 1))])
def test_a_list_that_is_none(given_list: list[object]) -> None:
    with pytest.raises(ParameterError):
        settings_of("k", given_list)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_range_of_whole_numbers_has_few_between_its_ends(low: int, more: int) -> None:
    found = settings_of("k", f"{low}..{low + more}")
    assert found[0] == low
    assert found[-1] == low + more
    assert len(found) <= 10
    assert list(found) == sorted(set(found))
    assert all(isinstance(one, int) for one in found)


@given(st.floats(1e-6, 1.0), st.floats(1e-6, 10.0))
def test_a_range_of_shares_has_few_between_its_ends(low: float, more: float) -> None:
    found = settings_of("suppress", f"{low!r}..{low + more!r}")
    assert (found[0], found[-1]) == (low, low + more)
    assert len(found) <= 10


def test_a_range_from_nothing_has_something_between() -> None:
    found = settings_of("suppress", "0..0.05")
    assert (found[0], found[-1]) == (0, 0.05)
    assert 5 <= len(found) <= 10
