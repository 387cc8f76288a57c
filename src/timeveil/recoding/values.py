"""Numbers and dates as hierarchies read and write them."""

from __future__ import annotations

from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from timeveil.calendar.civil import Ints
from timeveil.errors import InputError, ParameterError, TimeveilError
from timeveil.reading.table import moments

LARGEST = 400  # digits before or behind the point of a number; no measured number has more


def seconds_of(values: pa.Array) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Dates as civil seconds, and which are missing."""
    dates = moments(values)
    if dates is None:
        message = "a calendar hierarchy was given for a column that is not all dates, written in one way"
        raise bad_hierarchy(message, "write its dates like 1958-03-31", InputError)
    return dates


def power_below(base: Fraction, number: Fraction) -> Fraction:
    """The largest power of a base up to a number of at least 1."""
    power = Fraction(1)
    while base > 1 and power * base <= number:
        power *= base
    return power


def numbers_of(values: pa.Array) -> list[Fraction | None]:
    """Numbers as they are written, exactly; text is read as numbers."""
    numbers = [None if value is None else _number(value) for value in values.to_pylist()]
    if numbers.count(None) > values.null_count:
        message = "a hierarchy for numbers was given for a column that is not all numbers"
        raise bad_hierarchy(message, "use a hierarchy table for this column, or clean its values", InputError)
    return numbers


def _number(value: Any) -> Fraction | None:
    """The number that is written, exactly; 1e999999999 would take all memory to write out."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    if number.is_finite() and -LARGEST <= int(number.as_tuple().exponent) <= number.adjusted() <= LARGEST:
        return Fraction(number)
    return None


def text_of(number: Fraction) -> str:
    """Whole numbers in full, others as decimals."""
    if number.denominator == 1:
        return str(number.numerator)
    exact = Context(prec=3 * LARGEST).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{exact:f}".rstrip("0").rstrip(".")


def bad_hierarchy(message: str, hint: str, kind: type[TimeveilError] = ParameterError) -> TimeveilError:
    """The error for a hierarchy that cannot be used."""
    return kind(message, hint=hint, code="bad-hierarchy")
