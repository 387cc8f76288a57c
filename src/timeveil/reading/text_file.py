"""The bytes of a text file, unpacked and in UTF-8; and JSON lines, an object a line, its keys the columns.

A file in another encoding is first copied, in UTF-8, to a private temporary file: pyarrow can hang or abort
when it reads from a Python object that fails. A byte order mark tells UTF-16; other encodings have none.

As in CSV, every cell of JSON lines is text, numbers exactly as written; null and a missing key are null. A
list of plain values is a list of texts, such as the items of a transaction. The first lines name the columns,
and say which hold lists.
"""

import codecs
import io
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.stored import PrivateFolder, private_file
from timeveil.errors import ErrorCode, InputError, ParameterError, raising, raising_each
from timeveil.reading import files

BLOCK_BYTES = 1 << 21  # no row is longer; some tens of blocks are in memory at a time
PACKED = {".gz": "gzip", ".zst": "zstd"}
FAILURES = (pa.ArrowException, KeyError, OSError)
WESTERN = "cp1252"
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_CODES: dict[str, ErrorCode] = {
    **dict.fromkeys(("long header", "long row"), "too-large"),
    **dict.fromkeys(("not text", "zero bytes"), "bad-encoding"),
}
_FAULTS = {
    "empty": ("`{name}` is empty", "name the columns in the first line"),
    "damaged": (
        "`{name}` is damaged or incomplete and cannot be unpacked",
        "copy it again, or pack it again",
    ),
    "malformed": (
        "`{name}` is not a readable {kind} file{detail}",
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
    "not text": (
        "`{name}` is not text in {detail}",
        'say which with {encoding="cp1252"}, or save it as UTF-8',
    ),
    "zero bytes": (
        "`{name}` contains zero bytes: it is UTF-16 without a mark, not text, or damaged",
        'set {encoding="utf-16-le"} if it is UTF-16, or save it as UTF-8',
    ),
}


class TextFile:
    """A text file, plain or packed; `kind` is what it should be, in messages."""

    def __init__(self, path: Path, kind: str, encoding: str | None = None) -> None:
        self.path, self.kind = path, kind
        self.name = path.name
        self._compression = PACKED.get(path.suffix.lower())
        self.allowed = files.limits().allowance(path.stat().st_size) if self._compression else files.UNLIMITED
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
        return pa.input_stream(str(self.path), compression=self._compression)

    def blocks(self) -> Iterator[bytes]:
        with self.open() as stream:
            yield from iter(lambda: stream.read(BLOCK_BYTES), b"")

    def refuse_more(self, count: int) -> None:
        """Refuse a packed file that has unpacked to so many bytes, if that is too much."""
        if count > self.allowed:
            claim = f"unpacks to more than the {self.allowed:,} bytes allowed"
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
        message, hint = _FAULTS[fault]
        message = message.format(name=self.name, kind=self.kind, detail=detail, most=most)
        return InputError(message, hint=hint, code=_CODES.get(fault, "file-unreadable"))

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


_HEAD_ROWS = 1000
_ROWS, _BYTES = 65_536, 1 << 24  # what is made into one table at a time, at most
_LITERALS = {True: "true", False: "false"}


class JsonLines(files.Source):
    """A file of JSON lines."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.name = path.name
        self._file = TextFile(path, "JSON lines", encoding)
        kinds: dict[str, set[bool]] = {}
        for number, row in self._rows():
            for key, value in row.items():
                kinds.setdefault(key, set()).add(isinstance(value, list))
            files.refuse_columns(self._file.name, len(kinds))
            if number == _HEAD_ROWS:
                break
        if not kinds:
            raise self._file.fault("empty")
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
                raise self._file.fault("malformed", detail)
            rows.append({name: self._cell(name, row.get(name), number) for name in columns})
            size += sum(map(len, filter(None, rows[-1].values())))
            if len(rows) == _ROWS or size > _BYTES:
                yield self._table(rows, schema)
                rows, size = [], 0
        yield self._table(rows, schema)

    def _table(self, rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
        with raising(self._file.fault("not text", "UTF-8"), on=UnicodeError):
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
        number = 0
        for line in raising_each(self._lines(), self._file.refusal, on=FAILURES):
            number += 1
            broken = self._file.fault("malformed", f": line {number:,} is not a JSON object")
            with raising(broken, on=(ValueError, RecursionError)):
                row = decoder.decode(line.decode())
                if isinstance(row, dict):
                    yield number, row
                    continue
            raise broken

    def _lines(self) -> Iterator[bytes]:
        count = 0
        with self._file.open() as stream, io.BufferedReader(stream) as lines:
            while line := lines.readline(BLOCK_BYTES + 1):
                if len(line) > BLOCK_BYTES:
                    raise self._file.fault("long row", most=BLOCK_BYTES)
                self._file.refuse_more(count := count + len(line))
                if stripped := line.removeprefix(b"\xef\xbb\xbf").strip():
                    yield stripped
