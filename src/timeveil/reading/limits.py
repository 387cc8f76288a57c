"""How much a file may claim, looked at before it is read.

A small file can ask for terabytes: packed zeros, a long text that every row repeats by its number
in a dictionary, a header with a million names, keys nested in each other. Limits are wide enough for honest
files. `TIMEVEIL_LIMITS` sets others, for Python and the command line alike, such as
`unpacked=8GB,columns=500000`; a job file cannot.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from pathlib import Path

from timeveil.errors import InputError, ParameterError
from timeveil.reading.refusals import unreadable

VARIABLE = "TIMEVEIL_LIMITS"
_ENTRY = re.compile(r"\s*([a-z]+)\s*=\s*([1-9][0-9]{0,17})\s*(|KB|MB|GB|TB)\s*", re.ASCII)
_SIZES = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is taken from a file.

    >>> Limits().allowance(10)
    1073741824
    """

    columns: int = 100_000
    """Columns of a table."""
    unpacked: int = 1 << 30
    """Bytes that any packed file (gzip, Parquet) may unpack to."""
    ratio: int = 100
    """A large packed file may unpack to more: to so many times its own size."""
    description: int = 16 << 20
    """Bytes of `release.json`, or of the end of a Parquet file that describes the rest of it."""
    settings: int = 1 << 20
    """Bytes of a job or calendar file."""

    def allowance(self, size: int) -> int:
        """Bytes that a packed file of this size may unpack to."""
        return max(self.unpacked, self.ratio * size)


_OWN: ContextVar[bool] = ContextVar("own files", default=False)
_NAMES = tuple(field.name for field in fields(Limits))


def limits() -> Limits:
    """The limits as they are set now.

    >>> limits().columns
    100000
    """
    if _OWN.get():
        return Limits(**dict.fromkeys(_NAMES, 1 << 60))
    told = os.environ.get(VARIABLE, "")
    found = {}
    for entry in filter(None, told.split(",")):
        match = _ENTRY.fullmatch(entry)
        if match is None or match[1] not in _NAMES:
            raise ParameterError(
                f"`{VARIABLE}` is not a list of limits",
                hint=f"write it like {VARIABLE}=unpacked=8GB,columns=500000; there are {', '.join(_NAMES)}",
                code="bad-parameter",
            )
        found[match[1]] = int(match[2]) * _SIZES[match[3]]
    return replace(Limits(), **found)


@contextmanager
def own_files() -> Iterator[None]:
    """What this process has just written is read back whatever it claims."""
    token = _OWN.set(True)
    try:
        yield
    finally:
        _OWN.reset(token)


def too_large(name: str, what: str, limit: str) -> InputError:
    """A file claims more than a limit allows; `what` says what, `limit` which one to raise."""
    return InputError(
        f"`{name}` {what}",
        hint=f"see that it is the right file; if it is, raise the limit with {VARIABLE}={limit}=...",
        code="too-large",
        facts={"limit": limit},
    )


def refuse_irregular(path: Path) -> int:
    """The size of a file; a device or a pipe, which has no end or never answers, is refused."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise InputError(
            f"`{path.name}` is not an ordinary file",
            hint="write what it gives to a file first, and name that",
            code="file-unreadable",
        )
    return found.st_size


def small_text(path: Path, what: str) -> str:
    """The text of a file that a person writes, which is never long."""
    size, most = refuse_irregular(path), limits().settings
    if size > most:
        raise too_large(path.name, f"has {size:,} bytes, and {what} at most {most:,}", "settings")
    with path.open(encoding="utf-8") as file:
        return file.read(most + 1)


def refuse_columns(name: str, count: int) -> None:
    """A table has a bounded number of columns."""
    most = limits().columns
    if count > most:
        raise too_large(name, f"has {count:,} columns, and at most {most:,} are read", "columns")


def no_file(name: str, cause: Exception) -> InputError:
    """Why a file cannot be had."""
    if isinstance(cause, FileNotFoundError | ValueError):
        return InputError(
            f"there is no file `{name}`", hint="see that the path is spelt right", code="file-missing"
        )
    return unreadable(name, cause)
