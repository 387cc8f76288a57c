"""A relation that never is in memory as a whole: batches go from the source to a private Parquet file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from timeveil.domain.relation import TimeAxis
from timeveil.domain.stored import BATCH_ROWS, PrivateFolder, Stored, private_file
from timeveil.errors import EngineError, instead_of
from timeveil.reading.desk import Desk
from timeveil.reading.sources import Source


def stored_table(source: Source, desk: Desk, columns: tuple[str, ...]) -> tuple[Stored, TimeAxis | None]:
    """Take every batch of the source over the desk into a file.

    Text in the time column leaves its type open until the last row, so such a table is written once as
    it comes and once more with the time as it turned out.
    """
    return instead_of(OSError, _no_room, lambda: _stored(source, desk, columns))


def _stored(source: Source, desk: Desk, columns: tuple[str, ...]) -> tuple[Stored, TimeAxis | None]:
    folder = PrivateFolder()
    draft = folder.path / "draft.parquet"
    final = folder.path / "rows.parquet"
    try:
        with Sink(draft) as sink:
            for rows in source.batches(columns):
                pushed = desk.push(rows)
                sink.write(desk.complete(pushed, desk.settled))
        axis = desk.close()
        desk.refuse_spellings(_batches(draft))
        if desk.settled is not None or axis is None:
            draft.rename(final)
        else:
            _rewrite(draft, final, desk, axis)
    except BaseException:
        folder.close()
        raise
    return Stored(final, folder), axis


def _no_room(cause: Exception) -> EngineError:
    """The private file needs room on the disk for temporary files."""
    if getattr(cause, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return EngineError(
            "the disk for temporary files is full",
            hint="make room there, or set TMPDIR to a folder on a larger disk",
            code="disk-full",
        )
    return EngineError(
        "the folder for temporary files cannot be written",
        hint="set TMPDIR to a folder of your own",
        code="no-permission",
    )


class Sink:
    """A Parquet file that takes its schema, dictionaries decoded, from the first rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None
        self._file: BinaryIO | None = None
        self._schema: pa.Schema | None = None

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.close()

    def write(self, rows: pa.Table) -> None:
        """The next rows."""
        if self._writer is None:
            self._schema = pa.schema([pa.field(f.name, _decoded(f.type)) for f in rows.schema])
            self._file = private_file(self._path)
            self._writer = pq.ParquetWriter(self._file, self._schema, compression="lz4")
        if rows.num_rows:
            self._writer.write_table(rows.cast(self._schema))


def _decoded(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _batches(file: Path) -> Iterator[pa.Table]:
    with pq.ParquetFile(file, pre_buffer=False) as rows:
        for batch in rows.iter_batches(batch_size=BATCH_ROWS):
            yield pa.Table.from_batches([batch])


def _rewrite(draft: Path, final: Path, desk: Desk, axis: TimeAxis) -> None:
    with Sink(final) as sink, pq.ParquetFile(draft, pre_buffer=False) as file:
        sink.write(desk.complete(file.schema_arrow.empty_table(), axis))
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            sink.write(desk.complete(pa.Table.from_batches([batch]), axis))
    draft.unlink()
