"""Excel workbooks, one sheet as a table: its first row names the columns.

As in CSV, every cell is text: whole numbers without a point, dates as 2024-03-31, with the clock time if
there is one. python-calamine reads the sheet at once, into a cell for every place between the outermost ones
and a text of its own for every cell. So what a workbook unpacks to, how far apart its cells are and how long
its texts become is counted from its bytes first.
"""

import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.wording import listed
from timeveil.errors import InputError, ParameterError, TimeveilError, raising
from timeveil.reading.files import Source, limits, read_error, refuse_columns, too_large

_FAILURES = (OSError, ValueError, KeyError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile)
_CELL_BYTES = 100  # of a place in the sheet, in Rust and in Python
_ROWS = 65_536
_PLACE = re.compile(rb"""[\s]r\s*=\s*["']([A-Za-z]{0,3})([0-9]{1,7})["']""")
_ROW = re.compile(rb"<(?:\w+:)?row[\s/>]")
_SHARED = re.compile(rb"""\st\s*=\s*["']s["']""")
_ITEM = re.compile(rb"<(?:\w+:)?si[\s/>]")


class ExcelFile(Source):
    """A sheet of a workbook; the first one with cells if none is named."""

    def __init__(self, path: Path, sheet: str | None = None) -> None:
        self.name = path.name
        self._path = path
        with raising(self._refusal, on=_FAILURES):
            self._refuse_bombs()
        self._sheet, self.decided = self._read(sheet)
        self.names = tuple(_text(name) or "" for name in next(self._rows(), ()))
        if not self.names:
            hint = "name the columns in the first row"
            raise InputError(f"`{path.name}` is empty", hint=hint, code="file-unreadable")
        refuse_columns(path.name, len(self.names))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        schema = pa.schema([(column, pa.string()) for column in columns])
        yield schema.empty_table()
        positions = [self.names.index(column) for column in columns]
        rows = islice(self._rows(), 1, None)
        while block := list(islice(rows, _ROWS)):
            cells = ([_text(row[position]) for row in block] for position in positions)
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
                hint = f"the sheets are {listed(names)}"
                message = f"`{self.name}` has no sheet `{sheet}`"
                raise ParameterError(message, hint=hint, code="column-missing")
            for name in names if sheet is None else [sheet]:
                cells = workbook.get_sheet_by_name(name)
                if cells.height:
                    return cells, {"sheet": name} if sheet is None and len(names) > 1 else {}
            hint = "check that it is the right file"
            raise InputError(f"`{self.name}` has no cells", hint=hint, code="file-unreadable")

    def _refuse_bombs(self) -> None:
        """Refuse a workbook that would take more memory than is allowed."""
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


def _places(sheet: bytes) -> int:
    """About how many places lie between the outermost cells of a sheet; there is room for a cell in each.

    >>> _places(b'<row r="1"><c r="A1"/></row><row><c r="C9"/></row>')
    27
    """
    rows, letters = 0, set[bytes]()
    for match in _PLACE.finditer(sheet):
        letters.add(match[1])
        rows = max(rows, int(match[2]))
    # Cells and rows that do not say where they are come one after the other.
    widths = [part.count(b"<c") + part.count(b":c") for part in _ROW.split(sheet)[1:]]
    return max(rows, len(widths)) * max(*map(_column, letters), *widths, 0, 0)


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - ord("A") + 1
    return number


def _longest_text(content: bytes) -> int:
    """The bytes of the longest shared text, with what is written around it."""
    starts = [match.start() for match in _ITEM.finditer(content)]
    return max((end - start for start, end in pairwise([*starts, len(content)])), default=0)


def _text(cell: Any) -> str | None:
    """A cell as text; an empty one is null."""
    match cell:
        case "":
            return None
        case str():
            return cell
        case bool():
            return str(cell).upper()
        case float() if cell.is_integer():
            return str(int(cell))
        case dt.datetime() if cell.time() == dt.time():
            return str(cell.date())
    return str(cell)
