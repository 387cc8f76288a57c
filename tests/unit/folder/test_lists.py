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

from timeveil.folder.csv_table import FORMULA
from timeveil.folder.manifest import type_name, type_named
from timeveil.folder.tables import Sum, Table, write_table

NUMBERS, TEXTS = pa.list_(pa.int16()), pa.list_(pa.string())
CASES = [
    pa.array([[3, 4, 2], [], None, [-7], [-3, 4]], NUMBERS),
    pa.array([["=1+1", "b c"], [], None, ["", 'q"\n,'], ["h00=a", "Ä"]], TEXTS),
    pa.array([None, None], TEXTS),
    pa.array([], NUMBERS),
]


def written(folder: Path, lists: pa.Array, form: Any) -> tuple[Table, Sum]:
    table, path = pa.table({"a": lists}), folder / f"data.{form}"
    with path.open("wb") as file:
        meant = write_table(iter(table.to_batches()), table.schema, file, form)
    return Table(path, table.schema, table.num_rows, form), meant


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("lists", CASES)
def test_lists_come_back(tmp_path: Path, lists: pa.Array, form: str) -> None:
    table, meant = written(tmp_path, lists, form)
    assert table.read()["a"].to_pylist() == lists.to_pylist()
    found = Sum()
    for batch in table.to_batches():
        found.add(batch)
    if len(lists):
        assert found.hexdigest() == meant.hexdigest()


def test_no_cell_of_a_list_is_run_by_a_spreadsheet(tmp_path: Path) -> None:
    for place, lists in enumerate(CASES):
        (tmp_path / str(place)).mkdir()
        table, _ = written(tmp_path / str(place), lists, "csv")
        with table.path.open(newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if re.match(FORMULA, cell) and not cell.startswith("'")]


@given(st.lists(st.none() | st.lists(st.integers(-9, 9), max_size=3), min_size=1, max_size=6), st.data())
def test_a_sum_tells_lists_apart(lists: list[list[int] | None], data: st.DataObject) -> None:
    other = data.draw(st.permutations(lists))
    sums = []
    for found in (lists, other):
        sums.append(Sum())
        sums[-1].add(pa.table({"a": pa.array(found, NUMBERS)}))
    assert (sums[0].hexdigest() == sums[1].hexdigest()) == (lists == other)


def test_names_of_list_types() -> None:
    for kind in (NUMBERS, TEXTS, pa.list_(pa.uint64())):
        assert type_named(type_name(kind)) == kind
