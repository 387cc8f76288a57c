"""Lists of columns as they are typed: `q01,q02`, `q01..q10`, or both."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from timeveil.errors import RolesError

TO = ".."


def listed(texts: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The columns that texts name, in the order given; a range takes all that stand between in the table.

    A text that is a column's own name is that column, whatever marks are in it.

    >>> listed(["q01..q03", "s"], ["id", "q01", "q02", "q03", "s"])
    ('q01', 'q02', 'q03', 's')
    >>> listed(["a,b"], ["a,b", "a", "b"])
    ('a,b',)
    """
    found: list[str] = []
    for text in texts:
        for part in [text] if text in names else text.split(","):
            found += [part] if part in names else _range(part.strip(), names)
    return tuple(found)


def _range(text: str, names: Sequence[str]) -> list[str]:
    first, dots, last = text.partition(TO)
    if not dots or text in names:
        _refuse_dash(text, names)
        return [text]
    for end in (first, last):
        if end not in names:
            near = get_close_matches(end, names, 1)
            raise RolesError(
                f"the table has no column `{end}`",
                hint=f"did you mean `{near[0]}`?"
                if near
                else "a range is written FIRST..LAST, such as q01..q10",
                code="column-missing",
                facts={"missing": [end], "near": near},
            )
    low, high = names.index(first), names.index(last)
    if high < low:
        raise RolesError(
            f"`{last}` stands before `{first}` in the table",
            hint=f"write the range as {last}..{first}",
            code="bad-parameter",
        )
    return list(names[low : high + 1])


def _refuse_dash(text: str, names: Sequence[str]) -> None:
    """Two columns with a dash or colon between are meant as a range."""
    for mark in ("-", ":"):
        first, found, last = text.partition(mark)
        if found and first in names and last in names:
            raise RolesError(
                f"the table has no column `{text}`",
                hint=f"a range is written with two dots: {first}{TO}{last}",
                code="column-missing",
                facts={"missing": [text], "near": [first, last]},
            )
