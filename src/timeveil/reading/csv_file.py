"""CSV files.

Every cell is text exactly as it stands, so that the zip code 01234 keeps its zero; a cell with nothing in
it, not even quotes, is null. UTF-8, with or without a byte order mark. The separator is a comma, or, where
a comma would leave one column, a semicolon or tab; for `.tsv` a tab.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.csv as pcsv

from timeveil.domain.wording import counted
from timeveil.errors import InputError, instead_of
from timeveil.reading.limits import limits, refuse_columns, too_large
from timeveil.reading.refusals import (
    long_header,
    long_row,
    no_header,
    not_csv,
    not_text,
    other_separator,
    unreadable,
    zero_bytes,
)

HEAD_BYTES = 1 << 21
"""Bytes of the header line, at most."""
BLOCK_BYTES = 1 << 21  # some tens of these are in memory at once; no row is longer

T = TypeVar("T")


class CsvFile:
    """A CSV file, plain or packed."""

    def __init__(self, path: Path) -> None:
        self.name: str | None = path.name
        self._path = path
        head, self._is_cut = _head(path)
        self._delimiter = "\t" if ".tsv" in path.name.lower() else ","
        self.names, self._header_only = self._header(head)
        for mark in (";", "\t"):
            if len(self.names) == 1 and mark in self.names[0]:
                self._delimiter = mark
                self.names, self._header_only = self._header(head)
        if len(self.names) == 1 and "|" in self.names[0]:
            raise other_separator(path.name)

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns, whole."""
        if self._header_only:
            return _texts(columns).empty_table()
        self._look_through()
        with _opened(self._path) as stream:
            return self._guarded(lambda: self._read(pcsv.read_csv, stream, columns))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns, a batch at a time."""
        if self._header_only:
            yield _texts(columns).empty_table()
            return
        self._look_through()
        with _opened(self._path) as stream:
            reader = self._guarded(lambda: self._read(pcsv.open_csv, stream, columns))
            while (batch := self._guarded(lambda: next(reader, None))) is not None:
                yield pa.Table.from_batches([batch])

    def _header(self, head: str) -> tuple[tuple[str, ...], bool]:
        """The names in the first line, and whether that is all there is."""
        lines = io.StringIO(head, newline="")
        reader = csv.reader(lines, delimiter=self._delimiter)
        names = instead_of(csv.Error, self._odd_header, lambda: next((row for row in reader if row), None))
        if names is None:
            raise no_header(self._path.name)
        refuse_columns(self._path.name, len(names))
        rest = lines.read()
        if self._is_cut and not rest:
            raise long_header(self._path.name, HEAD_BYTES)
        if any("\udc80" <= letter <= "\udcff" for name in names for letter in name):
            raise not_text(self._path.name)
        return tuple(names), not rest.strip("\r\n")

    def _odd_header(self, cause: Exception) -> InputError:
        name, most = self._path.name, csv.field_size_limit()
        return long_header(name, most) if "field larger" in str(cause) else not_csv(name)

    def _look_through(self) -> None:
        """Refuse zero bytes, a packed file that goes too far, and a quote that never closes.

        That makes one cell of all rows after it, and pyarrow does not mind. It is done before pyarrow reads,
        and not on the way: where pyarrow reads from an object of Python and fails, it can hang or abort.
        """
        quotes = self._guarded(lambda: _quotes(self._path))
        if quotes % 2 == 0:
            return
        row, open_quote = 0, False
        try:
            with _opened(self._path) as file, io.TextIOWrapper(file, "utf-8", "replace", newline="") as text:
                for _ in csv.reader(text, delimiter=self._delimiter, strict=True):
                    row += 1
        except csv.Error:
            open_quote = True
        if open_quote:
            raise not_csv(self._path.name, f": data row {row:,} has a quote that does not close")

    def _read(self, reader: Callable[..., T], file: Any, columns: Sequence[str], ragged: Any = None) -> T:
        return reader(
            file,
            pcsv.ReadOptions(use_threads=ragged is None, block_size=BLOCK_BYTES),
            pcsv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=ragged),
            pcsv.ConvertOptions(
                include_columns=list(columns),
                column_types=_texts(columns),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _guarded(self, take: Callable[[], T]) -> T:
        return instead_of((pa.ArrowInvalid, KeyError, OSError), self._refusal, take)

    def _refusal(self, cause: Exception) -> InputError:
        if isinstance(cause, OSError):
            return unreadable(self._path.name, cause)
        if "straddling" in str(cause):
            return long_row(self._path.name, BLOCK_BYTES)
        return not_text(self._path.name) if "UTF8" in str(cause) else self._ragged()

    def _ragged(self) -> InputError:
        """Read once more, slowly, to say in which row it went wrong."""
        found: list[Any] = []

        def note(row: Any) -> str:
            found.append(row)
            return "error"

        try:
            with _opened(self._path) as stream:
                for _ in self._read(pcsv.open_csv, stream, self.names[:1], note):
                    continue
        except (pa.ArrowException, OSError, KeyError):
            if found:
                row = found[0]
                cells = f"data row {row.number - 1:,} has {counted(row.actual_columns, 'cell')}"
                return not_csv(self._path.name, f": {cells}, the header {row.expected_columns}")
        return not_csv(self._path.name)


def _quotes(path: Path) -> int:
    """How many quotes a file holds, read no further than a packed one may go."""
    allowed, read, quotes = _allowed(path), 0, 0
    with _opened(path) as stream:
        while block := stream.read(BLOCK_BYTES):
            read += len(block)
            quotes += block.count(b'"')
            if allowed is not None and read > allowed:
                raise _too_much(path.name, allowed)
            if b"\0" in block:
                raise zero_bytes(path.name)
    return quotes


def _texts(columns: Sequence[str]) -> pa.Schema:
    return pa.schema([pa.field(column, pa.string()) for column in columns])


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def _allowed(path: Path) -> int | None:
    """Bytes that may be read, if the file is packed; at its end it says how many there are."""
    if not _is_packed(path):
        return None
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(-min(size, 4), io.SEEK_END)
        told = int.from_bytes(file.read(4), "little")
    allowed = limits().allowance(size)
    if told > allowed:
        raise _too_much(path.name, allowed)
    return allowed


def _too_much(name: str, allowed: int) -> InputError:
    return too_large(name, f"unpacks to more than the {allowed:,} bytes that are allowed", "unpacked")


def _opened(path: Path) -> Any:
    return pa.input_stream(str(path), compression="gzip" if _is_packed(path) else None)


def _first_bytes(path: Path) -> bytes:
    with _opened(path) as stream:
        first: bytes = stream.read(HEAD_BYTES)
    return first


def _head(path: Path) -> tuple[str, bool]:
    """The beginning of the file as text, bytes that are not UTF-8 as surrogates; whether there is more."""
    head = instead_of((pa.ArrowException, OSError), lambda _: not_csv(path.name), lambda: _first_bytes(path))
    if b"\0" in head:
        raise zero_bytes(path.name)
    return str(head, "utf-8", "surrogateescape").removeprefix("\ufeff"), len(head) == HEAD_BYTES
