"""What a column looks like, by its name and by its values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from timeveil.reading.looks import hierarchy_of, kind_of, words_of
from timeveil.reading.table import moments


@pytest.mark.parametrize(
    ("column", "words"),
    [("ageBand_2", {"age", "band"}), ("taken at", {"taken", "at"}), ("ZIPCode", {"zip", "code"})],
)
def test_a_name_is_cut_into_words(column: str, words: set[str]) -> None:
    assert words_of(column) == words


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["2024-01-31"], "date"),
        (["2024-01-31 14:05"], "time"),
        (["7", "-8"], "whole number"),
        ([2.0], "whole number"),
        (["0.5"], "number"),
        (["04103"], "text"),
        ([True], "yes or no"),
    ],
)
def test_the_kind_of_values(cells: list[object], kind: str) -> None:
    assert kind_of(pa.array(cells)) == kind


def test_numbers_get_intervals_and_codes_prefixes() -> None:
    assert hierarchy_of(pa.array(range(100)), "whole number") == "intervals:5,10,20"
    assert hierarchy_of(pa.array(["04103", "04105"]), "text") == "prefixes:3"
    assert hierarchy_of(pa.array(["04103", "4105"]), "text") is None
    assert hierarchy_of(pa.array([1, 2, 3]), "whole number") is None


def test_dates_other_than_the_time_are_seconds() -> None:
    read = moments(pa.array(["31.12.1969", None]))
    assert read is not None
    seconds, missing = read
    assert np.array_equal(seconds, [-86_400, 0])
    assert missing.tolist() == [False, True]
    assert moments(pa.array(["31.12.1969", "unknown"])) is None
