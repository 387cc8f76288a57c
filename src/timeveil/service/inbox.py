"""The inbox: a folder of snapshot files, each taken once, in the order of their names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from timeveil.domain.relation import Relation
from timeveil.errors import BundleError, InputError, TimeveilError, raising, spell
from timeveil.folder.opening import digest
from timeveil.reading import read
from timeveil.reading.sources import CSV_SUFFIXES, PARQUET_SUFFIXES
from timeveil.service.parameters import SINGLE, Parameters
from timeveil.service.state_file import os_errors

QUARANTINE = "quarantine"
LONGEST_NAME = 200
UNFINISHED = (".tmp", ".part")
SNAPSHOTS = (*CSV_SUFFIXES, *PARQUET_SUFFIXES)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file of the inbox; its size and time of change show whether it was touched since."""

    path: Path
    size: int
    changed_at: int

    @property
    def name(self) -> str:
        """Its name in the inbox."""
        return self.path.name

    @property
    def printable(self) -> str:
        """Its name, fit to be printed."""
        return "".join(letter if letter.isprintable() else "?" for letter in self.name)

    @property
    def is_named_in_unicode(self) -> bool:
        """Whether the bytes of its name are UTF-8."""
        return not any("\ud800" <= letter <= "\udfff" for letter in self.path.name)

    def digest(self) -> str:
        """SHA-256 of its content."""
        error = InputError(
            f"`{self.printable}` cannot be read",
            hint="check the permissions of the file",
            code="file-unreadable",
        )
        with raising(error, on=OSError):
            return digest(self.path)

    def holds(self, sha256: str) -> bool:
        """Whether this is its content; not if it can no longer be read."""
        try:
            return self.digest() == sha256
        except InputError:
            return False

    def touched(self, sha256: str) -> bool:
        """Whether the file has changed, by its size and time or by its content."""
        return _look(self.path) != self or not self.holds(sha256) or _look(self.path) != self


def arrivals_in(inbox: Path) -> tuple[Iterator[Arrival], int]:
    """The snapshots of a folder in the order of their names, and how many files are not snapshots.

    Files that are still being written start with a dot or end in `.tmp` or `.part`. Each file is looked at
    when its turn comes; until then only its name is in memory.
    """
    error = BundleError(
        f"the inbox `{inbox.name}` is not a folder that can be read",
        hint="name the folder of the snapshot files",
        code="folder-missing",
    )
    with raising(error, on=OSError), os.scandir(inbox) as entries:
        names = {entry.name for entry in entries if not _unfinished(entry.name)}
    snapshots = sorted(name for name in names if name.lower().endswith(SNAPSHOTS))
    ignored = sum((inbox / name).is_file() for name in names.difference(snapshots))
    return (arrival for name in snapshots if (arrival := _look(inbox / name)) is not None), ignored


def _unfinished(name: str) -> bool:
    return name.startswith(".") or name.lower().endswith(UNFINISHED)


def _look(path: Path) -> Arrival | None:
    """A file as it is at this moment; None for a folder, or if it has gone."""
    try:
        if not path.is_file():
            return None
        stat = path.stat()
    except OSError:
        return None
    return Arrival(path, stat.st_size, stat.st_mtime_ns)


def quarantine(arrival: Arrival, sha256: str, error: TimeveilError) -> Path:
    """Move a file that cannot be taken aside, with the reason; no other file is overwritten.

    `sha256` is "" of a file that was not read.
    """
    line = f"sha256: {sha256}\n" if sha256 else ""
    sha256 = sha256 or hashlib.sha256(os.fsencode(arrival.name)).hexdigest()
    folder = arrival.path.parent / QUARANTINE
    with os_errors(QUARANTINE):
        folder.mkdir(mode=0o700, exist_ok=True)
        target = folder / _short(arrival, sha256)
        if target.exists():
            target = folder / f"{sha256[:16]}-{target.name}"
        hidden = folder / f".{target.name}.partial"
        hidden.unlink(missing_ok=True)
        with open(hidden, "x", encoding="utf-8", opener=_private) as file:
            hint = spell(error.template, "command")
            file.write(f"{error.message}\n\nhint: {hint}\n\ncode: {error.code}\n{line}")
        hidden.rename(folder / f"{target.name}.reason.txt")
        arrival.path.rename(target)
    return target


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read: what is wrong with private data is private."""
    return os.open(path, flags, 0o600)


def _short(arrival: Arrival, sha256: str) -> str:
    """The name of a file, cut and completed with a digest where it leaves no room for what is added."""
    name = arrival.name if arrival.is_named_in_unicode else arrival.printable
    if len(name.encode()) <= LONGEST_NAME:
        return name
    begin = name.encode()[: LONGEST_NAME - 30].decode("utf-8", "ignore")
    return f"{begin}~{sha256[:16]}{arrival.path.suffix}"


def snapshots_of(path: Path, parameters: Parameters) -> Iterator[tuple[str, Relation]]:
    """The records of a file by stream; those of a stream are in their order."""
    by, roles, options = parameters.stream_by, parameters.roles, parameters.settings.options
    has_role = by is None or by in roles.columns
    relation = read(
        path,
        roles if has_role else replace(roles, keep=(*roles.keep, str(by))),
        zone=options.zone,
        unit=options.unit,
        nulls=options.nulls,
        needs=("time", "sensitive"),
        slot_numbers=True,
    )
    if by is None:
        yield SINGLE, relation
        return
    names = _stream_names(relation, by)
    published = relation.roles if has_role else replace(relation.roles, keep=roles.keep)
    table = relation.table if has_role else relation.table.drop_columns([by])
    for code, name in enumerate(names.dictionary.to_pylist()):
        rows = np.flatnonzero(np.asarray(names.indices) == code)
        yield name, Relation(published, table.take(pa.array(rows)), relation.axis, relation.dropped)


def _stream_names(relation: Relation, by: str) -> pa.DictionaryArray:
    """The stream of each record, as text."""
    column = relation.table.column(by)
    if column.null_count:
        raise InputError(
            f"column `{by}`, which separates streams, has {column.null_count} nulls",
            hint="fill them in: every record belongs to a stream",
            code="nulls",
        )
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        raise InputError(
            f"column `{by}`, which separates streams, has type {column.type}",
            hint="use text, whole numbers or dates",
        )
    names: pa.DictionaryArray = column.cast(pa.string()).combine_chunks().dictionary_encode()
    return names
