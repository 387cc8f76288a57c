"""Where a table comes from: a file, a folder of files, or an object that another library made."""

import mmap
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import ipc

from timeveil.errors import InputError, ParameterError, TimeveilError, raising, raising_each
from timeveil.reading import parquet_file as parquet
from timeveil.reading.database import DatabaseTable, is_address
from timeveil.reading.excel_file import ExcelFile
from timeveil.reading.files import Source, file_size, limits, read_error, refuse_columns
from timeveil.reading.many_files import ManyFiles, is_remote, local_files, remote_files
from timeveil.reading.text_file import PACKED, CsvFile, JsonLines

_ARROW_FAULTS = (OSError, pa.ArrowException, ValueError, LookupError, TypeError, EOFError, MemoryError)
_ARROW_MAGIC = b"ARROW1"
# Of LZ4, of every version of zstd, and of the frames that zstd skips.
_ARROW_FRAME = re.compile(rb"\x04\x22\x4d\x18|[\x1e\x22-\x28]\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")


class ArrowFile(Source):
    """An Arrow file (`.arrow`, `.feather`), or a stream in a file, read no further than the limits allow.

    A compressed buffer states what it unpacks to, before the mark with which its frame begins, and pyarrow
    makes room for that before it unpacks any. So the numbers before all such marks are summed first. What
    pyarrow returns is checked in full: offsets and codes in a file can point anywhere.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        self._refusal = partial(parquet.unreadable, path.name, "an Arrow file")
        with raising(self._refusal, on=_ARROW_FAULTS), pa.OSFile(str(path)) as file:
            self._is_indexed = file.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC
            file.seek(0)
            self._schema = (ipc.open_file if self._is_indexed else ipc.open_stream)(file).schema
            self.names = tuple(self._schema.names)
        refuse_columns(path.name, len(self.names))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        return raising_each(self._batches(columns), self._refusal, on=_ARROW_FAULTS)

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        yield self._schema.empty_table().select(list(columns))
        remaining = allowed = limits().allowance(self._path.stat().st_size)
        with self._path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            starts = (match.start() for match in _ARROW_FRAME.finditer(content))
            sizes = (int.from_bytes(content[max(at - 8, 0) : at], "little", signed=True) for at in starts)
            claimed = sum(max(size, 0) for size in sizes)
        if claimed > allowed:
            raise parquet.too_large_in_memory(self._path, f"would take {claimed:,} bytes", allowed)
        with pa.OSFile(str(self._path)) as source:
            reader: Any = (ipc.open_file if self._is_indexed else ipc.open_stream)(source)
            indexed = self._is_indexed and map(reader.get_batch, range(reader.num_record_batches))
            for batch in indexed or reader:
                chosen = batch.select(list(columns))
                chosen.validate(full=True)
                remaining -= sum(parquet.written_length(column) for column in chosen.columns)
                if remaining < 0:
                    raise parquet.too_large_in_memory(self._path, parquet.REPEATS, allowed)
                yield pa.Table.from_batches([chosen])


_TEXT = {"delimiter", "encoding"}
_READERS: Mapping[tuple[str, ...], tuple[Callable[..., Any], set[str]]] = {
    (".csv", ".tsv", ".txt"): (CsvFile, _TEXT),
    (".jsonl", ".ndjson"): (JsonLines, {"encoding"}),
    (".xlsx", ".xlsm"): (ExcelFile, {"sheet"}),
    (".parquet", ".pq"): (parquet.ParquetTable, set()),
    (".arrow", ".feather"): (ArrowFile, set()),
}
"""How a file is read by the end of its name, and the options that it can be read with."""
LINES = tuple(
    ending + packed for endings in list(_READERS)[:2] for ending in endings for packed in ("", *PACKED)
)
"""How names of files end whose rows are lines."""
SUFFIXES = (*LINES, *(ending for endings in list(_READERS)[2:] for ending in endings))
_SUPPORTED = "CSV, JSON lines, Excel, Parquet or Arrow"
_NOT_ONE_TYPE = (pa.ArrowException, TypeError, ValueError, OverflowError)


class Form(NamedTuple):
    """What the user says about a file; None is to be found out."""

    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    def among(self, names: set[str], what: str) -> dict[str, str]:
        """What is said; an error if it is not about such a source."""
        stated = {name: value for name, value in self._asdict().items() if value is not None}
        for name in stated.keys() - names:
            hint = f"leave {{{name}}} out"
            raise ParameterError(f"`{name}` is set, but {what} has none", hint=hint)
        return stated


@dataclass(frozen=True)
class Frame(Source):
    """An object of another library; `select` returns some of its columns as an Arrow table or stream."""

    names: tuple[str, ...]
    select: Callable[[list[str]], Any]
    name: str | None = None
    decided: Mapping[str, str] = field(default_factory=dict)
    decimal_commas: bool | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
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


def open_source(table: Any, form: Form) -> Source:
    """The source for a path, a table of a database or an object of another library."""
    if is_address(table):
        form.among(set(), "a table of a database")
        return DatabaseTable(table)
    if isinstance(table, str | os.PathLike):
        return _open_path(table, form)
    if isinstance(table, Frame):
        return table
    form.among(set(), "a table in memory")
    names, select = _columns(table)
    return Frame(tuple(names), select)


def _open_path(table: str | os.PathLike[str], form: Form) -> Source:
    """A file, or the files of a folder, of a pattern or of an object store."""
    read = partial(_open_file, form=form)
    if is_remote(table):
        name, files = remote_files(str(table), SUFFIXES)
    else:
        path = Path(table)
        local = local_files(path, SUFFIXES)
        if local is None:
            return read(path)
        name, files = path.name or str(path), local
    if not files:
        is_pattern = has_magic(name) or is_remote(table)
        message = f"there is no file like `{name}`" if is_pattern else f"`{name}` is a folder without tables"
        hint = f"name a {_SUPPORTED} file, a folder of them, or a pattern such as 'visits/**/*.csv'"
        raise InputError(message, hint=hint, code="file-missing")
    return ManyFiles(name, files, read, remote=is_remote(table))


def _open_file(path: Path, form: Form) -> Source:
    with raising(lambda cause: read_error(path.name, cause), on=(OSError, ValueError)):
        file_size(path)
        path.open("rb").close()
    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed) if name.endswith(LINES) else name
    for endings, (reader, options) in _READERS.items():
        if name.endswith(endings):
            source: Source = reader(path, **form.among(options, f"`{path.name}`"))
            return source
    message = f"the name of `{path.name}` does not end like that of a {_SUPPORTED} file"
    hint = f"save it as one whose name ends in {' or '.join(SUFFIXES)}"
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
    if hasattr(table, "__arrow_c_array__") or hasattr(table, "__arrow_c_stream__"):
        is_stream = hasattr(table, "__arrow_c_stream__")
        with raising(_foreign, on=Exception):
            rows = pa.RecordBatchReader.from_stream(table) if is_stream else pa.table(pa.record_batch(table))
        return rows.schema.names, lambda _: rows
    return _narwhals_columns(table)


def _series(name: str, series: Any) -> Any:
    """A column of a pandas frame, without the frame's index."""
    message = f"column `{name}` has values of more than one type, or of a type unknown to Arrow"
    error = InputError(message, hint="give each column one type: text, numbers, dates or timestamps")
    with raising(error, on=_NOT_ONE_TYPE):
        if series.dtype != object:
            return pa.Array.from_pandas(series)
        values = [None if missing else value for value, missing in zip(series, series.isna(), strict=True)]
        kinds = {_time_kind(value) for value in values if value is not None}
        # pyarrow alone would silently truncate or mix dates, clock readings and instants.
        if len(kinds) > 1 and "" not in kinds:
            values = [None if value is None else value.isoformat() for value in values]
        return pa.array(values)


def _time_kind(value: Any) -> str:
    if isinstance(value, datetime):
        return "naive" if value.tzinfo is None else "aware"
    return "date" if isinstance(value, date) else ""


def _narwhals_columns(table: Any) -> tuple[Sequence[str], Callable[[list[str]], Any]]:
    import narwhals as nw  # noqa: PLC0415 (needed for few kinds of tables only)

    hint = f"give a path to a {_SUPPORTED} file, or a pyarrow, pandas, polars or DuckDB table"
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
