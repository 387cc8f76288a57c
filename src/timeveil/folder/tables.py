"""Table files of a release: written with their rows and nothing else, opened in the stated types.

A spreadsheet runs a cell of CSV that begins with `=`, `+`, `-`, `@`, a tab or a line break as a formula. Such
text is written with an apostrophe before it, and so is text that begins with apostrophes and then one of
these, so that removing one apostrophe on opening restores every cell exactly. Numbers stay numbers. Null is
an empty cell; empty text is a pair of quotes. A list is text: numbers with blanks between them, or texts as a
JSON array.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from timeveil.domain.stored import PLAIN_PARQUET, Batches
from timeveil.errors import BundleError, raising, raising_each
from timeveil.folder.manifest import damaged
from timeveil.reading import parquet_file
from timeveil.reading.columns import plain_floats
from timeveil.reading.files import file_size, limits
from timeveil.reading.text_file import cells_as_text

Format = Literal["parquet", "csv"]
BLOCK_ROWS = 1 << 20
PARSED_ONCE_BYTES = 1 << 25
FORMULA = r"^'*[=+\-@\t\r\n]"
_GUARDED = r"^'('*[=+\-@\t\r\n])"


def write_table(batches: Iterable[pa.RecordBatch], schema: pa.Schema, file: Any, form: Format) -> int:
    """Write rows, in their order, to an open file; return how many there are."""
    count = 0
    is_csv = form == "csv"
    header = _as_cells(schema.empty_table()).schema if is_csv else schema
    writer: Any = pcsv.CSVWriter(file, header) if is_csv else pq.ParquetWriter(file, schema, **PLAIN_PARQUET)
    with writer:
        for rows in written_rows(batches, schema):
            count += rows.num_rows
            writer.write_table(_as_cells(rows) if is_csv else rows)  # a block is a row group
    return count


def written_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows in their written types and spellings."""
    for block in blocks(batches, schema):
        rows = block
        # Without bits that no cell shows: the sign of zero, and the number in a NaN.
        for position, field in enumerate(schema):
            if field.type in (pa.float32(), pa.float64()):  # methods publish no others
                rows = rows.set_column(position, field, plain_floats(rows.column(position)))
        yield rows


def cells_digest(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> str:
    """SHA-256 of the CSV file that rows would be written to, which has one spelling."""
    sink = _Digest()
    write_table(batches, schema, pa.PythonFile(sink, mode="w"), "csv")
    return sink.sha256.hexdigest()


class _Digest(io.RawIOBase):
    """A file that only its hash is left of."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.sha256.update(content)
        return len(content)


def have_same_rows(
    left: Iterable[pa.RecordBatch], right: Iterable[pa.RecordBatch], schema: pa.Schema
) -> bool:
    """Whether two tables have equal rows in equal order, however they are cut into batches."""
    pairs = zip_longest(blocks(left, schema), blocks(right, schema))
    return all(a is not None and b is not None and _comparable(a).equals(_comparable(b)) for a, b in pairs)


def _comparable(rows: pa.Table) -> pa.Table:
    """The rows with a further column for each one that may contain NaN, which equals nothing."""
    for position, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type):
            nan = pc.is_nan(rows.column(position))
            numbers = pc.if_else(nan, pa.scalar(0, field.type), rows.column(position))
            rows = rows.set_column(position, field.name, numbers).append_column(f"{field.name} is NaN", nan)
    return rows


class Columns(Batches):
    """Columns of a file that has stated its schema and number of rows; opened once, it stays open."""

    def __init__(self, path: Path, schema: pa.Schema, rows: int) -> None:
        self.path, self.schema, self.num_rows = path, schema, rows

    @cached_property
    def file(self) -> parquet_file.OpenFile:
        return parquet_file.OpenFile(self.path)

    def __getstate__(self) -> dict[str, Any]:
        """A copy opens the file anew."""
        return {name: value for name, value in vars(self).items() if name not in ("file", "cells")}


class Table(Columns):
    """A table file of a release in the types that `release.json` states; a small CSV file is parsed once."""

    @property
    def room(self) -> int:
        """Bytes that a judge may hold of it."""
        self._refuse_missing()
        return limits().room(file_size(self.path))

    @cached_property
    def cells(self) -> pa.Table:
        return pa.Table.from_batches(self._parsed(self.schema), self.schema)

    def _refuse_missing(self) -> None:
        if self.path.is_symlink() or not self.path.is_file():
            raise damaged(self.path.name, "is missing, or is a link")

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        self._refuse_missing()
        schema, count = self.chosen(columns), 0
        batches = self._csv(schema) if self.path.suffix == ".csv" else self._parquet(schema)
        unreadable = damaged(self.path.name, "cannot be read")
        for batch in raising_each(batches, unreadable, on=parquet_file.FAILURES):
            count += batch.num_rows
            yield batch
        # Only after the last batch: a reader who stops early learns nothing about the others.
        if count != self.num_rows:
            raise damaged(self.path.name, f"has {count} rows where release.json states {self.num_rows}")

    def _parquet(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        if self.file.schema.names != self.schema.names:
            raise pa.ArrowInvalid("other columns than stated")
        # The types of columns once they are in a Parquet file that states no others.
        empty = io.BytesIO()
        pq.ParquetWriter(empty, self.schema, store_schema=False).close()
        # Another type may hold more than a cast keeps: the time of a date, the last digits of a number.
        for present, stated, stored in zip(self.file.schema, self.schema, pq.read_schema(empty), strict=True):
            if present.type not in (stated.type, stored.type):
                raise pa.ArrowInvalid("another type than stated")
        for batch in self.file.batches(schema.names):
            batch.validate(full=True)
            if batch.num_rows:
                yield batch.cast(schema)

    def _csv(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        if self.path.stat().st_size > PARSED_ONCE_BYTES:
            yield from self._parsed(schema)
        else:
            yield from self.cells.select(schema.names).to_batches()

    def _parsed(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        header = _guarded_names(self.schema)
        reader = pcsv.open_csv(
            self.path,
            parse_options=pcsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=cells_as_text(dict.fromkeys(header, pa.string())),
        )
        if reader.schema.names != header:
            raise pa.ArrowInvalid("the header is not that of the table")
        for batch in reader:
            cells = pa.RecordBatch.from_arrays(batch.columns, self.schema.names).select(schema.names)
            typed = [_typed(column, field.type) for column, field in zip(cells.columns, schema, strict=True)]
            rows = pa.RecordBatch.from_arrays(typed, schema=schema)
            # As `write_table` writes them, so that 7 is not once 7 and once 07.
            spelt = (_cells(pa.chunked_array([column])).cast(pa.string()) for column in rows.columns)
            if any(text.chunks != [cell] for text, cell in zip(spelt, cells.columns, strict=True)):
                raise pa.ArrowInvalid("a cell in another spelling")
            yield rows


class ManyParts(Columns):
    """A table in several files of a folder, one after the other."""

    in_parts = True

    def __init__(self, path: Path, schema: pa.Schema, tables: Sequence[Table]) -> None:
        super().__init__(path, schema, sum(table.num_rows for table in tables))
        self.tables = tuple(tables)

    @property
    def files(self) -> list[Path]:
        return [table.path for table in self.tables]

    @property
    def room(self) -> int:
        return sum(table.room for table in self.tables)

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        for table in self.tables:
            # A copy, so that no file stays open: there may be thousands.
            yield from copy(table).to_batches(columns)


def opened_table(folder: Path, schema: pa.Schema, entry: Mapping[str, Any]) -> Table | ManyParts:
    """A table of a release folder as its entry in the manifest describes it."""
    path = folder / entry["file"]
    if "parts" not in entry:
        return Table(path, schema, entry["rows"])
    tables = [Table(folder / part["file"], schema, part["rows"]) for part in entry["parts"]]
    return ManyParts(path, schema, tables)


def blocks(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The same rows in these types, in tables of exactly `BLOCK_ROWS` rows, the last one shorter.

    Where a batch ended depends on the run that made it, so no file is cut there. Dictionaries are decoded, as
    they may have values that no row has.
    """
    waiting, count = list[pa.RecordBatch](), 0
    for batch in batches:
        columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
        waiting.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        count += batch.num_rows
        while count >= BLOCK_ROWS:
            rows = pa.Table.from_batches(waiting, schema)
            yield rows.slice(0, BLOCK_ROWS)
            waiting, count = rows.slice(BLOCK_ROWS).to_batches(), count - BLOCK_ROWS
    if count:
        yield pa.Table.from_batches(waiting, schema)


def guarded(texts: pa.Array) -> pa.Array:
    """Text with an apostrophe before what a spreadsheet would run."""
    risky = pc.match_substring_regex(texts, FORMULA)
    if not pc.any(risky).as_py():
        return texts
    return pc.if_else(risky, pc.binary_join_element_wise("'", texts, ""), texts)


def unguarded(texts: pa.Array) -> pa.Array:
    """The text that `guarded` was called with."""
    return pc.replace_substring_regex(texts, _GUARDED, r"\1")


def list_cells(lists: pa.Array) -> pa.Array:
    """Lists as text; an empty list of numbers is an empty text."""
    if pa.types.is_string(lists.type.value_type):
        as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        cells = (None if items is None else as_json(items) for items in lists.to_pylist())
        return pa.array(cells, pa.string())
    return pc.binary_join(lists.cast(pa.list_(pa.string())), " ")


def lists_of(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The lists that `list_cells` was called with."""
    if pa.types.is_string(kind.value_type):
        return pa.array([None if text is None else _from_json(text) for text in texts.to_pylist()], kind)
    present = pc.fill_null(texts, "")
    empty = pc.equal(present, "").to_numpy(zero_copy_only=False)
    items = pc.list_flatten(pc.split_pattern(present.filter(pa.array(~empty)), " ")).cast(kind.value_type)
    counts = np.where(empty, 0, pc.count_substring(present, " ").to_numpy(zero_copy_only=False) + 1)
    ends = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    # Splitting an empty text gives one empty item, so empty lists are left out above and restored by offsets.
    return pa.ListArray.from_arrays(ends, items, mask=pc.is_null(texts)).cast(kind)


def _from_json(text: str) -> list[str | None]:
    error = pa.ArrowInvalid("a cell is not a list")
    with raising(error, on=RecursionError):  # brackets nested thousands deep
        items = json.loads(text)
    if not isinstance(items, list):
        raise error
    return items


def _as_cells(rows: pa.Table) -> pa.Table:
    """The rows as CSV shows them: text where a spreadsheet or pyarrow would not write the value itself."""
    for field in rows.schema:
        # Nanoseconds in 64 bits reach from 1677 to 2262.
        if pa.types.is_date(field.type) or (pa.types.is_timestamp(field.type) and field.type.unit != "ns"):
            years = "dates or times outside the years 1 to 9999, which CSV cannot show"
            hint = 'correct them, drop the column, or write Parquet with {format="parquet"}'
            error = BundleError(f"column `{field.name}` has {years}", hint=hint, code="unsupported-input")
            with raising(error, on=(OverflowError, ValueError)):
                pc.min_max(rows[field.name]).as_py()
    return pa.table([_cells(column) for column in rows.columns], _guarded_names(rows.schema))


def _guarded_names(schema: pa.Schema) -> list[str]:
    return list(guarded(pa.array(schema.names, pa.string())).to_pylist())


def _cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_list(column.type):
        column = pa.chunked_array([list_cells(chunk) for chunk in column.chunks], pa.string())
    if pa.types.is_string(column.type):
        return pa.chunked_array([guarded(chunk) for chunk in column.chunks], pa.string())
    if pa.types.is_timestamp(column.type) and column.type.tz:
        local = column.cast(pa.string())
        universal = column.cast(pa.timestamp(column.type.unit, "UTC")).cast(pa.string())
        # Text shows no seconds of an old offset: where it does not read back exactly, UTC is written.
        return pc.if_else(pc.equal(local.cast(column.type), column), local, universal)
    return column


def _typed(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return unguarded(texts)
    if pa.types.is_list(kind):
        return lists_of(unguarded(texts), kind)
    if pa.types.is_time(kind):
        moments = pc.binary_join_element_wise("1970-01-01", texts, " ")
        return moments.cast(pa.timestamp(kind.unit)).cast(kind)
    return texts.cast(kind)
