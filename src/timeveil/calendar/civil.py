"""Arithmetic of the proleptic Gregorian calendar on whole arrays.

Civil time is an integer: seconds since 1970-01-01 00:00 on the wall clock, without leap seconds and
without a zone. Every function floors, so times before 1970 need no special care.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from timeveil.errors import ParameterError, raising

Ints = npt.NDArray[np.int64]

MINUTE, HOUR, DAY, WEEK = 60, 3_600, 86_400, 604_800
GAP: int = int(np.iinfo(np.int64).min)
"""The index of an instant that lies in no granule."""
FIRST = -62_135_596_800
"""0001-01-01 00:00:00."""
LAST = 253_402_300_799
"""9999-12-31 23:59:59."""
BEFORE, AFTER = -(2**61), 2**61
"""Start and end of a granule without bounds."""

_MONTHS_TO_1970 = 1970 * 12
_CLOCK_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - civil time has no zone


def as_ints(values: Any) -> Ints:
    """An array of 64-bit whole numbers.

    >>> as_ints([1, 2])
    array([1, 2])
    """
    return np.asarray(values, dtype=np.int64)


def floor_days(seconds: Ints) -> Ints:
    """Days since 1970-01-01.

    >>> floor_days(as_ints([-1, 0, 86_400]))
    array([-1,  0,  1])
    """
    return np.floor_divide(seconds, DAY)


def month_of_days(days: Ints) -> Ints:
    """Months since January of year 0, so that dividing by 12 gives the year.

    >>> month_of_days(as_ints([0])) // 12
    array([1970])
    """
    months: Ints = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return months + _MONTHS_TO_1970


def days_of_month(months: Ints) -> Ints:
    """The first day of each month, the reverse of `month_of_days`.

    >>> days_of_month(as_ints([1970 * 12 + 1]))
    array([31])
    """
    first: Ints = (months - _MONTHS_TO_1970).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return first


def year_start(years: Ints) -> Ints:
    """The first day of each year.

    >>> year_start(as_ints([1971]))
    array([365])
    """
    return days_of_month(years * 12)


def iso_year_of_days(days: Ints) -> Ints:
    """The ISO year: the calendar year of the week's Thursday.

    >>> iso_year_of_days(as_ints([13_149]))  # 2006-01-01
    array([2005])
    """
    thursday = days - weekday(days) + 3
    return np.floor_divide(month_of_days(thursday), 12)


def iso_year_start(years: Ints) -> Ints:
    """The Monday on which each ISO year begins: that of the week with 4 January."""
    fourth = year_start(years) + 3
    return fourth - weekday(fourth)


def weekday(days: Ints) -> Ints:
    """0 for Monday to 6 for Sunday.

    >>> weekday(as_ints([0]))  # 1970-01-01 was a Thursday
    array([3])
    """
    return np.mod(days + 3, 7)


def dates(days: Ints) -> list[str]:
    """Days as text.

    >>> dates(as_ints([0, -719162]))
    ['1970-01-01', '0001-01-01']
    """
    written: list[str] = np.datetime_as_string(days.astype("datetime64[D]")).tolist()
    return written


def moments(seconds: Ints, unit: Literal["s", "m"] = "s") -> list[str]:
    """Civil times as text, to the second or to the minute.

    >>> moments(as_ints([61]), "m")
    ['1970-01-01 00:01']
    """
    text = np.datetime_as_string(seconds.astype("datetime64[s]"), unit=unit)
    return [moment.replace("T", " ") for moment in text.tolist()]


def clock(second_of_day: int) -> str:
    """A time of day as text; the end of a day is 24:00.

    >>> clock(86_400), clock(3_661)
    ('24:00', '01:01:01')
    """
    hours, rest = divmod(second_of_day, HOUR)
    minutes, seconds = divmod(rest, MINUTE)
    return f"{hours:02}:{minutes:02}:{seconds:02}" if seconds else f"{hours:02}:{minutes:02}"


def clock_second(value: Any, *, of: str) -> int:
    """The second of the day that a user wrote as `22:00`.

    >>> clock_second("22:30", of="night")
    81000
    """
    if isinstance(value, dt.time) and value.tzinfo is None and not value.microsecond:
        return value.hour * HOUR + value.minute * MINUTE + value.second
    found = _CLOCK_TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise bad_calendar(f"`{of}` does not start at a time of day", "write times as HH:MM, such as 22:00")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return hours * HOUR + minutes * MINUTE + seconds


def civil_second(value: Any, *, of: str) -> int:
    """The civil second of a date or time that a user wrote in a definition.

    >>> civil_second("1970-01-02", of="term"), civil_second("1970-01-01 00:01", of="term")
    (86400, 60)
    """
    if isinstance(value, str):
        text = value
        error = bad_calendar(
            f"`{of}` has a date that cannot be read", "write dates as 2006-01-31 or 2006-01-31 07:30"
        )
        with raising(error, on=ValueError):
            value = dt.datetime.fromisoformat(text)
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            raise bad_calendar(
                f"`{of}` has a time with a zone",
                "write times without one; they are read on the clocks of the table",
            )
        return (value - _EPOCH) // dt.timedelta(seconds=1)
    if isinstance(value, dt.date):
        return (value - _EPOCH.date()).days * DAY
    raise bad_calendar(f"`{of}` has something that is not a date", "write dates as 2006-01-31")


def bad_calendar(message: str, hint: str) -> ParameterError:
    """The error for a definition that makes no granularity."""
    return ParameterError(message, hint=hint, code="bad-calendar")
