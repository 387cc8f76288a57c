"""Sensitive numbers of a cell differ, by moving as few as can be."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from timeveil.errors import ParameterError
from timeveil.series.diversity import diversified


def changed(values: object, cell: list[int], l: int, seed: int | None = 1) -> list[float]:  # noqa: E741
    table, _ = diversified(pa.table({"s": values}), ("s",), np.array(cell), l, seed)
    return table["s"].to_pylist()


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("l", [2, 3, 5])
def test_no_value_stands_in_more_than_one_row_in_l(seed: int, l: int) -> None:  # noqa: E741
    chance = np.random.default_rng(seed)
    cell = np.repeat(np.arange(12), chance.integers(5, 9, 12))
    values = chance.choice([1.0, 1.5, 7.25], len(cell))
    found = np.array(changed(pa.array(values), cell.tolist(), l, seed))
    for number in range(12):
        inside = cell == number
        most = inside.sum() // l
        assert max(Counter(found[inside].tolist()).values()) <= most
        needed = sum(max(count - most, 0) for count in Counter(values[inside].tolist()).values())
        assert (found[inside] != values[inside]).sum() == needed
    moved = found[found != values]
    assert not set(moved) & set(values)
    assert len(set(moved)) == len(moved)
    assert (np.abs(found - values) <= 0.1 * values.std() + 0.00501).all()


def test_rows_in_no_cell_stay() -> None:
    assert changed([4, 4, 4, 4], [-1, -1, -1, -1], 2) == [4, 4, 4, 4]
    assert changed([1, 2, 3, 4], [0, 0, 0, 0], 2) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "values", [[0.0] * 8, [3] * 8, [1e300] * 8, [5e-324] * 8, [-2.5] * 8, [1e15 + 1] * 8]
)
def test_a_constant_column(values: list[float]) -> None:
    found = changed(values, [0] * 8, 4)
    assert Counter(found).most_common(1)[0][1] == 2
    assert np.isfinite(found).all()


def test_whole_numbers_stay_whole_where_there_is_room() -> None:
    values = [*range(0, 1000, 100), *[500] * 10]
    found = changed(values, [*range(10), *[10] * 10], 5)
    assert all(value == int(value) for value in found)


def test_text_stays_text() -> None:
    table, count = diversified(
        pa.table({"s": ["1.50", "1.50", "1.50", "2"], "t": ["a", "b", "c", "d"]}),
        ("s",),
        np.zeros(4, np.int64),
        2,
        1,
    )
    assert table.schema.field("s").type == pa.string()
    assert table["s"].to_pylist().count("1.50") == 2
    assert count == {"s": 1}
    assert table.column_names == ["s", "t"]


def test_without_a_seed_nobody_can_draw_again() -> None:
    values, cell = pa.array(np.ones(200)), [0] * 200
    draws = {tuple(changed(values, cell, 100, None)) for _ in range(3)}
    assert len(draws) == 3
    assert changed(values, cell, 100, 5) == changed(values, cell, 100, 5)


def test_who_is_moved_does_not_follow_from_the_order() -> None:
    found = [
        np.flatnonzero(np.array(changed(pa.array(np.ones(10)), [0] * 10, 2, seed)) != 1) for seed in range(40)
    ]
    assert len({tuple(places) for places in found}) > 20


@pytest.mark.parametrize("values", [["a", "b"], [True, False]])
def test_categories_are_refused(values: list[object]) -> None:
    with pytest.raises(ParameterError, match="does not hold numbers") as caught:
        changed(values, [0, 0], 2)
    assert caught.value.__context__ is None
