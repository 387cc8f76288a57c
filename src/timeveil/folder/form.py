"""Is a table file written the way timeveil writes one, with its rows and nothing beside them?

A hash tells that a file is the one that `release.json` names, not that it says no more than its rows. The
same number can be written in many ways, and a Parquet file has room for much that no row shows.
"""

from __future__ import annotations

import hashlib
import io
import re

import pyarrow as pa
import pyarrow.parquet as pq

from timeveil.errors import BundleError
from timeveil.folder import rows
from timeveil.folder.tables import ParquetSink, Table, write_table
from timeveil.reading.footer import PLAIN, RLE, Footer
from timeveil.reading.parquet_file import FAILURES, SafeParquet

_MAKER = re.compile(r"parquet-cpp-arrow version \d+(\.\d+)*(-SNAPSHOT)?", re.ASCII)
_ENCODINGS = {PLAIN, RLE}
_MAGIC = 4


def oddity(table: Table) -> str | None:
    """What the file holds beside its rows, in words; None if nothing. It must be readable."""
    try:
        return _csv_oddity(table) if table.form == "csv" else _parquet_oddity(table)
    except BundleError as error:
        return error.message
    except FAILURES:
        return f"`{table.path.name}` cannot be read"


class _Digest(io.RawIOBase):
    """A file that keeps nothing of what is written but its hash."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, block: object) -> int:
        """Hash the next bytes."""
        view = memoryview(block)  # type: ignore[arg-type]
        self.hash.update(view)
        return view.nbytes


def _csv_oddity(table: Table) -> str | None:
    """Write the rows that were read once more, and compare."""
    again = _Digest()
    write_table(table.to_batches(), table.schema, again, "csv")
    with table.path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").digest() == again.hash.digest():
            return None
    return f"the file `{table.path.name}` writes its rows in another way than timeveil does"


def _parquet_oddity(table: Table) -> str | None:
    name, beside = table.path.name, None
    with SafeParquet(table.path, ()) as file, pq.ParquetFile(_empty(table.schema)) as empty:
        if file.metadata.metadata or file.whole.metadata or not _MAKER.fullmatch(file.metadata.created_by):
            beside = "metadata"
        elif not file.metadata.schema.equals(empty.schema):
            beside = "columns of other types"
        elif not _is_cut_evenly(file.footer):
            beside = "row groups of other sizes"
        else:
            beside = _chunk_oddity(file.footer, table.path.stat().st_size)
    return None if beside is None else f"the file `{name}` has {beside} that timeveil does not write"


def _empty(schema: pa.Schema) -> io.BytesIO:
    target = io.BytesIO()
    ParquetSink(target, schema).close()
    target.seek(0)
    return target


def _is_cut_evenly(footer: Footer) -> bool:
    return all(size == rows.BLOCK_ROWS for size in footer.rows[:-1])


def _chunk_oddity(footer: Footer, size: int) -> str | None:
    """Statistics, dictionaries, indexes, or bytes between the columns."""
    place = _MAGIC
    for chunk in (chunk for group in footer.groups for chunk in group):
        if chunk.has_more:
            return "statistics"
        if chunk.has_dictionary or not chunk.encodings <= _ENCODINGS:
            return "dictionaries or encodings"
        if chunk.data_page != place:
            return "bytes between its columns"
        place += chunk.packed
    return None if place + footer.size == size else "bytes between its columns"
