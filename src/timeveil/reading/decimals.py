"""Decimal commas: `12,5` and `1.234,50` in a column of text become `12.5` and `1234.50`, and stay text.

The whole column decides: every cell must be such a number. In a file that is cut at semicolons one comma is
enough. Elsewhere a comma may also group thousands, so one must have other than three digits after it. Where a
column has decimal commas, points group thousands in those that are numbers by their role. If the user says
`decimal="comma"`, each cell decides for itself.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.roles import Roles
from timeveil.reading.columns import decoded, is_text

_GROUPS = r"[.' \x{a0}\x{202f}]"
_NUMBER = rf"^\s*[+-]?(?:\d+|\d{{1,3}}(?:{_GROUPS}\d{{3}})+)?(?:,\d+)?\s*$"
_GROUPED = rf"\d{_GROUPS}\d{{3}}"
_DECIMALS = r",(?:\d{1,2}|\d{4,})\s*$"


class DecimalCommas:
    """Takes the columns that may have numbers with `push`; `columns` are those with decimal commas."""

    def __init__(self, roles: Roles, *, stated: bool, surely: bool | None) -> None:
        self._stated = stated
        self._mark = "comma" if surely else "decimals"
        self._numbers = (*roles.series, *([] if roles.value is None else [roles.value]))
        categories = [name for name in (*roles.quasi, *roles.sensitive, *roles.keep) if isinstance(name, str)]
        self._seen: dict[str, set[str]] = {name: set() for name in (*self._numbers, *categories)}

    def push(self, name: str, column: pa.ChunkedArray) -> None:
        """Note what the cells of a column show."""
        if column.null_count == len(column) or name not in self._seen:
            return
        seen = self._seen[name]
        if not is_text(column.type):
            seen.add("other")
        if self._stated or "other" in seen:
            return
        texts = decoded(column)
        if not pc.all(pc.match_substring_regex(texts, _NUMBER)).as_py():
            seen.add("other")
        for mark, shape in {"comma": ",", "grouped": _GROUPED, "decimals": _DECIMALS}.items():
            if pc.any(pc.match_substring_regex(texts, shape)).as_py():
                seen.add(mark)

    @property
    def columns(self) -> list[str]:
        """Columns in which a comma is a decimal comma, once all rows are read."""
        numeric = {name: seen for name, seen in self._seen.items() if "other" not in seen}
        if self._stated:
            return list(numeric)
        commas = [name for name, seen in numeric.items() if self._mark in seen]
        grouped = [name for name in self._numbers if "grouped" in numeric.get(name, ())]
        return [*commas, *(name for name in grouped if commas and name not in commas)]


def with_points(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers with a decimal point instead of a comma, and without marks between thousands.

    >>> with_points(pa.chunked_array([["1.234,50", "7", "a, b"]])).to_pylist()
    ['1234.50', '7', 'a, b']
    """
    column = decoded(column)
    points = pc.replace_substring(pc.replace_substring_regex(column, _GROUPS, ""), ",", ".")
    return pc.if_else(pc.match_substring_regex(column, _NUMBER), points, column)
