"""From a time column to whole numbers and back, on the clocks of a zone, and columns derived from it.

An instant is an integer: civil seconds for dates and timestamps without a zone, UTC seconds for zoned
ones, seconds or months since the start for relative time.

The zone database is read through `zoneinfo`. Offsets change a few times a year at most, so they are kept
as segments and looked up for whole arrays at once.
"""

import datetime as dt
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar import civil as calendar
from timeveil.calendar.catalogue import unit_of
from timeveil.calendar.civil import AFTER, BEFORE, DAY, FIRST, HOUR, LAST, PER_SECOND, as_ints
from timeveil.domain.arrays import Ints
from timeveil.domain.relation import TimeAxis
from timeveil.domain.roles import Derived
from timeveil.errors import InputError, ParameterError

_HALF_DAY = DAY // 2
# Before the first zones were defined local mean time held; long after the last decree the rules repeat.
_RULES_BEGIN, _RULES_REPEAT = 1835, 2100
_REPEAT_BEGINS = int(calendar.year_start(as_ints(_RULES_REPEAT))) * DAY
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

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
"""Every quasi-identifier that can be derived from the time, with its values in order.

They come round again, so they are no granularities: all Mondays together are not a stretch of time.
Published with a granule they narrow it down, so they count as quasi-identifiers."""


def instants(axis: TimeAxis, column: pa.ChunkedArray | pa.Array) -> Ints:
    """A time column as instants, fractions of a second cut off. Nulls are refused."""
    numbers, per_instant = ticks(axis, column)
    return numbers if per_instant == 1 else np.floor_divide(numbers, per_instant)


def ticks(axis: TimeAxis, column: pa.ChunkedArray | pa.Array) -> tuple[Ints, int]:
    """A time column as whole numbers, exactly, and how many of them make one instant. Nulls are refused."""
    if column.null_count:
        message = f"the time column has {column.null_count} nulls"
        raise InputError(message, hint="remove them, or withhold those rows", code="nulls")
    is_date = pa.types.is_date32(column.type)
    numbers = as_ints(pc.cast(pc.cast(column, pa.int32()) if is_date else column, pa.int64()).to_numpy())
    if axis.kind == "relative":
        return numbers * unit_of(axis)[1], 1
    return (numbers * DAY, 1) if is_date else (numbers, PER_SECOND[column.type.unit])


def published(axis: TimeAxis, instants: Ints, *, round_up: bool = False) -> pa.Array:
    """Instants as values of the axis's type, null where they leave the years 1 to 9999.

    Dates of instants within a day are that day's, or with `round_up` the next day's.
    """
    relative = axis.kind == "relative"
    outside = np.abs(instants) >= 2**60 if relative else (instants < FIRST) | (instants > LAST)
    seconds = np.where(outside, 0, instants)
    if relative:
        return pa.array(seconds // unit_of(axis)[1], pa.int64(), mask=outside)
    if pa.types.is_date32(axis.type):
        # Negating twice rounds up, for negative numbers too.
        days = -(-seconds // DAY) if round_up else seconds // DAY
        return pa.array(days.astype(np.int32), pa.int32(), mask=outside).cast(pa.date32())
    return pa.array(seconds * PER_SECOND[axis.type.unit], pa.int64(), mask=outside).cast(axis.type)


def civil(axis: TimeAxis, instants: Ints) -> Ints:
    """What the wall clock shows at each instant."""
    return clocks(axis, instants).civil(instants)


def derive(name: str, civil_seconds: Ints) -> pa.Array:
    """The values of a derived quasi-identifier at civil times."""
    match name:
        case "weekday":
            codes = calendar.weekday(civil_seconds // DAY)
        case "hour-of-day":
            codes = civil_seconds // HOUR % 24
        case "month-of-year":
            codes = calendar.month_of_days(civil_seconds // DAY) % 12
        case _:
            hint = f"use one of {', '.join(CYCLIC)}"
            raise ParameterError(f"`{name}` cannot be derived from a time", hint=hint)
    return pa.array(CYCLIC[name]).take(pa.array(codes))


def durations(
    axis: TimeAxis, start: pa.ChunkedArray, end_axis: TimeAxis, end: pa.ChunkedArray
) -> pa.ChunkedArray:
    """Whole days from one time to another, or hours if both have a time of day, or the unit of both."""
    unknown = pc.or_(start.is_null(), end.is_null())
    first, last = (
        instants(at, pc.fill_null(times, pa.scalar(0, times.type)))
        for at, times in ((axis, start), (end_axis, end))
    )
    if axis.kind == "relative":
        length = (last - first) // unit_of(axis)[1]
    elif pa.types.is_date32(axis.type) or pa.types.is_date32(end_axis.type):
        length = civil(end_axis, last) // DAY - civil(axis, first) // DAY
    else:
        length = (last - first) // HOUR
    return pa.chunked_array([pa.array(length, pa.int64(), mask=unknown.to_numpy())])


@dataclass(frozen=True, slots=True)
class Offsets:
    """Segments of constant offset: segment k begins at UTC second `begins[k]` with `seconds[k]`.

    The first segment has no beginning. `reached[k]` is the first civil second that no clock has shown
    by the end of segment k.
    """

    begins: Ints
    seconds: Ints
    reached: Ints

    def segment(self, instants: Ints) -> Ints:
        return np.searchsorted(self.begins, instants, side="right") - 1

    def civil(self, instants: Ints) -> Ints:
        return instants + self.seconds[0 if len(self.seconds) == 1 else self.segment(instants)]

    def settled(self, instants: Ints) -> Ints:
        """The latest time the wall clock has shown so far: it never goes back.

        The hour that autumn repeats stays at its last second, so a day, or a quarter of one, is one stretch
        of time even where the clocks go back across its beginning.
        """
        if len(self.seconds) == 1:
            return self.civil(instants)
        segment = self.segment(instants)
        # What clocks had shown before this segment: `reached` of the one before, nothing before the first.
        before = np.concatenate(([BEFORE], self.reached[:-1]))
        return as_ints(np.maximum(instants + self.seconds[segment], before[segment] - 1))

    def first_instant(self, clock: Ints) -> Ints:
        """The first UTC second at which the clock shows this civil second or a later one."""
        segment = np.minimum(np.searchsorted(self.reached, clock, side="right"), len(self.seconds) - 1)
        return as_ints(np.maximum(self.begins[segment], clock - self.seconds[segment]))

    def ends(self) -> Ints:
        return np.concatenate((self.begins[1:], [AFTER]))


_NO_ZONE = Offsets(as_ints([BEFORE]), as_ints([0]), as_ints([AFTER]))


def clocks(axis: TimeAxis, instants: Ints) -> Offsets:
    """The offsets in the zone of an axis around some instants; without a zone there is one, of 0."""
    if axis.kind != "zoned":
        return _NO_ZONE
    low, high = (int(instants.min()), int(instants.max())) if len(instants) else (0, 0)
    return offsets(axis.zone or "", low, high)


@lru_cache(maxsize=64)
def offsets(zone: str, low: int, high: int) -> Offsets:
    """The segments of a zone around the UTC seconds from `low` to `high`."""
    calendar.check_zone(zone)
    # Two days around, since civil time is at most a day from UTC.
    low, high = max(low, FIRST) - 2 * DAY, min(high, LAST) + 2 * DAY
    first_year, last_year = (calendar.month_of_days(as_ints([low // DAY, high // DAY])) // 12).tolist()
    changes = [change for year in range(first_year, last_year + 1) for change in _changes(zone, year)]
    inside = [(at, offset) for at, offset in changes if low < at <= high]
    begins = as_ints([BEFORE, *(at for at, _ in inside)])
    seconds = as_ints([_offset(zone, low), *(offset for _, offset in inside)])
    # A running maximum, because a clock that was put back reaches nothing new for a while.
    return Offsets(begins, seconds, np.maximum.accumulate(np.append(begins[1:], AFTER) + seconds))


@lru_cache(maxsize=16_384)
def _changes(zone: str, year: int) -> tuple[tuple[int, int], ...]:
    """The UTC seconds of a year at which the offset changes, each with the new offset."""
    if year < _RULES_BEGIN:
        return ()
    if year >= _RULES_REPEAT + calendar.CYCLE_YEARS:
        earlier = _changes(zone, year - calendar.CYCLE_YEARS)
        return tuple((at + calendar.CYCLE, offset) for at, offset in earlier)
    first, last = (calendar.year_start(as_ints([year, year + 1])) * DAY).tolist()
    # Half a day apart is near enough: no zone has changed its clocks twice within one.
    probes = range(first, last + 1, _HALF_DAY)
    seen = [_offset(zone, probe) for probe in probes]
    steps = zip(probes, seen, seen[1:], strict=False)
    return tuple((_change_after(zone, probe, new), new) for probe, old, new in steps if old != new)


def _change_after(zone: str, probe: int, new: int) -> int:
    """The first second of the half day from `probe` that has the new offset."""
    seconds = range(probe, probe + _HALF_DAY)
    return probe + bisect_left(seconds, True, key=lambda second: _offset(zone, second) == new)


def _offset(zone: str, second: int) -> int:
    # Far in the future the rules are those of the same year some cycles before.
    cycles = max(0, (second - _REPEAT_BEGINS) // calendar.CYCLE)
    moment = _EPOCH + dt.timedelta(seconds=max(second - cycles * calendar.CYCLE, FIRST + 3 * DAY))
    offset = moment.astimezone(ZoneInfo(zone)).utcoffset()
    return round(offset.total_seconds()) if offset is not None else 0
