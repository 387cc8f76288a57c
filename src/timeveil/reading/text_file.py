"""Files of text, read once and in blocks: CSV, and JSON lines, an object a line, its keys the columns.

Every cell is text exactly as written, so that the zip code 01234 keeps its zero. A file in another encoding
is first copied, in UTF-8, to a private temporary file: pyarrow can hang or abort when it reads from a Python
object that fails. A byte order mark tells UTF-16; other encodings have none.

In CSV the delimiter is the one that cuts the header into most names and the first row into as many cells.
Text that is not UTF-8 is read as Windows-1252, which includes Latin-1, unless other cells are UTF-8. What
pyarrow accepts but we do not (zero bytes, a quote that never closes) is noticed in the cells it returns.

In JSON lines a list of plain values is a list of texts. The first lines name the columns, and say which hold
lists.
"""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.csv as pcsv

from timeveil.domain.stored import PrivateFolder, private_file
from timeveil.domain.wording import counted
from timeveil.errors import ErrorCode, InputError, ParameterError, raising, raising_each
from timeveil.reading import files
from timeveil.reading.columns import text_bytes

BLOCK_BYTES = 1 << 21  # no row is longer; some tens of blocks are in memory at a time
HEADER_BYTES = 1 << 21
PACKED = {".gz": "gzip", ".zst": "zstd"}
FAILURES = (pa.ArrowException, KeyError, OSError)
WESTERN = "cp1252"
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_LAST_BREAK, _LAST_ASCII = ord("\r"), 127
_HEAD_ROWS = 1000
_ROWS, _BYTES = 65_536, 1 << 24  # what is made into one table at a time, at most
_LITERALS = {True: "true", False: "false"}
_PREAMBLE = re.compile("\\A\ufeff?(?:sep=([^\r\n])\r*(?:\n|\\Z))?")
_FAULTS: dict[str, tuple[ErrorCode, str, str]] = {
    "empty": ("file-unreadable", "`{name}` is empty", "name the columns in the first line"),
    "damaged": (
        "file-unreadable",
        "`{name}` is damaged or incomplete and cannot be unpacked",
        "copy it again, or pack it again",
    ),
    "malformed": (
        "file-unreadable",
        "`{name}` is not a readable {kind} file{detail}",
        "check that quotes close and that every row has as many cells as the header",
    ),
    "long header": (
        "too-large",
        "the header of `{name}`, or a name in it, is longer than {most:,} bytes",
        "check that the first line names the columns, ends, and closes its quotes",
    ),
    "long row": (
        "too-large",
        "`{name}` has a row of more than {most:,} bytes",
        "check that lines end and quotes close; longer texts are read from Parquet",
    ),
    "not text": (
        "bad-encoding",
        "`{name}` is not text in {detail}",
        'say which with {encoding="cp1252"}, or save it as UTF-8',
    ),
    "zero bytes": (
        "bad-encoding",
        "`{name}` contains zero bytes: it is UTF-16 without a mark, not text, or damaged",
        'set {encoding="utf-16-le"} if it is UTF-16, or save it as UTF-8',
    ),
}


class TextFile(files.Source):
    """A text file, plain or packed; `kind` is what it should be, in messages."""

    kind: ClassVar[str]
    name: str

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self._path, self.name = path, path.name
        self._compression = PACKED.get(path.suffix.lower())
        most = files.limits().allowance(path.stat().st_size)
        self._allowed = most if self._compression else files.UNLIMITED
        self.copy: PrivateFolder | None = None
        """The file in UTF-8, where it is in another encoding."""
        with raising(self.refusal, on=FAILURES), self.open() as stream:
            mark = stream.read(2)
        self.encoding = _MARKS.get(mark, "utf-8")
        """Of the file; what `open` gives is UTF-8."""
        hint = 'write {encoding="cp1252"}, or utf-8, utf-16, latin-1'
        error = ParameterError("`encoding` is not an encoding of text", hint=hint)
        with raising(error, on=(LookupError, ValueError)):
            "".encode(encoding or "utf-8")  # a codec that is not for text is a LookupError
            self.encoding = codecs.lookup(encoding).name if encoding is not None else self.encoding
        if self.encoding not in ("utf-8", "utf-8-sig"):
            self.copy = self._in_utf8()

    def open(self) -> Any:
        """Its bytes from the beginning."""
        if self.copy is not None:
            return pa.input_stream(str(self.copy.path / "text"), compression=None)
        return pa.input_stream(str(self._path), compression=self._compression)

    def blocks(self) -> Iterator[bytes]:
        with self.open() as stream:
            yield from iter(lambda: stream.read(BLOCK_BYTES), b"")

    def refuse_more(self, count: int) -> None:
        """Refuse a packed file that has unpacked to so many bytes, if that is too much."""
        if count > self._allowed:
            claim = f"unpacks to more than the {self._allowed:,} bytes allowed"
            raise files.too_large(self.name, claim, "unpacked")

    def refusal(self, cause: Exception) -> Exception:
        """What is said of a file that was not read to its end."""
        if isinstance(cause, MemoryError):
            return MemoryError()
        # Without the system's number it is what pyarrow says of a damaged packed file.
        if isinstance(cause, OSError):
            return self.fault("damaged") if cause.errno is None else files.read_error(self.name, cause)
        if "straddling" in str(cause):
            return self.fault("long row", most=BLOCK_BYTES)
        return self.fault("malformed")

    def fault(self, fault: str, detail: str = "", most: int = 0) -> InputError:
        """The error about the content of the file; `most` is a limit that it exceeds."""
        code, message, hint = _FAULTS[fault]
        message = message.format(name=self.name, kind=self.kind, detail=detail, most=most)
        return InputError(message, hint=hint, code=code)

    def _in_utf8(self) -> PrivateFolder:
        decoder, count = codecs.getincrementaldecoder(self.encoding)(), 0
        blocks = raising_each(self.blocks(), self.refusal, on=FAILURES)
        with raising(files.temporary_file_error, on=OSError):
            folder = PrivateFolder()
            with private_file(folder.path / "text") as copy:
                for block in chain(blocks, [b""]):
                    self.refuse_more(count := count + len(block))
                    with raising(self.fault("not text", self.encoding), on=UnicodeError):
                        copy.write(decoder.decode(block, final=not block).encode())
        return folder


class CsvFile(TextFile):
    """A CSV file."""

    kind = "CSV"

    def __init__(self, path: Path, delimiter: str | None = None, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        self._may_be_western = encoding is None and self.copy is None
        self._is_utf8 = self._is_western = False
        with raising(self.refusal, on=FAILURES), self.open() as stream:
            head = stream.read(HEADER_BYTES)
        if b"\0" in head:
            raise self.fault("zero bytes")
        text = str(head, "utf-8", "surrogateescape")
        _, stated, rows = _PREAMBLE.split(text, 1)
        usual = ["\t"] if ".tsv" in path.name.lower() else list(DELIMITERS.values())
        marks = [DELIMITERS[delimiter]] if delimiter else [stated] if stated else usual
        self.delimiter = max(marks, key=lambda mark: _columns(rows, mark))
        self.decimal_commas = None if self.delimiter == "," else self.delimiter == ";"
        names, length = self._header(rows, is_complete=len(head) < HEADER_BYTES)
        begin = len(text) - len(rows) + length
        self._begin = len(text[:begin].encode("utf-8", "surrogateescape"))
        self._is_empty = not text[begin:].strip("\r\n")
        self.names = tuple(self._decoded(name.encode("utf-8", "surrogateescape")) for name in names)

    @property
    def decided(self) -> dict[str, str]:  # type: ignore[override] # the rows decide
        encoding = "Windows-1252" if self._is_western else self.encoding.upper()
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
        with self.open() as stream:
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
                self.refuse_more(count := count + batch.nbytes)
                has_line_breaks |= self._check_bytes(batch)
                yield pa.table([self._text(batch.column(name)) for name in positions], schema)
        # A quote that never closes hides all later rows in one cell; those of a cell that closes are even.
        odd_quotes = has_line_breaks and sum(block.count(b'"') for block in self.blocks()) % 2
        if odd_quotes and (misfit := self._misfit()):
            raise self.fault("malformed", misfit)

    def _header(self, text: str, *, is_complete: bool) -> tuple[list[str], int]:
        """The names in the first line, and how many letters it has."""
        # Line breaks stay as written: a name in quotes may contain one.
        lines = io.StringIO(text, newline="")
        is_long = self.fault("long header", most=csv.field_size_limit())
        with raising(is_long, on=csv.Error):  # without `strict`, the only one
            names = next((row for row in csv.reader(lines, delimiter=self.delimiter) if row), None)
        if names is None:
            raise self.fault("empty")
        files.refuse_columns(self.name, len(names))
        # The header used all that was read, so it may go on.
        if lines.tell() == len(text) and not is_complete:
            raise self.fault("long header", most=HEADER_BYTES)
        return names, lines.tell()

    def _check_bytes(self, batch: pa.RecordBatch) -> bool:
        """Refuse zero bytes; return whether a cell has a line break in it."""
        has_line_breaks = False
        for column in batch.columns:
            letters, _ = text_bytes(column)
            # One pass decides nearly always: zero bytes and line breaks are below all printable characters.
            lowest = letters.min(initial=255)
            if lowest == 0:
                raise self.fault("zero bytes")
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
        with raising(self.fault("not text", "UTF-8 or Windows-1252"), on=UnicodeDecodeError):
            return cell.decode(WESTERN)

    def _refuse_both(self) -> None:
        """Refuse a file in which some text is UTF-8 and some is not, or that was said to be."""
        if self._is_western and (self._is_utf8 or not self._may_be_western):
            raise self.fault("not text", "UTF-8")

    def _misfit(self) -> str:
        """Which row has an open quote or another number of cells than the header; found by reading again."""
        number = 0
        with self.open() as stream:
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
        error = self.refusal(cause)
        if isinstance(cause, OSError) or getattr(error, "code", "") != "file-unreadable":
            return error
        with suppress(OSError):
            error = self.fault("malformed", self._misfit())
        return error


class JsonLines(TextFile):
    """A file of JSON lines."""

    kind = "JSON lines"

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        kinds: dict[str, set[bool]] = {}
        for number, row in self._rows():
            for key, value in row.items():
                kinds.setdefault(key, set()).add(isinstance(value, list))
            files.refuse_columns(self.name, len(kinds))
            if number == _HEAD_ROWS:
                break
        if not kinds:
            raise self.fault("empty")
        self.names = tuple(kinds)
        self._lists = {name for name, lists in kinds.items() if True in lists}

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        kinds = {name: pa.list_(pa.string()) if name in self._lists else pa.string() for name in columns}
        schema = pa.schema(list(kinds.items()))
        yield schema.empty_table()
        names, rows, size = set(self.names), list[dict[str, Any]](), 0
        for number, row in self._rows():
            if not row.keys() <= names:
                detail = f": data row {number:,} has a key that the first {_HEAD_ROWS:,} rows do not have"
                raise self.fault("malformed", detail)
            rows.append({name: self._cell(name, row.get(name), number) for name in columns})
            size += sum(map(len, filter(None, rows[-1].values())))
            if len(rows) == _ROWS or size > _BYTES:
                yield self._table(rows, schema)
                rows, size = [], 0
        yield self._table(rows, schema)

    def _table(self, rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
        with raising(self.fault("not text", "UTF-8"), on=UnicodeError):
            return pa.Table.from_pylist(rows, schema)

    def _cell(self, name: str, value: Any, number: int) -> Any:
        if value is None:
            return None
        if (name in self._lists) == isinstance(value, list) and not isinstance(value, dict):
            items = value if isinstance(value, list) else [value]
            texts = [_LITERALS[item] if isinstance(item, bool) else item for item in items]
            if all(item is None or isinstance(item, str) for item in texts):
                return texts if name in self._lists else texts[0]
        message = f"column `{name}` of `{self.name}` holds objects, or both lists and other values"
        hint = "write one plain value, or one list of them, for each key"
        raise InputError(f"{message}, the first in data row {number:,}", hint=hint)

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects, numbered from 1; numbers are the text they are written as."""
        decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
        lines = raising_each(self._lines(), self.refusal, on=FAILURES)
        for number, line in enumerate(lines, start=1):
            broken = self.fault("malformed", f": line {number:,} is not a JSON object")
            with raising(broken, on=(ValueError, RecursionError)):
                row = decoder.decode(line.decode())
                if isinstance(row, dict):
                    yield number, row
                    continue
            raise broken

    def _lines(self) -> Iterator[bytes]:
        count = 0
        with self.open() as stream, io.BufferedReader(stream) as lines:
            while line := lines.readline(BLOCK_BYTES + 1):
                if len(line) > BLOCK_BYTES:
                    raise self.fault("long row", most=BLOCK_BYTES)
                self.refuse_more(count := count + len(line))
                if stripped := line.removeprefix(b"\xef\xbb\xbf").strip():
                    yield stripped


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
