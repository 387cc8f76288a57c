"""Tables in private files instead of in memory, and temporary files that outlive nobody.

A process that makes a temporary file or folder locks it as long as it lives; the system releases the lock
whatever the process dies of. What exists and can be locked has no owner any more. Where the system has no
such locks, nothing is removed but empty folders.
"""

import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

BATCH_ROWS = 131_072
_PREFIX = "timeveil-"
PARTIAL = re.compile(r"\..+\.partial-(?:[0-9a-f]{16}|[a-z0-9_]{8})")
"""Names of hidden files and folders that are renamed once complete."""
_TEMPORARY = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}|{PARTIAL.pattern}")
_ONLY_ITS_OWNER = 0o40700
_NEW = os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # Windows would change line breaks otherwise
PLAIN_PARQUET = {
    "compression": "zstd",
    "use_dictionary": False,
    "write_statistics": False,
    "store_schema": False,
}
"""How a table file is written that may be published: with its rows, and neither statistics nor metadata."""
LOCK = ".held"  # the file in a temporary folder that is locked while the folder is in use


class PrivateFolder:
    """A temporary folder that only its owner may enter, removed with the last reference to it.

    Folders that a killed process left behind are removed when the next one is made.
    """

    def __init__(self, parent: Path | None = None, prefix: str = _PREFIX) -> None:
        parent = parent or Path(tempfile.gettempdir())
        sweep(parent)
        lock = None
        # Another process may sweep the new folder before its lock is held: then try again.
        while lock is None:
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
            with suppress(FileNotFoundError):
                lock = hold(self.path / LOCK)
        self._remove = weakref.finalize(self, _release, self.path, lock, os.getpid())

    def close(self) -> None:
        self._remove()


def _release(path: Path, lock: int, owner: int) -> None:
    """Remove the folder, unless this is a forked process, which only has a copy of the reference."""
    if fcntl is None:  # Windows removes no file that is open
        os.close(lock)
    if os.getpid() == owner:
        _remove_folder(path)
    if fcntl is not None:
        os.close(lock)


def _remove_folder(path: Path) -> None:
    """Remove a temporary folder, its lock last: what a kill leaves of it can still be told abandoned."""
    with suppress(OSError):
        for entry in path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != LOCK:
                entry.unlink()
    shutil.rmtree(path, ignore_errors=True)


def private_file(path: Path) -> BinaryIO:
    """A new file that only its owner may read, whatever the umask is."""
    return os.fdopen(os.open(path, os.O_WRONLY | _NEW, 0o600), "wb")


class Stored:
    """A Parquet file read in batches. Keeps its private folder, if any, alive."""

    in_parts = False
    """Whether it is in files that executors wrote."""

    def __init__(self, path: Path, folder: PrivateFolder | None = None) -> None:
        self.path = path
        self._folder = folder
        with pq.ParquetFile(path, pre_buffer=False) as file:
            self.schema: pa.Schema = file.schema_arrow
            self.num_rows: int = file.metadata.num_rows

    @classmethod
    def written(
        cls, folder: PrivateFolder, name: str, schema: pa.Schema, tables: Iterable[pa.Table]
    ) -> "Stored":
        """Rows in a private file with exactly the names and types of a schema, as they arrive."""
        path = folder.path / f"{name}.parquet"
        form: dict[str, Any] = {"compression": "lz4", "use_dictionary": False, "write_statistics": False}
        with private_file(path) as file, pq.ParquetWriter(file, schema, **form) as writer:
            for rows in tables:
                if rows.num_rows:
                    writer.write_table(rows.rename_columns(schema.names).cast(schema))
        return cls(path, folder)

    def __repr__(self) -> str:
        return f"<Stored {self.num_rows} rows, {len(self.schema.names)} columns>"

    @property
    def files(self) -> list[Path]:
        """The files that it is in, in the order of its rows."""
        return [self.path]

    def stored_as(self, column: str) -> str:
        """What a column is called in the files."""
        return column

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=columns)

    def read(self, columns: list[str] | None = None) -> pa.Table:
        return pq.read_table(self.path, columns=columns)


@dataclass(frozen=True, slots=True)
class Part:
    """A Parquet file that an executor wrote, and what it says of it."""

    path: Path
    rows: int
    sha256: str


class Batches(Stored):
    """Rows with a `schema` that come in the batches of `to_batches` alone."""

    def chosen(self, columns: list[str] | None) -> pa.Schema:
        return self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])

    def read(self, columns: list[str] | None = None) -> pa.Table:
        return pa.Table.from_batches(self.to_batches(columns), self.chosen(columns))


class Parts(Batches):
    """Several Parquet files, one after the other, in stated types and as they may be published."""

    in_parts = True

    def __init__(self, parts: Sequence[Part], schema: pa.Schema, folder: PrivateFolder) -> None:
        self.parts, self.schema, self.folder = parts, schema, folder
        self.num_rows = sum(part.rows for part in parts)

    @property
    def files(self) -> list[Path]:
        return [part.path for part in self.parts]

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        schema = self.chosen(columns)
        stored = [self.stored_as(name) for name in schema.names]
        for path in self.files:
            with pq.ParquetFile(path, pre_buffer=False) as file:
                for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=stored):
                    yield batch.select(stored).rename_columns(schema.names).cast(schema)


def hold(path: Path, mode: int = 0o600) -> int | None:
    """Make and lock a new file; None if another process removed it at the same moment."""
    handle = os.open(path, os.O_RDWR | _NEW, mode)
    if _lock(handle) is not False and _is_same(path, handle):
        return handle
    os.close(handle)
    return None


def hold_beside(target: Path, mode: int = 0o600) -> tuple[Path, int]:
    """Make a hidden file next to a target, to be renamed once complete; abandoned ones are removed."""
    sweep(target.parent)
    handle = None
    while handle is None:
        hidden = target.parent / f".{target.name}.partial-{secrets.token_hex(8)}"
        handle = hold(hidden, mode)
    return hidden, handle


def rename_held(hidden: Path, file: IO[Any], target: Path) -> None:
    """Give a complete hidden file its name while it is locked; Windows renames no file that is open."""
    file.flush()
    if fcntl is None:
        file.close()
    hidden.replace(target)


def lock_or_fail(handle: int) -> None:
    """Lock a file until its handle is closed; an `OSError` if another process has locked it."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        windows: Any = import_module("msvcrt")
        windows.locking(handle, windows.LK_NBLCK, 1)


def sweep(folder: Path, names: re.Pattern[str] = _TEMPORARY) -> None:
    """Remove our files and folders with such names that no living process holds."""
    if fcntl is None:
        return
    try:
        paths = [Path(entry.path) for entry in os.scandir(folder) if names.fullmatch(entry.name)]
    except OSError:
        return
    for path in paths:
        _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    """Follow no link, and remove nothing but the very file or folder that could be locked."""
    handles: list[int] = []
    try:
        is_folder = path.is_dir()
        kind = os.O_RDONLY | os.O_DIRECTORY if is_folder else os.O_RDWR | os.O_NONBLOCK
        handles.append(os.open(path, kind | os.O_NOFOLLOW))
        if is_folder:
            if not (path / LOCK).exists() and os.fstat(handles[0]).st_mode == _ONLY_ITS_OWNER:
                path.rmdir()  # it was being removed: nothing is left in it, or it stays
            handles.append(os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW, dir_fd=handles[0]))
        are_ours = all(os.fstat(handle).st_uid == os.getuid() for handle in handles)
        if are_ours and _lock(handles[-1]) and _is_same(path, handles[0]):
            if is_folder:
                _remove_folder(path)
            else:
                path.unlink(missing_ok=True)
    except OSError:  # another process was faster, or it is not ours
        pass
    finally:
        for handle in handles:
            os.close(handle)


def _lock(handle: int) -> bool | None:
    """Whether the file could be locked; None if the system has no locks."""
    if fcntl is None:
        return None
    try:
        lock_or_fail(handle)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_same(path: Path, handle: int) -> bool:
    """Whether the path still leads to the file that is open."""
    with suppress(OSError):
        return os.path.samestat(path.lstat(), os.fstat(handle))
    return False
