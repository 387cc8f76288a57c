"""The proleptic Gregorian calendar on whole arrays: arithmetic, labels, and dates as users write them.

Civil time is an integer: seconds since 1970-01-01 00:00 on the wall clock, without leap seconds and
without a zone. Every function floors, so times before 1970 need no special care.
"""

from __future__ import annotations

import datetime as dt
import re
from math import gcd
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from timeveil.errors import ParameterError, raising

Ints = npt.NDArray[np.int64]
Clock = Literal["civil", "seconds", "months", "any"]
"""The number line of a granularity: civil seconds, or seconds or months since a start."""

MINUTE, HOUR, DAY, WEEK = 60, 3_600, 86_400, 604_800
CYCLE_YEARS, CYCLE = 400, 146_097 * DAY
"""The Gregorian calendar repeats, weekdays included, every 400 years."""
GAP: int = int(np.iinfo(np.int64).min)
"""The index of an instant that is in no granule."""
FIRST = -62_135_596_800
"""0001-01-01 00:00:00."""
LAST = 253_402_300_799
"""9999-12-31 23:59:59."""
BEFORE, AFTER = -(2**61), 2**61
"""Start and end of a granule without bounds."""

_UNITS: dict[str, tuple[tuple[str, int], ...]] = {
    "seconds": (("week", WEEK), ("day", DAY), ("hour", HOUR), ("minute", MINUTE), ("second", 1)),
    "months": (("year", 12), ("month", 1)),
}
_MONTHS_TO_1970 = 1970 * 12
_CLOCK_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - civil time has no zone


def as_ints(values: Any) -> Ints:
    """An array of 64-bit whole numbers."""
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
    # NumPy counts months from January 1970 and rounds down before it.
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
    """The first day of each year."""
    return days_of_month(years * 12)


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
    texts: list[str] = np.datetime_as_string(days.astype("datetime64[D]")).tolist()
    return texts


def moments(seconds: Ints, unit: Literal["s", "m"] = "s") -> list[str]:
    """Civil times as text, to the second or to the minute.

    >>> moments(as_ints([61]), "m")
    ['1970-01-01 00:01']
    """
    texts = np.datetime_as_string(seconds.astype("datetime64[s]"), unit=unit)
    return [moment.replace("T", " ") for moment in texts.tolist()]


def clock_text(second_of_day: int) -> str:
    """A time of day as text.

    >>> clock_text(3_600), clock_text(3_661)
    ('01:00', '01:01:01')
    """
    minutes, seconds = divmod(second_of_day, MINUTE)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def day_labels(first: Ints, length: int) -> list[str]:
    """Labels of granules of whole days: dates, ISO weeks, weeks from Sunday, or first to last date."""
    if length == 1:
        return dates(first)
    if length == 7 and not np.any(weekday(first)):
        # The Thursday of an ISO week decides its year.
        years = month_of_days(first + 3) // 12
        weeks = (first - iso_year_start(years)) // 7 + 1
        return [f"{year:04}-W{week:02}" for year, week in zip(years.tolist(), weeks.tolist(), strict=True)]
    if length == 7 and np.all(weekday(first) == 6):
        # Week 1 contains 1 January, so the Saturday decides the year.
        years = month_of_days(first + 6) // 12
        weeks = (first + 6 - year_start(years)) // 7 + 1
        return [f"{year:04}-week {week}" for year, week in zip(years.tolist(), weeks.tolist(), strict=True)]
    return [f"{a} to {b}" for a, b in zip(dates(first), dates(first + length - 1), strict=True)]


def month_label(first: int, length: int) -> str:
    """`2006-01`, `2006-Q1`, `2006-H1`, `2006`, `2000s`, or first to last month or year."""
    year, month = divmod(first, 12)
    last_year, last_month = divmod(first + length - 1, 12)
    match length:
        case 1:
            label = f"{year:04}-{month + 1:02}"
        case 3 if not month % 3:
            label = f"{year:04}-Q{month // 3 + 1}"
        case 6 if not month % 6:
            label = f"{year:04}-H{month // 6 + 1}"
        case 12 if not month:
            label = f"{year:04}"
        case 120 if not month and not year % 10:
            label = f"{year:04}s"
        case _ if not month and not length % 12:
            label = f"{year:04} to {last_year:04}"
        case _:
            label = f"{year:04}-{month + 1:02} to {last_year:04}-{last_month + 1:02}"
    return label


def time_labels(start: Ints, width: int) -> list[str]:
    """From one time to another, the date written once if both are on one day."""
    unit: Literal["s", "m"] = "s" if np.any(start % MINUTE) or width % MINUTE else "m"
    end = start + width
    same_day = (start // DAY == (end - 1) // DAY).tolist()
    labels = []
    for first, last, same, second in zip(
        moments(start, unit), moments(end, unit), same_day, (end % DAY).tolist(), strict=True
    ):
        time_of_day = last.partition(" ")[2] if second else "24:00"
        labels.append(f"{first} to {time_of_day if same else last}")
    return labels


def largest_unit(clock: str, length: int) -> tuple[str, int]:
    """The largest unit of which a length is a whole number, with its size."""
    return next((name, size) for name, size in _UNITS[clock] if length % size == 0)


def count_labels(start: Ints, width: int, clock: str) -> list[str]:
    """Labels on a relative axis: counts of the largest unit that fits."""
    unit, size = largest_unit(clock, gcd(width, *start[:1].tolist()))
    if width == size:
        return [f"{unit} {first}" for first in (start // size).tolist()]
    return [f"{unit}s {first} to {first + width // size}" for first in (start // size).tolist()]


def clock_second(value: Any, *, of: str) -> int:
    """The second of the day that a user wrote as `22:00`.

    >>> clock_second("22:30", of="night")
    81000
    """
    if isinstance(value, dt.time) and value.tzinfo is None and not value.microsecond:
        return value.hour * HOUR + value.minute * MINUTE + value.second
    match = _CLOCK_TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise bad_calendar(f"`{of}` does not start at a time of day", "write times as HH:MM, such as 22:00")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return hours * HOUR + minutes * MINUTE + seconds


def civil_second(value: Any, *, of: str) -> int:
    """The civil second of a date or time that a user wrote in a definition.

    >>> civil_second("1970-01-02", of="term"), civil_second("1970-01-01 00:01", of="term")
    (86400, 60)
    """
    if isinstance(value, str):
        error = bad_calendar(
            f"`{of}` has a date that cannot be read", "write dates as 2006-01-31 or 2006-01-31 07:30"
        )
        with raising(error, on=ValueError):
            value = dt.datetime.fromisoformat(value)
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
