"""The order in which methods see series."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from timeveil.models.series.method.partition import (
    Partition,
    equal_before,
    numbered_as_met,
    runs_of,
    settled_order,
)

NONE = pa.table({})


@pytest.mark.parametrize("seed", range(20))
def test_series_are_sorted_by_values_whatever_came_first(seed: int) -> None:
    chance = np.random.default_rng(seed)
    matrix = chance.integers(0, 4, (50, 3)).astype(float)
    order = settled_order(matrix, NONE, ())
    assert matrix[order].tolist() == sorted(matrix.tolist())


@pytest.mark.parametrize("seed", range(20))
def test_the_order_is_that_of_content(seed: int) -> None:
    chance = np.random.default_rng(seed)
    matrix = chance.integers(0, 2, (60, 2)).astype(float)
    attributes = pa.table({"ill": chance.integers(0, 3, 60), "town": chance.choice(["a", "b"], 60)})
    seen = []
    for shuffled in (np.arange(60), chance.permutation(60)):
        table = attributes.take(pa.array(shuffled))
        order = settled_order(matrix[shuffled], table, ("ill",))
        seen.append((matrix[shuffled][order].tolist(), table.take(pa.array(order)).to_pydict()))
    assert seen[0] == seen[1]


def test_equal_series_take_turns_by_what_is_sensitive() -> None:
    ill = ["x"] * 6 + ["y"] * 3 + ["z"]
    order = settled_order(np.ones((10, 2)), pa.table({"ill": ill}), ("ill",))
    assert [ill[row] for row in order] == ["x", "y", "z", "x", "y", "x", "y", "x", "x", "x"]


def test_labels_go_back_to_where_series_came_from() -> None:
    order = np.array([2, 0, 1])
    none = np.zeros((1, 1), np.uint8)
    partition = Partition(np.array([5, 6, -1]), np.array([7, 8, -1]), none, none, own=True).back_from(
        order, 4
    )
    assert (partition.group.tolist(), partition.subgroup.tolist()) == ([6, -1, 5, -1], [8, -1, 7, -1])


def test_labels_are_numbered_counted_and_brought_together() -> None:
    assert [numbers.tolist() for numbers in numbered_as_met(np.array([7, 3, 7]))] == [[0, 1, 0], [0, 1]]
    assert equal_before(np.array([7, 3, 7, 7])).tolist() == [0, 0, 1, 2]
    assert [places.tolist() for places in runs_of(np.array([1, 0, -1, 1]))] == [[1, 0, 3], [0, 1, 3]]
