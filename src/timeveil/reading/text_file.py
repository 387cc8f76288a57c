"""The bytes of a text file, unpacked and in UTF-8.

A file in another encoding is first copied, in UTF-8, to a private temporary file: pyarrow can hang or abort
when it reads from a Python object that fails. A byte order mark tells UTF-16; other encodings have none.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.stored import PrivateFolder, private_file
from timeveil.errors import ErrorCode, InputError, ParameterError, raising, raising_each
from timeveil.reading.files import UNLIMITED, limits, read_error, temporary_file_error, too_large

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
        self.allowed = limits().allowance(path.stat().st_size) if self._compression else UNLIMITED
        self._copy: PrivateFolder | None = None
        with raising(self.refusal, on=FAILURES), self.open() as stream:
            mark = stream.read(2)
        self.encoding = _known(encoding) or _MARKS.get(mark, "utf-8")
        """Of the file; what `open` gives is UTF-8."""
        if self.encoding not in ("utf-8", "utf-8-sig"):
            self._copy = self._in_utf8()

    @property
    def is_copied(self) -> bool:
        """Whether it is read in an encoding other than UTF-8."""
        return self._copy is not None

    def open(self) -> Any:
        """Its bytes from the beginning."""
        if self._copy is not None:
            return pa.input_stream(str(self._copy.path / "text"), compression=None)
        return pa.input_stream(str(self.path), compression=self._compression)

    def blocks(self) -> Iterator[bytes]:
        with self.open() as stream:
            yield from iter(lambda: stream.read(BLOCK_BYTES), b"")

    def refuse_more(self, count: int) -> None:
        """Refuse a packed file that has unpacked to so many bytes, if that is too much."""
        if count > self.allowed:
            claim = f"unpacks to more than the {self.allowed:,} bytes allowed"
            raise too_large(self.name, claim, "unpacked")

    def refusal(self, cause: Exception) -> Exception:
        """What is said of a file that was not read to its end."""
        if isinstance(cause, MemoryError):
            return MemoryError()
        # Without the system's number it is what pyarrow says of a damaged packed file.
        if isinstance(cause, OSError) and cause.errno is not None:
            return read_error(self.name, cause)
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
        with raising(temporary_file_error, on=OSError):
            folder = PrivateFolder()
            with private_file(folder.path / "text") as copy:
                for block in chain(blocks, [b""]):
                    self.refuse_more(count := count + len(block))
                    with raising(self.fault("not text", self.encoding), on=UnicodeError):
                        copy.write(decoder.decode(block, final=not block).encode())
        return folder


def _known(encoding: str | None) -> str | None:
    """The usual name of an encoding, or an error if it is none for text."""
    if encoding is None:
        return None
    hint = 'write {encoding="cp1252"}, or utf-8, utf-16, latin-1'
    error = ParameterError("`encoding` is not an encoding of text", hint=hint)
    with raising(error, on=(LookupError, ValueError)):
        "".encode(encoding)  # a codec that is not for text is a LookupError
        return codecs.lookup(encoding).name
