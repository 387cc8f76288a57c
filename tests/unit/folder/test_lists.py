"""Lists of whole numbers and of texts in both kinds of file."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeveil.folder.manifest import type_name, type_named
from timeveil.folder.tables import FORMULA, Table, have_same_rows, write_table

NUMBERS, TEXTS = pa.list_(pa.int16()), pa.list_(pa.string())
CASES = [
    pa.array([[3, 4, 2], [], None, [-7], [-3, 4]], NUMBERS),
    pa.array([["=1+1", "b c"], [], None, ["", 'q"\n,'], ["h00=a", "Ä"]], TEXTS),
    pa.array([None, None], TEXTS),
    pa.array([], NUMBERS),
]


def written(folder: Path, lists: pa.Array, form: Any) -> Table:
    table, path = pa.table({"a": lists}), folder / f"data.{form}"
    with path.open("wb") as file:
        assert write_table(iter(table.to_batches()), table.schema, file, form) == len(lists)
    return Table(path, table.schema, table.num_rows)


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("lists", CASES)
def test_lists_come_back(tmp_path: Path, lists: pa.Array, form: str) -> None:
    table = written(tmp_path, lists, form)
    assert table.read()["a"].to_pylist() == lists.to_pylist()


def test_no_cell_of_a_list_is_run_by_a_spreadsheet(tmp_path: Path) -> None:
    for place, lists in enumerate(CASES):
        (tmp_path / str(place)).mkdir()
        table = written(tmp_path / str(place), lists, "csv")
        with table.path.open(newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if re.match(FORMULA, cell) and not cell.startswith("'")]


@given(st.lists(st.none() | st.lists(st.integers(-9, 9), max_size=3), min_size=1, max_size=6), st.data())
def test_lists_are_told_apart(lists: list[list[int] | None], data: st.DataObject) -> None:
    other = data.draw(st.permutations(lists))
    tables = [pa.table({"a": pa.array(values, NUMBERS)}) for values in (lists, other)]
    same = have_same_rows(tables[0].to_batches(), tables[1].to_batches(max_chunksize=2), tables[0].schema)
    assert same == (lists == other)


@given(st.lists(st.none() | st.floats(), min_size=1, max_size=6), st.data())
def test_numbers_are_told_apart_and_nan_is_itself(cells: list[float | None], data: st.DataObject) -> None:
    other = data.draw(st.permutations(cells))
    tables = [pa.table({"a": pa.array(values, pa.float64())}) for values in (cells, other)]
    same = have_same_rows(tables[0].to_batches(), tables[1].to_batches(max_chunksize=2), tables[0].schema)
    assert same == (
        [repr(cell).replace("-0.0", "0.0") for cell in cells]
        == [repr(cell).replace("-0.0", "0.0") for cell in other]
    )
    assert not have_same_rows(tables[0].to_batches(), tables[1].slice(1).to_batches(), tables[0].schema)


def test_names_of_list_types() -> None:
    for kind in (NUMBERS, TEXTS, pa.list_(pa.uint64())):
        assert type_named(type_name(kind)) == kind
