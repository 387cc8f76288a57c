"""Where a table comes from: a file, or an object that another library made.

Every source has the names of its columns and, with `batches`, the rows of some of them as Arrow tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from timeveil.errors import InputError, TimeveilError, raising, raising_each
from timeveil.reading.csv_file import CsvFile
from timeveil.reading.files import file_size, read_error
from timeveil.reading.parquet_file import ParquetTable

CSV_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")
_NOT_ONE_TYPE = (pa.ArrowException, TypeError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True)
class Frame:
    """An object of another library; `select` returns some of its columns as an Arrow table or stream."""

    names: tuple[str, ...]
    select: Callable[[list[str]], Any]
    name: ClassVar[str | None] = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of some columns in tables of one schema; at least one table, which may be empty."""
        with raising(_foreign, on=Exception):
            rows = self.select(list(columns))
            if not isinstance(rows, pa.Table):
                rows = pa.RecordBatchReader.from_stream(rows)
        if isinstance(rows, pa.Table):
            yield rows.select(list(columns))
            return
        yield rows.schema.empty_table().select(list(columns))
        for batch in raising_each(rows, _foreign, on=Exception):
            yield pa.Table.from_batches([batch]).select(list(columns))


Source = CsvFile | ParquetTable | Frame


def open_source(table: Any) -> Source:
    """The source for a path or for an object of another library."""
    if isinstance(table, str | os.PathLike):
        return _open_file(Path(table))
    names, select = _columns(table)
    return Frame(tuple(names), select)


def _open_file(path: Path) -> Source:
    name = path.name.lower()
    with raising(lambda cause: read_error(path.name, cause), on=(OSError, ValueError)):
        is_folder = path.is_dir()
        if not is_folder:
            file_size(path)
            path.open("rb").close()
    if is_folder:
        message = f"`{path.name or path}` is a folder, not a file"
        raise InputError(message, hint="name one file in it", code="file-unreadable")
    if name.endswith(CSV_SUFFIXES):
        return CsvFile(path)
    if name.endswith(PARQUET_SUFFIXES):
        return ParquetTable(path)
    message = f"the name of `{path.name}` does not end like that of a CSV or Parquet file"
    hint = f"save it as one whose name ends in {' or '.join((*CSV_SUFFIXES, *PARQUET_SUFFIXES))}"
    raise InputError(message, hint=hint)


def _columns(table: Any) -> tuple[Sequence[str], Callable[[list[str]], Any]]:
    """The names of an object's columns, and a function that returns some of them as Arrow."""
    if isinstance(table, pa.Table):
        return table.column_names, lambda _: table
    if _is_from(table, "pandas", "DataFrame"):
        names = [str(name) for name in table.columns]
        return names, lambda columns: pa.table(
            {c: _series(c, table.iloc[:, names.index(c)]) for c in columns}
        )
    if _is_from(table, "pyarrow", "Dataset"):
        return table.schema.names, lambda columns: table.scanner(columns=columns).to_reader()
    if hasattr(table, "__arrow_c_array__") and not hasattr(table, "__arrow_c_stream__"):
        with raising(_foreign, on=Exception):
            batch = pa.record_batch(table)
        return batch.schema.names, lambda _: pa.Table.from_batches([batch])
    if hasattr(table, "__arrow_c_stream__"):
        with raising(_foreign, on=Exception):
            reader = pa.RecordBatchReader.from_stream(table)
        return reader.schema.names, lambda _: reader
    return _narwhals_columns(table)


def _series(name: str, series: Any) -> Any:
    """A column of a pandas frame, without the frame's index."""
    message = f"column `{name}` has values of more than one type, or of a type unknown to Arrow"
    error = InputError(message, hint="give each column one type: text, numbers, dates or timestamps")
    with raising(error, on=_NOT_ONE_TYPE):
        return _from_objects(series) if series.dtype == object else pa.Array.from_pandas(series)


def _from_objects(series: Any) -> Any:
    """Python objects; pyarrow alone would silently truncate or mix dates, clock readings and instants."""
    values = [None if missing else value for value, missing in zip(series, series.isna(), strict=True)]
    kinds = {_time_kind(value) for value in values if value is not None}
    if len(kinds) > 1 and "" not in kinds:
        return pa.array([None if value is None else value.isoformat() for value in values], pa.string())
    return pa.array(values)


def _time_kind(value: Any) -> str:
    if isinstance(value, datetime):
        return "naive" if value.tzinfo is None else "aware"
    return "date" if isinstance(value, date) else ""


def _narwhals_columns(table: Any) -> tuple[Sequence[str], Callable[[list[str]], Any]]:
    import narwhals as nw  # noqa: PLC0415 (needed for few kinds of tables only)

    hint = "give a path to a CSV or Parquet file, or a pyarrow, pandas, polars or DuckDB table"
    error = InputError(f"an object of the type `{type(table).__name__}` is not a table", hint=hint)
    with raising(error, on=TypeError):
        frame = nw.from_native(table)
        names = frame.collect_schema().names()
    if isinstance(frame, nw.LazyFrame):
        return names, lambda columns: frame.select(columns).collect(backend="pyarrow").to_arrow()
    return names, lambda columns: frame.select(columns).to_arrow()


def _foreign(cause: Exception) -> Exception:
    """A foreign library's failure may quote data, whatever its type; ours and lack of memory may not."""
    if isinstance(cause, TimeveilError):
        return cause
    if isinstance(cause, MemoryError):
        return MemoryError()
    hint = "check that its columns can be converted to Arrow, each with one type"
    return InputError("the table could not be read from the object given", hint=hint)


def _is_from(table: Any, library: str, kind: str) -> bool:
    bases = type(table).__mro__
    return any(base.__name__ == kind and base.__module__.split(".")[0] == library for base in bases)
