"""CSV files, read once and in blocks.

Every cell is text exactly as written, so that the zip code 01234 keeps its zero; an empty cell without quotes
is null. The delimiter is the one of comma, semicolon, tab and bar that cuts the header into most names and
the first row into as many cells; in `.tsv` files it is a tab. Text that is not UTF-8 is read as Windows-1252,
which includes Latin-1, unless other cells are UTF-8.

What pyarrow accepts but we do not (zero bytes, a quote that never closes) is noticed in the cells it returns.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv

from timeveil.domain.wording import counted
from timeveil.errors import raising, raising_each
from timeveil.reading.columns import text_bytes
from timeveil.reading.files import Source, refuse_columns
from timeveil.reading.text_file import BLOCK_BYTES, FAILURES, WESTERN, TextFile

HEADER_BYTES = 1 << 21
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_LAST_BREAK, _LAST_ASCII = ord("\r"), 127
_MARK = "\ufeff"


class CsvFile(Source):
    """A CSV file."""

    def __init__(self, path: Path, delimiter: str | None = None, encoding: str | None = None) -> None:
        self.name = path.name
        self._file = TextFile(path, "CSV", encoding)
        self._may_be_western = encoding is None and self._file.copy is None
        self._is_utf8 = self._is_western = False
        with raising(self._file.refusal, on=FAILURES), self._file.open() as stream:
            head = stream.read(HEADER_BYTES)
        if b"\0" in head:
            raise self._file.fault("zero bytes")
        text = str(head, "utf-8", "surrogateescape")
        first, _, _ = text.removeprefix(_MARK).partition("\n")
        stated = first.rstrip("\r").removeprefix("sep=") if first.startswith("sep=") else ""
        start = len(text) - len(text.removeprefix(_MARK)) + (len(first) + 1 if len(stated) == 1 else 0)
        usual = ["\t"] if ".tsv" in path.name.lower() else list(DELIMITERS.values())
        marks = [DELIMITERS[delimiter]] if delimiter else [stated] if len(stated) == 1 else usual
        self.delimiter = max(marks, key=lambda mark: _columns(text[start:], mark))
        self.decimal_commas = None if self.delimiter == "," else self.delimiter == ";"
        names, length = self._header(text[start:], is_complete=len(head) < HEADER_BYTES)
        self._begin = len(text[: start + length].encode("utf-8", "surrogateescape"))
        self._is_empty = not text[start + length :].strip("\r\n")
        self.names = tuple(self._decoded(name.encode("utf-8", "surrogateescape")) for name in names)

    @property
    def decided(self) -> dict[str, str]:  # type: ignore[override] # the rows decide
        encoding = "Windows-1252" if self._is_western else self._file.encoding.upper()
        return {"encoding": encoding} if encoding not in ("UTF-8", "UTF-8-SIG") else {}

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        return raising_each(self._batches(columns), self._refusal, on=FAILURES)

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        schema = pa.schema([(column, pa.string()) for column in columns])
        yield schema.empty_table()
        if self._is_empty:
            return
        names = [str(position) for position in range(len(self.names))]
        positions = [names[self.names.index(column)] for column in columns]
        count, has_line_breaks = 0, False
        with self._file.open() as stream:
            stream.read(self._begin)
            # The last column is always read: a quote that never closes hides all later rows in it.
            types = dict.fromkeys((*positions, names[-1]), pa.binary())
            reader = pcsv.open_csv(
                stream,
                pcsv.ReadOptions(block_size=BLOCK_BYTES, column_names=names),
                pcsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                cells_as_text(types, include_columns=list(types)),
            )
            for batch in reader:
                self._file.refuse_more(count := count + batch.nbytes)
                has_line_breaks |= self._check_bytes(batch)
                yield pa.table([self._text(batch.column(name)) for name in positions], schema)
        # A quote that never closes hides all later rows in one cell; those of a cell that closes are even.
        odd_quotes = has_line_breaks and sum(block.count(b'"') for block in self._file.blocks()) % 2
        if odd_quotes and (misfit := self._misfit()):
            raise self._file.fault("malformed", misfit)

    def _header(self, text: str, *, is_complete: bool) -> tuple[list[str], int]:
        """The names in the first line, and how many letters it has."""
        # Line breaks stay as written: a name in quotes may contain one.
        lines = io.StringIO(text, newline="")
        is_long = self._file.fault("long header", most=csv.field_size_limit())
        with raising(is_long, on=csv.Error):  # without `strict`, the only one
            names = next((row for row in csv.reader(lines, delimiter=self.delimiter) if row), None)
        if names is None:
            raise self._file.fault("empty")
        refuse_columns(self._file.name, len(names))
        # The header used all that was read, so it may go on.
        if lines.tell() == len(text) and not is_complete:
            raise self._file.fault("long header", most=HEADER_BYTES)
        return names, lines.tell()

    def _check_bytes(self, batch: pa.RecordBatch) -> bool:
        """Refuse zero bytes; return whether a cell has a line break in it."""
        has_line_breaks = False
        for column in batch.columns:
            letters, _ = text_bytes(column)
            # One pass decides nearly always: zero bytes and line breaks are below all printable characters.
            lowest = letters.min(initial=255)
            if lowest == 0:
                raise self._file.fault("zero bytes")
            if lowest <= _LAST_BREAK:
                has_line_breaks |= bool(((letters == ord("\n")) | (letters == _LAST_BREAK)).any())
        return has_line_breaks

    def _text(self, cells: pa.Array) -> pa.Array:
        """Cells as text; of another encoding, each different cell is decoded once."""
        with suppress(pa.ArrowInvalid):
            text = cells.cast(pa.string())
            self._is_utf8 |= bool(text_bytes(cells)[0].max(initial=0) > _LAST_ASCII)
            self._refuse_both()
            return text
        coded = cells.dictionary_encode()
        return pa.array(map(self._decoded, coded.dictionary.to_pylist()), pa.string()).take(coded.indices)

    def _decoded(self, cell: bytes) -> str:
        with suppress(UnicodeDecodeError):
            text = cell.decode()
            self._is_utf8 |= not text.isascii()
            self._refuse_both()
            return text
        self._is_western = True
        self._refuse_both()
        with raising(self._file.fault("not text", "UTF-8 or Windows-1252"), on=UnicodeDecodeError):
            return cell.decode(WESTERN)

    def _refuse_both(self) -> None:
        """Refuse a file in which some text is UTF-8 and some is not, or that was said to be."""
        if self._is_western and (self._is_utf8 or not self._may_be_western):
            raise self._file.fault("not text", "UTF-8")

    def _misfit(self) -> str:
        """Which row has an open quote or another number of cells than the header; found by reading again."""
        number = 0
        with self._file.open() as stream:
            stream.read(self._begin)
            with io.TextIOWrapper(stream, "utf-8", "replace", newline="") as text:
                try:
                    for row in csv.reader(text, delimiter=self.delimiter, strict=True):
                        number += bool(row)
                        if row and len(row) != len(self.names):
                            cells = f"data row {number:,} has {counted(len(row), 'cell')}"
                            return f": {cells}, the header {len(self.names)}"
                except csv.Error:
                    return f": data row {number + 1:,}: a quote does not close"
        return ""

    def _refusal(self, cause: Exception) -> Exception:
        error = self._file.refusal(cause)
        if isinstance(cause, OSError) or getattr(error, "code", "") != "file-unreadable":
            return error
        with suppress(OSError):
            error = self._file.fault("malformed", self._misfit())
        return error


def _columns(text: str, delimiter: str) -> tuple[bool, int]:
    """Whether the first row has as many cells as the header, more than one, and how many those are."""
    with suppress(csv.Error):
        rows = (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)
        header = next(rows, [])
        return len(next(rows, header)) == len(header) > 1, len(header)
    return False, 1


def cells_as_text(types: dict[str, pa.DataType], **options: Any) -> pcsv.ConvertOptions:
    """Options by which a cell is what is written, and an empty one without quotes is null."""
    return pcsv.ConvertOptions(
        column_types=types,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        **options,
    )
