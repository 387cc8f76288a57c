"""Files, told apart by how their name ends."""

from __future__ import annotations

from pathlib import Path

from timeveil.errors import InputError, instead_of
from timeveil.reading.csv_file import CsvFile
from timeveil.reading.limits import no_file, refuse_irregular
from timeveil.reading.parquet_file import ParquetTable

CSV_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")


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


def _refuse_absent(path: Path) -> None:
    causes = (OSError, ValueError)
    if instead_of(causes, lambda cause: no_file(path.name, cause), path.is_dir):
        raise InputError(
            f"`{path.name or path}` is a folder, not a file",
            hint="name one file in it",
            code="file-unreadable",
        )
    instead_of(causes, lambda cause: no_file(path.name, cause), lambda: _touch(path))


def _touch(path: Path) -> None:
    refuse_irregular(path)
    path.open("rb").close()
