"""Columns of numbers: typed ones, and text that says a number in every cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeveil.domain.wording import counted
from timeveil.errors import InputError
from timeveil.reading.columns import without_views

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_STRANGE = r"(?i)^[+-]?(nan|inf|infinity)$"

_WRITTEN = {32: 9, 64: 18, 128: 38, 256: 76}
"""The largest scale of decimals, by their bits, that Arrow has a text for."""

LONGEST = 2.0**53
"""Whole numbers below this in size are floats, every one of them."""
SMALLEST, LARGEST = 1e-300, 1e300
"""Sizes between which digits can be rounded and squares of differences scaled."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The values of a column, and where there is none."""

    values: NDArray[np.float64]
    missing: NDArray[np.bool_]

    @property
    def strange(self) -> int:
        """How many values are there and not finite."""
        return int(np.count_nonzero(~np.isfinite(self.values) & ~self.missing))

    @property
    def extreme(self) -> int:
        """How many values are too small or too large to be reckoned with; 0 is neither."""
        size = np.abs(self.values)
        return int(np.count_nonzero((size > LARGEST) | ((size < SMALLEST) & (size > 0))))


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a type is one of numbers.

    >>> is_numeric(pa.int8()), is_numeric(pa.bool_())
    (True, False)
    """
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def numbers(name: str, column: pa.ChunkedArray) -> Numbers:
    """The column's values as numbers; empty text is no value.

    >>> numbers("load", pa.chunked_array([["1.5", "", "2e3"]])).values.tolist()
    [1.5, 0.0, 2000.0]
    """
    column = without_views(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    said = column
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = _parsed(name, column)
    elif not is_numeric(column.type):
        raise InputError(
            f"column `{name}` has the type {column.type}, which is not one of numbers",
            hint="a series is made of numbers; give another column, or turn this one into numbers",
            code="bad-number",
            facts={"column": name},
        )
    elif pa.types.is_decimal(column.type) and abs(column.type.scale) <= _WRITTEN[column.type.bit_width]:
        column = column.cast(pa.string())  # Arrow's own way to a float misses the nearest one
    missing = _mask(pc.is_null(column))
    values = pc.fill_null(column.cast(pa.float64(), safe=False), 0.0).to_numpy()
    _refuse_long(name, said, np.asarray(values, dtype=np.float64))
    return Numbers(np.asarray(values, dtype=np.float64) + 0.0, missing)


def _refuse_long(name: str, column: pa.ChunkedArray, values: NDArray[np.float64]) -> None:
    """Beyond 2^53 a float is not every whole number: it would be another's value that is published."""
    if pa.types.is_floating(column.type):
        return
    long = np.abs(values) >= LONGEST
    if long.any() and not is_numeric(column.type):
        text = column.filter(pa.array(long))
        whole = pc.match_substring_regex(pc.utf8_trim_whitespace(text), r"^[+-]?[0-9]+$")
        long[long] = _mask(whole)
    if long.any():
        count, first = int(np.count_nonzero(long)), int(np.argmax(long)) + 1
        raise InputError(
            f"column `{name}` has {counted(count, 'whole number')} of more than 15 digits, "
            f"which cannot be held exactly, the first in data row {first:,}",
            hint="give them in a larger unit, or less an offset that all share",
            code="bad-number",
            facts={"column": name, "count": count, "row": first, "long": True},
        )


def _parsed(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = pc.utf8_trim_whitespace(column)
    text = pc.if_else(pc.equal(text, pa.scalar("", text.type)), pa.scalar(None, text.type), text)
    known = pc.or_(pc.match_substring_regex(text, _NUMBER), pc.match_substring_regex(text, _STRANGE))
    bad = ~_mask(pc.fill_null(known, True))
    if bad.any():
        count, first = int(np.count_nonzero(bad)), int(np.argmax(bad)) + 1
        which = "that is" if count == 1 else "that are"
        raise InputError(
            f"column `{name}` has {counted(count, 'value')} {which} not a number, "
            f"the first in data row {first:,}",
            hint="write numbers like 12, -3.5 or 2e3, with a point and without spaces or units",
            code="bad-number",
            facts={"column": name, "count": count, "row": first},
        )
    return pc.replace_substring_regex(text, r"^\+", "").cast(pa.float64())


def _mask(values: Any) -> NDArray[np.bool_]:
    return np.asarray(values.to_numpy(), dtype=bool)
