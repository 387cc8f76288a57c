"""Tables as CSV that a spreadsheet cannot be tricked with.

A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@`, a tab or a line break as a formula. Such
text is written with an apostrophe before it, and so is text that begins with apostrophes and then one of
these, so that taking one apostrophe away on opening gives every cell back exactly. Numbers stay numbers.

Null is an empty cell; empty text is a pair of quotes. A list is text: numbers with blanks between them, or
texts as a JSON array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from timeveil.errors import BundleError
from timeveil.folder.lists import list_cells, lists_of

_FIRST_DAY, _LIMIT_DAY = -719_162, 2_932_897  # 0001-01-01, 10000-01-01
_PER_DAY = {"day": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}
FORMULA = r"^'*[=+\-@\t\r\n]"
_GUARDED = r"^'('*[=+\-@\t\r\n])"


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
    """What `guarded` was given.

    >>> unguarded(pa.array(["'=1+1", "''-", "'tis"])).to_pylist()
    ['=1+1', "'-", "'tis"]
    """
    return pc.replace_substring_regex(texts, _GUARDED, r"\1")


class CsvSink:
    """Writes tables of one schema to an open file."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        names = guarded(pa.array(schema.names, pa.string())).to_pylist()
        self._schema = pa.schema(
            [pa.field(name, _cell_type(field.type)) for name, field in zip(names, schema, strict=True)]
        )
        self._writer = pcsv.CSVWriter(file, self._schema)

    def write(self, rows: pa.Table) -> None:
        """The next rows."""
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            _refuse_beyond(name, column)
        cells = [_cells(column) for column in rows.columns]
        self._writer.write_table(pa.table(cells, schema=self._schema))

    def close(self) -> None:
        """No more rows."""
        self._writer.close()


def read_batches(
    path: Path, schema: pa.Schema, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a CSV table in the types of the schema; of some columns only, if named."""
    names = guarded(pa.array(schema.names, pa.string())).to_pylist()
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
    wanted = schema.names if columns is None else columns
    places = [schema.get_field_index(name) for name in wanted]
    chosen = pa.schema([schema.field(place) for place in places])
    for batch in reader:
        typed = [_typed(batch.column(place), schema.field(place).type) for place in places]
        yield pa.RecordBatch.from_arrays(typed, schema=chosen)


def _refuse_beyond(name: str, column: pa.ChunkedArray) -> None:
    """A year has four digits in CSV."""
    kind = column.type
    if not (pa.types.is_date32(kind) or (pa.types.is_timestamp(kind) and kind.unit != "ns")):
        return
    per_day = _PER_DAY["day" if pa.types.is_date32(kind) else kind.unit]
    raw = pc.min_max(column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())).as_py()
    margin = 1 if pa.types.is_timestamp(kind) and kind.tz else 0
    low, limit = (_FIRST_DAY + margin) * per_day, (_LIMIT_DAY - margin) * per_day
    if raw["min"] is not None and not (low <= raw["min"] and raw["max"] < limit):
        raise BundleError(
            f"column `{name}` has dates or times outside of the years 1 to 9999, which CSV cannot tell",
            hint="correct them, drop the column, or write the release as Parquet",
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
    """Clock readings with their offset, or in UTC where the offset of old has seconds in it."""
    local = column.cast(pa.string())
    universal = column.cast(pa.timestamp(column.type.unit, "UTC")).cast(pa.string())
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
