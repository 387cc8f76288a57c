"""Tables as CSV that cannot trick a spreadsheet.

A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@`, a tab or a line break as a formula. Such text
is written with an apostrophe before it, and so is text that begins with apostrophes and then one of these, so
that removing one apostrophe on opening restores every cell exactly. Numbers stay numbers.

Null is an empty cell; empty text is a pair of quotes. A list is text: numbers with blanks between them, or
texts as a JSON array.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from timeveil.errors import BundleError

_FIRST_DAY, _LIMIT_DAY = -719_162, 2_932_897  # 0001-01-01, 10000-01-01
_PER_DAY = {"day": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}
FORMULA = r"^'*[=+\-@\t\r\n]"
_GUARDED = r"^'('*[=+\-@\t\r\n])"


class CsvSink:
    """Writes tables of one schema to an open file."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        fields = zip(_header(schema), schema, strict=True)
        self._schema = pa.schema([pa.field(name, _cell_type(field.type)) for name, field in fields])
        self._writer = pcsv.CSVWriter(file, self._schema)

    def write(self, rows: pa.Table) -> None:
        """Write the next rows."""
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            _refuse_far_years(name, column)
        cells = [_cells(column) for column in rows.columns]
        self._writer.write_table(pa.table(cells, schema=self._schema))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def read_batches(
    path: Path, schema: pa.Schema, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a CSV table in the types of the schema, of some columns only if named."""
    names = _header(schema)
    reader = pcsv.open_csv(
        path,
        parse_options=pcsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pcsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    if reader.schema.names != names:
        raise pa.ArrowInvalid("the header is not that of the table")
    positions = [schema.get_field_index(name) for name in schema.names if columns is None or name in columns]
    chosen = pa.schema([schema.field(position) for position in positions])
    for batch in reader:
        typed = [_typed(batch.column(position), schema.field(position).type) for position in positions]
        yield pa.RecordBatch.from_arrays(typed, schema=chosen)


def guarded(texts: pa.Array) -> pa.Array:
    """Text with an apostrophe before what a spreadsheet would run.

    >>> guarded(pa.array(["=1+1", "-", "'-", "'tis", None])).to_pylist()
    ["'=1+1", "'-", "''-", "'tis", None]
    """
    risky = pc.match_substring_regex(texts, FORMULA)
    if not pc.any(risky).as_py():
        return texts
    return pc.if_else(risky, pc.binary_join_element_wise("'", texts, ""), texts)


def unguarded(texts: pa.Array) -> pa.Array:
    """The text that `guarded` was called with.

    >>> unguarded(pa.array(["'=1+1", "''-", "'tis"])).to_pylist()
    ['=1+1', "'-", "'tis"]
    """
    return pc.replace_substring_regex(texts, _GUARDED, r"\1")


def list_cells(lists: pa.Array) -> pa.Array:
    """Lists as text; an empty list of numbers is an empty text.

    >>> list_cells(pa.array([[3, 4, 2], [], None])).to_pylist()
    ['3 4 2', '', None]
    >>> list_cells(pa.array([["a=1", "b"], []])).to_pylist()
    ['["a=1","b"]', '[]']
    """
    if pa.types.is_string(lists.type.value_type):
        texts = [None if items is None else _as_json(items) for items in lists.to_pylist()]
        return pa.array(texts, pa.string())
    return pc.binary_join(lists.cast(pa.list_(pa.string())), " ")


def lists_of(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The lists that `list_cells` was called with.

    >>> lists_of(pa.array(["3 4 2", "", None]), pa.list_(pa.int16())).to_pylist()
    [[3, 4, 2], [], None]
    """
    if pa.types.is_string(kind.value_type):
        return pa.array([None if text is None else _from_json(text) for text in texts.to_pylist()], kind)
    present = pc.fill_null(texts, "")
    empty = pc.equal(present, "").to_numpy(zero_copy_only=False)
    items = pc.list_flatten(pc.split_pattern(present.filter(pa.array(~empty)), " ")).cast(kind.value_type)
    counts = np.where(empty, 0, pc.count_substring(present, " ").to_numpy(zero_copy_only=False) + 1)
    ends = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    # Splitting an empty text gives one empty item, so empty lists are left out above and restored by offsets.
    return pa.ListArray.from_arrays(ends, items, mask=pc.is_null(texts)).cast(kind)


def _as_json(items: list[str | None]) -> str:
    return json.dumps(items, ensure_ascii=False, separators=(",", ":"))


def _from_json(text: str) -> list[str | None]:
    try:
        items = json.loads(text)
    # Brackets nested thousands deep are no list of ours; the error must not escape as a crash.
    except RecursionError:
        items = None
    if not isinstance(items, list):
        raise pa.ArrowInvalid("a cell is not a list")
    return items


def _header(schema: pa.Schema) -> list[str]:
    names: list[str] = guarded(pa.array(schema.names, pa.string())).to_pylist()
    return names


def _refuse_far_years(name: str, column: pa.ChunkedArray) -> None:
    """Refuse years without four digits, which CSV cannot show."""
    kind = column.type
    is_date = pa.types.is_date32(kind)
    if not (is_date or (pa.types.is_timestamp(kind) and kind.unit != "ns")):
        return
    per_day = _PER_DAY["day" if is_date else kind.unit]
    ends = pc.min_max(column.cast(pa.int32() if is_date else pa.int64())).as_py()
    margin = 0 if is_date or not kind.tz else 1  # a day, for the offset of the zone
    low, limit = (_FIRST_DAY + margin) * per_day, (_LIMIT_DAY - margin) * per_day
    if ends["min"] is not None and not (low <= ends["min"] and ends["max"] < limit):
        raise BundleError(
            f"column `{name}` has dates or times outside the years 1 to 9999, which CSV cannot show",
            hint='correct them, drop the column, or write Parquet with {format="parquet"}',
            code="unsupported-input",
        )


def _cell_type(kind: pa.DataType) -> pa.DataType:
    zoned = pa.types.is_timestamp(kind) and kind.tz
    return pa.string() if zoned or pa.types.is_list(kind) else kind


def _cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_list(column.type):
        column = pa.chunked_array([list_cells(chunk) for chunk in column.chunks], pa.string())
    if pa.types.is_string(column.type):
        return pa.chunked_array([guarded(chunk) for chunk in column.chunks], pa.string())
    if pa.types.is_timestamp(column.type) and column.type.tz:
        return _with_offset(column)
    return column


def _with_offset(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Clock readings with their offset, or in UTC where an old offset includes seconds."""
    local = column.cast(pa.string())
    universal = column.cast(pa.timestamp(column.type.unit, "UTC")).cast(pa.string())
    # The text shows no seconds of an offset: where it does not read back exactly, UTC is written.
    return pc.if_else(pc.equal(local.cast(column.type), column), local, universal)


def _typed(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return unguarded(texts)
    if pa.types.is_list(kind):
        return lists_of(unguarded(texts), kind)
    if pa.types.is_time(kind):
        moments = pc.binary_join_element_wise("1970-01-01", texts, " ")
        return moments.cast(pa.timestamp(kind.unit)).cast(kind)
    return texts.cast(kind)
