"""Counting the rows of a release in a window of time.

A published row says which granule its time lay in, not where. Granules wholly inside the window count
in full, granules that touch it may count in full or not at all (`low` and `high`), and the best guess
spreads the rows of a granule evenly over it. A granule without a start or an end, such as that of
`all`, has no width to spread over: where the window takes only a part of it, half of its rows are
the guess.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from timeveil.calendar.axis import instants
from timeveil.domain.estimate import Estimate
from timeveil.domain.relation import TimeAxis
from timeveil.domain.release import Release
from timeveil.errors import ParameterError, raising
from timeveil.evidence.codes import Integers
from timeveil.evidence.conditions import mask_of, refuse_unknown
from timeveil.evidence.published import (
    HIGHEST,
    LOWEST,
    Granules,
    axis_of,
    bounds_of,
    classes_of,
    columns_of,
    granules_of,
)

Moment: TypeAlias = dt.date | dt.datetime | str | int | None
Instant: TypeAlias = int | Fraction
Floats: TypeAlias = npt.NDArray[np.float64]
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001


@dataclass(frozen=True, slots=True)
class WindowCount:
    """How many rows have a time in `between` and the values in `where`.

    `between=(a, b)` is half open: a is in, b is not; `None` leaves a side open. Dates, datetimes and
    ISO strings on a calendar, whole numbers in the release's own unit on relative time. On a release with a
    time zone, a time without one is read on that zone's clocks. `where` gives per column a value,
    `None` for missing, or a pair (lo, hi) with both ends in. A generalised column is asked for by the
    label it was published with.

    On a stream release, a and b are slots: their labels, or dates and times in them, or slot numbers.

    >>> WindowCount(between=("2024-03-01", "2024-04-01"), where={"sex": "f", "age": (30, 39)}).where["sex"]
    'f'
    """

    between: tuple[Moment, Moment] = (None, None)
    where: Mapping[str, Any] = field(default_factory=dict)


def count_in_window(release: Release, query: WindowCount) -> Estimate:
    """Answer a window count from what was published, a batch at a time.

    Any row that was withheld may have been asked for, so `high` counts them all.
    """
    axis, where = axis_of(release), query.where
    refuse_unknown(release, where, columns_of(release, "quasi", "keep", "sensitive"))
    low, high = window_of(axis, query.between)
    start_name, end_name = columns_of(release, "start", "end")
    counts = classes_of(release, [start_name, end_name], among=lambda batch: mask_of(batch, where))
    start, end = bounds_of(axis, counts.column(0), counts.column(1))
    granules = granules_of(release, start, end)
    order = np.lexsort((end, start))
    rows = np.asarray(counts["rows"])[order]
    value, sure, possible = (float(part @ rows) for part in shares(granules, low, high))
    withheld = release.manifest["counts"]["withheld"] if low < high else 0
    return Estimate(value, low=sure, high=possible + withheld)


def shares(granules: Granules, low: Instant, high: Instant) -> tuple[Floats, Floats, Floats]:
    """Per granule the share of its rows in [low, high): expected, sure and possible.

    Granules begin and end with whole seconds; a window may do so within one.
    """
    if low >= high:
        nothing = np.zeros(len(granules.start))
        return nothing, nothing, nothing
    first, last = math.floor(low), math.ceil(high)
    sure = (granules.reach >= math.ceil(low)) & (granules.end <= math.floor(high))
    possible = (granules.reach < last) & (granules.end > first)
    overlap = (np.minimum(granules.end, last) - np.maximum(granules.start, first)).astype(float)
    overlap -= float(low - first) * (granules.start <= first) + float(last - high) * (granules.end >= last)
    width = granules.end - granules.start
    expected = np.clip(overlap, 0, None) / np.maximum(width, 1)
    endless = (granules.start == LOWEST) | (granules.end == HIGHEST)
    expected = np.where(endless, (sure.astype(float) + possible) / 2, expected)
    return np.where(sure, 1.0, expected), sure.astype(float), possible.astype(float)


def window_of(axis: TimeAxis, between: tuple[Moment, Moment]) -> tuple[Instant, Instant]:
    """A window as instants, with fractions of a second.

    >>> import pyarrow as pa
    >>> window_of(TimeAxis("civil", pa.date32()), ("1970-01-02", None))[0]
    86400
    """
    if not isinstance(between, tuple | list) or len(between) != 2:
        raise ParameterError("a window is a pair of times", hint="write between=(a, b)", code="bad-parameter")
    low = LOWEST if between[0] is None else instant_of(axis, between[0])
    high = HIGHEST if between[1] is None else instant_of(axis, between[1])
    if low > high:
        raise ParameterError(
            "the window ends before it starts", hint="give the earlier time first", code="bad-parameter"
        )
    return low, high


def instant_of(axis: TimeAxis, moment: Moment) -> Instant:
    """A date, datetime, ISO string or whole number as an instant of the axis."""
    if axis.kind == "relative":
        if isinstance(moment, bool) or not isinstance(moment, int | np.integer):
            raise _unreadable(f"whole numbers of {axis.unit}, as the release has relative time")
        return int(instants(axis, pa.array([int(moment)], pa.int64()))[0])
    if isinstance(moment, str):
        text, takes = moment, "dates or times such as 2024-03-01 or 2024-03-01T08:30"
        with raising(_unreadable(takes), on=ValueError):
            moment = dt.datetime.fromisoformat(text)
    if isinstance(moment, dt.date) and not isinstance(moment, dt.datetime):
        moment = dt.datetime.combine(moment, dt.time())
    if not isinstance(moment, dt.datetime):
        raise _unreadable("dates, datetimes or ISO strings")
    if axis.kind == "civil" and moment.tzinfo is not None:
        raise _unreadable("times without a zone, as the release has none")
    if axis.kind == "zoned":
        local = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(str(axis.zone)))
        moment = local.astimezone(dt.UTC).replace(tzinfo=None)
    seconds = Fraction((moment - _EPOCH) // dt.timedelta(microseconds=1), 1_000_000)
    return int(seconds) if seconds.denominator == 1 else seconds


def _unreadable(takes: str) -> ParameterError:
    return ParameterError(
        "a bound of the window cannot be read as a time of this release",
        hint=f"the window takes {takes}",
        code="bad-time",
    )


__all__ = ["Integers", "Moment", "WindowCount", "count_in_window", "shares", "window_of"]
