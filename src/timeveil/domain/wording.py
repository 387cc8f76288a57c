"""Numbers with their nouns and lists of names in messages and reports, and the progress of long work."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

_LONGEST_NAME = 60


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun."""
    if plural is None:
        ends_in_y = noun.endswith("y") and noun[-2] not in "aeiou"
        plural = f"{noun[:-1]}ies" if ends_in_y else noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names of columns, long ones cut short and at most a few of them."""
    short = (f"{name[: _LONGEST_NAME - 1]}…" if len(name) > _LONGEST_NAME else name for name in names[:most])
    quoted = ", ".join(f"`{name}`" for name in short)
    return quoted if len(names) <= most else f"{quoted} and {len(names) - most} more"


def printable(text: str, *, other: str = "") -> str:
    """The text with a question mark for every character that does not show, apart from `other` ones."""
    return "".join(mark if mark.isprintable() or mark in other else "?" for mark in text)


Progress: TypeAlias = Callable[[str, float], None]
"""Called with the current step and the share of the work that is done."""


def silent(doing: str, share: float, /) -> None:
    """Report nothing."""
