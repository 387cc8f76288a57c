"""Ranges and tables of text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeveil.domain.roles import Roles
from timeveil.evidence.risk import Risk
from timeveil.models.events.judges.attack import Breach
from timeveil.models.events.judges.profile import profile
from timeveil.models.events.parameters import Adversary
from timeveil.models.events.words import candidate_ranges, profile_lines
from timeveil.page.wording import aligned, share
from timeveil.reading import read


def breach(before: list[int], after: list[int]) -> Breach:
    risks = [Risk(np.array(sizes, np.int64), np.ones(len(sizes))) for sizes in (before, after)]
    return Breach(Adversary(), 5, len(before), len(before), *risks, 0.5, {})


def test_people_are_spread_over_ranges() -> None:
    found = candidate_ranges(breach([1, 1, 2, 4], [0, 5, 9, 60]))
    assert found == [
        ("out of reach", 0.0, 0.25),
        ("1", 0.5, 0.0),
        ("2 to 3", 0.25, 0.0),
        ("4", 0.25, 0.0),
        ("5 to 9", 0.0, 0.5),
        ("10 to 19", 0.0, 0.0),
        ("20 to 39", 0.0, 0.0),
        ("40 to 79", 0.0, 0.25),
    ]


@given(st.lists(st.integers(0, 20_000), max_size=20))
def test_everyone_is_in_one_range(sizes: list[int]) -> None:
    found = candidate_ranges(breach(sizes, sizes[::-1]))
    assert sum(before for _, before, _ in found) == pytest.approx(1 if sizes else 0)
    assert sum(after for *_, after in found) == pytest.approx(1 if sizes else 0)


def test_a_row_count_that_promises_too_much_is_marked() -> None:
    rows = pa.table({"who": ["a", "a", "b"], "day": ["2024-01-01"] * 3})
    found = profile(read(rows, Roles(respondent="who", time="day")), 2, ["day", "week"])
    lines = profile_lines(found, frozenset({"week"}))
    assert [line.split()[0] for line in lines] == ["people", "time", "unchanged", "week", "!"]
    assert lines[-2].endswith("3 !       1")


@given(st.floats(0, 1))
def test_only_nothing_is_zero_and_only_everything_is_all(part: float) -> None:
    assert (share(part) == "0 %") == (part == 0)
    assert (share(part) == "100 %") == (part == 1)


def test_columns_are_aligned() -> None:
    assert aligned([("a", "bb", "c"), ("aaa", "b", "")], left=2) == ["a    bb  c", "aaa  b"]
