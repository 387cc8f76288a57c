"""CSV and Parquet files.

CSV: every cell is text exactly as it stands, so that the zip code 01234 keeps its zero; a cell with
nothing in it, not even quotes, is null. UTF-8, with or without a byte order mark. The separator is a
comma, or, where the header line has none, a semicolon or a tab; for `.tsv` a tab.
"""

from __future__ import annotations

import csv
import errno
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from timeveil.errors import InputError
from timeveil.model.stored import BATCH_ROWS

TEXT_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")
HEADER_BYTES = 1 << 20
BLOCK_BYTES = 1 << 23

T = TypeVar("T")


def open_file(path: Path) -> CsvFile | ParquetSource:
    """The source for a path, told by how its name ends."""
    lower = path.name.lower()
    _refuse_absent(path)
    if lower.endswith(TEXT_SUFFIXES):
        return CsvFile(path)
    if lower.endswith(PARQUET_SUFFIXES):
        return ParquetSource(path)
    raise InputError(
        f"`{path.name}` is neither CSV nor Parquet by its name",
        hint=f"name it with one of {', '.join((*TEXT_SUFFIXES, *PARQUET_SUFFIXES))}",
        code="unsupported-input",
    )


class ParquetSource:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.name: str | None = path.name
        self._path = path
        with self._open() as file:
            self.names: tuple[str, ...] = tuple(file.schema_arrow.names)

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns, whole."""
        with self._open() as file:
            return _reading(self._path.name, lambda: file.read(columns=list(columns)).select(list(columns)))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns, a batch at a time."""
        with self._open() as file:
            batches = file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns))
            empty = True
            while (batch := _reading(self._path.name, lambda: next(batches, None))) is not None:
                empty = False
                yield pa.Table.from_batches([batch]).select(list(columns))
            if empty:
                yield file.schema_arrow.empty_table().select(list(columns))

    def _open(self) -> Any:
        return _reading(self._path.name, lambda: pq.ParquetFile(self._path))


class CsvFile:
    """A CSV file."""

    def __init__(self, path: Path) -> None:
        self.name: str | None = path.name
        self._path = path
        header = _header_text(path)
        self._delimiter = _delimiter(path, header)
        self.names: tuple[str, ...] = tuple(
            next(csv.reader(io.StringIO(header), delimiter=self._delimiter), [])
        )
        if not self.names:
            raise InputError(
                f"`{path.name}` is empty: not even a header line is there",
                hint="the first line must name the columns",
                code="file-unreadable",
            )

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns, whole."""
        return self._guarded(lambda: self._read(pcsv.read_csv, columns, threads=True))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns, a batch at a time."""
        reader = self._guarded(lambda: self._read(pcsv.open_csv, columns, threads=True))
        empty = True
        while (batch := self._guarded(lambda: next(reader, None))) is not None:
            empty = False
            yield pa.Table.from_batches([batch])
        if empty:
            yield reader.schema.empty_table()

    def _read(
        self, reader: Callable[..., T], columns: Sequence[str], *, threads: bool, ragged: Any = None
    ) -> T:
        return reader(
            self._path,
            pcsv.ReadOptions(use_threads=threads, block_size=BLOCK_BYTES),
            pcsv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=ragged),
            pcsv.ConvertOptions(
                include_columns=list(columns),
                column_types=dict.fromkeys(columns, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _guarded(self, take: Callable[[], T]) -> T:
        try:
            return take()
        except pa.ArrowInvalid as cause:
            about_text = "UTF8" in str(cause)
        except OSError as cause:
            refuse_os_error(self._path.name, cause)
        if about_text:
            refuse_encoding(self._path.name)
        raise self._ragged()

    def _ragged(self) -> InputError:
        """Read once more, slowly, to say in which row it went wrong."""
        found: list[Any] = []

        def note(row: Any) -> str:
            found.append((row.number, row.expected_columns, row.actual_columns))
            return "error"

        try:
            for _ in self._read(pcsv.open_csv, self.names[:1], threads=False, ragged=note):
                pass
        except (pa.ArrowException, OSError):
            pass
        where = ""
        if found:
            number, expected, actual = found[0]
            where = f": row {number - 1} has {actual} cells, the header {expected}"
        return InputError(
            f"`{self._path.name}` is not a CSV file that can be read{where}",
            hint="see that quotes are closed and that every row has as many cells as the header",
            code="file-unreadable",
        )


def _reading(name: str, take: Callable[[], T]) -> T:
    try:
        return take()
    except pa.ArrowException:
        pass
    except OSError as cause:
        if cause.errno is not None:
            refuse_os_error(name, cause)
    raise InputError(
        f"`{name}` is not a Parquet file, or not a whole one",
        hint="copy it again, or write it again with the program that made it",
        code="file-unreadable",
    )


def refuse_os_error(name: str, cause: OSError) -> NoReturn:
    """Say what the operating system said, without its text."""
    if cause.errno in (errno.EACCES, errno.EPERM):
        raise InputError(
            f"no permission to read `{name}`",
            hint="ask its owner for the right to read",
            code="no-permission",
        ) from None
    raise InputError(
        f"`{name}` could not be read", hint="see that the disk is there and sound", code="file-unreadable"
    ) from None


def refuse_encoding(name: str) -> NoReturn:
    """The file is not text as it should be."""
    raise InputError(
        f"`{name}` is not UTF-8 text", hint="save it as CSV in UTF-8, or as Parquet", code="bad-encoding"
    ) from None


def _refuse_absent(path: Path) -> None:
    try:
        if path.is_dir():
            raise InputError(
                f"`{path.name}` is a folder, not a file", hint="name one file in it", code="file-unreadable"
            )
        if not path.exists():
            raise InputError(
                f"there is no file `{path.name}`",
                hint="see that the path is spelt right",
                code="file-missing",
            )
        with path.open("rb"):
            pass
    except OSError as cause:
        refuse_os_error(path.name, cause)


def _header_text(path: Path) -> str:
    """The beginning of the file as text, up to the end of a line that can be the header's."""
    try:
        with pa.input_stream(str(path)) as stream:
            head = stream.read(HEADER_BYTES)
    except (pa.ArrowException, OSError):
        raise InputError(
            f"`{path.name}` could not be unpacked", hint="copy it again", code="file-unreadable"
        ) from None
    if b"\0" in head:
        refuse_encoding(path.name)
    cut = head if len(head) < HEADER_BYTES else head[: head.rfind(b"\n")]
    try:
        return str(cut, "utf-8-sig")
    except UnicodeDecodeError:
        refuse_encoding(path.name)


def _delimiter(path: Path, header: str) -> str:
    if ".tsv" in path.name.lower():
        return "\t"
    line = header.split("\n", 1)[0]
    return next((mark for mark in (",", ";", "\t") if mark in line), ",")
