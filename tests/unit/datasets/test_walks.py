"""The series of the paper's experiments."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.generated import strings, uniform, walk


def matrix(table: pa.Table) -> np.ndarray:
    return np.column_stack([table[name].to_numpy() for name in table.column_names if name != "record"])


def test_a_walk_has_the_size_of_the_paper() -> None:
    table = walk()
    assert table.num_rows == 6_553 == (65_536 - 11) // 10 + 1
    assert table.column_names == ["record", *(f"q{i:02}" for i in range(1, 11)), "s"]
    values = matrix(table)
    assert (values.min(), values.max()) == (0, 1)


def test_a_piece_ends_where_the_next_begins() -> None:
    values = matrix(walk(rows=40, instants=5))
    assert (values[:-1, -1] == values[1:, 0]).all()
    assert np.abs(np.diff(values, axis=1)).max() < 0.5


def test_uniform_fills_its_range_evenly() -> None:
    values = matrix(uniform(rows=5_000, instants=4))
    shares = np.histogram(values, bins=10, range=(0, 1))[0] / values.size
    assert shares == pytest.approx(np.full(10, 0.1), abs=0.01)
    assert np.abs(np.corrcoef(values.T) - np.eye(5)).max() < 0.06


def test_strings_use_all_symbols_and_some_stand_still() -> None:
    values = matrix(strings(rows=2_000, symbols=6))
    still = (values == values[:, :1]).all(axis=1)
    assert 0.18 < still.mean() < 0.28
    assert set(values[still].ravel()) == {3}
    shares = np.bincount(values[~still].ravel(), minlength=6) / values[~still].size
    assert len(shares) == 6
    assert shares == pytest.approx(np.full(6, 1 / 6), abs=0.12)


@pytest.mark.parametrize("make", [walk, uniform, strings])
def test_one_instant_and_many(make: object) -> None:
    assert make(rows=3, instants=1).column_names == ["record", "q01", "s"]  # type: ignore[operator]
    assert make(rows=3, instants=120).column_names[100] == "q100"  # type: ignore[operator]
