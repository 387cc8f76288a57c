"""How numbers, names, lists and ranges are written in sentences, tables and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from timeveil.explore.sweep import is_many, number
from timeveil.folder.tables import guarded, list_cells
from timeveil.models.events.words import span
from timeveil.models.stream.words.pictures import chance_edges
from timeveil.page.charts import _short, range_names, size_chart
from timeveil.page.report import markdown
from timeveil.page.svg import round_numbers
from timeveil.page.wording import (
    aligned,
    amount,
    cell,
    joined,
    name,
    numbered,
    people,
    percent,
    quoted,
    shortened,
    visible,
    wrapped,
)
from timeveil.report import _setting


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (people(1), "1 person"),
        (people(3_118), "3,118 people"),
        (visible("zip\n\nThe promise"), r"zip\n\nThe promise"),
        (visible("Größe"), "Größe"),
        (name("zip"), "`zip`"),
        (name("a`b"), "`a'b`"),
        (shortened("abcdef", 4), "abc…"),
        (quoted(["zip"]), "`zip`"),
        (quoted(["zip", "age", "sex"]), "`zip`, `age` and `sex`"),
        (quoted(["a", "b", "c"], most=2), "`a`, `b` and 1 more"),
        (joined(["3"]), "3"),
        (joined(["3", "2", "1"]), "3, 2 and 1"),
        (amount("withheld", 0.05), "5 %"),
        (amount("bits", 5.478), "5.5 bits"),
        (amount("bits", 0.04), "under 0.1 bits"),
        (amount("bits", 0.0), "0 bits"),
        (cell("withheld", 0.05), "5 %"),
        (cell("bits", 5.478), "5.5"),
        (span(90.0, "second"), "1.5 minutes"),
        (span(172_800.0, "second"), "2 days"),
        (span(1.0, "month"), "1 month"),
        (markdown("`a_b` has *3* rows"), r"`a_b` has \*3\* rows"),
    ],
)
def test_numbers_and_names_in_sentences(written: str, expected: str) -> None:
    assert written == expected


def test_a_short_share_is_never_nothing_or_all_unless_it_is() -> None:
    shares = [percent(part) for part in (0, 0.00001, 0.0123, 0.5, 0.99999, 1)]
    assert shares == ["0 %", "≈0 %", "1.2 %", "50 %", "≈100 %", "100 %"]


def test_lines_of_text() -> None:
    assert aligned([("name", "people"), ("week", "12")]) == ["name  people", "week      12"]
    assert wrapped("rows of people", 10, "1. ") == ["1. rows of", "   people"]
    assert numbered(["One.", "Two."]) == ["1. One.", "2. Two."]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "not set"), (True, "yes"), (0.05, "0.05"), (["week", "month"], "week, month")],
)
def test_settings_in_few_words(value: Any, expected: str) -> None:
    assert _setting(value) == expected


def test_axes_and_ranges_of_pictures() -> None:
    assert round_numbers(0.13, 0.87, 4) == [0.2, 0.4, 0.6, 0.8]
    assert [_short(n) for n in (640, 1280, 20480, 2621440)] == ["640", "1.3k", "20k", "2.6M"]
    assert range_names([1, 2, 5, 1000]) == ["1", "2 to 4", "5 to 999"]
    assert [round(edge, 2) for edge in chance_edges(4)] == [0.0, 0.12, 0.25, 0.38, 0.5, 0.62, 0.75, 0.88, 1.0]
    chart = size_chart("Groups", "", np.array([5, 6, 11, 30]), 5, "row")
    assert chart is not None
    assert chart.description == "5 to 9 rows: 2; 10 to 19 rows: 1; 20 to 39 rows: 1."


def test_settings_to_explore_as_they_are_typed() -> None:
    settings = (5, "5", "2..50", "2,5", [2, 5], range(2, 5), None)
    assert [is_many(each) for each in settings] == [False, False, True, True, True, True, False]
    assert (number("k", "5"), number("suppress", "0.01")) == (5, 0.01)


def test_cells_of_csv() -> None:
    texts = pa.array(["=1+1", "-", "'-", "'tis", None])
    assert guarded(texts).to_pylist() == ["'=1+1", "'-", "''-", "'tis", None]
    assert list_cells(pa.array([[3, 4, 2], [], None])).to_pylist() == ["3 4 2", "", None]
    assert list_cells(pa.array([["a=1", "b"], []])).to_pylist() == ['["a=1","b"]', "[]"]
