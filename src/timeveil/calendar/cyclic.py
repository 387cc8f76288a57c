"""Quasi-identifiers derived from the time: the weekday, the hour of the day, the month of the year.

They come round again, so they are no granularities: all Mondays together are not a stretch of time.
Published beside a granule they narrow it down, so they count as quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from timeveil.calendar import civil
from timeveil.calendar.civil import DAY, HOUR, Ints
from timeveil.domain.roles import Derived
from timeveil.errors import ParameterError

weekday = Derived("weekday")
"""Monday to Sunday."""
hour_of_day = Derived("hour-of-day")
"""00 to 23, as the wall clock shows it."""
month_of_year = Derived("month-of-year")
"""January to December."""

CYCLIC: dict[str, tuple[str, ...]] = {
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "hour-of-day": tuple(f"{hour:02}" for hour in range(24)),
    "month-of-year": (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    ),
}
"""Every derived quasi-identifier with its values in order."""


def derive(name: str, civil_seconds: Ints) -> pa.Array:
    """The values of a derived quasi-identifier at civil times.

    >>> derive("weekday", np.array([0])).to_pylist()
    ['Thursday']
    """
    values = pa.array(CYCLIC[_known(name)])
    return values.take(pa.array(_code(name, civil_seconds)))


def _code(name: str, seconds: Ints) -> Ints:
    days = civil.floor_days(seconds)
    codes: dict[str, Callable[[], Ints]] = {
        "weekday": lambda: civil.weekday(days),
        "hour-of-day": lambda: np.floor_divide(seconds - days * DAY, HOUR),
        "month-of-year": lambda: np.mod(civil.month_of_days(days), 12),
    }
    return codes[name]()


def _known(name: str) -> str:
    if name not in CYCLIC:
        raise ParameterError(
            f"`{name}` cannot be derived from a time",
            hint=f"use one of {', '.join(CYCLIC)}",
            code="bad-parameter",
        )
    return name
