"""Where a table comes from: a file (also Arrow and Excel), a folder of files, or an object of a library."""

import mmap
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import partial, reduce
from glob import has_magic
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import ipc

from timeveil.domain.wording import listed
from timeveil.errors import InputError, ParameterError, TimeveilError, raising, raising_each
from timeveil.reading import parquet_file as parquet
from timeveil.reading.database import DatabaseTable, is_address
from timeveil.reading.files import Source, file_size, limits, read_error, refuse_columns, too_large
from timeveil.reading.many_files import ManyFiles, is_remote, local_files, remote_files
from timeveil.reading.text_file import PACKED, CsvFile, JsonLines

_ARROW_FAULTS = (OSError, pa.ArrowException, ValueError, LookupError, TypeError, EOFError, MemoryError)
_EXCEL_FAULTS = (OSError, ValueError, KeyError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile)
_CELL_BYTES = 100  # of a place in the sheet, in Rust and in Python
_SHEET_ROWS = 65_536  # that are made into one table
_PLACE = re.compile(rb"""[\s]r\s*=\s*["']([A-Za-z]{0,3})([0-9]{1,7})["']""")
_ROW = re.compile(rb"<(?:\w+:)?row[\s/>]")
_SHARED = re.compile(rb"""\st\s*=\s*["']s["']""")
_ITEM = re.compile(rb"<(?:\w+:)?si[\s/>]")
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


class ExcelFile(Source):
    """A sheet of a workbook; the first one with cells if none is named. Its first row names the columns.

    As in CSV, every cell is text: whole numbers without a point, dates as 2024-03-31, with the clock time if
    there is one. python-calamine reads the sheet at once, into a cell for every place between the outermost
    ones and a text of its own for every cell. So what a workbook unpacks to, how far apart its cells are and
    how long its texts become is counted from its bytes first.
    """

    def __init__(self, path: Path, sheet: str | None = None) -> None:
        self.name = path.name
        self._path = path
        with raising(self._refusal, on=_EXCEL_FAULTS):
            self._refuse_bombs()
        self._sheet, self.decided = self._read(sheet)
        self.names = tuple(_cell_text(name) or "" for name in next(self._rows(), ()))
        if not self.names:
            hint = "name the columns in the first row"
            raise InputError(f"`{path.name}` is empty", hint=hint, code="file-unreadable")
        refuse_columns(path.name, len(self.names))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        schema = pa.schema([(column, pa.string()) for column in columns])
        yield schema.empty_table()
        positions = [self.names.index(column) for column in columns]
        rows = islice(self._rows(), 1, None)
        while block := list(islice(rows, _SHEET_ROWS)):
            cells = ([_cell_text(row[position]) for row in block] for position in positions)
            yield pa.table([pa.array(column, pa.string()) for column in cells], schema)

    def _rows(self) -> Iterator[list[Any]]:
        return (row for row in self._sheet.iter_rows() if any(cell != "" for cell in row))

    def _read(self, sheet: str | None) -> tuple[Any, dict[str, str]]:
        """The sheet, and which one it is if nobody said."""
        message = f"`{self.name}` is a workbook, and python-calamine, which reads those, is not installed"
        hint = "install it with `pip install timeveil[excel]`, or save the sheet as CSV"
        with raising(InputError(message, hint=hint), on=ImportError):
            from python_calamine import CalamineWorkbook  # noqa: PLC0415 (an extra)
        with raising(self._refusal, on=BaseException):  # a panic in Rust is no Exception
            workbook = CalamineWorkbook.from_path(str(self._path))
            names = workbook.sheet_names
            if sheet is not None and sheet not in names:
                message, hint = f"`{self.name}` has no sheet `{sheet}`", f"the sheets are {listed(names)}"
                raise ParameterError(message, hint=hint, code="column-missing")
            for name in names if sheet is None else [sheet]:
                cells = workbook.get_sheet_by_name(name)
                if cells.height:
                    return cells, {"sheet": name} if sheet is None and len(names) > 1 else {}
            hint = "check that it is the right file"
            raise InputError(f"`{self.name}` has no cells", hint=hint, code="file-unreadable")

    def _refuse_bombs(self) -> None:
        allowed = limits().allowance(self._path.stat().st_size)
        with zipfile.ZipFile(self._path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
            self._refuse_above(allowed, unpacked, "unpacks to")
            # Reads no more than each entry states; an entry that is longer has another checksum.
            if archive.testzip() is not None:
                raise zipfile.BadZipFile
            # Any entry may be a sheet, and any one of them the shared texts.
            longest = max(_longest_text(archive.read(name)) for name in archive.namelist())
            for name in archive.namelist():
                sheet = archive.read(name)
                claimed = _CELL_BYTES * _places(sheet) + longest * len(_SHARED.findall(sheet))
                claim = "has cells so far apart, or texts so long, that it takes"
                self._refuse_above(allowed, claimed, claim)

    def _refuse_above(self, allowed: int, claimed: int, what: str) -> None:
        if claimed > allowed:
            claim = f"{what} {claimed:,} bytes; at most {allowed:,} are allowed"
            raise too_large(self._path.name, claim, "unpacked")

    def _refusal(self, cause: BaseException) -> BaseException:
        if isinstance(cause, TimeveilError | MemoryError | KeyboardInterrupt | SystemExit):
            return cause
        if isinstance(cause, OSError) and cause.errno is not None:
            return read_error(self._path.name, cause)
        message = f"`{self.name}` is not an Excel workbook, is protected by a password, or is incomplete"
        hint = "open it in a spreadsheet program and save it again as .xlsx, or save the sheet as CSV"
        return InputError(message, hint=hint, code="file-unreadable")


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
    return _frame(table)


def _open_path(table: str | os.PathLike[str], form: Form) -> Source:
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
    *others, last = (ending for endings in _READERS for ending in endings)
    hint = f"save it as one whose name ends in {', '.join(others)} or {last}"
    raise InputError(message, hint=hint)


def _frame(table: Any) -> Frame:
    if isinstance(table, pa.Table):
        return Frame(tuple(table.column_names), lambda _: table)
    if _is_from(table, "pandas", "DataFrame"):
        names = tuple(map(str, table.columns))
        return Frame(names, lambda cs: pa.table({c: _series(c, table.iloc[:, names.index(c)]) for c in cs}))
    if _is_from(table, "pyarrow", "Dataset"):
        return Frame(tuple(table.schema.names), lambda columns: table.scanner(columns=columns).to_reader())
    if hasattr(table, "__arrow_c_array__") or hasattr(table, "__arrow_c_stream__"):
        is_stream = hasattr(table, "__arrow_c_stream__")
        with raising(_foreign, on=Exception):
            rows = pa.RecordBatchReader.from_stream(table) if is_stream else pa.table(pa.record_batch(table))
        return Frame(tuple(rows.schema.names), lambda _: rows)
    return _narwhals_frame(table)


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


def _narwhals_frame(table: Any) -> Frame:
    import narwhals as nw  # noqa: PLC0415 (needed for few kinds of tables only)

    hint = f"give a path to a {_SUPPORTED} file, or a pyarrow, pandas, polars or DuckDB table"
    error = InputError(f"an object of the type `{type(table).__name__}` is not a table", hint=hint)
    with raising(error, on=TypeError):
        frame = nw.from_native(table)
        names = tuple(frame.collect_schema().names())
    if isinstance(frame, nw.LazyFrame):
        return Frame(names, lambda columns: frame.select(columns).collect(backend="pyarrow").to_arrow())
    return Frame(names, lambda columns: frame.select(columns).to_arrow())


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


def _places(sheet: bytes) -> int:
    """About how many places lie between the outermost cells of a sheet; there is room for a cell in each."""
    rows, letters = 0, set[bytes]()
    for match in _PLACE.finditer(sheet):
        letters.add(match[1])
        rows = max(rows, int(match[2]))
    # Cells and rows that do not say where they are come one after the other.
    widths = [part.count(b"<c") + part.count(b":c") for part in _ROW.split(sheet)[1:]]
    return max(rows, len(widths)) * max(*map(_column_number, letters), *widths, 0, 0)


def _column_number(letters: bytes) -> int:
    return reduce(lambda number, letter: number * 26 + letter - ord("A") + 1, letters.upper(), 0)


def _longest_text(content: bytes) -> int:
    """The bytes of the longest shared text, with what is written around it."""
    starts = [match.start() for match in _ITEM.finditer(content)]
    return max((end - start for start, end in pairwise([*starts, len(content)])), default=0)


def _cell_text(cell: Any) -> str | None:
    match cell:
        case "":
            return None
        case str():
            return cell
        case bool():
            return str(cell).upper()
        case float() if cell.is_integer():
            return str(int(cell))
        case datetime() if cell.time() == time():
            return str(cell.date())
    return str(cell)
