"""The ledger on disk: one Parquet file that only its owner may read.

Its columns are those of the ledger's table, then the original columns as `original.<name>`. Roles, time axis,
mappings and facts are JSON in the file's metadata.
"""

import base64
import errno
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import Ledger, decode_dictionaries
from timeveil.domain.roles import Roles
from timeveil.domain.stored import PrivateFolder, hold_beside, rename_held
from timeveil.errors import BundleError, PrivateArtifactError, raising
from timeveil.folder.placing import refuse_inside
from timeveil.folder.tables import Columns, blocks
from timeveil.models import FOLDERS
from timeveil.reading.columns import decoded_fields, is_text
from timeveil.reading.files import path_of, refuse_taken, sync, translate_os_errors
from timeveil.reading.parquet_file import FAILURES, OpenFile

ORIGINAL = "original."
KEY = b"timeveil.ledger"
_FOOTER = 1 << 16
IN_MEMORY_ROWS = 2_000_000
IN_MEMORY_BYTES = 1 << 28
_HINT = "name what --ledger made"  # a file, or a schema of a database
_FAILURES = (*FAILURES, AttributeError, IndexError, RecursionError)


@contextmanager
def ledger_beside(ledger: Ledger, path: Path) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """A ledger in a hidden file next to its path, of mode 0600, written while the caller does other work.

    The first function that is yielded waits until it is complete, and renames it; the second takes it back.
    """
    with translate_os_errors(path.name):
        hidden, handle = hold_beside(path)
    file = os.fdopen(handle, "wb")

    def rename() -> None:
        """Link, which fails where a file exists; rename, which replaces it, only where there are no links."""
        with translate_os_errors(path.name):
            writing.result()
            try:
                os.link(hidden, path)
            except OSError as cause:
                if cause.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
                    raise
                rename_held(hidden, file, path)

    try:
        with ThreadPoolExecutor(1) as pool:  # it is waited for here
            writing = pool.submit(_write, ledger, file)
            yield rename, lambda: path.unlink(missing_ok=True)
    finally:
        with suppress(OSError):  # it was flushed if it is complete
            file.close()
        # After a link this removes the second name; after a failure, the file itself.
        hidden.unlink(missing_ok=True)


def is_ledger(path: Path) -> bool:
    """Whether a file says at its end that it is a ledger; nothing else of it is read."""
    with suppress(OSError), path.open("rb") as file:
        file.seek(max(path.stat().st_size - _FOOTER, 0))
        end = file.read()
        return end.endswith(b"PAR1") and KEY in end
    return False


def refuse_public(path: Path, *, is_folder: bool = False, out: Path | None = None) -> None:
    """Refuse a path for a ledger that is a folder, inside of what is published, or taken."""
    if is_folder or path.is_dir():
        hint = "name a file for it, outside the release folder, such as visits.ledger.parquet"
        raise PrivateArtifactError(f"`{path.name}` is a folder, and a ledger identifies people", hint=hint)
    refuse_inside(path, "the ledger", out=out)
    refuse_taken(path)


def ledger_of(path: str | os.PathLike[str]) -> Ledger:
    """Open a ledger file. A long one stays on disk and is read in batches."""
    file = path_of(path)
    if not file.is_file():
        is_folder = f"`{file.name}` is a folder, not a ledger"
        message = is_folder if file.is_dir() else f"there is no ledger `{file.name}`"
        raise BundleError(message, hint=_HINT, code="folder-missing")
    return opened_ledger(file, file.name)


def opened_ledger(file: Path, name: str, folder: PrivateFolder | None = None) -> Ledger:
    """The ledger in a file, which may be in a temporary folder that goes with it."""
    no_ledger = BundleError(f"`{name}` is not a ledger, or is incomplete", hint=_HINT)
    message = f"no permission to read `{name}`"
    forbidden = BundleError(message, hint="only its owner may read a ledger", code="no-permission")
    with raising(no_ledger, on=_FAILURES), raising(forbidden, on=PermissionError):
        return _read(file, folder)


class LedgerColumns(Columns):
    """Some columns of a ledger file, without the prefix of their names."""

    def __init__(
        self, file: OpenFile, schema: pa.Schema, folder: PrivateFolder | None, prefix: str = ""
    ) -> None:
        super().__init__(file.path, schema, file.rows)
        self.file, self.folder, self.prefix = file, folder, prefix

    def stored_as(self, column: str) -> str:
        return self.prefix + column

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.chosen(columns).names
        stored = list(map(self.stored_as, names))
        for batch in self.file.batches(stored):
            batch.validate(full=True)
            yield batch.rename_columns(names)


def _write(ledger: Ledger, file: Any) -> None:
    write_rows(*ledger_rows(ledger), file)
    sync(file)


def ledger_rows(ledger: Ledger) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """The columns of a ledger, with its description, and its rows."""
    entries, original = ledger.entries, ledger.original.data
    fields = [*decoded_fields(entries.schema), *decoded_fields(original.schema, ORIGINAL)]
    relation, axis = ledger.original, ledger.original.axis
    description = {
        "format": 1,
        "model": ledger.model,
        "entries": ledger.entries.schema.names,
        "roles": asdict(relation.roles),
        "axis": None if axis is None else {"kind": axis.kind, "zone": axis.zone, "unit": axis.unit},
        "dropped": relation.dropped,
        "source": relation.source,
        "mappings": {name: _packed(table) for name, table in ledger.mappings.items()},
        "facts": dict(ledger.facts),
    }
    schema = pa.schema(fields, metadata={KEY: json.dumps(description)})
    width = len(entries.schema)
    # Both cut at the same rows, so that neither needs to be in memory as a whole.
    halves = (
        blocks(entries.to_batches(), pa.schema(fields[:width])),
        blocks(original.to_batches(), pa.schema(fields[width:])),
    )
    return schema, (
        pa.table([*left.columns, *right.columns], schema) for left, right in zip(*halves, strict=True)
    )


def write_rows(schema: pa.Schema, rows: Iterable[pa.Table], file: Any) -> None:
    """Write a ledger file of rows."""
    # Texts repeat; numbers and times are near each other.
    texts = [field.name for field in schema if is_text(field.type)]
    tests = (pa.types.is_integer, pa.types.is_timestamp, pa.types.is_date32)
    numbers = [field.name for field in schema if any(test(field.type) for test in tests)]
    deltas = dict.fromkeys(numbers, "DELTA_BINARY_PACKED")
    form: dict[str, Any] = {"compression": "zstd", "use_dictionary": texts, "column_encoding": deltas}
    with pq.ParquetWriter(file, schema, write_statistics=False, **form) as writer:
        for table in rows:
            writer.write_table(table)


def _packed(table: pa.Table) -> str:
    target = io.BytesIO()
    pq.write_table(decode_dictionaries(table), target)
    return base64.b64encode(target.getvalue()).decode()


def _read(path: Path, folder: PrivateFolder | None) -> Ledger:
    file = OpenFile(path)
    schema = file.schema
    description: Mapping[str, Any] = json.loads((schema.metadata or {})[KEY])
    entry_schema = pa.schema([schema.field(name) for name in description["entries"]])
    names = [name for name in schema.names if name.startswith(ORIGINAL) and name not in entry_schema.names]
    bare = pa.schema([schema.field(name).with_name(name.removeprefix(ORIGINAL)) for name in names])
    entries: Any = LedgerColumns(file, entry_schema, folder)
    data: Any = LedgerColumns(file, bare, folder, ORIGINAL)
    if file.rows <= IN_MEMORY_ROWS and file.unpacked <= IN_MEMORY_BYTES:
        entries, data = entries.read(), data.read()
    roles = Roles(**description["roles"])
    numbered = [field.type for field in entry_schema if field.name in ("row", "group")]
    has_roles = {*roles.columns, *roles.quasi_columns} <= set(bare.names)
    if not (has_roles and description["model"] in FOLDERS and all(map(pa.types.is_integer, numbered))):
        raise ValueError("the ledger lacks columns of its roles, is of an unknown model, or numbers no rows")
    stated = description["axis"]
    axis = None if stated is None else TimeAxis(type=bare.field(roles.time).type, **stated)
    relation = Relation(roles, data, axis, tuple(description["dropped"]), description["source"])
    mappings = {}
    for name, packed in description["mappings"].items():
        table = OpenFile(path, base64.b64decode(packed))
        mappings[name] = pa.Table.from_batches(table.batches(table.schema.names))
    return Ledger(description["model"], entries, relation, mappings, description["facts"])
