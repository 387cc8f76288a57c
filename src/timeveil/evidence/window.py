"""The question that timestamped rows and streams share: how many rows are in a window of time?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from timeveil.calendar.axis import instants
from timeveil.domain.relation import TimeAxis
from timeveil.errors import ParameterError, raising

Moment: TypeAlias = dt.date | dt.datetime | str | int | None
Instant: TypeAlias = int | Fraction
_EPOCH = dt.datetime.fromtimestamp(0, dt.UTC).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class WindowCount:
    """How many rows have a time in `between` and meet the conditions in `where`.

    `between=(a, b)` includes a and excludes b; `None` leaves a side open. Give dates, datetimes or ISO
    strings on a calendar, and whole numbers in the release's unit on relative time. On a release with a time
    zone, a time without one is local to that zone. `where` has per column a value, `None` for missing, or a
    pair (lo, hi) that includes both ends. A generalised column takes its published labels.

    On a stream release, a and b are slots: labels, dates and times in them, or slot numbers.

    >>> WindowCount(between=("2024-03-01", "2024-04-01"), where={"sex": "f", "age": (30, 39)}).where["sex"]
    'f'
    """

    between: tuple[Moment, Moment] = (None, None)
    where: Mapping[str, Any] = field(default_factory=dict)


def check_pair(between: object, of: str) -> None:
    """Refuse a window that is not a pair."""
    if not isinstance(between, tuple | list) or len(between) != 2:
        raise ParameterError(f"a window is a pair of {of}", hint="use {between=(a, b)}")


def check_forward(low: Instant, high: Instant, of: str) -> None:
    """Refuse a window that ends before it starts."""
    if low > high:
        raise ParameterError("the window ends before it starts", hint=f"give the earlier {of} first")


def instant_of(axis: TimeAxis, moment: Moment) -> Instant:
    """A date, datetime, ISO string or whole number as an instant of the axis."""
    if axis.kind == "relative":
        if isinstance(moment, bool) or not isinstance(moment, int | np.integer):
            raise unreadable(f"give whole numbers of {axis.unit}: the release has relative time")
        return int(instants(axis, pa.array([int(moment)], pa.int64()))[0])
    if isinstance(moment, str):
        with raising(unreadable("give dates or times such as 2024-03-01 or 2024-03-01T08:30"), on=ValueError):
            moment = dt.datetime.fromisoformat(moment)
    if isinstance(moment, dt.date) and not isinstance(moment, dt.datetime):
        moment = dt.datetime.combine(moment, dt.time())
    if not isinstance(moment, dt.datetime):
        raise unreadable("give dates, datetimes or ISO strings")
    if axis.kind == "civil" and moment.tzinfo is not None:
        raise unreadable("give times without a zone: the release has none")
    if axis.kind == "zoned":
        local = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(str(axis.zone)))
        moment = local.astimezone(dt.UTC).replace(tzinfo=None)
    seconds = Fraction((moment - _EPOCH) // dt.timedelta(microseconds=1), 1_000_000)
    return int(seconds) if seconds.denominator == 1 else seconds


def unreadable(hint: str, of: str = "time") -> ParameterError:
    """The error for a bound that is not a time or slot of the release."""
    message = f"a bound of the window is not a {of} of this release"
    return ParameterError(message, hint=hint, code="bad-time")
