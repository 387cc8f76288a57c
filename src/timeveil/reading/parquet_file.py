"""Parquet files, read no further than the limits allow.

The footer describes the file and is checked first: its length, the number of columns, and how much the chosen
columns would take in memory. It cannot say how long text becomes, because a long text may be in a dictionary
once and in every row by its number. Where the longest text of a dictionary, in every row, would be too much,
text is read as numbers with a dictionary, and its length summed before it is written out.
"""

from __future__ import annotations

import glob
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from timeveil.domain.stored import BATCH_ROWS
from timeveil.errors import EngineError, InputError, TimeveilError, raising, raising_each
from timeveil.reading.limits import UNLIMITED, file_size, limits, refuse_columns, too_large, unreadable

FAILURES = (OSError, pa.ArrowException, ValueError, KeyError, TypeError, OverflowError)
"""What pyarrow raises on a file that is not Parquet, or whose column names are not text."""
_MAGIC = b"PAR1"
_TAIL_BYTES = 8
_MOST_ITEMS = 1_000_000
"""Items of a list in the footer, columns or row groups; more can be raised with the limit on columns."""
_INT32 = 2**31 - 1


class ParquetTable:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.name: str | None = path.name
        self._path = path
        with raising(self._refusal, on=FAILURES), ParquetRows(path, ()) as file:
            self.names: tuple[str, ...] = tuple(file.names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of some columns, in order."""
        with raising(self._refusal, on=FAILURES):
            file = ParquetRows(self._path, columns)
        with file:
            yield file.schema.empty_table()
            for batch in raising_each(file.batches(), self._refusal, on=FAILURES):
                yield pa.Table.from_batches([batch])

    def _refusal(self, cause: Exception) -> TimeveilError:
        if isinstance(cause, MemoryError):
            return EngineError(
                f"not enough memory to read `{self.name}`",
                hint='let DuckDB work from disk with {engine="duckdb"}',
            )
        if isinstance(cause, OSError) and cause.errno is not None:
            return unreadable(self._path.name, cause)
        return InputError(
            f"`{self.name}` is not a Parquet file, or is incomplete",
            hint="copy it again, or write it again with the program that made it",
            code="file-unreadable",
        )


class ParquetRows:
    """Some columns of a Parquet file whose claims are within the limits; `expected` lists all its columns."""

    def __init__(
        self, path: Path, columns: Sequence[str] | None = None, *, expected: Sequence[str] | None = None
    ) -> None:
        self._path = path
        self._allowed = limits().allowance(_checked_size(path))
        self._file = self._open()
        try:
            self._choose(columns, expected)
            self._check_claims()
        # Whatever happens, an interrupt included, the file must not stay open.
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> ParquetRows:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in order."""
        left = self._allowed
        for batch in self._file.iter_batches(batch_size=self._batch_rows, columns=self.schema.names):
            chosen = batch.select(self.schema.names)
            if self._sums_texts:
                left -= sum(_written_length(column) for column in chosen.columns)
                if left < 0:
                    raise self._too_large("repeats texts that would take too much")
                columns = [
                    column if column.type == field.type else column.cast(field.type)
                    for column, field in zip(chosen.columns, self.schema, strict=True)
                ]
                chosen = pa.RecordBatch.from_arrays(columns, schema=self.schema.remove_metadata())
            yield chosen

    def _open(self, dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
        most = limits()
        return pq.ParquetFile(
            self._path,
            read_dictionary=list(dictionaries) or None,
            page_checksum_verification=True,
            pre_buffer=False,
            thrift_string_size_limit=min(most.description, _INT32),
            thrift_container_size_limit=min(max(most.columns, _MOST_ITEMS), _INT32),
        )

    def _choose(self, columns: Sequence[str] | None, expected: Sequence[str] | None) -> None:
        refuse_columns(self._path.name, self._file.metadata.num_columns)
        stored = self._file.schema_arrow
        self.names: list[str] = stored.names
        if expected is not None and self.names != list(expected):
            raise pa.ArrowInvalid("other columns than expected")
        self.schema = stored if columns is None else pa.schema([stored.field(name) for name in columns])

    def _check_claims(self) -> None:
        self._batch_rows, self._sums_texts = BATCH_ROWS, False
        metadata = self._file.metadata
        if not self.schema.names or not metadata.num_row_groups or self._allowed >= UNLIMITED:
            return
        sizes = [metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)]
        lists = [field.name for field in self.schema if pa.types.is_nested(field.type)]
        items = _list_items(self._path, lists) if lists else 0
        widths = sum(_width(field.type) for field in self.schema)
        # From the footer alone, before any page is read; how long texts become is examined below.
        claimed = sum(sizes) + metadata.num_rows * widths + 8 * items
        if claimed > self._allowed:
            raise self._too_large(f"would take {claimed:,} bytes")
        texts = [leaf.path for leaf in self._file.schema if self._is_chosen_text(leaf)]
        if texts and (metadata.num_rows + items) * max(sizes) > self._allowed:
            self._check_texts(texts, claimed, max(sizes), has_lists=bool(lists))

    def _is_chosen_text(self, leaf: pq.ColumnSchema) -> bool:
        """A leaf's path begins with its column's name, which may itself contain dots."""
        chosen = any(leaf.path == name or leaf.path.startswith(f"{name}.") for name in self.schema.names)
        return chosen and leaf.physical_type == "BYTE_ARRAY"

    def _check_texts(self, texts: list[str], claimed: int, largest: int, *, has_lists: bool) -> None:
        """Decide how to read the texts, by their encodings and by the longest one of each dictionary."""
        self._sums_texts = True
        if self._has_overlaps(texts):  # each text may repeat most of the one before it: few rows at a time
            self._batch_rows = max(1, min(BATCH_ROWS, self._allowed // max(largest, 1)))
            return
        coded, length = self._open(texts), 0
        for group, batch in self._first_rows(coded, texts):
            rows = self._file.metadata.row_group(group).num_rows
            length += rows * sum(_longest(column) for column in batch.columns)
        self._sums_texts = has_lists or claimed + length > self._allowed
        unused = self._file if self._sums_texts else coded
        self._file = coded if self._sums_texts else self._file
        unused.close()

    def _has_overlaps(self, texts: list[str]) -> bool:
        paths = [leaf.path for leaf in self._file.schema]
        for group, _ in self._first_rows(self._file, texts):
            # pyarrow ends the process on some chunk descriptions; those that its reader accepted are safe.
            chunks = [self._file.metadata.row_group(group).column(paths.index(text)) for text in texts]
            if any("DELTA_BYTE_ARRAY" in chunk.encodings for chunk in chunks):
                return True
        return False

    def _first_rows(self, file: pq.ParquetFile, texts: list[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The first row of each row group, with which the reader brings in the dictionaries."""
        for group in range(file.metadata.num_row_groups):
            batch = next(file.iter_batches(1, row_groups=[group], columns=texts), None)
            if batch is not None:
                yield group, batch

    def _too_large(self, claim: str) -> InputError:
        return too_large(
            self._path.name, f"{claim} in memory; at most {self._allowed:,} bytes are allowed", "unpacked"
        )


def _checked_size(path: Path) -> int:
    """The size of a file that ends like Parquet and whose footer is not too long."""
    size, most = file_size(path), limits().description
    with path.open("rb") as file:
        file.seek(-min(size, _TAIL_BYTES), io.SEEK_END)
        tail = file.read(_TAIL_BYTES)
    footer = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or footer + _TAIL_BYTES > size:
        raise ValueError("no footer")
    if footer > most:
        claim = f"describes itself in {footer:,} bytes; at most {most:,} are read"
        raise too_large(path.name, claim, "description")
    return size


def _list_items(path: Path, columns: list[str]) -> int:
    """How many items the lists of some columns claim to have.

    DuckDB reads this from the footer, as pyarrow's own way to it ends the process on some damaged files.
    """
    import duckdb  # noqa: PLC0415 (heavy, and only needed for lists)

    question = "SELECT path_in_schema, num_values FROM parquet_metadata(?)"
    try:
        with duckdb.connect() as database:
            chunks = database.execute(question, [glob.escape(str(path.absolute()))]).fetchall()
    # Raised below and not here: the text of the cause may quote data, and a chained error would show it.
    except duckdb.Error:
        chunks = None
    if chunks is None:
        raise ValueError("no footer")
    return sum(max(int(items), 0) for leaf, items in chunks if leaf.split(", ")[0] in columns)


def _width(kind: pa.DataType) -> int:
    """Bytes of one value in memory; of text and lists, of the offset at which it begins."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return 4


def _written_length(column: pa.Array) -> int:
    """Bytes of a column when its dictionary is written out."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return 4 * len(column) + _written_length(column.flatten())
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return 4 * len(column) + int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _longest(column: pa.Array) -> int:
    """Bytes of the longest text in a column's dictionary."""
    if not pa.types.is_dictionary(column.type):
        return 0
    return int(pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
