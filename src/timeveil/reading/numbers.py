"""Columns of numbers: typed ones, and text with a number in every cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeveil.domain.wording import counted
from timeveil.errors import InputError
from timeveil.reading.columns import value_type, without_views

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NOT_FINITE = r"(?i)^[+-]?(nan|inf|infinity)$"
_DECIMAL_SCALES = {32: 9, 64: 18, 128: 38, 256: 76}
"""The largest scale of decimals, by their bits, that Arrow can write as text."""
_EXACT = 2.0**53
"""Every whole number smaller than this has a float of its own."""
_SMALLEST, _LARGEST = 1e-300, 1e300
"""Between these, digits can be rounded and squared differences scaled."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The values of a column, and which of them are missing."""

    values: NDArray[np.float64]
    missing: NDArray[np.bool_]

    @property
    def not_finite(self) -> int:
        """How many values are NaN or infinite."""
        return int(np.count_nonzero(~np.isfinite(self.values) & ~self.missing))

    @property
    def extreme(self) -> int:
        """How many values are too small or too large to calculate with; 0 is neither."""
        size = np.abs(self.values)
        return int(np.count_nonzero((size > _LARGEST) | ((size < _SMALLEST) & (size > 0))))


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a type is numeric.

    >>> is_numeric(pa.int8()), is_numeric(pa.bool_())
    (True, False)
    """
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def numbers(name: str, column: pa.ChunkedArray) -> Numbers:
    """The column's values as numbers; empty text is a missing value.

    >>> numbers("load", pa.chunked_array([["1.5", "", "2e3"]])).values.tolist()
    [1.5, 0.0, 2000.0]
    """
    column = without_views(column)
    column = column.cast(value_type(column.type))
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    parsed = column
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        parsed = _parsed(name, column)
    elif not is_numeric(column.type):
        raise InputError(
            f"column `{name}` has the type {column.type}, which is not numeric",
            hint="a series consists of numbers; name another column, or convert this one to numbers",
            code="bad-number",
            facts={"column": name},
        )
    elif (
        pa.types.is_decimal(column.type) and abs(column.type.scale) <= _DECIMAL_SCALES[column.type.bit_width]
    ):
        parsed = column.cast(pa.string())  # Arrow's direct way to a float misses the nearest one
    values = np.asarray(pc.fill_null(parsed.cast(pa.float64(), safe=False), 0.0).to_numpy(), np.float64)
    _refuse_inexact(name, column, values)
    return Numbers(values + 0.0, _mask(pc.is_null(parsed)))


def _parsed(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = pc.utf8_trim_whitespace(column)
    text = pc.if_else(pc.equal(text, pa.scalar("", text.type)), pa.scalar(None, text.type), text)
    fits = pc.or_(pc.match_substring_regex(text, _NUMBER), pc.match_substring_regex(text, _NOT_FINITE))
    bad = ~_mask(pc.fill_null(fits, True))
    if bad.any():
        count, first = int(np.count_nonzero(bad)), int(np.argmax(bad)) + 1
        verb = "is" if count == 1 else "are"
        raise InputError(
            f"column `{name}` has {counted(count, 'value')} that {verb} not a number, "
            f"the first in data row {first:,}",
            hint="write numbers like 12, -3.5 or 2e3, with a point and without spaces or units",
            code="bad-number",
            facts={"column": name, "count": count, "row": first},
        )
    return pc.replace_substring_regex(text, r"^\+", "").cast(pa.float64())


def _refuse_inexact(name: str, column: pa.ChunkedArray, values: NDArray[np.float64]) -> None:
    """Whole numbers beyond 2^53 share floats: another person's value would be published."""
    if pa.types.is_floating(column.type):
        return
    long = np.abs(values) >= _EXACT
    if long.any() and not is_numeric(column.type):
        text = pc.utf8_trim_whitespace(column.filter(pa.array(long)))
        long[long] = _mask(pc.match_substring_regex(text, r"^[+-]?[0-9]+$"))
    if long.any():
        count, first = int(np.count_nonzero(long)), int(np.argmax(long)) + 1
        raise InputError(
            f"column `{name}` has {counted(count, 'whole number')} of more than 15 digits, "
            f"which cannot be stored exactly, the first in data row {first:,}",
            hint="give them in a larger unit, or subtract an offset that all share",
            code="bad-number",
            facts={"column": name, "count": count, "row": first, "long": True},
        )


def _mask(values: Any) -> NDArray[np.bool_]:
    return np.asarray(values.to_numpy(), dtype=bool)
