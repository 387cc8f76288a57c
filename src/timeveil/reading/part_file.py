"""What an executor of Spark does with its rows: write a Parquet file, and report it.

The functions are sent to the executors by value, which so need Python and PyArrow, and nothing of timeveil.
"""

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

BLOCK_ROWS = 1 << 17  # of a row group
REPORT = "number BIGINT, name STRING, rows BIGINT, sha256 STRING"


def write_part(
    batches: Iterable[pa.RecordBatch], folder: str, schema: pa.Schema | None, plain: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Write the rows of a task to a file that no other task, and no other try of this one, writes to."""
    from pyspark import TaskContext  # noqa: PLC0415 only executors have one

    context = TaskContext.get()
    number = context.partitionId() if context else 0
    path = Path(folder) / f"part-{number:05d}-{secrets.token_hex(8)}.parquet"
    try:
        rows = _write(path, _blocks(batches, schema), plain)
        if rows:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0)) from None
    except Exception as error:  # noqa: BLE001 its text may quote a value
        raise RuntimeError(f"a part was not written: {type(error).__name__}") from None
    if rows:
        report = {"number": [number], "name": [path.name], "rows": [rows], "sha256": [digest]}
        yield pa.RecordBatch.from_pydict(report)


def _write(path: Path, tables: Iterator[pa.Table], plain: Mapping[str, Any]) -> int:
    """Write tables to a new file and wait for the disk; how many rows there are. No rows make no file."""
    first = next(tables, None)
    if first is None:
        return 0
    rows = 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        with pq.ParquetWriter(file, first.schema, **plain) as writer:
            for table in chain([first], tables):
                writer.write_table(table)
                rows += table.num_rows
        file.flush()
        os.fsync(file.fileno())
    return rows


def _blocks(batches: Iterable[pa.RecordBatch], schema: pa.Schema | None) -> Iterator[pa.Table]:
    """The rows in tables of exactly so many rows, the last one shorter, in their stated types."""
    waiting, count = list[pa.Table](), 0
    for batch in batches:
        waiting.append(pa.table([_cells(column) for column in batch.columns], batch.schema.names))
        count += batch.num_rows
        while count >= BLOCK_ROWS:
            rows = pa.concat_tables(waiting)
            yield _typed(rows.slice(0, BLOCK_ROWS), schema)
            waiting, count = [rows.slice(BLOCK_ROWS)], count - BLOCK_ROWS
    if count:
        yield _typed(pa.concat_tables(waiting), schema)


def _typed(rows: pa.Table, schema: pa.Schema | None) -> pa.Table:
    return rows if schema is None else rows.rename_columns(schema.names).cast(schema)


def _cells(column: pa.Array) -> pa.Array:
    """Times as whole numbers, and floats without the sign of zero and the number in a NaN."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    if pa.types.is_date(column.type):
        return column.cast(pa.int32())
    if pa.types.is_floating(column.type):
        zero, nan = (pa.scalar(number, column.type) for number in (0.0, float("nan")))
        return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))
    return column
