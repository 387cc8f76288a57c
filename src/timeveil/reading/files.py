"""Files: how much one may claim, how new ones are made, and what the operating system says in our words.

A small file can ask for terabytes: compressed zeros, a long text that every row repeats by its number in a
dictionary, a header with a million names. Limits are checked before a file is read; `TIMEVEIL_LIMITS` sets
others, such as `unpacked=8GB,columns=500000`, which a job file cannot. Nothing is ever overwritten.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, BinaryIO

import pyarrow as pa

from timeveil.domain.stored import sweep
from timeveil.errors import FORBIDDEN, FULL, BundleError, EngineError, InputError, ParameterError, raising

VARIABLE = "TIMEVEIL_LIMITS"
_ENTRY = re.compile(r"\s*([a-z]+)\s*=\s*([1-9][0-9]{0,17})\s*(|KB|MB|GB|TB)\s*", re.ASCII)
_SIZES = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_EXISTS = (errno.EEXIST, errno.ENOTEMPTY)
_SMALL = 7 << 20
_CHECK_DISK = "check that the disk is mounted and healthy"


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is read from a file."""

    columns: int = 100_000  # of a table
    unpacked: int = 1 << 30  # bytes that any compressed file (gzip, Parquet) may unpack to
    ratio: int = 100  # a large compressed file may unpack to more: this many times its own size
    description: int = 16 << 20  # bytes of `release.json`, or of the footer that describes a Parquet file
    settings: int = 1 << 20  # bytes of a job or calendar file

    def allowance(self, size: int) -> int:
        """Bytes that a compressed file of this size may unpack to."""
        return max(self.unpacked, self.ratio * size)

    def room(self, size: int) -> int:
        """Bytes that may be held of a file of this size; judging takes some five times as much.

        So a release below 10 MB stays below 500 MB, with what Python and the libraries take.
        """
        return max(self.unpacked // 32, self.ratio // 10 * (size - _SMALL))


class Source:
    """Where rows come from: a file, a table of a database, or an object of another library."""

    name: str | None
    names: tuple[str, ...]
    decided: Mapping[str, str] = MappingProxyType({})
    """What it found out about itself, such as the encoding, once the rows are read."""
    decimal_commas: bool | None = None
    """Whether a comma in a number is surely a decimal comma; None where that is not to be expected."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of some columns in tables of one schema; at least one table, which may be empty."""
        raise NotImplementedError


UNLIMITED = 1 << 60
_IS_UNLIMITED: ContextVar[bool] = ContextVar("unlimited", default=False)
_NAMES = tuple(field.name for field in fields(Limits))


def limits() -> Limits:
    """The limits in force."""
    if _IS_UNLIMITED.get():
        return Limits(**dict.fromkeys(_NAMES, UNLIMITED))
    overrides = {}
    for entry in filter(None, os.environ.get(VARIABLE, "").split(",")):
        match = _ENTRY.fullmatch(entry)
        if match is None or match[1] not in _NAMES:
            hint = f"write it like {VARIABLE}=unpacked=8GB,columns=500000; there are {', '.join(_NAMES)}"
            raise ParameterError(f"`{VARIABLE}` is not a list of limits", hint=hint)
        overrides[match[1]] = int(match[2]) * _SIZES[match[3]]
    return replace(Limits(), **overrides)


@contextmanager
def own_files() -> Iterator[None]:
    """A block without limits, for reading back what this process has just written."""
    token = _IS_UNLIMITED.set(True)
    try:
        yield
    finally:
        _IS_UNLIMITED.reset(token)


def too_large(name: str, claim: str, limit: str) -> InputError:
    """The error for a file that claims more than the limit of this name allows."""
    hint = f"check that it is the right file; if it is, raise the limit with {VARIABLE}={limit}=..."
    return InputError(f"`{name}` {claim}", hint=hint, code="too-large", facts={"limit": limit})


def refuse_columns(name: str, count: int) -> None:
    """Refuse a table with too many columns."""
    most = limits().columns
    if count > most:
        raise too_large(name, f"has {count:,} columns; at most {most:,} are read", "columns")


def file_size(path: Path) -> int:
    """The size of an ordinary file; devices and pipes, which may never end or answer, are refused."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        hint = "write its content to a file first, and name that file"
        raise InputError(f"`{path.name}` is not an ordinary file", hint=hint, code="file-unreadable")
    return status.st_size


def small_text(path: Path, what: str) -> str:
    """The text of a file written by hand; `what` names its kind in the message about one too long."""
    size, most = file_size(path), limits().settings
    if size > most:
        raise too_large(path.name, f"has {size:,} bytes, and {what} at most {most:,}", "settings")
    with path.open(encoding="utf-8") as file:
        return file.read(most + 1)


def read_error(name: str, cause: Exception) -> InputError:
    """The error, with the system's number, for a file that the system did not open or read."""
    number = getattr(cause, "errno", None)
    facts = {} if number is None else {"errno": number}
    if isinstance(cause, FileNotFoundError | ValueError):
        message, hint = f"there is no file `{name}`", "check the spelling of the path"
        return InputError(message, hint=hint, code="file-missing", facts=facts)
    if number in FORBIDDEN:
        message, hint = f"no permission to read `{name}`", "ask its owner for permission to read it"
        return InputError(message, hint=hint, code="no-permission", facts=facts)
    message = f"`{name}` could not be read"
    return InputError(message, hint=_CHECK_DISK, code="file-unreadable", facts=facts)


def temporary_file_error(cause: Exception) -> EngineError:
    """The error for a temporary file that could not be written."""
    if getattr(cause, "errno", None) in FULL:
        hint = "free some space, or set TMPDIR to a folder on a larger disk"
        return EngineError("the disk for temporary files is full", hint=hint, code="disk-full")
    message = "the folder for temporary files cannot be written"
    return EngineError(message, hint="set TMPDIR to a folder of your own", code="no-permission")


def translate_os_errors(name: str) -> raising:
    """A block in which failures to write, whose text may quote data, become errors of ours."""
    causes = (OSError, pa.ArrowException)
    return raising(lambda cause: write_error(name, getattr(cause, "errno", None)), on=causes)


def write_error(name: str, number: int | None) -> BundleError:
    """The error for something that could not be written, by the operating system's number."""
    if number in FULL:
        hint = "free some space, or write to another disk; nothing was left behind"
        return BundleError(f"the disk is full: `{name}` was not written", hint=hint, code="disk-full")
    if number in FORBIDDEN:
        hint = "write to a folder of your own"
        return BundleError(f"no permission to write `{name}`", hint=hint, code="no-permission")
    if number in _EXISTS:
        hint = "choose another name, or remove it first"
        return BundleError(f"`{name}` exists already", hint=hint, code="folder-exists")
    return BundleError(f"`{name}` could not be written", hint=_CHECK_DISK, code="not-written")


def path_of(value: str | os.PathLike[str]) -> Path:
    """The path, or an error if it is something else."""
    if not isinstance(value, str | os.PathLike):
        raise ParameterError(f"a {type(value).__name__} is not a path", hint="give the path as text")
    return Path(value)


def refuse_taken(path: Path) -> None:
    """Refuse a path that exists, or whose parent folder does not; what killed runs left there is removed."""
    refuse_unnameable(path)
    sweep(path.parent)
    if os.path.lexists(path):
        raise write_error(path.name, errno.EEXIST)
    if not path.parent.is_dir():
        message = f"there is no folder `{path.parent.name}` to write `{path.name}` into"
        raise BundleError(message, hint="make that folder first", code="folder-missing")


def refuse_unnameable(path: Path) -> None:
    """Refuse a zero byte in a path, which no file system accepts."""
    if "\0" in str(path):
        raise BundleError("a path has a zero byte in it", hint="choose another name", code="folder-missing")


def new_file(path: Path) -> BinaryIO:
    """A new file that everyone may read, open for writing."""
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o644))


def write_file(path: Path, content: bytes) -> None:
    """Write a new file, safe against loss of power."""
    with new_file(path) as file:
        file.write(content)
        sync(file)


def sync(file: IO[Any]) -> None:
    """Make the content of a file safe against loss of power."""
    # First out of Python's buffer, then out of the system's.
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder safe against loss of power, where a folder can be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
