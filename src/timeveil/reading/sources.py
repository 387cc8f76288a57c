"""Where a table comes from: a file, or an object that another library made."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from timeveil.domain.stored import BATCH_ROWS
from timeveil.errors import InputError, instead_of
from timeveil.reading.files import open_file


class Source(Protocol):
    """Named columns that can be had at once or a batch at a time, once."""

    name: str | None
    names: tuple[str, ...]

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns, whole."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns, a batch at a time, each batch with its types."""


def open_source(table: Any) -> Source:
    """The source behind whatever the caller gave."""
    if isinstance(table, str | os.PathLike):
        return open_file(Path(table))
    if _is_from(table, "pandas", "DataFrame"):
        return PandasSource(table)
    if _is_from(table, "pyarrow", "Dataset"):
        return ArrowSource(table.schema, lambda columns: table.scanner(columns=columns).to_reader())
    if _is_from(table, "polars", "LazyFrame"):
        schema = table.collect_schema()
        return ArrowSource(_Names(schema.names()), lambda columns: table.select(columns).collect())
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        return _from_capsule(table)
    return _from_narwhals(table)


class _Names:
    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)


class ArrowSource:
    """Anything that hands out Arrow batches for a list of columns."""

    name: str | None = None

    def __init__(self, schema: Any, stream: Any) -> None:
        self.names = tuple(schema.names)
        self._stream = stream

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns, whole."""
        return _readable(lambda: _table(self._stream(list(columns))).select(list(columns)))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns, a batch at a time."""
        given = _readable(lambda: self._stream(list(columns)))
        if isinstance(given, pa.Table):
            yield from _cut(given.select(list(columns)))
            return
        reader = _readable(lambda: pa.RecordBatchReader.from_stream(given))
        yield reader.schema.empty_table().select(list(columns))
        while (batch := _readable(lambda: next(reader, None))) is not None:
            yield from _cut(pa.Table.from_batches([batch]).select(list(columns)))


class PandasSource:
    """A pandas frame: its columns without its index, each turned into Arrow on its own."""

    name: str | None = None

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = tuple(str(name) for name in frame.columns)

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns, whole."""
        return pa.table({name: self._column(name) for name in columns})

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns, a batch at a time."""
        return _cut(self.table(columns))

    def _column(self, name: str) -> Any:
        series = self._frame.iloc[:, self.names.index(name)]
        if series.dtype == object:
            return _from_objects(name, series)
        causes = (pa.ArrowException, TypeError, ValueError)
        return instead_of(causes, lambda _: _not_one_type(name), lambda: pa.Array.from_pandas(series))


def _from_objects(name: str, series: Any) -> Any:
    """Python objects; pyarrow would silently cut or mix dates, clock readings and instants."""
    values = [None if missing else value for value, missing in zip(series, series.isna(), strict=True)]
    kinds = {_time_kind(value) for value in values if value is not None}
    if len(kinds) > 1 and "" not in kinds:
        return pa.array([None if v is None else v.isoformat() for v in values], pa.string())
    causes = (pa.ArrowException, TypeError, ValueError, OverflowError)
    return instead_of(causes, lambda _: _not_one_type(name), lambda: pa.array(values))


def _time_kind(value: Any) -> str:
    if isinstance(value, datetime):
        return "naive" if value.tzinfo is None else "aware"
    return "date" if isinstance(value, date) else ""


def _from_capsule(table: Any) -> Source:
    if isinstance(table, pa.Table):
        return ArrowSource(table.schema, lambda _: table)
    if isinstance(table, pa.RecordBatch):
        return ArrowSource(table.schema, lambda _: pa.Table.from_batches([table]))
    if not hasattr(table, "__arrow_c_stream__"):
        whole = _readable(lambda: pa.Table.from_batches([pa.record_batch(table)]))
        return ArrowSource(whole.schema, lambda _: whole)
    reader = _readable(lambda: pa.RecordBatchReader.from_stream(table))
    return ArrowSource(reader.schema, lambda _: reader)


def _from_narwhals(table: Any) -> Source:
    import narwhals as nw  # noqa: PLC0415

    error = InputError(
        f"an object of the type `{type(table).__name__}` is not a table",
        hint="give a path to a CSV or Parquet file, or a pyarrow, pandas, polars or DuckDB table",
        code="unsupported-input",
    )
    frame = instead_of(TypeError, lambda _: error, lambda: nw.from_native(table))
    if isinstance(frame, nw.LazyFrame):
        names = instead_of(TypeError, lambda _: error, lambda: frame.collect_schema().names())
        return ArrowSource(
            _Names(names), lambda columns: frame.select(columns).collect(backend="pyarrow").to_arrow()
        )
    return ArrowSource(_Names(frame.columns), lambda columns: frame.select(columns).to_arrow())


def _table(given: Any) -> pa.Table:
    return given if isinstance(given, pa.Table) else pa.RecordBatchReader.from_stream(given).read_all()


def _cut(table: pa.Table) -> Iterator[pa.Table]:
    yield table.slice(0, BATCH_ROWS)
    for start in range(BATCH_ROWS, table.num_rows, BATCH_ROWS):
        yield table.slice(start, BATCH_ROWS)


def _readable(take: Any) -> Any:
    """What `take` gives; whatever a foreign library says when it fails could carry data."""
    error = InputError(
        "the table could not be read from the object given",
        hint="see that its columns can be turned into Arrow, each with one type",
        code="unsupported-input",
    )
    short = None
    try:
        return take()
    except MemoryError:
        short = MemoryError()
    except Exception:  # noqa: BLE001, S110
        pass
    raise short or error


def _not_one_type(name: str) -> InputError:
    return InputError(
        f"column `{name}` holds values of more than one type, or of a type that no table has",
        hint="give each column one type: text, numbers, dates or timestamps",
        code="unsupported-input",
    )


def _is_from(table: Any, library: str, kind: str) -> bool:
    return any(
        base.__name__ == kind and base.__module__.split(".")[0] == library for base in type(table).__mro__
    )
