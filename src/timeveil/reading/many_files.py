"""Many files as one table: those of a folder, those that a pattern fits, or those of an object store.

Folders named `key=value` below the folder are partitions, as Hive and Spark write them: each key is a column.
Rows come file by file, and a file of an object store is on this machine only while it is read, in a private
folder. All files need the same columns; the error names the file that differs.
"""

import glob
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeGuard
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa

from timeveil.domain.stored import PrivateFolder, private_file
from timeveil.domain.wording import counted, listed
from timeveil.errors import InputError, ParameterError, raising
from timeveil.reading.files import Source, read_error, temporary_file_error

REMOTE = ("s3://", "gs://", "gcs://", "abfs://", "abfss://", "hdfs://")
_SECRETS = ("access_key", "secret_key", "session_token", "account_key", "sas_token", "password")
_PARTITION = re.compile(r"([^=]+)=(.*)")
_NULL = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_CHUNK = 1 << 20


class File(NamedTuple):
    """A file: its name below the folder, and `local`, a block in which it is on this machine."""

    name: str
    local: Callable[[], Any]

    @property
    def partition(self) -> dict[str, str | None]:
        """What the folders above it state."""
        pairs = (_PARTITION.fullmatch(part) for part in PurePosixPath(self.name).parts[:-1])
        named = {unquote(pair[1]): unquote(pair[2]) for pair in pairs if pair}
        return {key: None if value == _NULL else value for key, value in named.items()}


class ManyFiles(Source):
    """Files with the same columns, one after the other; each is open only while it is read.

    Those of this machine are all looked at first, those of an object store when it is their turn.
    """

    def __init__(
        self, name: str, files: Sequence[File], read: Callable[[Path], Any], *, remote: bool
    ) -> None:
        self.name = f"{name} ({counted(len(files), 'file')})"
        self._files, self._read = files, read
        self.decided = {}
        self._kinds: dict[str, pa.DataType] = {}
        for key in dict.fromkeys(key for file in files for key in file.partition):
            values = [value for file in files if (value := file.partition.get(key)) is not None]
            is_whole = values and all(map(_WHOLE.fullmatch, values))
            self._kinds[key] = pa.int64() if is_whole else pa.string()
        with files[0].local() as path:
            first = read(path)
            self.names = _columns(files[0], first)
            self.decimal_commas = first.decimal_commas
        self._is_open = remote
        for file in () if remote else files[1:]:
            with file.local() as path:
                source = read(path)
                self._compare(file, source)
                if source.decimal_commas != self.decimal_commas:
                    self.decimal_commas = None

    def _compare(self, file: File, source: Any) -> None:
        names = _columns(file, source)
        if sorted(names) != sorted(self.names):
            columns = listed(sorted({*names} ^ {*self.names}) or names)
            raise self._differs(file, f"has other columns than `{self._files[0].name}`: {columns}")

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        schema: pa.Schema | None = None
        for file in self._files:
            with file.local() as path:
                source = self._read(path)
                self._compare(file, source)
                if self._is_open and source.decimal_commas != self.decimal_commas:
                    raise self._differs(file, f"has another delimiter than `{self._files[0].name}`")
                for rows in source.batches([name for name in columns if name in source.names]):
                    table = rows
                    for key in file.partition.keys() & {*columns} - {*source.names}:
                        cell = pa.scalar(file.partition[key]).cast(self._kinds[key])
                        table = table.append_column(key, pa.repeat(cell, rows.num_rows))
                    table = table.select(list(columns))
                    schema = schema or table.schema
                    if not table.schema.equals(schema):
                        pairs = zip(schema, table.schema, strict=True)
                        names = listed([first.name for first, second in pairs if first != second])
                        what = f"has other types than `{self._files[0].name}` in {names}"
                        raise self._differs(file, what)
                    yield table
                self.decided = {**self.decided, **source.decided}

    def _differs(self, file: File, what: str) -> InputError:
        hint = "give all files the same columns, or name some of them with a pattern"
        hint += " such as 'visits/2024-*.csv'"
        return InputError(f"`{file.name}` {what}", hint=hint, facts={"file": file.name})


def _columns(file: File, source: Any) -> tuple[str, ...]:
    """The columns of a file, and the partitions that it has no column for."""
    return (*source.names, *(key for key in file.partition if key not in source.names))


def local_files(path: Path, suffixes: tuple[str, ...]) -> list[File] | None:
    """The tables of a folder with its partitions, or the files that a pattern fits; None of a single file."""
    with raising(lambda cause: read_error(path.name, cause), on=(OSError, ValueError)):
        if path.is_dir():
            paths = sorted(_tables(path, suffixes))
        elif glob.has_magic(str(path)) and not path.exists():
            matches = map(Path, glob.glob(str(path), recursive=True))  # noqa: PTH207 (of any path)
            paths = sorted(match for match in matches if match.is_file() and _is_shown(match.name))
        else:
            return None
    above = path if path.is_dir() else Path(*_plain_parts(path.parts))
    return [File(match.relative_to(above).as_posix(), partial(nullcontext, match)) for match in paths]


def _tables(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    for entry in folder.iterdir():
        if not _is_shown(entry.name):
            continue
        if _PARTITION.fullmatch(entry.name) and entry.is_dir():
            yield from _tables(entry, suffixes)
        elif entry.name.lower().endswith(suffixes):
            yield entry


def _is_shown(name: str) -> bool:
    return not name.startswith((".", "_", "~"))


def _plain_parts(parts: Sequence[str]) -> list[str]:
    """The parts of a pattern before the first that is one, or that is a partition."""
    plain: list[str] = []
    for part in parts[:-1]:
        if glob.has_magic(part) or _PARTITION.fullmatch(part):
            break
        plain.append(part)
    return plain


def is_remote(table: object) -> TypeGuard[str]:
    """Whether a table is in an object store."""
    return isinstance(table, str) and table.lower().startswith(REMOTE)


@contextmanager
def opened_store(address: str) -> Iterator[tuple[Any, str, str, str]]:
    """A block with a store: its file system, the path in it ahead of any pattern, the pattern, the name.

    What fails in it is said without what the store says, which may quote keys.
    """
    import pyarrow.fs as pafs  # noqa: PLC0415 (loads the drivers of all stores)

    error = ParameterError("the address cannot be read", hint="write s3://bucket/folder")
    with raising(error, on=ValueError):
        parts = urlsplit(address)
        query = {name.lower() for name, _ in parse_qsl(parts.query)}
        if parts.username or parts.password or query & {*_SECRETS}:
            message = "the address contains a key or a password, which reports and jobs would show"
            hint = "remove it, and set variables such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            raise ParameterError(message, hint=hint)
    plain = address.partition("?")[0]
    name = PurePosixPath(unquote(parts.path)).name or parts.netloc
    with raising(partial(_store_error, name), on=(OSError, pa.ArrowException, NotImplementedError)):
        head = "/".join(_plain_parts([*plain.split("/"), ""])) if glob.has_magic(plain) else plain
        store, base = pafs.FileSystem.from_uri(head + address[len(plain) :])
        yield store, base.rstrip("/"), plain[len(head) :].lstrip("/") if head != plain else "", name


def below(store: Any, base: str) -> dict[str, str]:
    """The files below a path of a store, by their names below it."""
    import pyarrow.fs as pafs  # noqa: PLC0415 (loads the drivers of all stores)

    entries = store.get_file_info(pafs.FileSelector(base, recursive=True, allow_not_found=True))
    return {path[len(base) + 1 :]: path for path in sorted(entry.path for entry in entries if entry.is_file)}


def remote_files(address: str, suffixes: tuple[str, ...]) -> tuple[str, list[File]]:
    """The name of what an address stands for, and its files: one, those below it, or those it fits."""
    with opened_store(address) as (store, base, pattern, name):
        if store.get_file_info(base).is_file:
            return name, [File(name, partial(_fetched, store, base))]
        files = below(store, base)
    fits = _pattern(pattern) if pattern else partial(_is_table, suffixes=suffixes)
    shown = (file for file in files if fits(file) and all(map(_is_shown, file.split("/"))))
    return name, [File(file, partial(_fetched, store, files[file])) for file in shown]


def _pattern(text: str) -> Callable[[str], Any]:
    """Whether a name fits a pattern in which `*` is within a folder, and `**/` any number of folders."""
    words = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    parts = (words.get(part) or re.escape(part) for part in re.split(r"(\*\*/|\*|\?)", text))
    return re.compile("".join(parts)).fullmatch


def _is_table(name: str, suffixes: tuple[str, ...]) -> bool:
    """Whether a name below a folder is that of a table, in partitions only."""
    *above, last = name.split("/")
    return all(map(_PARTITION.fullmatch, above)) and last.lower().endswith(suffixes)


@contextmanager
def _fetched(store: Any, path: str) -> Iterator[Path]:
    """A private copy of a remote file, which is removed after the block."""
    name = PurePosixPath(path).name
    with raising(temporary_file_error, on=OSError):
        folder = PrivateFolder()
        copy = private_file(folder.path / name)
    try:
        failed = raising(partial(_store_error, name), on=(OSError, pa.ArrowException))
        with copy, failed, store.open_input_stream(path) as stream:
            shutil.copyfileobj(stream, copy, _CHUNK)
        yield folder.path / name
    finally:
        folder.close()


def _store_error(name: str, cause: Exception) -> InputError:
    """What an object store says may quote keys and names of others: it is replaced."""
    if isinstance(cause, FileNotFoundError):
        return InputError(f"there is no file `{name}`", hint="check the address", code="file-missing")
    message = f"no access to `{name}`: the object store cannot be reached, or does not let you in"
    hint = "check the address, and the variables or files with your keys that its driver reads"
    return InputError(message, hint=hint, code="file-unreadable")
