"""What is said when a file cannot be read: its name and what to do, never a word of its content."""

from __future__ import annotations

import errno

from timeveil.errors import InputError


def unreadable(name: str, cause: Exception) -> InputError:
    """The operating system would not give the file."""
    if getattr(cause, "errno", None) in (errno.EACCES, errno.EPERM):
        return InputError(
            f"no permission to read `{name}`",
            hint="ask its owner for the right to read",
            code="no-permission",
        )
    return InputError(
        f"`{name}` could not be read", hint="see that the disk is there and sound", code="file-unreadable"
    )


def not_text(name: str) -> InputError:
    """A CSV file that is not UTF-8."""
    return InputError(
        f"`{name}` is not UTF-8 text", hint="save it as CSV in UTF-8, or as Parquet", code="bad-encoding"
    )


def zero_bytes(name: str) -> InputError:
    """A CSV file with bytes that stand for no letter, or in which every letter takes two."""
    return InputError(
        f"`{name}` holds zero bytes: it is UTF-16, or no text, or something left them in it",
        hint="save it as CSV in UTF-8, or as Parquet, without them",
        code="bad-encoding",
    )


def not_csv(name: str, where: str = "") -> InputError:
    """Rows or quotes of a CSV file do not fit."""
    return InputError(
        f"`{name}` is not a CSV file that can be read{where}",
        hint="see that quotes are closed and that every row has as many cells as the header",
        code="file-unreadable",
    )


def other_separator(name: str) -> InputError:
    """A CSV file whose columns are parted by something else."""
    return InputError(
        f"the columns of `{name}` are parted by `|`",
        hint="part them by comma, semicolon or tab, or save the table as Parquet",
        code="file-unreadable",
    )


def not_parquet(name: str) -> InputError:
    """Not a Parquet file, or part of one."""
    return InputError(
        f"`{name}` is not a Parquet file, or not a whole one",
        hint="copy it again, or write it again with the program that made it",
        code="file-unreadable",
    )


def no_header(name: str) -> InputError:
    """A CSV file with nothing in it."""
    return InputError(
        f"`{name}` is empty: not even a header line is there",
        hint="the first line must name the columns",
        code="file-unreadable",
    )


def long_header(name: str, most: int) -> InputError:
    """A CSV file whose first line does not end, or holds a name without end."""
    return InputError(
        f"the header of `{name}` is longer than {most:,} bytes, or has a name that is",
        hint="see that the first line names the columns, ends, and closes its quotes",
        code="too-large",
    )


def long_row(name: str, most: int) -> InputError:
    """A CSV file with a row that does not end."""
    return InputError(
        f"`{name}` has a row of more than {most:,} bytes",
        hint="see that lines end and quotes are closed; longer texts are read from Parquet",
        code="too-large",
    )
