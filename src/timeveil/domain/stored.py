"""A table in a private file instead of in memory."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from timeveil.domain.leftovers import LOCK, hold, sweep

BATCH_ROWS = 131_072
_PREFIX = "timeveil-"


class PrivateFolder:
    """A temporary folder that only its owner may enter, removed with the last reference to it.

    Folders that a killed process left behind are removed when the next one is made.
    """

    def __init__(self) -> None:
        sweep(Path(tempfile.gettempdir()), _PREFIX)
        lock = None
        while lock is None:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            lock = hold(self.path / LOCK)
        self._remove = weakref.finalize(self, _release, self.path, lock, os.getpid())

    def close(self) -> None:
        """Remove it now."""
        self._remove()


def _release(path: Path, lock: int, owner: int) -> None:
    """Remove the folder, unless this is a forked process, which only has a copy of the reference."""
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


def private_file(path: Path) -> BinaryIO:
    """A new file that only its owner may read, whatever the umask is."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


class Stored:
    """A Parquet file read in batches. Keeps its private folder, if any, alive."""

    def __init__(self, path: Path, folder: PrivateFolder | None = None) -> None:
        self.path = path
        self._folder = folder
        with pq.ParquetFile(path, pre_buffer=False) as file:
            self.schema: pa.Schema = file.schema_arrow
            self.num_rows: int = file.metadata.num_rows

    def __repr__(self) -> str:
        return f"<Stored {self.num_rows} rows, {len(self.schema.names)} columns>"

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, a batch at a time."""
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=columns)

    def read(self, columns: list[str] | None = None) -> pa.Table:
        """All of it, in memory."""
        return pq.read_table(self.path, columns=columns)
