"""Arrow IPC files and streams (`.arrow`, `.feather`), read no further than the limits allow.

A compressed buffer states what it unpacks to, before the mark with which its frame begins, and pyarrow makes
room for that before it unpacks any. So the numbers before all such marks are summed first. What pyarrow
returns is checked in full: offsets and codes in a file can point anywhere.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyarrow import ipc

from timeveil.errors import raising, raising_each
from timeveil.reading.files import limits, refuse_columns
from timeveil.reading.parquet_file import REPEATS, too_large_in_memory, unreadable, written_length

_FAILURES = (OSError, pa.ArrowException, ValueError, KeyError, TypeError, IndexError, EOFError, MemoryError)
_MAGIC = b"ARROW1"
# Of LZ4, of every version of zstd, and of the frames that zstd skips.
_FRAME = re.compile(rb"\x04\x22\x4d\x18|[\x1e\x22-\x28]\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")


class ArrowFile:
    """An Arrow file, or a stream in a file."""

    decided: ClassVar[dict[str, str]] = {}
    decimal_commas = None

    def __init__(self, path: Path) -> None:
        self.name: str | None = path.name
        self._path = path
        self._refusal = partial(unreadable, path.name, "an Arrow file")
        with raising(self._refusal, on=_FAILURES), pa.OSFile(str(path)) as file:
            self._is_indexed = file.read(len(_MAGIC)) == _MAGIC
            file.seek(0)
            self._schema = (ipc.open_file if self._is_indexed else ipc.open_stream)(file).schema
            self.names: tuple[str, ...] = tuple(self._schema.names)
        refuse_columns(path.name, len(self.names))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of some columns, in order, after a table without rows."""
        return raising_each(self._batches(columns), self._refusal, on=_FAILURES)

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        yield self._schema.empty_table().select(list(columns))
        left = allowed = limits().allowance(self._path.stat().st_size)
        if (claimed := self._claimed()) > allowed:
            raise too_large_in_memory(self._path, f"would take {claimed:,} bytes", allowed)
        with pa.OSFile(str(self._path)) as file:
            for batch in _indexed(ipc.open_file(file)) if self._is_indexed else ipc.open_stream(file):
                chosen = batch.select(list(columns))
                chosen.validate(full=True)
                left -= sum(written_length(column) for column in chosen.columns)
                if left < 0:
                    raise too_large_in_memory(self._path, REPEATS, allowed)
                yield pa.Table.from_batches([chosen])

    def _claimed(self) -> int:
        """What all compressed buffers unpack to."""
        with self._path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            starts = (match.start() for match in _FRAME.finditer(content))
            sizes = (int.from_bytes(content[max(at - 8, 0) : at], "little", signed=True) for at in starts)
            return sum(max(size, 0) for size in sizes)


def _indexed(file: ipc.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
    return map(file.get_batch, range(file.num_record_batches))
