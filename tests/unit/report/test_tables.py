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
from timeveil.models.events.words import profile_summary
from timeveil.page.charts import candidate_shares
from timeveil.page.report import Table
from timeveil.page.wording import aligned, share
from timeveil.reading import read


def breach(before: list[int], after: list[int]) -> Breach:
    risks = [Risk(np.array(sizes, np.int64), np.ones(len(sizes))) for sizes in (before, after)]
    return Breach(Adversary(), 5, len(before), len(before), *risks, 0.5, {})


def test_people_are_spread_over_ranges() -> None:
    edges, before, after = candidate_shares(breach([1, 1, 2, 4], [0, 5, 9, 60]), 5)
    assert edges == [1, 2, 4, 5, 10, 20, 40, 80]
    assert before == [0.5, 0.25, 0.25, 0.0, 0.0, 0.0, 0.0]
    assert after == [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.25]


@given(st.lists(st.integers(0, 20_000), max_size=20))
def test_everyone_is_in_one_range_or_out_of_reach(sizes: list[int]) -> None:
    found = breach(sizes, sizes[::-1])
    _, before, after = candidate_shares(found, 5)
    assert sum(before) + found.before.out_of_reach == pytest.approx(1 if sizes else 0)
    assert sum(after) + found.after.out_of_reach == pytest.approx(1 if sizes else 0)


def test_a_row_count_that_promises_too_much_is_marked() -> None:
    rows = pa.table({"who": ["a", "a", "b"], "day": ["2024-01-01"] * 3})
    found = profile(read(rows, Roles(respondent="who", time="day")), 2, ["day", "week"])
    page = profile_summary(found, "in.csv", ["day"])
    assert page.table is not None
    lines = page.table.lines()
    assert [line.split()[0] for line in lines] == ["time", "unchanged", "day", "week"]
    assert lines[-1].endswith("3 !       1")
    assert page.sentences[1].startswith("! marks where counting rows, not people, would overstate")


def test_heads_are_wrapped_where_a_table_has_no_room() -> None:
    table = Table("Caption", ("time by", "people alone", "groups", ""), [("unchanged", 2, 1_234, "x")])
    assert table.lines(40) == ["time by    people alone  groups", "unchanged             2   1,234  x"]
    assert table.lines(30) == [
        "           people",
        "time by     alone  groups",
        "unchanged       2   1,234  x",
    ]


@given(st.floats(0, 1))
def test_only_nothing_is_zero_and_only_everything_is_all(part: float) -> None:
    assert (share(part) == "0 %") == (part == 0)
    assert (share(part) == "100 %") == (part == 1)


def test_columns_are_aligned() -> None:
    assert aligned([("a", "bb", "c"), ("aaa", "b", "")], left=2) == ["a    bb  c", "aaa  b"]
