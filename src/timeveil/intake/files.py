"""Files, told apart by how their name ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from timeveil.errors import InputError, instead_of
from timeveil.intake.csv_file import CsvFile
from timeveil.intake.refusals import not_parquet, unreadable
from timeveil.model.stored import BATCH_ROWS

CSV_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")

T = TypeVar("T")


def open_file(path: Path) -> CsvFile | ParquetTable:
    """The source for a path."""
    _refuse_absent(path)
    if path.name.lower().endswith(CSV_SUFFIXES):
        return CsvFile(path)
    if path.name.lower().endswith(PARQUET_SUFFIXES):
        return ParquetTable(path)
    raise InputError(
        f"`{path.name}` is neither CSV nor Parquet by its name",
        hint=f"name it with one of {', '.join((*CSV_SUFFIXES, *PARQUET_SUFFIXES))}",
        code="unsupported-input",
    )


class ParquetTable:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.name: str | None = path.name
        self._path = path
        with self._open() as file:
            self.names: tuple[str, ...] = tuple(file.schema_arrow.names)

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns, whole."""
        with self._open() as file:
            return self._guarded(lambda: file.read(columns=list(columns)).select(list(columns)))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns, a batch at a time."""
        with self._open() as file:
            yield file.schema_arrow.empty_table().select(list(columns))
            batches = file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns))
            while (batch := self._guarded(lambda: next(batches, None))) is not None:
                yield pa.Table.from_batches([batch]).select(list(columns))

    def _open(self) -> Any:
        return self._guarded(
            lambda: pq.ParquetFile(self._path, page_checksum_verification=True, pre_buffer=False)
        )

    def _guarded(self, take: Callable[[], T]) -> T:
        return instead_of((OSError, pa.ArrowException), self._refusal, take)

    def _refusal(self, cause: Exception) -> InputError:
        if isinstance(cause, OSError) and cause.errno is not None:
            return unreadable(self._path.name, cause)
        return not_parquet(self._path.name)


def _refuse_absent(path: Path) -> None:
    if instead_of(OSError, lambda cause: _absence(path.name, cause), path.is_dir):
        raise InputError(
            f"`{path.name or path}` is a folder, not a file",
            hint="name one file in it",
            code="file-unreadable",
        )
    instead_of(OSError, lambda cause: _absence(path.name, cause), lambda: path.open("rb").close())


def _absence(name: str, cause: Exception) -> InputError:
    if isinstance(cause, FileNotFoundError):
        return InputError(
            f"there is no file `{name}`", hint="see that the path is spelt right", code="file-missing"
        )
    return unreadable(name, cause)
