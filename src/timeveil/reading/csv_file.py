"""CSV files, read once and in blocks.

Every cell is text exactly as written, so that the zip code 01234 keeps its zero; an empty cell without quotes
is null. The text is UTF-8, with or without a byte order mark. The delimiter is a comma, or a semicolon or tab
where a comma would give a single column; in `.tsv` files it is a tab.

The bytes go straight into pyarrow, which can hang or abort when it reads from a Python object that fails.
What pyarrow accepts but we do not (zero bytes, a quote that never closes) is noticed in the cells it returns.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv

from timeveil.domain.wording import counted
from timeveil.errors import ErrorCode, InputError, raising, raising_each
from timeveil.reading.columns import text_bytes
from timeveil.reading.files import UNLIMITED, limits, read_error, refuse_columns, too_large

HEADER_BYTES = 1 << 21
BLOCK_BYTES = 1 << 21  # no row is longer; some tens of blocks are in memory at a time
_FAILURES = (pa.ArrowInvalid, pa.ArrowMemoryError, KeyError, OSError)
_LAST_BREAK = ord("\r")
_SAVE_AS_UTF8 = "save it as CSV in UTF-8, or as Parquet"
_FAULTS = {
    "delimiter": ("`{name}` uses `|` as its delimiter", "use commas, semicolons or tabs, or Parquet"),
    "empty": ("`{name}` is empty", "name the columns in the first line"),
    "malformed": (
        "`{name}` is not a readable CSV file{detail}",
        "check that quotes close and that every row has as many cells as the header",
    ),
    "long header": (
        "the header of `{name}`, or a name in it, is longer than {most:,} bytes",
        "check that the first line names the columns, ends, and closes its quotes",
    ),
    "long row": (
        "`{name}` has a row of more than {most:,} bytes",
        "check that lines end and quotes close; longer texts are read from Parquet",
    ),
    "not UTF-8": ("`{name}` is not UTF-8 text", _SAVE_AS_UTF8),
    "zero bytes": ("`{name}` contains zero bytes: it is UTF-16, not text, or damaged", _SAVE_AS_UTF8),
}
_CODES: dict[str, ErrorCode] = {
    **dict.fromkeys(("long header", "long row"), "too-large"),
    **dict.fromkeys(("not UTF-8", "zero bytes"), "bad-encoding"),
}


class CsvFile:
    """A CSV file, plain or gzip."""

    def __init__(self, path: Path) -> None:
        self.name: str | None = path.name
        self._path, self.names = path, tuple[str, ...]()
        self._compression = "gzip" if path.name.lower().endswith(".gz") else None
        self._delimiter = "\t" if ".tsv" in path.name.lower() else ","
        with raising(self._refusal, on=_FAILURES), self._open() as stream:
            head = stream.read(HEADER_BYTES)
        if b"\0" in head:
            raise self._fault("zero bytes")
        self.names, self._is_empty = self._header(head)
        for delimiter in ";\t":
            if len(self.names) == 1 and delimiter in self.names[0]:
                self._delimiter = delimiter
                self.names, self._is_empty = self._header(head)
        if len(self.names) == 1 and "|" in self.names[0]:
            raise self._fault("delimiter")

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        return raising_each(self._batches(columns), self._refusal, on=_FAILURES)

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        yield pa.schema([(column, pa.string()) for column in columns]).empty_table()
        if self._is_empty:
            return
        allowed = limits().allowance(self._path.stat().st_size) if self._compression else UNLIMITED
        left, has_line_breaks = allowed, False
        with self._open() as stream:
            for batch in self._reader(stream, columns):
                left -= batch.nbytes
                if left < 0:
                    claim = f"unpacks to more than the {allowed:,} bytes allowed"
                    raise too_large(self._path.name, claim, "unpacked")
                has_line_breaks |= self._check_bytes(batch)
                yield pa.Table.from_batches([batch]).select(list(columns))
        # A quote that never closes hides all later rows in one cell.
        if has_line_breaks and self._has_odd_quotes() and (misfit := self._misfit()):
            raise self._fault("malformed", misfit)

    def _header(self, head: bytes) -> tuple[tuple[str, ...], bool]:
        """The names in the first line, and whether nothing follows it."""
        text = str(head, "utf-8", "surrogateescape").removeprefix("\ufeff")
        # Line breaks stay as written: a name in quotes may contain one.
        lines = io.StringIO(text, newline="")
        reader = csv.reader(lines, delimiter=self._delimiter)
        is_long = self._fault("long header", most=csv.field_size_limit())
        with raising(is_long, on=csv.Error):  # without `strict`, the only one
            names = next((row for row in reader if row), None)
        if names is None:
            raise self._fault("empty")
        refuse_columns(self._path.name, len(names))
        remainder = lines.read()
        # The header used all that was read, so it may go on.
        if len(head) == HEADER_BYTES and not remainder:
            raise self._fault("long header", most=HEADER_BYTES)
        if any("\udc80" <= letter <= "\udcff" for name in names for letter in name):
            raise self._fault("not UTF-8")
        return tuple(names), not remainder.strip("\r\n")

    def _open(self) -> Any:
        return pa.input_stream(str(self._path), compression=self._compression)

    def _reader(self, stream: Any, columns: Sequence[str]) -> Any:
        # The last column is always read, as bytes: a quote that never closes hides all later rows in it.
        types = {self.names[-1]: pa.binary()} | dict.fromkeys(columns, pa.string())
        return pcsv.open_csv(
            stream,
            pcsv.ReadOptions(block_size=BLOCK_BYTES),
            pcsv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            cells_as_text(types, include_columns=list(types)),
        )

    def _check_bytes(self, batch: pa.RecordBatch) -> bool:
        """Refuse zero bytes; return whether a cell has a line break in it."""
        has_line_breaks = False
        for column in batch.columns:
            letters, _ = text_bytes(column)
            # One pass decides nearly always: zero bytes and line breaks are below all printable characters.
            lowest = letters.min(initial=255)
            if lowest == 0:
                raise self._fault("zero bytes")
            if lowest <= _LAST_BREAK:
                has_line_breaks |= bool(((letters == ord("\n")) | (letters == _LAST_BREAK)).any())
        return has_line_breaks

    def _has_odd_quotes(self) -> bool:
        """Whether quotes do not pair up; a quoted cell has an even number of them, doubled ones included."""
        with self._open() as stream:
            blocks = iter(lambda: stream.read(BLOCK_BYTES), b"")
            return bool(sum(block.count(b'"') for block in blocks) % 2)

    def _misfit(self) -> str:
        """Which row has an open quote or another number of cells than the header; found by reading again."""
        number = -1  # of the header, before data row 0
        with self._open() as stream, io.TextIOWrapper(stream, "utf-8", "replace", newline="") as text:
            try:
                for row in csv.reader(text, delimiter=self._delimiter, strict=True):
                    number += bool(row)
                    if row and len(row) != len(self.names):
                        cells = f"data row {number:,} has {counted(len(row), 'cell')}"
                        return f": {cells}, the header {len(self.names)}"
            except csv.Error:
                return f": data row {number + 1:,}: a quote does not close"
        return ""

    def _refusal(self, cause: Exception) -> Exception:
        if isinstance(cause, MemoryError):
            return MemoryError()
        # Without the system's number it is what pyarrow says of a damaged gzip file.
        if isinstance(cause, OSError) and cause.errno is not None:
            return read_error(self._path.name, cause)
        if "straddling" in str(cause):
            return self._fault("long row", most=BLOCK_BYTES)
        if "UTF8" in str(cause):
            return self._fault("not UTF-8")
        misfit = ""
        with suppress(pa.ArrowException, OSError):
            misfit = self._misfit() if self.names else ""
        return self._fault("malformed", misfit)

    def _fault(self, fault: str, detail: str = "", most: int = 0) -> InputError:
        message, hint = _FAULTS[fault]
        message = message.format(name=self.name, detail=detail, most=most)
        return InputError(message, hint=hint, code=_CODES.get(fault, "file-unreadable"))


def cells_as_text(types: dict[str, pa.DataType], **options: Any) -> pcsv.ConvertOptions:
    """Options by which a cell is what is written, and an empty one without quotes is null."""
    return pcsv.ConvertOptions(
        column_types=types,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        **options,
    )
