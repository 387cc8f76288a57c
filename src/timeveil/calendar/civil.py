"""Civil time in whole numbers, and dates and times as users write them.

Civil time is an integer: seconds since 1970-01-01 00:00 on the wall clock, without leap seconds and without a
zone. All arithmetic floors, so times before 1970 need no special care.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, Literal
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

from timeveil.domain.arrays import Ints
from timeveil.errors import ParameterError, raising

Clock = Literal["civil", "seconds", "months", "any"]
"""The number line of a granularity: civil seconds, or seconds or months since a start."""

MINUTE, HOUR, DAY, WEEK = 60, 3_600, 86_400, 604_800
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}  # by the unit of a timestamp
UNITS: dict[str, tuple[Clock, int]] = {
    "second": ("seconds", 1),
    "minute": ("seconds", MINUTE),
    "hour": ("seconds", HOUR),
    "day": ("seconds", DAY),
    "week": ("seconds", WEEK),
    "month": ("months", 1),
    "year": ("months", 12),
}
"""Units of a relative time column: the number line of each and its size there."""
CYCLE_YEARS, CYCLE = 400, 146_097 * DAY  # The Gregorian calendar repeats, weekdays included, every 400 years
GAP: int = int(np.iinfo(np.int64).min)  # the index of an instant that is in no granule
FIRST = -62_135_596_800  # 0001-01-01 00:00:00
LAST = 253_402_300_799  # 9999-12-31 23:59:59
LONGEST = LAST - FIRST
BEFORE, AFTER = -(2**61), 2**61  # start and end of a granule without bounds
_MONTHS_TO_1970 = 1970 * 12
_CLOCK_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - civil time has no zone


def as_ints(values: Any) -> Ints:
    """An array of 64-bit whole numbers."""
    return np.asarray(values, dtype=np.int64)


def month_of_days(days: Ints) -> Ints:
    """Months since January of year 0, so that dividing by 12 gives the year."""
    # NumPy counts months from January 1970 and rounds down before it.
    return as_ints(days.astype("datetime64[D]").astype("datetime64[M]")) + _MONTHS_TO_1970


def days_of_month(months: Ints) -> Ints:
    """The first day of each month, the reverse of `month_of_days`."""
    return as_ints((months - _MONTHS_TO_1970).astype("datetime64[M]").astype("datetime64[D]"))


def year_start(years: Ints) -> Ints:
    """The first day of each year."""
    return days_of_month(years * 12)


def weekday(days: Ints) -> Ints:
    """0 for Monday to 6 for Sunday; 1970-01-01 was a Thursday."""
    return np.mod(days + 3, 7)


def is_zone(name: str | None) -> bool:
    """Whether the time zone database has this name; other names are paths to whatever file they name."""
    with suppress(KeyError, ValueError, OSError):
        return isinstance(name, str) and bool(ZoneInfo(name))
    return False


def check_zone(zone: str | None) -> None:
    """Refuse a name that the time zone database does not have."""
    if not is_zone(zone):
        near = get_close_matches(str(zone), sorted(available_timezones()), 3)
        hint = f"did you mean {', '.join(near)}?" if near else "use a name like Europe/Berlin or UTC"
        raise ParameterError(f"`{zone}` is not a time zone of the IANA database", hint=hint)


def sorted_parts(parts: Any, read: Callable[..., Any], *, of: str) -> list[tuple[Any, str]]:
    """Where each part starts, and its label, in the order of their starts."""
    if not isinstance(parts, Mapping) or not parts:
        raise bad_calendar(f"`{of}` has no parts", "give each part a label and where it starts")
    check_labels(parts, of=of)
    cuts = sorted((read(start, of=label), label) for label, start in parts.items())
    if any(a[0] == b[0] for a, b in pairwise(cuts)):
        raise bad_calendar(f"two parts of `{of}` start together", "let each part start at a different time")
    return cuts


def check_labels(labels: Iterable[Any], *, of: str) -> None:
    """Refuse a label that is empty or not text."""
    if not all(isinstance(label, str) and label.strip() for label in labels):
        raise bad_calendar(f"`{of}` has a label that is empty or not text", "give every granule a name")


def listed(values: Any, *, of: str) -> list[Any]:
    """The items of a list; none if it is left out."""
    if values is None:
        return []
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise bad_calendar(f"`{of}` has a single value where a list belongs", "write a list, [ ... ]")
    return list(values)


def whole_number(value: Any, *, of: str, subject: str = "something that") -> int:
    """A whole number, not a truth value."""
    if isinstance(value, bool) or not isinstance(value, int):
        hint = "write a whole number, without quotes around it"
        raise bad_calendar(f"`{of}` has {subject} is not a whole number", hint)
    if abs(value) > LONGEST:
        raise bad_calendar(f"`{of}` has a number too large for a time", "stay within the years 1 to 9999")
    return value


def month_day(value: Any, *, of: str) -> tuple[int, int]:
    """The month and day that a user wrote as `09-01`."""
    message = f"`{of}` does not start on a day that every year has"
    error = bad_calendar(message, "write month and day as MM-DD, such as 09-01")
    with raising(error, on=ValueError):
        # 2001 has no 29 February.
        date = dt.datetime.strptime(f"2001-{value}", "%Y-%m-%d")  # noqa: DTZ007 - civil time has no zone
    return date.month, date.day


def clock_second(value: Any, *, of: str) -> int:
    """The second of the day that a user wrote as `22:00`."""
    if isinstance(value, dt.time) and value.tzinfo is None and not value.microsecond:
        return value.hour * HOUR + value.minute * MINUTE + value.second
    match = _CLOCK_TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise bad_calendar(f"`{of}` does not start at a time of day", "write times as HH:MM, such as 22:00")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return hours * HOUR + minutes * MINUTE + seconds


def civil_second(value: Any, *, of: str) -> int:
    """The civil second of a date or time that a user wrote in a definition."""
    if isinstance(value, str):
        hint = "write dates as 2006-01-31 or 2006-01-31 07:30"
        error = bad_calendar(f"`{of}` has a date that cannot be read", hint)
        with raising(error, on=ValueError):
            value = dt.datetime.fromisoformat(value)
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            hint = "write times without one; they are read on the clocks of the table"
            raise bad_calendar(f"`{of}` has a time with a zone", hint)
        return (value - _EPOCH) // dt.timedelta(seconds=1)
    if isinstance(value, dt.date):
        return (value - _EPOCH.date()).days * DAY
    raise bad_calendar(f"`{of}` has something that is not a date", "write dates as 2006-01-31")


def bad_calendar(message: str, hint: str) -> ParameterError:
    """The error for a definition that makes no granularity."""
    return ParameterError(message, hint=hint, code="bad-calendar")
