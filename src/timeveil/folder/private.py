"""The ledger on disk: one Parquet file that only its owner may read.

Columns are those of the ledger's table, then the original columns as `original.<name>`. Roles, time axis,
mappings and facts stand in the file's metadata as JSON. It is written beside its final place with the
owner's rights alone from the first moment on, and then given its name.
"""

from __future__ import annotations

import base64
import errno
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from timeveil.domain.ledger import Ledger
from timeveil.domain.leftovers import hold_beside
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.roles import Roles
from timeveil.domain.stored import Stored
from timeveil.errors import BundleError, PrivateArtifactError, instead_of
from timeveil.folder.rows import blocks
from timeveil.folder.trouble import said_plainly

ORIGINAL = "original."
KEY = b"timeveil.ledger"
MODELS = ("time", "stream", "series", "patterns")
IN_MEMORY_ROWS = 2_000_000


def write_ledger(ledger: Ledger, path: str | Path) -> Path:
    """Write a ledger to a new file of mode 0600."""
    place = Path(path)
    refuse_public(place, is_folder=str(path).endswith(os.sep))
    with ledger_beside(ledger, place) as give_name:
        give_name()
    return place


@contextmanager
def ledger_beside(ledger: Ledger, place: Path) -> Iterator[Callable[[], None]]:
    """A ledger in a hidden file beside its place, whole; what is yielded gives it its name."""
    hidden, handle = said_plainly(place.name, lambda: hold_beside(place))
    file = os.fdopen(handle, "wb")
    try:
        said_plainly(place.name, lambda: _write_whole(ledger, file))
        yield lambda: said_plainly(place.name, lambda: _give_name(hidden, place))
    finally:
        hidden.unlink(missing_ok=True)
        with suppress(OSError):  # it was flushed if it was written whole
            file.close()


def _write_whole(ledger: Ledger, file: Any) -> None:
    _write(ledger, file)
    file.flush()
    os.fsync(file.fileno())


def _give_name(hidden: Path, place: Path) -> None:
    """A link fails where a file exists, which a rename would replace; some file systems have no links."""
    try:
        os.link(hidden, place)
    except OSError as cause:
        if cause.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        hidden.rename(place)


def refuse_public(place: Path, *, is_folder: bool = False) -> None:
    """A ledger goes into a file of its own, outside of every release folder."""
    if is_folder or place.is_dir():
        raise PrivateArtifactError(
            f"`{place.name}` is a folder, and a ledger identifies people",
            hint="name a file for it, outside of the release folder, such as visits.ledger.parquet",
            code="ledger-in-release",
        )
    for parent in (*place.absolute().parents, *place.resolve().parents):
        if (parent / "release.json").exists():
            raise PrivateArtifactError(
                f"`{place.name}` would lie in the release folder `{parent.name}`; a ledger identifies people",
                hint="write it outside of the folder that is published",
                code="ledger-in-release",
            )
    if os.path.lexists(place):
        raise BundleError(
            f"`{place.name}` exists already", hint="give a new name, or remove it first", code="folder-exists"
        )
    if not place.parent.is_dir():
        raise BundleError(
            f"there is no folder `{place.parent.name}` to write `{place.name}` into",
            hint="make that folder first",
            code="folder-missing",
        )


def open_ledger(path: str | Path) -> Ledger:
    """Open a ledger file. A long one stays on disk and is read in batches."""
    place = Path(path)
    if not place.is_file():
        raise BundleError(
            f"`{place.name}` is a folder, not a ledger"
            if place.is_dir()
            else f"there is no ledger `{place.name}`",
            hint="name the file that --ledger made",
            code="folder-missing",
        )
    causes = (
        *(pa.ArrowException, OSError, KeyError, TypeError, ValueError),
        *(AttributeError, IndexError, OverflowError, RecursionError),
    )
    return instead_of(causes, lambda cause: _not_opened(place.name, cause), lambda: _opened(place))


def _opened(place: Path) -> Ledger:
    with pq.ParquetFile(place, pre_buffer=False) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
    about = json.loads((schema.metadata or {})[KEY])
    return _ledger(place, schema, rows, about)


def _not_opened(name: str, cause: Exception) -> BundleError:
    if isinstance(cause, PermissionError):
        return BundleError(
            f"no permission to read `{name}`", hint="a ledger is for its owner alone", code="no-permission"
        )
    return BundleError(
        f"`{name}` is not a ledger, or not a whole one",
        hint="name the file that --ledger made",
        code="folder-damaged",
    )


class Columns(Stored):
    """Some columns of a Parquet file, under names of their own."""

    def __init__(self, path: Path, schema: pa.Schema, rows: int, prefix: str) -> None:
        self.path = path
        self.schema = schema
        self.num_rows = rows
        self._prefix = prefix

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, a batch at a time."""
        names = self.schema.names if columns is None else columns
        stored = [self._prefix + name for name in names]
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            for batch in file.iter_batches(columns=stored):
                batch.validate(full=True)
                yield batch.select(stored).rename_columns(names)

    def read(self, columns: list[str] | None = None) -> pa.Table:
        """All of it, in memory."""
        names = self.schema.names if columns is None else columns
        return pa.Table.from_batches(
            self.to_batches(columns), pa.schema([self.schema.field(n) for n in names])
        )


def _write(ledger: Ledger, file: Any) -> None:
    entries, original = ledger.entries, ledger.original.data
    schema = pa.schema(
        [
            *(pa.field(f.name, _value_type(f.type)) for f in entries.schema),
            *(pa.field(ORIGINAL + f.name, _value_type(f.type)) for f in original.schema),
        ],
        metadata={KEY: json.dumps(_about(ledger))},
    )
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        pairs = zip(_blocks(entries), _blocks(original), strict=True)
        for left, right in pairs:
            columns = [*left.columns, *right.columns]
            cast = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.table(cast, schema=schema))


def _blocks(table: pa.Table | Stored) -> Iterator[pa.Table]:
    batches: Iterable[pa.RecordBatch] = table.to_batches()
    return blocks(batches, table.schema)


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _about(ledger: Ledger) -> dict[str, Any]:
    relation = ledger.original
    axis = relation.axis
    stated = None if axis is None else {"kind": axis.kind, "zone": axis.zone, "unit": axis.unit}
    mappings = {name: _packed(table) for name, table in ledger.mappings.items()}
    return {
        "format": 1,
        "model": ledger.model,
        "entries": ledger.entries.schema.names,
        "roles": asdict(relation.roles),
        "axis": stated,
        "dropped": relation.dropped,
        "source": relation.source,
        "mappings": mappings,
        "facts": dict(ledger.facts),
    }


def _packed(table: pa.Table) -> str:
    target = io.BytesIO()
    decoded = pa.schema([pa.field(f.name, _value_type(f.type)) for f in table.schema])
    pq.write_table(table.cast(decoded), target)
    return base64.b64encode(target.getvalue()).decode()


def _ledger(place: Path, schema: pa.Schema, rows: int, about: Mapping[str, Any]) -> Ledger:
    own = pa.schema([schema.field(name) for name in about["entries"]])
    names = [name for name in schema.names if name.startswith(ORIGINAL) and name not in own.names]
    bare = pa.schema([schema.field(name).with_name(name.removeprefix(ORIGINAL)) for name in names])
    entries: Any = Columns(place, own, rows, "")
    data: Any = Columns(place, bare, rows, ORIGINAL)
    if rows <= IN_MEMORY_ROWS:
        entries, data = entries.read(), data.read()
    roles = Roles(**about["roles"])
    if not {*roles.columns, *roles.quasi_columns} <= set(bare.names) or about["model"] not in MODELS:
        raise ValueError("the ledger does not hold what it says")
    stated = about["axis"]
    axis = None if stated is None else TimeAxis(type=bare.field(roles.time).type, **stated)
    relation = Relation(roles, data, axis, tuple(about["dropped"]), about["source"])
    mappings = {
        name: pq.read_table(pa.BufferReader(base64.b64decode(packed)))
        for name, packed in about["mappings"].items()
    }
    return Ledger(about["model"], entries, relation, mappings, about["facts"])
