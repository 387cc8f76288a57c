"""What the operating system says when writing fails, in our words."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from timeveil.errors import BundleError, instead_of

T = TypeVar("T")

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)


def said_plainly(name: str, do: Callable[[], T]) -> T:
    """Turn errors of the operating system, whose text could carry data, into ours."""
    return instead_of(
        (OSError, pa.ArrowException), lambda cause: write_error(name, getattr(cause, "errno", None)), do
    )


def write_error(name: str, number: int | None) -> BundleError:
    """Why something could not be written, by the number the operating system gives."""
    if number in _FULL:
        return BundleError(
            f"the disk is full: `{name}` was not written",
            hint="make room, or write to another disk; nothing was left behind",
            code="disk-full",
        )
    if number in _FORBIDDEN:
        return BundleError(
            f"no permission to write `{name}`",
            hint="write to a folder of your own",
            code="no-permission",
        )
    if number in _TAKEN:
        return BundleError(
            f"`{name}` exists already", hint="give a new name, or remove it first", code="folder-exists"
        )
    return BundleError(
        f"`{name}` could not be written", hint="see that the disk is there and sound", code="not-written"
    )
