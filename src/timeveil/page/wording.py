"""Numbers and lists in sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from timeveil.domain.wording import counted

__all__ = ["WIDTH", "aligned", "counted", "people", "quoted", "share", "wrapped"]

WIDTH = 100
"""Columns of text where nothing else is known."""


def people(number: int) -> str:
    """A number of people.

    >>> people(1), people(3_118)
    ('1 person', '3,118 people')
    """
    return counted(number, "person", "people")


def quoted(names: Iterable[str], most: int = 12) -> str:
    """Names in backquotes, joined as in a sentence.

    >>> quoted(["zip"]), quoted(["zip", "age", "sex"]), quoted(["a", "b", "c"], most=2)
    ('`zip`', '`zip`, `age` and `sex`', '`a`, `b` and 1 more')
    """
    marked = [f"`{name}`" for name in names]
    if len(marked) > most:
        marked = [*marked[:most], f"{len(marked) - most} more"]
    return joined(marked)


def share(part: float) -> str:
    """A share in percent; never 0 or 100 unless it is.

    >>> share(0.0), share(0.00004), share(0.0048), share(0.5), share(0.9999), share(1.0), share(41.78)
    ('0 %', 'under 0.01 %', '0.48 %', '50 %', 'over 99.9 %', '100 %', '4,180 %')
    """
    percent = 100 * part
    if percent in (0, 100):
        return f"{percent:.0f} %"
    if percent < 0.01:
        return "under 0.01 %"
    if 99.9 < percent < 100:
        return "over 99.9 %"
    if percent >= 1000:
        return f"{float(f'{percent:.3g}'):,.0f} %"
    return f"{percent:.2g} %" if percent < 10 else f"{percent:.3g} %"


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Rows of cells as lines of text, the first `left` columns to the left and the others to the right.

    >>> aligned([("name", "people"), ("week", "12")])
    ['name  people', 'week      12']
    """
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def wrapped(text: str, width: int, mark: str = "", indent: str | None = None) -> list[str]:
    """Lines of text after a mark, line breaks kept; names such as `half-year` stay whole.

    Lines after the first are set in by `indent`, or else by the width of the mark.

    >>> wrapped("rows of people", 10, "1. ")
    ['1. rows of', '   people']
    """
    inset = " " * len(mark) if indent is None else indent
    lines: list[str] = []
    for part in text.split("\n"):
        lines += textwrap.wrap(
            part,
            width,
            initial_indent=inset if lines else mark,
            subsequent_indent=inset,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def joined(parts: list[str]) -> str:
    """Parts as in a sentence.

    >>> joined(["3"]), joined(["3", "2", "1"])
    ('3', '3, 2 and 1')
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
